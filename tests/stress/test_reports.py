"""Reports: each kind of fault is named correctly, in words and on a page that people can use."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from stress import UNSEEN, Counter, History, Map, Operation, Raised, Register, Set, Spec, Subscriptions, Verdict, check
from stress.reports import faults, window
from stress.reports import html as report_html
from stress.reports import text as report_text
from stress.reports.report import Report, report_on

pytestmark = pytest.mark.once  # Python that is the same everywhere


@pytest.fixture(autouse=True)
def _there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lift the time limit: on a busy machine, an explanation would soon use up its seconds and say less."""
    for module in (faults, window):
        monkeypatch.setattr(module, "_SECONDS", 1_000.0)


def report(spec: Spec, *rows: tuple[Any, ...]) -> Report:
    """The report on rows of thread, call, return, name, arguments and answer; a return of None means pending."""
    operations = tuple(
        Operation(number, thread, call, returned, op, args, UNSEEN if returned is None else result)
        for number, (thread, call, returned, op, args, result) in enumerate(sorted(rows, key=lambda row: row[1]))
    )
    history = History(operations, {"spec": spec.name, "seed": 7, "clock": "ticket"})
    return report_on(history, spec, check(history, spec), replay="python -m stress replay it.jsonl")


LOST_UPDATE = (Counter(), (0, 1, 3, "increment", (), 1), (1, 2, 4, "increment", (), 1))
PUT_BACK = (
    Counter(),
    (0, 1, 2, "increment", (), 1),
    (2, 3, None, "increment", (), None),
    (0, 4, 5, "increment", (), 2),
    (0, 6, 7, "increment", (), 3),
    (0, 8, 9, "increment", (), 4),
    (1, 10, 11, "increment", (), 2),
)
UNTOLD = (
    Counter(),
    (0, 1, 2, "increment", (), None),
    (0, 3, 6, "increment", (), None),  # reads 1, and writes 2
    (1, 4, 5, "increment", (), None),  # the same
    (0, 7, 8, "value", (), 2),
    (1, 9, 10, "increment", (), None),
    (1, 11, 12, "value", (), 3),
)
LOST_WRITE = (Map(), (0, 1, 2, "put", ("a", 1), None), (1, 3, 4, "get", ("a",), None))
STALE_READ = (
    Register(),
    (0, 1, 2, "write", (1,), None),
    (0, 3, 4, "write", (2,), None),
    (1, 5, 6, "read", (), 1),
    (2, 5, 7, "read", (), 2),
)
RESURRECTED = (Map({"a": 1}), (0, 1, 2, "pop", ("a", None), 1), (1, 3, 4, "get", ("a",), 1))
TORN_MATCH: Any = (
    Subscriptions([("*.b", 1)]),
    (0, 1, 8, "match", ("a.b",), frozenset()),
    (1, 2, 3, "subscribe", ("a.b", 1), True),
    (1, 4, 5, "unsubscribe", ("*.b", 1), True),
)
TORN_READ: Any = (
    Map({"a": 1}),
    (0, 1, 8, "items", (), frozenset()),
    (1, 2, 3, "put", ("b", 1), None),
    (1, 4, 5, "pop", ("a", None), 1),
)
CHANGED = (Map({"a": 1}), (0, 1, 2, "snapshot", (), Raised("SnapshotChanged", "first {}, later {('a', 1)}")))
IMPOSSIBLE = (Register(0), (0, 1, 2, "read", (), 77), (1, 1, 2, "read", (), 0))
ALONE = (Register(0), (0, 1, 2, "read", (), 77), (0, 3, 4, "read", (), 0))
GONE_MEMBER = (
    Set(),
    (0, 1, 2, "add", ("x",), True),
    (0, 3, 4, "remove", ("x",), None),
    (1, 5, 6, "contains", ("x",), True),
)

SHAPES = [
    (LOST_UPDATE, "lost update", "Thread 0's increment() -> 1 was lost: thread 1's increment() -> 1 fits only"),
    (
        PUT_BACK,
        "lost update",
        "Thread 0's increment() -> 2 was lost, and 2 more after it: thread 1's increment() -> 2 fits only",
    ),
    (UNTOLD, "lost update", "'s increment() -> None was lost: thread 0's value() -> 2 fits only if"),
    (LOST_WRITE, "lost update", "Thread 0's put('a', 1) -> None was lost: thread 1's get('a') -> None fits only"),
    (
        STALE_READ,
        "stale read",
        "Thread 1's read() -> 1 was right once but no longer when it was called: thread 0's write(2)",
    ),
    (
        RESURRECTED,
        "lost update",
        "Thread 0's pop('a', None) -> 1 was lost: thread 1's get('a') -> 1 fits only if",
    ),
    (
        GONE_MEMBER,
        "lost update",
        "Thread 0's remove('x') -> None was lost: thread 1's contains('x') -> True fits only if",
    ),
    (TORN_MATCH, "torn match", "Thread 0's match('a.b') -> {} saw no one moment"),
    (TORN_READ, "torn read", "Thread 0's items() -> {} saw no one moment"),
    (CHANGED, "snapshot changed", "was read twice, and the readings differ: first {}, later {('a', 1)}"),
    (
        ALONE,
        "wrong with one thread alone",
        "Thread 0's read() -> 77 is wrong with one thread alone: the class and the spec",
    ),
    (IMPOSSIBLE, "impossible answer", "No order of the overlapping calls explains thread 0's read() -> 77"),
]


@pytest.mark.parametrize(("case", "name", "sentence"), SHAPES, ids=[name for _, name, _ in SHAPES])
def test_a_fault_is_named_and_told_in_a_sentence(case: Any, name: str, sentence: str) -> None:
    explained = report(*case)

    assert explained.headline == f"NOT linearizable: {name}"
    assert sentence in explained.sentence
    assert explained.sentence.endswith(".")


# ----------------------------------------------------------------------------------------------------------- the window


def window_of(spec: Spec, *rows: tuple[Any, ...]) -> Any:
    explained = report(spec, *rows)
    assert explained.diagnosis is not None
    return explained.diagnosis.window


def test_only_what_matters_is_left() -> None:
    """Five hundred quiet operations before and after, and readers all around."""
    quiet = [(at % 3, 10 * at, 10 * at + 1, "write", (at,), None) for at in range(500)]
    wrong = [
        (0, 6_000, 6_001, "write", (1,), None),
        (1, 6_002, 6_009, "read", (), 1),
        (0, 6_003, 6_008, "write", (2,), None),
        (2, 6_004, 6_005, "read", (), 2),
        (3, 6_006, 6_007, "read", (), 1),
    ]
    after = [(at % 3, 7_000 + 10 * at, 7_001 + 10 * at, "write", (at,), None) for at in range(500)]
    window = window_of(Register(), *quiet, *wrong, *after)
    shown = [window.describe(each) for each in window.operations]
    assert shown == ["write(2) returned after this window", "read() -> 2", "read() -> 1"]
    assert window.starts == (1,)


def test_what_is_called_at_the_tick_of_a_return_explains_it_here_too() -> None:
    rows = [(0, 1, 5, "read", (), 3), (1, 5, 30, "write", (3,), None), (0, 10, 11, "read", (), 9)]
    assert window_of(Register(), *rows).culprit.result == 9


# ------------------------------------------------------------------------------------------------------------- the text


def test_all_of_it() -> None:
    assert report_text.render(report(*LOST_UPDATE)).splitlines() == [
        "NOT linearizable: lost update",
        "",
        f"  {report(*LOST_UPDATE).sentence}",
        "",
        "The crucial window: 2 of 2 operations",
        "  state before it: 0",
        "",
        "  thread 0         | thread 1",
        "  -----------------+-----------------",
        "  increment() ...  |",
        "                   | increment() ...",
        "    increment -> 1 |",
        "                   |   increment -> 1",
        "",
        "As far as any order goes",
        "  1. from 0",
        "       thread 0: increment() -> 1  [now 1]",
        "     x thread 1: increment() -> 1  would answer 2 in state 1, and answered 1",
        "  2. from 0",
        "       thread 1: increment() -> 1  [now 1]",
        "     x thread 0: increment() -> 1  would answer 2 in state 1, and answered 1",
        "",
        "  operations: 2",
        "  overlapping: 100%",
        "  components: 1",
        "  states searched: 5",
        "  clock: ticket",
        "  seed: 7",
        "",
        "To see it again: python -m stress replay it.jsonl",
    ]


def test_many_threads_do_not_stand_side_by_side() -> None:
    rows = [(each, each, 100 + each, "write", (f"a long value of thread {each % 8}",), None) for each in range(9)]

    lines = report_text.render(report(Register(), *rows, (9, 50, 201, "read", (), "nobody's"))).splitlines()

    assert max(map(len, lines)) < 250
    assert any("thread 3: write(" in line for line in lines)


def test_what_is_undecided_is_not_said_to_be_right() -> None:
    history = History((Operation(0, 0, 1, 2, "read", (), None),))
    judgement = replace(check(history, Register()), verdict=Verdict.UNKNOWN, spent="10 steps")
    undecided = Report(history, Register(), judgement, diagnosis=None)

    assert undecided.headline.startswith("undecided: not within 10 steps: let the budget be larger")
    assert "says nothing, good or bad" in undecided.sentence


# ------------------------------------------------------------------------------------------------------------- the page


def embedded(page: str) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def test_the_page_holds_the_window_the_orders_and_the_refused_calls_and_needs_nothing_from_anywhere() -> None:
    page = report_html.render(report(*TORN_MATCH))
    assert not re.search(r"https?://|\bsrc=|@import|url\(", page.replace("http://www.w3.org/2000/svg", ""))
    data = embedded(page)
    assert data["headline"] == "NOT linearizable: torn match"
    assert data["window"][0]["text"] == "match('a.b') -> {}"
    assert data["culprit"] == 0
    order = data["partials"][0]
    assert [step["after"] for step in order["steps"]][-1] == "{'a.b': {1}}"
    assert "would answer {1} in state" in order["refused"][0]["reason"]


def test_text_of_the_user_stays_text() -> None:
    nasty = "</script><script>alert(1)</script>"
    page = report_html.render(report(Register(), (0, 1, 2, "read", (), nasty)))
    assert nasty not in page
    assert nasty in embedded(page)["window"][0]["text"]


def test_it_shows_where_threads_were_that_went_no_further() -> None:
    stacks = "thread 0, in read()\n  File <here>, line 3, in read"
    header = {"kind": "hang", "trouble": "thread 0 hangs in read()", "stacks": stacks}
    hung = History((Operation(0, 0, 1, None, "read", (), UNSEEN),), header)
    page = report_html.render(report_on(hung, Register(), check(hung, Register())))
    assert (embedded(page)["stacks"], embedded(page)["tone"]) == (stacks, "bad")
    assert '<pre id="stack-lines"></pre>' in page
    assert "File <here>" not in page


def test_a_long_history_is_drawn_around_the_window() -> None:
    quiet = [(0, 10 * at, 10 * at + 1, "write", (at,), None) for at in range(5_000)]
    data = embedded(report_html.render(report(Register(), *quiet, (1, 25_005, 25_006, "read", (), -1))))
    assert (data["total"], len(data["operations"])) == (5_001, 2_000)
    assert data["culprit"] in [op["id"] for op in data["operations"]]


def test_what_is_right_is_shown_too() -> None:
    right = report(Register(), (0, 1, 2, "read", (), None))
    assert report_text.render(right).startswith("linearizable\n")
    data = embedded(report_html.render(right))
    assert (data["tone"], len(data["operations"]), data["window"]) == ("good", 1, [])
