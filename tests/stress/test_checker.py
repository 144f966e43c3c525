"""The checker's verdicts are right: those of brute force on small histories, and what other people know of theirs."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stress import (
    UNSEEN,
    Counter,
    Excerpt,
    KeyValue,
    Map,
    MultiRegister,
    Mutex,
    Operation,
    Queue,
    Raised,
    Register,
    Spec,
    Stack,
    Subscriptions,
    Verdict,
    check,
    read_history,
)
from stress.checker.check import is_linearizable
from stress.checker.components import components
from stress.checker.search import segments
from stress.reports.diagnosis import diagnose
from tests.tries.mutants.brute_force import KINDS, UNIQUE, histories, linearizable

pytestmark = pytest.mark.once  # the checker alone, which is the same everywhere

EACH = 400  # histories of each kind: 6,400 in all
GLANCED = UNIQUE[:3]
HISTORIES = Path(__file__).parents[1] / "data" / "histories"
SPECS = {"jepsen": "register", "kv": "kv"}

with (HISTORIES / "VERDICTS.tsv").open() as table:
    KNOWN = [(row["file"], int(row["ops"]), row["verdict"]) for row in csv.DictReader(table, delimiter="\t")]


def operations_of(*rows: tuple[Any, ...]) -> list[Operation]:
    """Rows of call, return, name, arguments and answer, each by a thread of its own; a return of None means pending."""
    return [
        Operation(number, number, call, returned, op, args, UNSEEN if returned is None else result)
        for number, (call, returned, op, args, result) in enumerate(rows)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_verdicts_are_those_of_all_orders(kind: str) -> None:
    spec, _ = KINDS[kind]
    verdicts, explained, refuted = [], 0, 0
    for history in islice(histories(Random(f"verdicts, {kind}"), kind), EACH):
        known = linearizable(history, spec)
        verdicts.append(known)
        assert bool(check(history, spec)) == known, history
        assert is_linearizable(history, spec) == known, history
        seen = spec.glance(history, spec.initial)
        is_explained = isinstance(seen, Spec) and is_linearizable(history, seen)
        is_refuted = isinstance(seen, Excerpt) and not is_linearizable(
            seen.operations, spec, [spec.restrict(spec.initial, seen.elements)]
        )
        assert not (is_refuted if known else is_explained), history
        assert is_explained or is_refuted or kind not in GLANCED or not is_plain(history, known), history
        explained, refuted = explained + is_explained, refuted + is_refuted
    assert 0.02 * EACH < verdicts.count(False) < 0.9 * EACH  # both verdicts occur
    assert kind not in GLANCED or min(explained, refuted) > 15


def is_plain(history: list[Operation], known: bool) -> bool:
    """Whether a glance at the times of unique values decides a history, as it says: each was put in before it came out,
    which it did once. No glance refutes that a compare-and-set failed."""
    gets = [each for each in history if each.op in ("dequeue", "pop") and each.result is not None]
    put = {each.args: each.call for each in history if each.op in ("enqueue", "push")}
    is_hard = any(
        each.op == "len"
        or (each.op == "cas" and not (each.result is False and known))
        or each.result is UNSEEN
        or (each.op == "dequeue" and each not in gets)
        for each in history
    )
    came_out_once = len({each.result for each in gets}) == len(gets)
    return came_out_once and not is_hard and all(put.get((each.result,), 999) <= (each.returned or 0) for each in gets)


A_B = ("a.b",)
BY_HAND: dict[str, tuple[Spec, list[tuple[Any, ...]], bool]] = {
    "nothing": (Register(), [], True),
    "a read after a write misses it": (Register(), [(1, 2, "write", (1,), None), (3, 4, "read", (), None)], False),
    "a read beside a write sees it": (Register(), [(1, 4, "write", (1,), None), (2, 3, "read", (), 1)], True),
    "a read beside a write does not": (Register(), [(1, 4, "write", (1,), None), (2, 3, "read", (), None)], True),
    "two reads beside a write disagree on its moment": (
        Register(), [(1, 9, "write", (1,), None), (2, 3, "read", (), 1), (4, 5, "read", (), None)], False,
    ),
    "a call at the very moment of a return": (
        Register(), [(1, 2, "write", (1,), None), (2, 3, "read", (), None)], True,
    ),
    "a value written at the tick of the return": (
        Register(), [(1, 5, "read", (), 3), (5, 9, "write", (3,), None)], True,
    ),
    "pending, it takes effect late": (
        Register(), [(1, None, "write", (7,), None), (2, 3, "read", (), None), (4, 5, "read", (), 7)], True,
    ),
    "pending, it never takes effect": (Register(), [(1, None, "write", (7,), 0), (2, 3, "read", (), None)], True),
    "pending, it takes effect once": (
        Register(),
        [(1, None, "write", (7,), 0), (2, 3, "read", (), 7), (4, 5, "write", (1,), None), (6, 7, "read", (), 7)], False,
    ),
    "pending, it takes no effect before its call": (
        Register(), [(1, 2, "read", (), 7), (3, None, "write", (7,), None)], False,
    ),
    "pending, a compare-and-set need not have succeeded": (
        Register(), [(1, None, "cas", (5, 6), None), (2, 3, "read", (), None)], True,
    ),
    "a held lock": (Mutex(), [(1, 2, "acquire", (), None), (5, 6, "acquire", (), None)], False),
    "a lock that was perhaps released": (
        Mutex(), [(1, 2, "acquire", (), None), (3, None, "release", (), None), (5, 6, "acquire", (), None)], True,
    ),
    "a dequeue that nobody saw took it": (
        Queue(), [(1, 2, "enqueue", (1,), None), (3, 4, "dequeue", (), UNSEEN), (5, 6, "dequeue", (), None)], True,
    ),
    "a get that raised found nothing": (
        Queue(), [(0, 1, "enqueue", (1,), None), (2, 5, "dequeue", (), Raised("Empty")), (3, 4, "dequeue", (), 1)], True,
    ),
    "a read that fits later": (
        Register(), [(1, 9, "read", (), 2), (2, 3, "write", (1,), None), (4, 5, "write", (2,), None)], True,
    ),
    "a write of the value that is there is no read": (
        Register(0), [(1, 9, "write", (0,), None), (2, 3, "write", (1,), None), (4, 5, "read", (), 0)], True,
    ),
    "a subscribe with an unknown answer is no read": (
        Subscriptions([("a.b", 1)]),
        [(1, 9, "subscribe", ("a.b", 1), UNSEEN), (2, 3, "unsubscribe", ("a.b", 1), True),
         (4, 5, "match", A_B, frozenset({1}))], True,
    ),
    "a match finds what was there at the start": (
        Subscriptions([("a.*", 1)]), [(1, 2, "match", A_B, frozenset({1}))], True,
    ),
    "a match misses it": (Subscriptions([("a.*", 1)]), [(1, 2, "match", A_B, frozenset())], False),
    "a match that no filter covers": (Subscriptions(), [(1, 2, "match", A_B, frozenset({1}))], False),
    "a match that was torn, though every filter by itself is in order": (
        Subscriptions([("*.b", 1)]),
        [(1, 8, "match", A_B, frozenset()), (2, 3, "subscribe", ("a.b", 1), True),
         (4, 5, "unsubscribe", ("*.b", 1), True)], False,
    ),
    "a transaction that was torn": (
        MultiRegister(0),
        [(1, 2, "txn", (("write", "x", 1), ("write", "y", 1)), ()),
         (3, 4, "txn", (("read", "x"), ("read", "y")), (1, 0))], False,
    ),
    **{
        f"the last of two writes was {last}, as a read two cuts later shows": (
            Register(0),
            [(1, 4, "write", (1,), None), (2, 3, "write", (2,), None), (5, 6, "cas", (9, 9), False),
             (7, 8, "read", (), last)], True,
        )
        for last in (1, 2)
    },
    **{
        f"popitem takes {item}": (
            Map(),
            [(1, 2, "put", ("a", 1), None), (3, 4, "put", ("b", 2), None), (5, 6, "popitem", (), item)], right,
        )
        for item, right in ((("a", 1), True), (("b", 2), True), (("a", 2), False))
    },
    "popitem of nothing": (Map(), [(1, 2, "popitem", (), Raised("KeyError"))], True),
    "popitem of something raises": (Map({"a": 1}), [(1, 2, "popitem", (), Raised("KeyError"))], False),
    "what an unseen popitem took is found out later": (
        Map({"a": 1, "b": 2}),
        [(5, 6, "popitem", (), UNSEEN), (7, 8, "items", (), frozenset({("b", 2)})), (9, 10, "get", ("b",), None)],
         False,
    ),
    "an exception is an answer": (Map(), [(1, 2, "delitem", ("a",), Raised("KeyError", "'a'"))], True),
    "an exception that no state explains": (Map({"a": 1}), [(1, 2, "delitem", ("a",), Raised("KeyError"))], False),
    "an exception of another class": (Map(), [(1, 2, "put", ("a", 1), Raised("RuntimeError"))], False),
    "a compare-and-set that failed has not written": (
        Register(), [(1, 4, "cas", (None, 3), False), (5, 6, "read", (), 3)], False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_a_history_made_by_hand(name: str) -> None:
    spec, rows, right = BY_HAND[name]
    history = operations_of(*rows)
    assert linearizable(history, spec) is right, "its author is wrong"
    assert check(history, spec).verdict is (Verdict.LINEARIZABLE if right else Verdict.ILLEGAL)


@pytest.mark.parametrize(
    ("spec", "rows", "sizes"),
    [
        (Map(), [("put", ("a", 1), None), ("put", ("b", 2), None), ("get", ("a",), 1)], [1, 2]),
        (Map(), [("put", ("a", 1), None), ("len", (), 1)], [2]),
        (
            Subscriptions(),
            [("subscribe", ("a.b", 1), True), ("subscribe", ("*.b", 2), True), ("subscribe", ("c.d", 3), True),
             ("match", A_B, frozenset({1, 2}))],
            [1, 3],
        ),
    ],
    ids=["a map by keys", "len joins all keys", "a match joins the filters that cover its topic"],
)  # fmt: skip
def test_a_history_is_split(spec: Spec, rows: list[Any], sizes: list[int]) -> None:
    history = operations_of(*((2 * at, 2 * at + 1, *row) for at, row in enumerate(rows)))
    parts = components(history, spec, [spec.initial])
    assert sorted(len(part.operations) for part in parts) == sizes
    assert len(segments(history)) == len(rows)


@pytest.mark.parametrize(
    ("spec", "rows"),
    [
        (Register(0), [("write", (7,), None), ("write", (7,), None)]),
        (Register(0), [("write", (0,), None)]),
        (Register(0), [("cas", (0, 7), True)]),
        (Stack(), [("push", (7,), None), ("push", (7,), None)]),
        (Stack(), [("push", (None,), None), ("pop", (), None)]),
        (Queue(), [("enqueue", (7,), None), ("enqueue", (7,), None)]),
        (Queue(), [("enqueue", (None,), None), ("dequeue", (), None)]),
        *(
            (type(f"Other{kind.__name__}", (kind,), {"step": lambda *_: None})(), [])
            for kind in (Register, Queue, Stack)
        ),
    ],
)
def test_what_a_glance_cannot_tell_is_left_to_the_search(spec: Spec, rows: list[Any]) -> None:
    """A value twice, a value that was there, None as a value, and subclasses that may do otherwise."""
    history = operations_of(*((2 * at, 2 * at + 1, *row) for at, row in enumerate(rows)))
    assert spec.glance(history, spec.initial) is None


@pytest.mark.parametrize(
    ("spec", "put", "asked"),
    [
        (Register(), "write", "read"), (Queue(), "enqueue", "dequeue"), (Queue(), "enqueue", "len"),
        (Stack(), "push", "pop"), (Stack(), "push", "len"),
    ],
)  # fmt: skip
def test_types_of_answers_count_at_a_glance(spec: Spec, put: str, asked: str) -> None:
    for answer in (1, True):
        history = operations_of((0, 1, put, (1,), None), (2, 3, asked, (), answer))
        seen = spec.glance(history, spec.initial)
        assert isinstance(seen, Spec)
        assert is_linearizable(history, seen) is (answer is not True)


@pytest.mark.parametrize("spec", [Register(), Map(), Subscriptions(), Counter(), Queue(), KeyValue()])
def test_what_a_specification_does_not_know_is_an_error(spec: Spec) -> None:
    with pytest.raises(NotImplementedError, match=r"explode' does: it has [a-z_]+, "):
        check(operations_of((1, 2, "explode", (), None)), spec)


def test_all_published_histories_are_here() -> None:
    """`data/histories/README.md` tells where they come from, and `VERDICTS.tsv` has the verdicts."""
    assert len(KNOWN) == 58


@pytest.mark.parametrize(("file", "size", "known"), KNOWN, ids=[file for file, _, _ in KNOWN])
def test_published_histories_get_the_known_verdict_and_a_small_explanation(file: str, size: int, known: str) -> None:
    history, spec = read_history(HISTORIES / file, SPECS[file.partition("/")[0]])
    judgement = check(history, spec)
    assert (len(history), judgement.verdict.value) == (size, known)
    if judgement:
        return
    diagnosis = diagnose(judgement, spec, history)
    assert diagnosis is not None
    window = diagnosis.window
    assert check(window.operations, spec, starts=window.starts).verdict is Verdict.ILLEGAL
    without_culprit = [each for each in window.operations if each.id != window.culprit.id]
    assert check(without_culprit, spec, starts=window.starts).verdict is Verdict.LINEARIZABLE
    assert all(partial.refused for partial in diagnosis.partials)
    assert len(window.operations) < len(history)
