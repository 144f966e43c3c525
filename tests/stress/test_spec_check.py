"""Specifications that contradict themselves, or cannot be used, are refused in one sentence; right ones are not."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest

import stress
from stress import (
    SPECS,
    UNSEEN,
    Counter,
    HistoryError,
    Operation,
    Raised,
    Spec,
    SpecError,
    Verdict,
    check,
    is_linearizable,
    read_history,
)
from stress.spec_check import _SelfTest

pytestmark = pytest.mark.once  # Python that is the same everywhere


def one_by_one(*calls: tuple[str, tuple[Any, ...], Any]) -> list[Operation]:
    """Calls of one thread, one after another."""
    return [Operation(at, 0, 2 * at, 2 * at + 1, op, args, result) for at, (op, args, result) in enumerate(calls)]


class Recent(Spec):
    """A cache of two values. The one that was used longest ago makes room for a new one."""

    initial: Any = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        rest = tuple(pair for pair in state if pair[0] != args[0])
        if op == "get":
            found = [pair for pair in state if pair[0] == args[0]]
            return ((*rest, found[0]), found[0][1]) if found else (state, None)
        return (*rest, args)[-2:], None


RECENT = one_by_one(
    ("put", ("a", 1), None), ("put", ("b", 2), None), ("get", ("a",), 1), ("put", ("c", 3), None),
    ("get", ("b",), None), ("get", ("a",), 1), ("get", ("c",), 3),
)  # fmt: skip


class TestWhatItSaysOfItself:
    def test_a_right_one_is_accepted(self) -> None:
        assert check(RECENT, Recent())

    def test_read_only_is_not_believed(self) -> None:
        class Lie(Recent):
            read_only = frozenset({"get"})

        with pytest.raises(SpecError, match=r"^Lie contradicts itself: get\('[abc]'\).* read-only, but turns \(\("):
            check(RECENT, Lie())

    def test_nor_is_a_footprint(self) -> None:
        class Lie(Recent):
            def elements(self, operation: Operation) -> Any:
                return operation.args[:1]

            def footprint(self, operation: Operation, universe: Any) -> Any:
                return operation.args[:1]

        with pytest.raises(
            SpecError, match=r"^Lie contradicts itself: get\('[abc]'\).* is declared to touch nothing that"
        ):
            check(RECENT, Lie())

    def test_nor_is_what_it_restricts(self) -> None:
        class Lie(stress.Set):
            def restrict(self, state: Any, elements: Any) -> Any:
                return frozenset()

        with pytest.raises(SpecError, match=r"Lie contradicts itself: .* does not do the same in state"):
            check(one_by_one(("add", (1,), True), ("contains", (1,), True)), Lie())

    def test_nor_is_a_projection(self) -> None:
        class Lie(stress.Set):
            def project(self, operation: Operation, element: Any, universe: Any) -> Operation | None:
                return operation._replace(op="contains", args=(element,), result=True)

        with pytest.raises(
            SpecError, match=r"Lie contradicts itself: .* its projection on 1, contains\(1\) -> True, is"
        ):
            check(one_by_one(("add", (1,), True), ("discard", (1,), True)), Lie())

    def test_nor_is_the_effect_of_one(self) -> None:
        class Lie(stress.Set):
            def project(self, operation: Operation, element: Any, universe: Any) -> Operation | None:
                return None

        with pytest.raises(SpecError, match=r"Lie contradicts itself: .* has the projection nothing on 1, but another"):
            check(one_by_one(("add", (1,), True), ("discard", (1,), True)), Lie())

    def test_nor_is_what_is_brought(self) -> None:
        class Lie(stress.Set):
            def brings(self, operation: Operation) -> Any:
                return ()

        with pytest.raises(
            SpecError, match=r"Lie contradicts itself: .* brings 1 in state {}, but does not declare it"
        ):
            check(one_by_one(("add", (1,), True)), Lie())

    def test_a_new_operation_is_looked_at_though_others_have_been(self) -> None:
        class Lie(Recent):
            read_only = frozenset({"get"})

        spec = Lie()
        assert check(RECENT[:2], spec)
        with pytest.raises(SpecError, match="read-only"):
            check(RECENT, spec)

    @pytest.mark.parametrize("name", sorted(SPECS))
    def test_those_of_the_package_do_not_contradict_themselves(self, name: str) -> None:
        for seed in range(40):
            spec = SPECS[name]()
            operations = _drawn(name, spec, Random(seed))
            _SelfTest(spec, operations, [spec.initial]).run()


_ARGUMENTS: dict[str, Any] = {"key": "ab", "value": (1, 2, None), "old": (1, 2, None), "new": (1, 2), "member": "ab"}
_OPERATIONS: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
    "txn": [
        ("txn", (("read", "a"), ("write", "b", 1))), ("txn", (("write", "a", 2), ("read", "a"))),
        ("txn", (("read", "a"), ("read", "b"))),
    ],
    "subscriptions": [
        ("subscribe", ("a.b", "x")), ("subscribe", ("a.*", "y")), ("subscribe", ("#", "x")), ("match", ("a.b",)),
        ("unsubscribe", ("a.*", "y")), ("count", ("a.b",)), ("has_match", ("c",)), ("entries", ("a.b",)),
        ("subscriptions", ()), ("unsubscribe", ("a.b", "x")),
    ],
    "queue": [("enqueue", (1,)), ("enqueue", (2,)), ("dequeue", ()), ("len", ())],
    "stack": [("push", (1,)), ("push", (2,)), ("pop", ()), ("len", ())],
    "kv": [("put", ("a", "x")), ("append", ("a", "y")), ("get", ("a",)), ("get", ("b",)), ("append", ("b", "z"))],
    "map": [
        ("put", ("a", 1)), ("put", ("b", 2)), ("get", ("a",)), ("pop", ("a",)), ("put_if_absent", ("a", 3)),
        ("replace", ("b", 4)), ("replace_if", ("a", 1, 5)), ("remove_if", ("b", 2)), ("items", ()), ("clear", ()),
        ("contains", ("a",)), ("len", ()),
    ],
    "counter": [("increment", ()), ("add", (3,)), ("decrement", ()), ("value", ())],
    "register": [("write", (1,)), ("write", (2,)), ("read", ()), ("cas", (1, 2)), ("cas", (2, 1))],
    "mutex": [("acquire", ()), ("release", ())],
    "set": [
        ("add", ("a",)), ("add", ("b",)), ("discard", ("a",)), ("remove", ("b",)), ("contains", ("a",)), ("items", ()),
        ("len", ()), ("pop", ()), ("clear", ()),
    ],
}  # fmt: skip


def _drawn(name: str, spec: Spec, random: Random) -> list[Operation]:
    """A sequential history, with the specification's answers."""
    known = {"cas-register": "register", "multi-register": "txn"}.get(name, name)
    state, drawn = spec.initial, []
    for at in range(20):
        op, args = random.choice(_OPERATIONS[known])
        if op not in spec.vocabulary:
            continue
        try:
            state, answer = spec.step(state, op, args)
            result = spec.normalise(op, answer)
        except NotImplementedError:
            after = list(spec.successors(state, op, args, UNSEEN))
            state, result = (after[0] if after else state), UNSEEN
        drawn.append(Operation(at, 0, 2 * at, 2 * at + 1, op, args, result))
    return drawn


class TestWhatCannotBeUsed:
    def test_a_class_is_no_specification(self) -> None:
        with pytest.raises(SpecError, match=r"^Counter is the class of a specification: give an instance, Counter\(\)"):
            check([], Counter)  # type: ignore[arg-type]

    def test_nor_is_something_else(self) -> None:
        with pytest.raises(SpecError, match=r"an instance of a subclass of stress\.Spec, not 7"):
            check([], 7)  # type: ignore[arg-type]

    @pytest.mark.parametrize("found", [None, 3, (1, 2, 3), ()])
    def test_a_step_that_returns_nonsense_is_named(self, found: Any) -> None:
        class Nonsense(Spec):
            initial = 0

            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return found

        with pytest.raises(
            SpecError, match=r"^what Nonsense.step\(0, 'value', \(\)\) returns is a state and an answer, n"
        ):
            check(one_by_one(("value", (), 0)), Nonsense())

    def test_a_step_that_raises_is_named(self) -> None:
        class Raises(Spec):
            initial: ClassVar[Any] = ()

            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return state[1:], state[0]

        with pytest.raises(
            SpecError, match=r"^Raises.step\(\(\), 'pop', \(\)\) raises IndexError: tuple index out of range"
        ):
            check(one_by_one(("pop", (), None)), Raises())

    def test_all_states_are_hashable_or_none(self) -> None:
        class Listed(Spec):
            initial: ClassVar[Any] = ()

            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return [*state, 1], None

        with pytest.raises(SpecError, match=r"the one after push\(\) -> None in state \(\) is not, \[1\]: let `init"):
            check(one_by_one(("push", (), None)), Listed())

    def test_a_step_must_not_change_its_state(self) -> None:
        class Box:
            def __init__(self) -> None:
                self.n = 0

        class Changing(Spec):
            initial = Box()

            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                state.n += 1
                return state, state.n

        class Fresh(Changing):
            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                then = Box()
                then.n = state.n + 1
                return then, then.n

        with pytest.raises(
            SpecError, match=r"Changing contradicts itself: push\(\) -> 1 changes the state that it is g"
        ):
            check(one_by_one(("push", (), 1)), Changing())
        with pytest.raises(SpecError, match="the states must be equal if they hold the same, as those of a dataclass"):
            check(one_by_one(("push", (), 1)), Fresh())

    def test_an_answer_may_be_a_list(self) -> None:
        class Listing(Spec):
            initial = ()

            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return (state + args, None) if op == "push" else (state, [[each] for each in state])

        history = one_by_one(("push", (1,), None), ("all", (), ((1,),)))

        assert check(history, Listing())
        assert check(one_by_one(("push", (1,), None), ("all", (), ((2,),))), Listing()).verdict is Verdict.ILLEGAL

    def test_an_answer_that_may_change_is_named(self) -> None:
        class Live(Spec):
            initial = ()

            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return state, iter(state)

        with pytest.raises(
            SpecError, match=r"Live.step\(\(\), 'all', \(\)\) returns has an answer of type tuple_iterator"
        ):
            check(one_by_one(("all", (), ())), Live())


class TestOperations:
    @pytest.mark.parametrize("operations", [["increment"], "increment", [()], [(1, 2)], [None]])
    def test_an_operation_is_a_tuple_of_a_name_and_arguments(self, operations: Any) -> None:
        with pytest.raises(
            ValueError, match=r"^an operation is a tuple of a method's name and its arguments, such as \("
        ):
            stress.Workload(object, Counter(), operations)
        with pytest.raises(
            ValueError, match=r"^an operation is a tuple of a method's name and its arguments, such as \("
        ):
            stress.explore(object, Counter(), [operations])

    def test_a_class_is_no_specification(self) -> None:
        with pytest.raises(SpecError, match="Counter is the class of a specification"):
            stress.run(object, Counter, [("increment",)])  # type: ignore[arg-type]
        with pytest.raises(SpecError, match="Counter is the class of a specification"):
            stress.explore(object, Counter, [[("increment",)]])  # type: ignore[arg-type]


BY_LIST: Any = ([1],)


class TestOneThread:
    @pytest.mark.parametrize(
        ("history", "told"),
        [
            ([("increment",)], "made of stress.Operation, not tuple"),
            ([Operation(0, 0, 0, 1, "add", BY_LIST, True)], r"must be hashable \(stress.freeze .*: add"),
            ([Operation(0, 0, 0, 1, "items", (), BY_LIST[0])], "must be hashable"),
        ],
    )
    def test_what_is_no_history_is_refused_in_a_sentence(self, history: Any, told: str) -> None:
        with pytest.raises(HistoryError, match=told):
            check(history, stress.Set())

    def test_is_in_one_call_at_a_time(self) -> None:
        history = [Operation(0, 0, 0, 10, "increment", (), 2), Operation(1, 0, 1, 9, "increment", (), 1)]

        with pytest.raises(
            HistoryError, match=r"thread 0 is in two calls at once: increment\(\) -> 2, from 0 to 10, and"
        ):
            check(history, Counter())

    def test_is_in_one_call_at_a_time_in_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "two.jsonl"
        path.write_text(
            '{"stress": 1, "spec": "counter"}\n[0, 0, 0, 10, "increment", [], 2]\n[1, 0, 1, 9, "add", [], 1]\n'
        )

        with pytest.raises(HistoryError, match=r"two\.jsonl: thread 0 is in two calls at once"):
            read_history(path)

    def test_may_give_up_a_call_that_does_not_return(self) -> None:
        history = [Operation(0, 0, 0, None, "increment", (), UNSEEN), Operation(1, 0, 1, 9, "increment", (), 1)]

        assert check(history, Counter())

    def test_may_call_at_the_very_tick_of_its_last_return(self) -> None:
        history = [Operation(0, 0, 0, 1, "increment", (), 1), Operation(1, 0, 1, 1, "increment", (), 2)]

        assert check(history, Counter())


def test_what_waits_cannot_have_happened() -> None:
    class Waiting(Spec):
        initial: ClassVar[Any] = ()

        def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
            if op == "put":
                return (*state, *args), None
            return (state[1:], state[0]) if state else stress.WAITS

    put, get = Operation(0, 0, 0, 3, "put", (1,), None), Operation(1, 1, 1, 2, "get", (), 1)

    assert is_linearizable([put, get], Waiting())
    assert not is_linearizable([put._replace(call=2.5), get], Waiting())
    assert not is_linearizable([get._replace(result=Raised("Empty"))], Waiting())
