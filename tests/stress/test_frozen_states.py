"""Specifications whose states are lists, dictionaries, sets or dataclasses, which `step` may change in place."""

from __future__ import annotations

import pickle
import threading
from collections import Counter as Counts
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, make_dataclass
from random import Random
from typing import Any, ClassVar

import pytest

import stress
from stress import UNSEEN, History, Operation, PerKey, Spec, SpecError, Verdict, check, is_linearizable
from stress.frozen_states import Frozen, class_of, with_frozen_states
from stress.reports.report import report_on

pytestmark = pytest.mark.once  # Python that is the same everywhere


class Pushed(Spec):
    """A stack whose steps make new states."""

    initial: Any = ()
    read_only = frozenset({"all"})

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "push":
            return (*state, args[0]), None
        if op == "pop":
            return (state[:-1], state[-1]) if state else (state, None)
        return state, state


class Appended(Spec):
    """A stack whose steps change the state in place."""

    initial: ClassVar[Any] = []
    read_only = frozenset({"all"})

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "push":
            state.append(args[0])
            return state, None
        if op == "pop":
            return state, state.pop() if state else None
        return state, state


def histories(number: int) -> list[list[Operation]]:
    """Small histories of a stack. About half of them are right."""
    random, found = Random(1), []
    for _ in range(number):
        operations, state = [], ()
        for thread, at in enumerate(sorted(random.uniform(0, 8) for _ in range(5))):
            op, args = random.choice([("push", (1,)), ("push", (2,)), ("pop", ()), ("all", ())])
            state, answer = Pushed().step(state, op, args)
            if random.random() < 0.6 and op == "pop":
                answer = random.choice([1, 2, None])
            called, returned = at - random.uniform(0, 2), at + random.uniform(0, 2)
            seen = (None, UNSEEN) if random.random() < 0.15 else (returned, answer)
            operations.append(Operation(thread, thread, called, seen[0], op, args, seen[1]))
        found.append(operations)
    return found


class Map(Spec):
    """A map whose steps change the state in place."""

    initial: ClassVar[Any] = {}

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "put":
            state[args[0]] = args[1]
            return state, None
        return state, state.get(args[0])


class Recent(Spec):
    """A cache that relies on the order of a dictionary."""

    initial: ClassVar[Any] = {}
    capacity = 300

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "get":
            if args[0] in state:
                state[args[0]] = state.pop(args[0])
            return state, state.get(args[0])
        state.pop(args[0], None)
        state[args[0]] = args[1]
        if len(state) > self.capacity:
            del state[next(iter(state))]
        return state, None


class Stack:
    """A right stack."""

    def __init__(self) -> None:
        self.lock, self.items = threading.Lock(), list[int]()

    def push(self, item: int) -> None:
        with self.lock:
            self.items.append(item)

    def pop(self) -> int | None:
        with self.lock:
            return self.items.pop() if self.items else None


class TestVerdicts:
    def test_are_those_of_states_that_are_hashable(self) -> None:
        verdicts = Counts[Verdict]()
        spec = Appended()
        for each in histories(200):
            verdict = check(each, Pushed()).verdict
            assert check(each, spec).verdict is verdict
            assert is_linearizable(each, spec) is (verdict is Verdict.LINEARIZABLE)
            verdicts[verdict] += 1
        assert min(verdicts[Verdict.LINEARIZABLE], verdicts[Verdict.ILLEGAL]) > 25
        assert spec.initial == Appended.initial == []
        assert type(spec) is Appended

    def test_from_other_starts_and_of_a_specification_within_another(self) -> None:
        popped = [Operation(0, 0, 1, 2, "pop", (), 7)]
        assert check(popped, Appended(), starts=[[], [7]])
        assert check(popped, Appended(), starts=[[], [8]]).verdict is Verdict.ILLEGAL
        pushed = Operation(0, 0, 1, 2, "push", ("a", 1), None)
        pops = [Operation(1, 0, 3, 4, "pop", ("b",), None), Operation(2, 0, 5, 6, "pop", ("a",), 1)]
        assert check([pushed, *pops], PerKey(Appended()))
        assert check(pops, PerKey(Appended())).verdict is Verdict.ILLEGAL

    def test_come_with_a_report_that_names_states(self) -> None:
        history = [Operation(0, 0, 1, 2, "push", (1,), None), Operation(1, 1, 3, 4, "pop", (), 2)]
        report = report_on(History(tuple(history)), Appended(), check(history, Appended()))
        assert report.diagnosis is not None
        assert report.diagnosis.partials[0].refused[0][1] == "would answer 1 in state [1], and answered 2"


class TestTheOrderOfItems:
    def test_does_not_count_in_a_map(self) -> None:
        history = [Operation(key, key, 0, 100 + key, "put", (key, key), None) for key in range(9)]
        judgement = check(history, with_frozen_states(Map()))
        assert judgement
        assert judgement.steps < 20_000  # of 986,410 orders
        one, other = (Frozen(dict.fromkeys(keys), ordered=False) for keys in ([1, 2], [2, 1]))
        assert one == other
        assert hash(one) == hash(other)

    def test_counts_if_steps_depend_on_it_also_if_that_shows_late(self) -> None:
        puts = [Operation(key, 0, 2 * key, 2 * key + 1, "put", (key, key), None) for key in range(299)]
        ends = [
            Operation(300, 0, 1000, 1003, "put", ("a", 1), None),
            Operation(301, 1, 1001, 1002, "put", ("b", 2), None),
            Operation(302, 0, 1004, 1005, "get", (0,), None),
        ]
        assert check([*puts, *ends], Recent())
        assert check([*puts, *ends[:2], ends[2]._replace(result=0)], Recent()).verdict is Verdict.ILLEGAL

    def test_counts_in_an_ordered_dict(self) -> None:
        one, other = (Frozen(OrderedDict(pairs), ordered=False) for pairs in ([(1, 2), (3, 4)], [(3, 4), (1, 2)]))
        assert one != other


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - its fields are of any type


@dataclass
class Account:
    """A state with parts."""

    money: int = 0
    log: list[int] = field(default_factory=list)


Told = make_dataclass("Told", ["value"], frozen=True)


class TestFrozen:
    @pytest.mark.parametrize(
        "state",
        [
            [1, [2, {3}]], {"a": [1], "b": {"c": {4}}}, {1, 2}, deque([1, [2]], maxlen=5), bytearray(b"ab"),
            defaultdict(list, a=[1]), OrderedDict(a=[1], b=[2]), Counts("aab"), Account(3, [1]), Pair([1], 2), (1, [2]),
        ],
        ids=lambda state: type(state).__name__,
    )  # fmt: skip
    def test_a_copy_is_equal_and_shares_nothing(self, state: Any) -> None:
        frozen = Frozen(state, ordered=False)
        copies = frozen.thaw(), frozen.thaw(turned=True), pickle.loads(pickle.dumps(frozen)).thaw()
        for each in copies:
            assert each == state
            assert type(each) is type(state)
            assert Frozen(each, ordered=False) == frozen
        assert repr(frozen) == repr(state)
        assert all(id(each) != id(state) for each in (*copies, frozen.kept))

    def test_types_are_told_apart(self) -> None:
        states = [1, [2]], (1, [2]), deque([1, [2]]), Pair(1, [2])
        assert len({Frozen(each, ordered=False) for each in states}) == len(states)

    @pytest.mark.parametrize(
        "within", [lambda it: it, lambda it: (Told, it), lambda it: frozenset({it}), lambda it: {it}]
    )
    def test_types_of_what_is_in_a_part_are_told_apart_where_they_count(self, within: Any) -> None:
        one, other = (Frozen(within(Told(value)), ordered=False, typed=True) for value in (1, True))
        assert one != other

    def test_what_cannot_be_copied_is_named(self) -> None:
        cycle: list[Any] = []
        cycle.append(cycle)
        wrong: dict[str, Any] = {
            "holds an object of type memoryview, which": [memoryview(bytearray(b"x"))],
            "is nested too deep": cycle,
        }
        for told, initial in wrong.items():
            odd = type("Odd", (Spec,), {"initial": initial})
            with pytest.raises(SpecError, match=f"^the states of Odd can neither .* {told}"):
                check([], odd())

    def test_a_specification_goes_to_another_process(self) -> None:
        again = pickle.loads(pickle.dumps(with_frozen_states(Appended())))
        assert isinstance(again, Appended)
        assert class_of(again) is Appended
        assert check([Operation(0, 0, 1, 2, "pop", (), None)], again)


def test_explore_and_run_judge_by_them(tmp_path: Any) -> None:
    class Hasty(Stack):
        def pop(self) -> int | None:
            return self.items.pop() if self.items else None

    class Wrong(Stack):
        def pop(self) -> int | None:
            found = super().pop()
            return None if found == 40 else found

    assert stress.explore(Stack, Appended(), [[("push", 1), ("pop",)], [("push", 2), ("pop",)]])
    hasty = stress.explore(Hasty, Appended(), [[("pop",)], [("pop",)]], at_start=[("push", 1)])
    assert hasty.verdict is Verdict.ILLEGAL
    operations: Any = [("push", stress.unique), ("pop",)]
    assert stress.run(Stack, Appended(), operations, rounds=20, duration=None, seed=1).verdict is not Verdict.ILLEGAL
    outcome = stress.run(Wrong, Appended(), operations, rounds=50, duration=None, seed=1)
    assert outcome.verdict is Verdict.ILLEGAL
    saved = outcome.save(str(tmp_path / "history.jsonl"))
    assert saved.replay.endswith(f"--spec {Appended.__module__}:Appended")
    history, spec = stress.read_history(saved.saved_as, f"{Appended.__module__}:Appended")
    assert check(history, spec).verdict is Verdict.ILLEGAL
