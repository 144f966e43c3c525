"""Every schedule of two threads on one trie, with answers, index, remembered answers and notices judged after each.

A match answers for one instant: a subscriber that is subscribed throughout, by whatever filters, is in the answer. Other
subscription tries read the branches of one level at different moments. This schedule shows it: a match has read one
branch and found no subscriber; a subscriber joins there and leaves the other branch; the match reads the other branch,
finds none, and answers "nobody", although the subscriber was subscribed throughout. The tests try it with all forms of
the two filters, at every access of every question. `test_threads.py` has real threads, `test_every_schedule.py` the
explorer's scenarios. Faults that are put back must be noticed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

import pytest

from stress.explorer.strategies import bounded
from tests.subtrie.support import On, Told, explained, subscription_twin, twin_trie
from tests.twins import Fault, Together, Twin

pytestmark = pytest.mark.once  # a copy of the interpreted source, in one thread, whatever twin the tests run


def schedules(
    twin: Twin,
    make: Callable[[], Any],
    one: Callable[[Any], Any],
    other: Callable[[Any], Any],
    judge: Callable[..., object],
) -> Together:
    """Run two operations under every schedule with one interruption. `judge` has the trie and both answers."""
    together = Together(twin, make, [one, other], judge)
    assert len(list(bounded(together, 1))) > 1
    return together


# ------------------------------------------------------------------------------------------------------- moving around

# Each question about a topic, and whether its answer has "anna". Any other subscriber that wants the topic is "bert".
QUESTIONS: dict[str, Callable[[Any, str], Any]] = {
    "match": lambda trie, topic: "anna" in trie.match(topic),
    "match_many": lambda trie, topic: "anna" in trie.match_many([topic])[0],
    "match_iter": lambda trie, topic: "anna" in list(trie.match_iter(topic)),
    "entries": lambda trie, topic: "anna" in {found.subscriber for found in trie.entries(topic)},
    "deliveries": lambda trie, topic: "anna" in {found.subscriber for found in trie.deliveries(topic)},
    "deliveries_of": lambda trie, topic: trie.deliveries_of(topic, "anna"),
    "has_match": lambda trie, topic: trie.has_match(topic),
    "count": lambda trie, topic: trie.count(topic) == 1,
}
# All of them match `a.b`, and all are different.
FILTERS = ["a.b", "*.b", "a.*", "*.*", "#", "a.#", "#.b", "*.#", "a.b.#", "#.a.b", "a.#.b", "#.a.#.b.#"]
BYSTANDERS = ["a.c", "*.c", "c.b", "a.*.c", "a.b.c", "c.#"]  # none matches; they keep levels from coming and going


def missed(twin: Twin, question: str, old: str, new: str, exact: bool = False) -> int:
    """Ask while anna moves from `old` to `new`; return after how many schedules the answer left her out."""
    misses = []

    def move(trie: Any) -> None:
        assert trie.subscribe(new, "anna")
        assert trie.unsubscribe(old, "anna")

    def judge(trie: Any, answer: Any, _: None) -> None:
        misses.append(not answer)
        trie.check()

    ons = [*(On(bystander, "bert") for bystander in BYSTANDERS), On(old, "anna")]
    schedules(
        twin, lambda: twin_trie(twin, *ons, exact=exact), lambda trie: QUESTIONS[question](trie, "a.b"), move, judge
    )
    return sum(misses)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_published_schedule(question: str) -> None:
    """The lookup reads the literal branch (empty); a.b comes and *.b goes; the lookup reads the * branch (empty)."""
    for move in (("*.b", "a.b"), ("a.b", "*.b"), ("#", "a.*")):
        assert missed(subscription_twin(), question, *move) == 0, move


@pytest.mark.parametrize("old", FILTERS)
def test_every_move(old: str) -> None:
    for number, new in enumerate(FILTERS):
        if new != old:
            exact = (number + FILTERS.index(old)) % 2 == 0
            assert missed(subscription_twin(), "match", old, new, exact) == 0, f"to {new}, {exact=}"


def test_a_match_ends_however_much_is_written() -> None:
    """After some attempts, a match reads a snapshot."""
    twin = subscription_twin()
    for seed in range(4):
        rng = random.Random(seed)
        trie = twin_trie(twin, On("a.b", "anna"), On("*.b", "bert"), On("a.c", "carl"), On("a.b", "dora"))
        filters = ["a.b", "*.b"]

        def move_dora_now_and_then(access: int) -> None:
            if rng.random() < 0.2:  # noqa: B023
                trie.subscribe(filters[1], "dora")  # noqa: B023
                trie.unsubscribe(filters[0], "dora")  # noqa: B023
                filters.reverse()  # noqa: B023

        with explained(f"seed {seed}"):
            for _ in range(5):
                found = twin.interfere(partial(trie.match, "a.b"), move_dora_now_and_then)
                assert sorted(found) == ["anna", "bert", "dora"]
                assert not twin.interfere(partial(trie.has_match, "b.d"), move_dora_now_and_then)
        trie.check()


def test_a_snapshot_amid_a_prune_is_sound() -> None:
    """It may hold a tomb for ever, and a branch that leads only there. That is not a fault, and adds no filter."""
    twin = subscription_twin()

    def judge(trie: Any, _: bool, cut: Any) -> None:
        cut.check()
        stats = cut.stats()
        assert (stats["filters"], stats["depth"]) == ((1, 2) if len(cut) else (0, 0))

    schedules(
        twin, partial(twin_trie, twin, On("a.b")), lambda t: t.unsubscribe("a.b", "x"), lambda t: t.snapshot(), judge
    )


# ------------------------------------------------------------------------------------------- two changes, all looked at


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "subscribe": lambda trie: trie.subscribe("a.b", "x"),
    "subscribe another": lambda trie: trie.subscribe("*.b", "x"),
    "another subscribes": lambda trie: trie.subscribe("a.b", "y"),
    "unsubscribe": lambda trie: trie.unsubscribe("a.b", "x"),
    "gone and back": lambda trie: (trie.unsubscribe("a.b", "x"), trie.subscribe("a.b", "x")),
    "unsubscribe_all": lambda trie: trie.unsubscribe_all("x"),
    "clear": lambda trie: trie.clear(),
    "many": lambda trie: trie.subscribe_many([("a.b", "x"), ("#", "x")]),
    "match": lambda trie: trie.match("a.b"),
    "a snapshot and then a write": lambda trie: (trie.snapshot(), trie.unsubscribe("a.b", "x")),
}


def changes(twin: Twin, names: Sequence[str], here: Sequence[On], **settings: Any) -> list[str]:
    """Run operations of two threads, or three; return what is wrong after some schedule: with the index, the remembered
    answers or the notices."""
    wrong: list[str] = []
    told = Told()

    def make() -> Any:
        told.__init__()  # type: ignore[misc]
        trie = twin_trie(twin, *here, **settings, **({} if "cache" in settings else {"on_interest": told}))
        trie.match("a.b")
        return trie

    def judge(trie: Any, *_: object) -> None:
        listed = list(trie.subscriptions())
        if set(trie.filters("x")) != {found.filter for found in listed if found.subscriber == "x"}:
            wrong.append(f"index: {together.execution.order}")
        if "cache" not in settings and told.wanted != {found.filter for found in listed}:
            wrong.append(f"notices: {together.execution.order}")
        expected = {found.subscriber for found in trie.entries("a.b")}
        if set(trie.match("a.b")) != expected or set(trie.match("a.b")) != expected:
            wrong.append(f"match: {together.execution.order}")
        trie.check()

    together = Together(twin, make, [OPERATIONS[name] for name in names], judge)
    assert len(list(bounded(together, 1))) > 1
    return wrong


HERE = [(), (On("a.b"),), (On("a.b"), On("a.c", "y"), On("a.d", "z"))]


@pytest.mark.parametrize("settings", [{"index": True}, {"cache": 4}], ids=str)
@pytest.mark.parametrize("names", [*combinations(OPERATIONS, 2)], ids="; ".join)
def test_two_changes_leave_all_in_order(names: Sequence[str], settings: dict[str, Any]) -> None:
    """Both orders are among the schedules. The index is tried beside a listener, from one start or another."""
    here = HERE[sum(map(list(OPERATIONS).index, names)) % 3] if "index" in settings else HERE[2]
    assert changes(subscription_twin(), names, here, **settings) == [], here


THREE = [("subscribe", "subscribe", "unsubscribe"), ("subscribe", "unsubscribe", "subscribe another")]


@pytest.mark.parametrize("names", THREE, ids="; ".join)
def test_three_changes_leave_all_in_order(names: Sequence[str]) -> None:
    for here in HERE:
        assert changes(subscription_twin(), names, here, index=True) == [], here


# ---------------------------------------------------------------------------------------------- what a call has told


def test_filters_are_those_of_one_instant() -> None:
    """The subscriber moves from one filter to the other and is on both in between."""
    moved(subscription_twin())


def moved(twin: Twin) -> None:
    def move(trie: Any) -> None:
        assert trie.subscribe("c", "x")
        assert trie.unsubscribe("a.b", "x")

    def judge(trie: Any, answer: list[str], _: None) -> None:
        assert sorted(answer) in (["a.b"], ["a.b", "c"], ["c"])
        trie.check()

    schedules(twin, partial(twin_trie, twin, On("a.b"), index=True), lambda trie: trie.filters("x"), move, judge)


ROWS = ("a.b.x", "a.c.x", "a.b", "d.b.c", "d.x", "a.b.c.d.e")
MEANWHILE: dict[str, Callable[[Any], object]] = {
    "subscribe": lambda trie: trie.subscribe("z", "other"),
    "subscribe near": lambda trie: trie.subscribe("a.b.y", "other"),
    "unsubscribe": lambda trie: trie.unsubscribe("a.b.c", "one"),
    "snapshot": lambda trie: trie.snapshot(),
}


@pytest.mark.parametrize("call", ["subscribe_many", "unsubscribe_many"])
@pytest.mark.parametrize("other", MEANWHILE)
def test_as_many_are_told_as_were_changed_whatever_another_thread_does(call: str, other: str) -> None:
    """Also how often a change had to be tried again is told."""
    twin, rows = subscription_twin(), [(filter, "mine") for filter in ROWS]
    before = ROWS[3:4] if call == "subscribe_many" else ROWS
    retries = set()

    def judge(trie: Any, told: int, _: object) -> None:
        retries.add(trie.stats()["retries"] > 0)
        assert told == (len(rows) - len(before) if call == "subscribe_many" else len(rows))
        assert {s.filter for s in trie if s.subscriber == "mine"} == (set(ROWS) if call == "subscribe_many" else set())
        trie.check()

    for here in ((), ("a.b.c", "a.b.d"), ("a", "a.b"), ("a.b.c.d", "a.c"), ("d.a", "d.b.c", "d.b.d")):
        ons = [*(On(filter, "one") for filter in here), *(On(filter, "mine") for filter in before)]
        with explained(str(here)):
            schedules(
                twin, partial(twin_trie, twin, *ons), lambda trie: getattr(trie, call)(rows), MEANWHILE[other], judge
            )
    assert other != "subscribe" or call == "unsubscribe_many" or retries == {False, True}


# ------------------------------------------------------------------------------------------------- faults put back

MATCHING, CACHE, SCRATCH = (
    "subtrie._trie.match.matching",
    "subtrie._trie.match.answer_cache",
    "subtrie._trie.match.scratch",
)
INDEX, TRIE = "subtrie._trie.reverse_index", "subtrie._trie.changeable"


def moves_are_missed(twin: Twin, question: str) -> bool:
    return any(missed(twin, question, *move) for move in (("*.b", "a.b"), ("a.b", "*.b")))


OF_MATCHES = [
    Fault("branches are read at different moments", MATCHING, "not still_holds(t, root, first)", "False"),
    Fault(
        "the second pass looks at the root only",
        MATCHING,
        "if peek(as_node(seen[at])) is not as_node(seen[at + 1]):",
        "if False:",
    ),
]
HASTY_NO = Fault(
    "has_match says no after one pass",
    MATCHING,
    "outcome == THROUGH and OTHERS",
    "outcome == THROUGH and not t.only_first and OTHERS",
)
OF_CACHES = [
    Fault("an answer is recalled whatever has changed", CACHE, "and _still_hold(found)", ""),
    Fault(
        "only the first level is watched",
        SCRATCH,
        "for at in range(0, len(seen), 3) for one",
        "for at in range(0, 3, 3) for one",
    ),
    Fault(
        "another root is taken for the same one",
        CACHE,
        "is_exactly(first, INode) and peek(first) is item_of(remembered, FIRST_MAIN)",
        "True",
    ),
]


OF_INDEXES = [
    Fault(
        "whoever unsubscribes strikes a filing whose owner is not through",
        INDEX,
        "            if compare_and_set(filing.state, PENDING, TOUCHED) or load(filing.state) is TOUCHED:\n",
        "            if False:\n",
    ),
    Fault(
        "the owner does not mind that it was touched", INDEX, "        return not untouched\n", "        return False\n"
    ),
    Fault(
        "the key takes the place of a filing that is not confirmed",
        INDEX,
        "        if not filings or [one for one in filings if not _is_confirmed(one)]:\n",
        "        if not filings:\n",
    ),
    Fault(
        "a filing takes the place of others that are not confirmed",
        INDEX,
        " for one in filings_of(find_filed(pair.value, self.key)) if ",
        " for one in () if ",
    ),
    Fault(
        "a filing that was touched is never confirmed",
        INDEX,
        "filing.state, TOUCHED, CONFIRMED",
        "filing.state, TOUCHED, TOUCHED",
    ),
    Fault(
        "a strike takes out of whatever pair it finds", INDEX, "self.done = pair is self.expected", "self.done = True"
    ),
    Fault(
        "a strike that failed is not tried again",
        TRIE,
        "if index.strike(owner, hash, key, pair):",
        "if index.strike(owner, hash, key, pair) or True:",
    ),
    Fault(
        "nobody looks at the trie before a strike",
        TRIE,
        "if pair is None or _entry_at(self._root, self._plan.separator, place, subscriber, hash, edit) is not None:",
        "if pair is None:",
    ),
    Fault("the filters are read at two instants", TRIE, "if index.pair_of(subscriber, hash) is pair:", "if True:"),
]


@pytest.mark.parametrize("question", [name for name in QUESTIONS if name != "match_iter"])  # it reads a snapshot
@pytest.mark.parametrize("fault", OF_MATCHES, ids=lambda fault: fault.name)
def test_a_match_at_several_instants_is_noticed(fault: Fault, question: str) -> None:
    assert moves_are_missed(subscription_twin(fault), question)


def test_a_no_after_one_pass_is_noticed() -> None:
    assert moves_are_missed(subscription_twin(HASTY_NO), "has_match")


@pytest.mark.parametrize("fault", OF_CACHES, ids=lambda fault: fault.name)
def test_an_outdated_answer_is_noticed(fault: Fault) -> None:
    twin = subscription_twin(fault)
    assert any(changes(twin, ("match", other), HERE[2], cache=4) for other in OPERATIONS if other != "match")


@pytest.mark.parametrize("fault", OF_INDEXES, ids=lambda fault: fault.name)
def test_an_index_that_is_not_in_order_is_noticed(fault: Fault) -> None:
    twin = subscription_twin(fault)
    with pytest.raises(AssertionError):
        moved(twin)
        for names, here in product(
            [THREE[0], *((name, "unsubscribe") for name in ("subscribe", "subscribe another"))], HERE
        ):
            assert not changes(twin, names, here, index=True)
