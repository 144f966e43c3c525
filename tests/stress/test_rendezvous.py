"""Calls that wait for one another and take effect at once: a handoff, an exchanger, a barrier."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

import pytest

import stress
from stress import UNSEEN, WAITS, Operation, PerKey, Spec, SpecError, Verdict, check, is_linearizable
from stress.checker.search import Search
from stress.checker.waiting import wait_as_they_should
from stress.frozen_states import judged
from stress.reports.report import report_on

# ---------------------------------------------------------------------------------------------------- specifications


class Handoff(Spec):
    """A put and a take wait for one another. An offer, and a poll, give up if nobody is there."""

    meetings = (("put", "take"), ("offer", "take"), ("put", "poll"))

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return {"offer": (state, False), "poll": (state, None)}.get(op, WAITS)

    def meet(self, state: Any, calls: Any) -> Any:
        (giving, (item,)), _ = calls
        return state, (True if giving == "offer" else None, item)


class Exchanger(Spec):
    meetings = (("exchange", "exchange"),)

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return WAITS

    def meet(self, state: Any, calls: Any) -> Any:
        (_, (one,)), (_, (other,)) = calls
        return state, (other, one)


class Barrier(Spec):
    """Three meet; each gets its number, and the object counts how often that was so."""

    initial = 0
    meetings = (("wait",) * 3,)

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return (state, state) if op == "count" else WAITS

    def meet(self, state: Any, calls: Any) -> Any:
        return state + 1, (0, 1, 2)


class Transfer(Spec):
    """A queue in a list (a state that is changed in place), whose `transfer` waits until its item is taken."""

    initial: Any = []
    meetings = (("transfer", "take"),)

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "put":
            state.append(args[0])
            return state, None
        if op == "take" and state:
            return state, state.pop(0)
        return WAITS

    def meet(self, state: Any, calls: Any) -> Any:
        (_, (item,)), _ = calls
        if state:
            return WAITS  # the queue's own items come first
        state.append(("was here", item))
        state.pop()
        return state, (None, item)


def put_or_take(random: Random) -> tuple[str, tuple[Any, ...]]:
    item = random.randrange(2)
    return random.choice([("put", (item,)), ("take", ()), ("take", ()), ("offer", (item,)), ("poll", ())])


def exchange(random: Random) -> tuple[str, tuple[Any, ...]]:
    return "exchange", (random.randrange(3),)


def wait_or_count(random: Random) -> tuple[str, tuple[Any, ...]]:
    return random.choice(["wait", "wait", "wait", "wait", "count"]), ()


def transfer(random: Random) -> tuple[str, tuple[Any, ...]]:
    item = random.randrange(2)
    return random.choice([("put", (item,)), ("transfer", (item,)), ("take", ()), ("take", ())])


ANSWERS: dict[str, list[Any]] = {
    "put": [None],
    "take": [0, 1],
    "offer": [True, False],
    "poll": [None, 0, 1],
    "exchange": [0, 1, 2],
    "wait": [0, 1, 2],
    "count": [0, 1],
    "transfer": [None],
}
KINDS: dict[str, tuple[Spec, Any]] = {
    "handoff": (Handoff(), put_or_take),
    "exchanger": (Exchanger(), exchange),
    "barrier": (Barrier(), wait_or_count),
    "transfer": (Transfer(), transfer),
}

# -------------------------------------------------------------------------------------------------- the simplest checker


def some_order_is_legal(left: Sequence[Operation], spec: Spec, state: Any) -> bool:
    """All sequences of single operations and meetings, with every choice of pending ones."""
    if all(each.returned is None for each in left):
        return True
    sizes = {1, *map(len, spec.meetings)}
    for size in sizes:
        for element in itertools.permutations(left, size):
            rest = [each for each in left if each not in element]
            if any(end(other) < each.call for other in (*rest, *element) for each in element):
                continue
            if any(some_order_is_legal(rest, spec, after) for after in after_element(element, spec, state)):
                return True
    return False


def end(operation: Operation) -> float:
    return float("inf") if operation.returned is None else operation.returned


def after_element(element: Sequence[Operation], spec: Spec, state: Any) -> list[Any]:
    if len(element) == 1:
        found = spec.step(copied(state), element[0].op, element[0].args)
        answers: Any = None if found is WAITS else (found[1],)
    elif tuple(each.op for each in element) in spec.meetings:
        found = spec.meet(copied(state), tuple((each.op, each.args) for each in element))
        answers = None if found is WAITS else found[1]
    else:
        return []
    if answers is None:
        return []
    fits = all(each.result in (UNSEEN, answer) for each, answer in zip(element, answers, strict=True))
    return [found[0]] if fits else []


def copied(state: Any) -> Any:
    return list(state) if isinstance(state, list) else state


def small_history(random: Random, any_call: Any) -> list[Operation]:
    size = random.randrange(2, 7)
    moments = range(100) if random.random() < 0.7 else [*range(6)] * size  # the latter has many ties
    times = sorted(random.sample(moments, 2 * size))
    owners = [*range(size)] * 2  # all at once: partners must overlap
    if random.random() < 0.7:
        random.shuffle(owners)
    spans: dict[int, list[int]] = {number: [] for number in range(size)}
    for time, owner in zip(times, owners, strict=True):
        spans[owner].append(time)
    found = []
    for number in range(size):
        op, args = any_call(random)
        called, returned = spans[number]
        result = random.choice(ANSWERS[op])
        lot = random.random()
        if lot < 0.15:
            found.append(Operation(number, number, called, None, op, args, UNSEEN))
        else:
            found.append(Operation(number, number, called, returned, op, args, UNSEEN if lot < 0.3 else result))
    return found


@pytest.mark.once  # the checker alone, which is the same everywhere
@pytest.mark.parametrize("kind", KINDS)
def test_the_checker_agrees_with_the_simplest_one(kind: str) -> None:
    spec, any_call = KINDS[kind]
    random, seen = Random(f"meetings of {kind}"), {True: 0, False: 0}
    for _ in range(800):
        history = small_history(random, any_call)
        known = some_order_is_legal(history, spec, spec.initial)
        seen[known] += 1
        assert is_linearizable(history, spec) == known, history
        assert (check(history, spec).verdict is Verdict.LINEARIZABLE) == known, history
        if known:
            assert judged(spec, partial(search_relaxed, history)), history
    assert min(seen.values()) > 80, seen


def search_relaxed(history: Sequence[Operation], spec: Spec) -> bool:
    ending = Search(history, spec, [spec.initial], relaxed=True).advance(1_000_000)
    return ending is not None and ending.linearizable


# ------------------------------------------------------------------------------------------------------ single histories


def put(call: int, returned: int | None, item: int, thread: int = 0) -> Operation:
    return Operation(thread, thread, call, returned, "put", (item,), UNSEEN if returned is None else None)


def take(call: int, returned: int, item: Any, thread: int = 1) -> Operation:
    return Operation(thread, thread, call, returned, "take", (), item)


def verdict(*history: Operation, spec: Spec | None = None) -> Verdict:
    return check(history, spec or Handoff()).verdict


def test_partners_take_effect_at_once() -> None:
    assert verdict(put(1, 4, 7), take(2, 3, 7)) is Verdict.LINEARIZABLE
    assert verdict(put(1, 2, 7), take(2, 3, 7)) is Verdict.LINEARIZABLE  # the same tick counts as overlapping


def test_partners_overlap() -> None:
    assert verdict(put(1, 2, 7), take(3, 4, 7)) is Verdict.ILLEGAL
    assert verdict(put(3, 4, 7), take(1, 2, 7)) is Verdict.ILLEGAL
    between = Operation(2, 2, 0, 9, "offer", (1,), False)  # no quiescent cut between the two
    assert verdict(put(1, 2, 7), take(3, 4, 7), between) is Verdict.ILLEGAL


def test_nothing_is_lost_doubled_or_made_up() -> None:
    assert verdict(put(1, 4, 7), take(2, 3, 8)) is Verdict.ILLEGAL
    assert verdict(put(1, 4, 7), take(2, 3, 7), take(2, 3, 7, 2)) is Verdict.ILLEGAL
    assert verdict(put(1, 4, 7)) is Verdict.ILLEGAL
    assert verdict(put(1, 4, 7), put(1, 4, 7, 2), take(2, 3, 7)) is Verdict.ILLEGAL


def test_a_pending_call_may_be_a_partner() -> None:
    assert verdict(put(1, None, 7), take(2, 3, 7)) is Verdict.LINEARIZABLE
    assert verdict(put(4, None, 7), take(2, 3, 7)) is Verdict.ILLEGAL
    assert verdict(put(1, None, 7), take(2, 3, 7), take(2, 3, 7, 2)) is Verdict.ILLEGAL


def test_types_of_what_is_handed_over_count() -> None:
    assert verdict(put(1, 8, 1), put(1, 8, True, 2), take(2, 3, True), take(2, 3, 1, 3)) is Verdict.LINEARIZABLE
    assert verdict(put(1, 8, 1), put(1, 8, True, 2), take(2, 3, True), take(2, 3, True, 3)) is Verdict.ILLEGAL


def test_many_that_overlap_are_judged_in_linear_time() -> None:
    history = [
        each
        for at in range(3_000)
        for each in (
            put(4 * at, 4 * at + 5, at)._replace(id=2 * at, thread=at % 2),
            take(4 * at + 1, 4 * at + 4, at)._replace(id=2 * at + 1, thread=2),
        )
    ]
    judgement = check(history, Handoff())
    assert judgement.verdict is Verdict.LINEARIZABLE
    assert judgement.steps < 10 * len(history)
    last = history[-1]
    assert check([*history[:-1], last._replace(result=-1)], Handoff()).verdict is Verdict.ILLEGAL


def test_many_exchangers_by_key() -> None:
    def at(key: str, gave: int, got: int, thread: int) -> Operation:
        return Operation(thread, thread, 1, 9, "exchange", (key, gave), got)

    spec = PerKey(Exchanger())
    assert (
        verdict(at("a", 1, 2, 0), at("a", 2, 1, 1), at("b", 3, 4, 2), at("b", 4, 3, 3), spec=spec)
        is Verdict.LINEARIZABLE
    )
    assert verdict(at("a", 1, 2, 0), at("b", 2, 1, 1), spec=spec) is Verdict.ILLEGAL


def test_a_report_shows_states_of_the_object_only() -> None:
    history = [put(1, 9, 7), take(2, 8, 7), put(10, 20, 1, 0)._replace(id=2), take(11, 19, 2)._replace(id=3)]
    spec = Handoff()
    report = report_on(stress.History(tuple(history)), spec, check(history, spec))
    told = str(report)
    assert "would wait in state None" in told
    assert "Half" not in told


# ------------------------------------------------------------------------------------------------------- waiting for ever


def test_calls_that_could_meet_do_not_wait() -> None:
    waiting = [put(1, None, 7), put(2, None, 8, 1)]
    assert wait_as_they_should(waiting, Handoff())
    taker = Operation(2, 2, 3, None, "take", (), UNSEEN)
    assert not wait_as_they_should([*waiting, taker], Handoff())
    assert wait_as_they_should([put(1, 5, 7), take(2, 4, 7), taker], Handoff())


# ------------------------------------------------------------------------------------------------------ wrong declarations


@pytest.mark.parametrize("meetings", [("put", "take"), [("put",)], [("put", 3)], "put"])
def test_what_is_no_group_of_names_is_refused(meetings: Any) -> None:
    class Wrong(Handoff):
        pass

    Wrong.meetings = meetings
    with pytest.raises(SpecError, match="meetings of Wrong are tuples of the names"):
        check([put(1, 4, 7)], Wrong())


def test_a_meeting_that_fails_is_told() -> None:
    class NoMeet(Spec):
        meetings = (("put", "take"),)

        def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
            return WAITS

    history = [put(1, 4, 7), take(2, 3, 7)]
    with pytest.raises(NotImplementedError, match=r"NoMeet has meetings: define meet\(\)"):
        check(history, NoMeet())

    class OneAnswer(NoMeet):
        def meet(self, state: Any, calls: Any) -> Any:
            return state, (None,)

    with pytest.raises(SpecError, match="a state and a tuple of 2 answers, or WAITS"):
        check(history, OneAnswer())

    class Fails(NoMeet):
        def meet(self, state: Any, calls: Any) -> Any:
            return state + 1, (None, 7)

    with pytest.raises(SpecError, match=r"Fails\.meet\(.* raises TypeError"):
        check(history, Fails())

    class Counts(NoMeet):
        calls = 0

        def meet(self, state: Any, calls: Any) -> Any:
            Counts.calls += 1
            return Counts.calls, (None, 7)

    with pytest.raises(SpecError, match="does not meet twice alike"):
        check(history, Counts())


def test_what_a_base_class_knows_of_single_calls_does_not_count() -> None:
    class Synchronous(stress.Queue):
        """It inherits `project`, `shows` and `glance` of a queue."""

        meetings = (("put", "get"),)

        def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
            return WAITS

        def meet(self, state: Any, calls: Any) -> Any:
            (_, (item,)), _ = calls
            return state, (None, -item)

    history = [put(1, 4, 7), Operation(1, 1, 2, 3, "get", (), -7)]
    assert verdict(*history, spec=Synchronous()) is Verdict.LINEARIZABLE


# -------------------------------------------------------------------------------------------------------------- objects


class Slot:
    """Hands over one item at a time."""

    def __init__(self) -> None:
        self.moved = threading.Condition()
        self.items: list[Any] = []
        self.taken = 0

    def put(self, item: Any) -> None:
        with self.moved:
            while self.items:
                self.moved.wait()
            self.items.append(item)
            mine = self.taken
            self.moved.notify_all()
            while self.taken == mine:
                self.moved.wait()

    def take(self) -> Any:
        with self.moved:
            while not self.items:
                self.moved.wait()
            self.taken += 1
            self.moved.notify_all()
            return self.items.pop()


class ReturnsBefore(Slot):
    def put(self, item: Any) -> None:
        with self.moved:
            while self.items:
                self.moved.wait()
            self.items.append(item)
            self.moved.notify_all()


class Doubles(Slot):
    def take(self) -> Any:
        with self.moved:
            while not self.items:
                self.moved.wait()
            item = self.items[0]
        with self.moved:
            self.taken += 1
            self.moved.notify_all()
            self.items.clear()
        return item


class Loses(Slot):
    def put(self, item: Any) -> None:
        with self.moved:
            self.items[:] = [item]  # over one that is still there
            mine = self.taken
            self.moved.notify_all()
            while self.taken == mine:
                self.moved.wait()


class Forgets(Slot):
    """A `put` that nobody wakes."""

    def take(self) -> Any:
        with self.moved:
            while not self.items:
                self.moved.wait()
            self.taken += 1
            return self.items.pop()


PAIR = [[("put", 1)], [("take",)]]
TAKERS = [[("put", 1)], [("take",)], [("take",)]]
PUTTERS = [[("put", 1)], [("put", 2)], [("take",)]]


@pytest.mark.parametrize("threads", [PAIR, [[("put", 1), ("put", 2)], [("take",), ("take",)]]])
def test_a_right_handoff_is_right(threads: Any) -> None:
    explored = stress.explore(Slot, Handoff(), threads)
    assert explored.verdict is Verdict.LINEARIZABLE, explored.report()


@pytest.mark.parametrize(
    ("kind", "threads"), [(ReturnsBefore, PAIR), (Doubles, TAKERS), (Loses, PUTTERS), (Forgets, PAIR)]
)
def test_a_wrong_handoff_is_found(kind: Any, threads: Any) -> None:
    explored = stress.explore(kind, Handoff(), threads)
    assert explored.verdict is Verdict.ILLEGAL, explored.report()


@pytest.mark.parametrize("threads", [[[("put", 1)]], [[("take",)], [("take",)]], [[("put", 1)], [("put", 2)]]])
def test_who_has_no_partner_waits_as_he_should(threads: Any) -> None:
    assert stress.explore(Slot, Handoff(), threads).verdict is Verdict.LINEARIZABLE


def test_partners_that_do_not_find_each_other_are_a_deadlock() -> None:
    class Deaf(Slot):
        def take(self) -> Any:
            with self.moved:
                while True:
                    self.moved.wait()

    explored = stress.explore(Deaf, Handoff(), PAIR)
    assert explored.verdict is Verdict.ILLEGAL
    assert "deadlock" in explored.report()


def test_a_barrier_of_the_standard_library() -> None:
    def three() -> threading.Barrier:
        return threading.Barrier(3)

    assert stress.explore(three, Barrier(), [[("wait",)]] * 3).verdict is Verdict.LINEARIZABLE
    two_only = stress.explore(lambda: threading.Barrier(2), Barrier(), [[("wait",)]] * 3)
    assert two_only.verdict is Verdict.ILLEGAL


def test_scenarios_are_drawn_for_a_handoff() -> None:
    scenarios = stress.Scenarios((), [[("put", stress.unique)], [("take",)]], calls=2, scenarios=8, executions=60)
    assert stress.explore(Slot, Handoff(), scenarios, seed=1).verdict is Verdict.LINEARIZABLE
    assert stress.explore(ReturnsBefore, Handoff(), scenarios, seed=1).verdict is Verdict.ILLEGAL


ROLES: list[list[tuple[Any, ...]]] = [[("put", stress.unique)], [("take",)]]


def test_real_threads_meet() -> None:
    outcome = stress.run(Slot, Handoff(), [], roles=ROLES, threads=4, rounds=6, seed=1, patience=20)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()
    assert outcome.operations > 100


@pytest.mark.parametrize("kind", [ReturnsBefore, Loses])
def test_real_threads_find_a_wrong_handoff(kind: Any) -> None:
    outcome = stress.run(kind, Handoff(), [], roles=ROLES, threads=4, duration=20, seed=1, patience=2, pursuit=0)
    assert outcome.verdict is Verdict.ILLEGAL, outcome.report()


# ------------------------------------------------------------------------------------------------------ no specification


def test_without_a_specification_a_handoff_is_undecided() -> None:
    explored = stress.explore(Slot, None, PAIR)
    assert explored.verdict is Verdict.UNKNOWN
    assert "put and take end one another's wait" in explored.schedules
    with pytest.raises(ValueError, match=r"put, take would wait from the start.*`meetings`"):
        stress.run(Slot, None, [], roles=ROLES, rounds=2)


def test_without_a_specification_who_waits_for_another_call_is_judged() -> None:
    assert stress.explore(queue.Queue, None, [[("put", 1)], [("get",)], [("get",)]]).verdict is Verdict.LINEARIZABLE

    lost = stress.explore(Unsafe, None, [[("put", 1)], [("get",)], [("get",)]])
    assert lost.verdict is Verdict.ILLEGAL


class Unsafe:
    """A blocking queue that looks and takes in two steps."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.moved = threading.Condition()

    def put(self, item: Any) -> None:
        with self.moved:
            self.items.append(item)
            self.moved.notify_all()

    def get(self) -> Any:
        with self.moved:
            while not self.items:
                self.moved.wait()
        return self.items.pop(0)
