"""Pairs of Ctrie operations, on every start that matters, with a thread switch at every access.

One operation is held before its k-th access of a slot, for every k, while another thread runs an operation to its end,
or up to a change after which it stops for ever. Some operations are held at two accesses. All answers, and the final
content, must be those of some order of the operations by the specification, which is one line about a dict for each.
Afterwards the trie must pass `check()`, have no more nodes than if its keys had just been inserted, and share nothing
with its snapshots.

Each run tries a third of the pairs (`share`). Known faults of other implementations are restored elsewhere: in
test_ctrie_protocols.py, and in the explorer's catalogue of mutants.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, NamedTuple

import pytest

from tests.schedule import LIVELOCK, Key, Twin, Watch, hash_of, key, load_twin, share

pytestmark = pytest.mark.once  # the same interpreted source, in one thread, whatever twin the tests run

# ------------------------------------------------------------------------------------------------------ specification

State = dict[Key, Any]
Outcomes = list[tuple[Any, State]]  # what an operation may return, and the state it leaves

OLD = "old"  # the value of every key at the start


class Operation(NamedTuple):
    """An operation on a Ctrie and a key, with a value to write, and its allowed outcomes by the specification."""

    run: Callable[[Any, Key, str], Any]
    outcomes: Callable[[State, Key, str], Outcomes]


class Cut(NamedTuple):
    """The content that a snapshot showed when it was taken. It must show the same for ever."""

    trie: Any
    shown: State


def cut(trie: Any) -> Cut:
    return Cut(trie, dict(trie.items()))


def fork_and_write(trie: Any, k: Key, value: str) -> Cut:
    fork = trie.snapshot()
    fork[k] = value
    return cut(fork)


def popitem(trie: Any, k: Key, value: str) -> Any:
    try:
        return trie.popitem()
    except KeyError:
        return "empty"


def without(state: State, k: Key) -> State:
    return {other: value for other, value in state.items() if other != k}


def popped(state: State) -> Outcomes:
    return [((k, value), without(state, k)) for k, value in state.items()] or [("empty", state)]


OPERATIONS = {
    "get": Operation(
        lambda m, k, v: m.get(k),
        lambda s, k, v: [(s.get(k), s)],
    ),
    "set": Operation(
        lambda m, k, v: m.__setitem__(k, v),
        lambda s, k, v: [(None, {**s, k: v})],
    ),
    "put_if_absent": Operation(
        lambda m, k, v: m.put_if_absent(k, v),
        lambda s, k, v: [(s.get(k), {k: v, **s})],
    ),
    "pop": Operation(
        lambda m, k, v: m.pop(k, None),
        lambda s, k, v: [(s.get(k), without(s, k))],
    ),
    "replace": Operation(
        lambda m, k, v: m.replace(k, v),
        lambda s, k, v: [(k in s, {**s, k: v} if k in s else s)],
    ),
    "replace_if": Operation(
        lambda m, k, v: m.replace_if(k, OLD, v),
        lambda s, k, v: [(s.get(k) == OLD, {**s, k: v} if s.get(k) == OLD else s)],
    ),
    "remove_if": Operation(
        lambda m, k, v: m.remove_if(k, OLD),
        lambda s, k, v: [(s.get(k) == OLD, without(s, k) if s.get(k) == OLD else s)],
    ),
    "compute": Operation(
        lambda m, k, v: m.compute(k, lambda old: (old, v)),
        lambda s, k, v: [((s.get(k), v), {**s, k: (s.get(k), v)})],
    ),
    "popitem": Operation(popitem, lambda s, k, v: popped(s)),
    "clear": Operation(
        lambda m, k, v: m.clear(),
        lambda s, k, v: [(None, {})],
    ),
    "len": Operation(
        lambda m, k, v: len(m),
        lambda s, k, v: [(len(s), s)],
    ),
    "bool": Operation(
        lambda m, k, v: bool(m),
        lambda s, k, v: [(bool(s), s)],
    ),
    "items": Operation(
        lambda m, k, v: dict(m.items()),
        lambda s, k, v: [(s, s)],
    ),
    "snapshot": Operation(
        lambda m, k, v: cut(m.snapshot()),
        lambda s, k, v: [(s, s)],
    ),
    "readonly_snapshot": Operation(
        lambda m, k, v: cut(m.readonly_snapshot()),
        lambda s, k, v: [(s, s)],
    ),
    "fork_and_write": Operation(
        fork_and_write,
        lambda s, k, v: [({**s, k: v}, s)],
    ),
}


# ------------------------------------------------------------------------------------------------------------- starts


class Start(NamedTuple):
    """How a trie is made, and the pairs of keys for the first and the second operation."""

    build: Callable[[Twin], Any]
    keys: list[tuple[Key, Key]]
    abandoned: bool = False  # a thread has been suspended in `pop(A)`

    def make(self, twin: Twin) -> Any:
        return twin.schedule.watched(Watch(), lambda: self.build(twin))

    def states(self, twin: Twin) -> list[State]:
        """The allowed contents: until some operation looks, an abandoned one may or may not have taken effect."""
        state = dict(self.make(twin).items())
        return [without(state, A), {**state, A: OLD}] if self.abandoned else [state]


def filled(*keys: Key) -> Callable[[Twin], Any]:
    def build(twin: Twin) -> Any:
        trie = twin.Ctrie(hash=hash_of)
        for k in keys:
            trie[k] = OLD
        return trie

    return build


def after_snapshot(*keys: Key) -> Callable[[Twin], Any]:
    """All I-nodes below the root are of an older generation than the root."""

    def build(twin: Twin) -> Any:
        trie = filled(*keys)(twin)
        trie.snapshot()
        return trie

    return build


def mixed_generations(twin: Twin) -> Any:
    """Below one C-node, an I-node of the root's generation beside one of an older generation (ctrie's invariant I3)."""
    trie = after_snapshot(A, Y1, Y2)(twin)
    trie[A] = OLD  # the root's C-node is now of the present generation, the I-node above Y1 and Y2 is not
    trie[A2] = OLD  # beside it, an I-node of the present generation
    return trie


def suspended(operation: Callable[[Any], Any], after_change: int, *keys: Key) -> Callable[[Twin], Any]:
    """A thread has been suspended for ever in `operation`, after its change number `after_change`."""

    def build(twin: Twin) -> Any:
        trie = filled(*keys)(twin)
        assert twin.schedule.suspend(lambda: operation(trie), after_change)
        return trie

    return build


A, A2, A3, B = key("a", 1, 1), key("a2", 1, 2), key("a3", 1, 3), key("b", 2)
LOW1, LOW2, LOW3 = key("l1", 1, 1, 1), key("l2", 1, 1, 2), key("l3", 1, 2)
DEEP1, DEEP2, DEEP3 = key("d1", 4, 4, 4, 1), key("d2", 4, 4, 4, 2), key("d3", 4, 4, 5)
Y1, Y2, Y3 = key("y1", 7, 1), key("y2", 7, 2), key("y3", 7, 3)
TWIN1, TWIN2, TWIN3 = (Key(name, 0x8000_0000_0000_0003) for name in ("t1", "t2", "t3"))

STARTS = {
    "empty": Start(filled(), [(A, A), (A, A2), (A, B)]),
    "one key": Start(filled(A), [(A, A), (A, B)]),
    "about to split": Start(filled(A), [(A, A2), (A2, A), (A2, A2)]),
    "about to tomb": Start(filled(A, A2), [(A, A), (A, A2), (A, B)]),
    "tomb beside a key": Start(filled(A, A2, B), [(A, A2), (A, B), (B, A3)]),
    "about to tomb two levels deep": Start(filled(LOW1, LOW2, LOW3), [(LOW1, LOW2), (LOW1, LOW3)]),
    "about to tomb three levels deep": Start(filled(DEEP1, DEEP2), [(DEEP1, DEEP2), (DEEP1, DEEP3), (DEEP3, DEEP1)]),
    "about to collide": Start(filled(TWIN1), [(TWIN1, TWIN2), (TWIN2, TWIN1)]),
    "collision about to shrink": Start(filled(TWIN1, TWIN2), [(TWIN1, TWIN2), (TWIN3, TWIN1)]),
    "after a snapshot": Start(after_snapshot(A, A2, Y1, Y2), [(A, A), (A, Y1)]),
    "mixed generations": Start(mixed_generations, [(A, Y1), (A, A2), (Y1, A), (Y3, A2)]),
    "left with a pending tomb": Start(suspended(lambda m: m.pop(A), 1, A, A2, B), [(A, A2), (A2, A), (A2, B)], True),
    "left with a tomb": Start(suspended(lambda m: m.pop(A), 2, A, A2, B), [(A, A2), (A2, A), (A2, B)], True),
}


# -------------------------------------------------------------------------------------------------------- exploration

Step = tuple[str, Key]  # an operation on a key
LOOK_AGAIN = "look again"


class Burst(NamedTuple):
    """What other threads do while the first is held once: some steps, or one step in which a thread stops for ever.

    The step `look again` reads all the snapshots that earlier steps took.
    """

    steps: tuple[Step, ...]
    suspended: bool = False

    def __str__(self) -> str:
        return "; ".join(f"{name}({k})" for name, k in self.steps) + (" for ever" if self.suspended else "")


class Case(NamedTuple):
    """A start, the operation that is held, and what happens when it is held for the first time, the second time, ..."""

    start: str
    first: Step
    bursts: tuple[Burst, ...]

    def __str__(self) -> str:
        return f"{self.start}: {self.first[0]}({self.first[1]}) against {' | '.join(map(str, self.bursts))}"


def explore(twin: Twin, case: Case) -> int:
    """Try all schedules of `case` that can make a difference; AssertionError if the outcome of one of them cannot be
    explained. Return how many there were."""
    expected = [found for state in STARTS[case.start].states(twin) for found in explanations(case, state)]
    number = 0
    for after_change in range(1, LIVELOCK) if any(burst.suspended for burst in case.bursts) else [0]:
        schedules = Schedules(twin, case, after_change)
        for trie, results, where in schedules.run():
            with explained(where):
                twin.schedule.watched(Watch(), functools.partial(judge, twin, case, trie, results, expected))
            number += 1
        if not schedules.suspended:
            break
    return number


class Schedules:
    """The schedules of a case in which a thread stops for ever after its change number `after_change`."""

    def __init__(self, twin: Twin, case: Case, after_change: int) -> None:
        self.twin = twin
        self.case = case
        self.after_change = after_change
        self.suspended = False  # whether a thread has been suspended

    def run(self, earlier: tuple[int, ...] = ()) -> Iterator[tuple[Any, list[Any], str]]:
        """Yield the trie after each schedule, the results, and a name for the schedule."""
        at: int | None = earlier[-1] + 1 if earlier else 1
        while at is not None:
            where = f"{self.case}, held at {[*earlier, at]}, others suspended after change {self.after_change}"
            with explained(where):
                outcome = self.run_one([*earlier, at])
            if outcome is None:
                return
            trie, results, following = outcome
            if len(earlier) + 1 < len(self.case.bursts):
                yield from self.run((*earlier, at))
            else:
                yield trie, results, where
            at = following

    def run_one(self, ats: list[int]) -> tuple[Any, list[Any], int | None] | None:
        """Hold the first operation at each of `ats`. None if it does not make that many accesses."""
        trie = STARTS[self.case.start].make(self.twin)
        results: list[Any] = []
        others = {at: self.call(trie, burst, results) for at, burst in zip(ats, self.case.bursts, strict=False)}
        name, k = self.case.first
        try:
            switched = self.twin.schedule.switch(lambda: OPERATIONS[name].run(trie, k, "1"), others)
        except LookupError:
            return None
        return trie, [switched.first, *results], switched.next

    def call(self, trie: Any, burst: Burst, results: list[Any]) -> Callable[[], None]:
        def take_steps() -> None:
            for name, k in burst.steps:
                if name == LOOK_AGAIN:
                    for result in results:
                        settled(result)
                else:
                    results.append(OPERATIONS[name].run(trie, k, "2"))

        def suspend() -> None:
            ((name, k),) = burst.steps
            operation = OPERATIONS[name].run
            self.suspended |= self.twin.schedule.suspend(lambda: operation(trie, k, "2"), self.after_change)

        return suspend if burst.suspended else take_steps


def judge(twin: Twin, case: Case, trie: Any, results: list[Any], expected: list[Explanation]) -> None:
    keys = {k for _, state in expected for k in state}
    left = {k: trie.get(k) for k in keys if k in trie}  # iterating would give it a new generation
    seen = [settled(result) for result in results], left
    assert seen in expected, f"{seen} is not among {expected}"
    if not (STARTS[case.start].abandoned or any(burst.suspended for burst in case.bursts)):
        assert canonical(trie._shape()) == fresh_shape(frozenset(left), twin), f"superfluous nodes: {trie._shape()}"
    cuts = [result for result in results if isinstance(result, Cut)]
    if cuts:
        keep_apart(trie, cuts, keys)
    trie.check()


@contextmanager
def explained(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as raised:
        raised.add_note(where)
        raise


Explanation = tuple[list[Any], State]  # the results, that of the first operation first, and what is left


def explanations(case: Case, state: State) -> list[Explanation]:
    """The outcomes by specification of all orders. The first operation may come anywhere among the others' steps. A
    suspended operation may come anywhere, too, or not at all."""
    orders: list[tuple[tuple[str, Key, str], ...]] = [
        tuple(
            (name, k, "2")
            for burst in case.bursts
            if not burst.suspended
            for name, k in burst.steps
            if name != LOOK_AGAIN
        )
    ]
    orders = [inserted for order in orders for inserted in insertions(order, (*case.first, "1"))]
    for burst in case.bursts:
        if burst.suspended:
            ((name, k),) = burst.steps
            orders += [inserted for order in orders for inserted in insertions(order, (name, k, "2 "))]
    return [outcome for order in orders for outcome in outcomes(order, state)]


def insertions(order: tuple[Any, ...], item: Any) -> list[tuple[Any, ...]]:
    return [(*order[:place], item, *order[place:]) for place in range(len(order) + 1)]


def outcomes(order: tuple[tuple[str, Key, str], ...], state: State) -> list[Explanation]:
    branches: list[tuple[list[Any], list[Any], State]] = [([], [], state)]
    for name, k, value in order:
        branches = [
            (
                [result] if value == "1" else first,
                [*others, result] if value == "2" else others,
                after,
            )
            for first, others, before in branches
            for result, after in OPERATIONS[name].outcomes(before, k, value.strip())
        ]
    return [(first + others, final) for first, others, final in branches]


def settled(result: Any) -> Any:
    """A result in the specification's form. A snapshot must still show what it showed at first."""
    if not isinstance(result, Cut):
        return result
    assert dict(result.trie.items()) == result.shown, "a snapshot has changed"
    return result.shown


def keep_apart(trie: Any, cuts: list[Cut], keys: set[Key]) -> None:
    """Write to the trie and to its snapshots; none must see another's writes."""
    for k in keys:
        trie[k] = "later"
    for shown in cuts:
        settled(shown)
        with suppress(TypeError):  # it may be a read-only one
            for k in keys:
                shown.trie[k] = "elsewhere"
        shown.trie.check()
    assert dict(trie.items()) == dict.fromkeys(keys, "later"), "a write to a snapshot shows in its source"


@functools.cache
def fresh_shape(keys: frozenset[Key], twin: Twin) -> tuple[Any, ...]:
    """The nodes of a trie into which `keys` were inserted one by one."""
    return canonical(filled(*keys)(twin)._shape())


def canonical(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape, without the order of the entries of L-nodes."""
    kind, *children = shape
    if kind == "S":
        return shape
    canonical_children = [canonical(child) for child in children]
    return (kind, *(sorted(canonical_children) if kind == "L" else canonical_children))


# -------------------------------------------------------------------------------------------------------- the matrix


def pairs(start: str, first: str) -> list[Case]:
    return [
        Case(start, (first, first_key), (Burst(((second, second_key),)),))
        for second in OPERATIONS
        for first_key, second_key in STARTS[start].keys
    ]


@pytest.mark.parametrize("first", OPERATIONS)
@pytest.mark.parametrize("start", STARTS)
def test_two_operations(start: str, first: str) -> None:
    twin = load_twin()
    chosen = share(pairs(start, first))
    assert sum(explore(twin, case) for case in chosen) >= len(chosen) > 0


# Below, these operations stand for all: each of them reads, changes or replaces something that the rest do not.
CORE = ["get", "set", "pop", "compute", "clear", "items", "readonly_snapshot", "fork_and_write"]


def suspended_pairs(start: str, first: str) -> list[Case]:
    return [
        Case(start, (first, first_key), (Burst(((second, second_key),), suspended=True),))
        for second in CORE
        for first_key, second_key in STARTS[start].keys
    ]


@pytest.mark.parametrize("first", CORE)
@pytest.mark.parametrize("start", STARTS)
def test_an_operation_beside_a_thread_that_stops_for_ever(start: str, first: str) -> None:
    twin = load_twin()
    for case in share(suspended_pairs(start, first)):
        explore(twin, case)


# Faults that show only at two moments: something was seen that then never happened, a snapshot changed, or what was
# seen was never there all at once. X is the key of the operation that is held, Y is another key.
SCRIPTS: dict[str, list[list[str]]] = {
    "a key moves": [["pop X", "set Y"]],
    "a key comes and another goes": [["set X", "pop Y"]],
    "a write is read, then perhaps undone": [["get X", "readonly_snapshot X"]],
    "a snapshot is read twice": [["readonly_snapshot X"], ["look again X"]],
    "a snapshot, then a write on top": [["readonly_snapshot X"], ["set Y", "get X"]],
    "a snapshot after a write": [["set Y"], ["readonly_snapshot X"]],
    "a write after a fork": [["snapshot X"], ["set X"]],
    "a snapshot beside a write that stops for ever": [["set Y for ever"], ["readonly_snapshot X", "look again X"]],
}


def scripted(start: str, first: str) -> list[Case]:
    return [
        Case(start, (first, x), tuple(burst(texts, x, y) for texts in script))
        for script in SCRIPTS.values()
        if len(script) == 1 or "colli" not in start  # the path to an L-node is too long for two holds on it
        for x, y in STARTS[start].keys
    ]


def burst(texts: list[str], x: Key, y: Key) -> Burst:
    plain = [text.removesuffix(" for ever") for text in texts]
    return Burst(tuple((text[:-2], {"X": x, "Y": y}[text[-1]]) for text in plain), plain != texts)


@pytest.mark.parametrize("first", [*CORE, "len"])
@pytest.mark.parametrize("start", STARTS)
def test_an_operation_against_scripts(start: str, first: str) -> None:
    twin = load_twin()
    for case in share(scripted(start, first)):
        explore(twin, case)


@pytest.mark.parametrize(("start", "first"), [("empty", "set"), ("about to tomb", "pop"), ("after a snapshot", "set")])
@pytest.mark.parametrize("second", ["set", "readonly_snapshot", "clear"])
def test_two_operations_that_hold_each_other(start: str, first: str, second: str) -> None:
    twin = load_twin()
    x, y = STARTS[start].keys[1]
    explore_held(twin, Case(start, (first, x), (Burst(((second, y),)),)))


def explore_held(twin: Twin, case: Case) -> None:
    """The first operation is held, then the second; the first runs to its end, then the second."""
    expected = [found for state in STARTS[case.start].states(twin) for found in explanations(case, state)]
    (((name, k),), _) = case.bursts[0]
    for at in count(1):
        for other_at in count(1):
            where = f"{case}, first held at {at}, second at {other_at}"
            with explained(where):
                trie = STARTS[case.start].make(twin)
                first = twin.schedule.hold(
                    lambda trie=trie: OPERATIONS[case.first[0]].run(trie, case.first[1], "1"), at
                )
                second = twin.schedule.hold(lambda trie=trie: OPERATIONS[name].run(trie, k, "2"), other_at)
                results = [first.release(), second.release()]
                if first.was_held:
                    twin.schedule.watched(Watch(), functools.partial(judge, twin, case, trie, results, expected))
            if not (first.was_held and second.was_held):
                break
        if not first.was_held:
            return
