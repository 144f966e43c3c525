"""Specifications: what those of the package and of the tries allow, whether all that they tell the checker is true, and
how one that contradicts itself, or cannot be used, is refused."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import stress
from stress import (
    EVERYTHING,
    UNSEEN,
    Counter,
    FrozenMap,
    HistoryError,
    KeyValue,
    Map,
    MultiRegister,
    Mutex,
    Operation,
    Queue,
    Raised,
    Register,
    Set,
    Spec,
    SpecError,
    Subscriptions,
    Verdict,
    check,
    is_linearizable,
    spec_check,
)
from stress.specs import SPECS
from stress.specs.wildcards import matches
from tests.tries.fields import Fields, as_tests
from tests.tries.mutants.brute_force import KINDS, answer, drawn, histories
from tests.tries.specs import Exclusions, Shares, Topics

pytestmark = pytest.mark.once  # Python that is the same everywhere

VECTORS = Path(__file__).parents[1] / "data" / "vectors" / "topics.jsonl"


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_it_tells_the_checker_is_true(kind: str) -> None:
    """What is wrong for one state would make the checker wrong."""
    spec, _ = KINDS[kind]
    random, fresh = Random(f"hints, {kind}"), itertools.count(1).__next__
    states: list[Any] = [spec.initial]
    for _ in range(120):
        states.append(answer(spec, random.choice(states), drawn(kind, random, fresh), random)[0])
    universe = dict.fromkeys(element for state in states for element in spec.elements_of(state))
    for _ in range(300):
        state, call = random.choice(states), drawn(kind, random, fresh)
        after, result = answer(spec, state, call, random)
        operation = Operation(0, 0, 0, 1, *call, result)
        for given in (result, False, None, Raised("KeyError"), UNSEEN):  # a read changes no state at all
            if spec.is_read_only(*call, given):
                assert all(set(spec.successors(each, *call, given)) <= {each} for each in states)
        footprint: Any = spec.footprint(operation, list(universe))
        if footprint is not EVERYTHING:  # what lies outside neither matters nor changes
            inside = spec.restrict(state, footprint)
            assert spec.restrict(after, footprint) in spec.successors(inside, *call, result)
            outside = [element for element in universe if element not in set(footprint)]
            assert spec.restrict(after, outside) == spec.restrict(state, outside)
    again = SPECS.get(spec.name, type(spec))(**spec.options())
    assert (again.initial, again.options()) == (spec.initial, spec.options())


def test_a_map_answers_as_a_dict() -> None:
    """Every operation that `dict` also has, with the same random calls."""
    random, spec = Random(3), Map()
    state, real = spec.initial, dict[str, int]()
    names = {"put": "__setitem__", "delitem": "__delitem__", "len": "__len__"}
    for _ in range(3_000):
        op, args = drawn("map", random, int)
        name = names.get(op, op)
        if hasattr(real, name) and op != "popitem":
            try:
                given = getattr(real, name)(*args)
            except KeyError as error:
                given = error
            state, expected = spec.step(state, op, args)  # type: ignore[assignment]
            assert spec.normalise(op, given) == expected
    assert state == real


A1, SEVERAL = FrozenMap(a=1), Subscriptions([("a.b", 1), ("*.b", 1), ("#", 2)])
STEPS: list[tuple[Spec, Any, tuple[str, tuple[Any, ...]], Any, Any]] = [
    (Map(), A1, ("put_if_absent", ("a", 9)), 1, {"a": 1}),
    (Map(), A1, ("put_if_absent", ("b", 9)), None, {"a": 1, "b": 9}),
    (Map(), A1, ("put_if_absent", ("b", 9, "new")), "new", {"a": 1, "b": 9}),
    (Map(), FrozenMap(a=None), ("put_if_absent", ("a", 1)), None, {"a": None}),
    (Map(), A1, ("get_or_create", ("a", 9)), 1, {"a": 1}),
    (Map(), A1, ("replace", ("a", 9)), True, {"a": 9}),
    (Map(), A1, ("replace", ("b", 9)), False, {"a": 1}),
    (Map(), A1, ("replace_if", ("a", 1, 9)), True, {"a": 9}),
    (Map(), A1, ("replace_if", ("a", 2, 9)), False, {"a": 1}),
    (Map(), A1, ("remove_if", ("a", 1)), True, {}),
    (Map(), A1, ("remove_if", ("a", 2)), False, {"a": 1}),
    (Map(), A1, ("compute", ("a", 5)), 6, {"a": 6}),
    (Map(), A1, ("compute", ("b", 5)), 5, {"a": 1, "b": 5}),
    (Map(), FrozenMap(a="x"), ("compute", ("a", 1)), Raised("TypeError"), {"a": "x"}),
    (Map(), A1, ("snapshot", ()), {("a", 1)}, {"a": 1}),
    (Map(), A1, ("readonly_snapshot", ()), {("a", 1)}, {"a": 1}),
    (Register(), 4, ("cas", (5, 6)), False, 4),
    (KeyValue(), FrozenMap(), ("get", ("k",)), "", {}),
    (KeyValue(None), FrozenMap(), ("append", ("k", "a")), None, {"k": "a"}),
    (KeyValue(), FrozenMap(k=1), ("append", ("k", "a")), Raised("TypeError"), {"k": 1}),
    (MultiRegister(0), FrozenMap(), ("txn", (("read", "x"), ("write", "x", 1), ("read", "x"))), (0, 1), {"x": 1}),
    (MultiRegister(frozenset({("x", 7)})), FrozenMap(x=7), ("txn", (("read", "x"),)), (7,), {"x": 7}),
    (SEVERAL, SEVERAL.initial, ("match", ("a.b",)), {1, 2}, SEVERAL.initial),
    (SEVERAL, SEVERAL.initial, ("count", ("a.b",)), 2, SEVERAL.initial),
    (SEVERAL, SEVERAL.initial, ("entries", ("a.b",)), set(SEVERAL.initial), SEVERAL.initial),
    (Subscriptions(dialect="mqtt"), frozenset({("a/+", 1), ("#", 2)}), ("match", ("a/b",)), {1, 2}, None),
    (Topics(dialect="mqtt"), FrozenMap({"$SYS/load": 1, "a/b": 2}), ("matching", ("#",)), {("a/b", 2)}, None),
    (Topics(dialect="mqtt"), FrozenMap({"$SYS/load": 1, "a/b": 2}), ("matching", ("$SYS/#",)), {("$SYS/load", 1)},
     None),
    (Fields(), frozenset({("f=1 & g", "ann"), ("f=2", "bob"), ("!h", "cat")}), ("hits", ("f=1",)),
     {("f=1 & g", "ann", 1), ("!h", "cat", 1)}, None),
    (Fields(), frozenset({("f=1 & g", "ann"), ("!h", "cat")}), ("match_any", ("f=1 h=1",)), {"ann"}, None),
]  # fmt: skip
"""A specification, a state, a call, its answer, and the state after it (None: the same)."""
BOTH = frozenset([("f", "x"), ("f", "y")])
POSSIBLE: list[tuple[Spec, Any, str, tuple[Any, ...], Any, list[Any]]] = [
    (Mutex(), True, "acquire", (), False, [True]),
    (Mutex(), False, "acquire", (), False, []),
    (Mutex(), False, "release", (), Raised("RuntimeError"), [False]),
    (Queue(), (), "dequeue", (), None, [()]),
    (Queue(), (), "get_nowait", (), Raised("Empty"), [()]),
    (Queue(), (1,), "get_nowait", (), Raised("Empty"), []),
    (Set(), frozenset(), "add", (1,), None, [{1}]),  # weak answers say nothing
    (Counter(), 4, "increment", (), None, [5]),
    (SEVERAL, SEVERAL.initial, "match", ("a.b",), SEVERAL.normalise("match", [1, 2, 1]), []),  # found once
    (Shares(), BOTH, "match", ("a/b",), ("x",), [BOTH]),  # any member of a group may get a message
    (Shares(), BOTH, "match", ("a/b",), ("y",), [BOTH]),
    (Shares(), BOTH, "match", ("a/b",), ("z",), []),
    (Shares(), BOTH, "match", ("a/b",), (), []),
    (Shares(), frozenset(), "match", ("a/b",), (), [frozenset()]),
    (Shares(), BOTH, "unsubscribe", ("f", "x"), True, [{("f", "y")}]),
    (Shares(), frozenset(), "has_match", ("a/b",), False, [frozenset()]),
]
"""A specification, a state, a call and its answer, and the states that it may leave."""


@pytest.mark.parametrize(("spec", "state", "call", "told", "after"), STEPS)
def test_a_step(spec: Spec, state: Any, call: Any, told: Any, after: Any) -> None:
    assert spec.step(state, *call) == (state if after is None else after, told)


@pytest.mark.parametrize(("spec", "state", "op", "args", "result", "left"), POSSIBLE)
def test_what_an_answer_leaves(spec: Spec, state: Any, op: str, args: Any, result: Any, left: list[Any]) -> None:
    assert list(spec.successors(state, op, args, result)) == left


def test_answers_are_brought_into_one_form() -> None:
    assert not Map().is_read_only("put_if_absent", ("a", 1), None)  # it may have stored 1
    assert Map().normalise("items", [("a", 1), ("a", 1)]) == (("a", 1), ("a", 1))  # the same twice: of no state
    for spec in (Exclusions(), Shares()):  # in any order they are one answer, and an exception is itself
        assert spec.normalise("subscriptions", [("a", 1), ("b", 2)]) == spec.normalise(
            "subscriptions", [("b", 2), ("a", 1)]
        )
        assert spec.normalise("subscriptions", Raised("ValueError")) == Raised("ValueError")


def test_subscriptions_match_as_published() -> None:
    cases = [case for line in VECTORS.read_text().splitlines() if "matches" in (case := json.loads(line))]
    assert len(cases) > 300
    for case in cases:
        assert matches(case["dialect"], case["filter"], case["topic"]) == case["matches"], case


@pytest.mark.parametrize(
    ("criteria", "met", "unmet"),
    [
        ("f=1", ["f=1", "f=1 g=2"], ["f=2", "f=x", "g=1", "f="]),
        ("f=", ["f="], ["f=0", "g=1"]),
        ("f!=1", ["f=2", "f=x"], ["f=1", "g=2"]),
        ("f>=1 & f<3", ["f=1", "f=2"], ["f=0", "f=3", "f=x", "g=1"]),
        ("f", ["f=1", "f="], ["g=1"]),
        ("!f & g>x", ["g=y"], ["f=1 g=y", "g=x", "g=1", "h=1"]),
        ("@a.* & f=1", ["@a.b f=1"], ["@a.b", "@b.a f=1", "f=1"]),
    ],
)
def test_what_criteria_ask_for(criteria: str, met: list[str], unmet: list[str]) -> None:
    """Every verdict of the explorer on fields depends on this."""
    state, one = frozenset({(criteria, 1)}), frozenset({1})
    assert [each for each in [*met, *unmet] if Fields().step(state, "match", (each,))[1] == one] == met


MOVES = [
    Operation(0, 0, 0, 1, "put", ("a.b", 1), None),
    Operation(1, 0, 3, 4, "put", ("a.c", 1), None),
    Operation(2, 0, 5, 6, "pop", ("a.b", None), 1),
]
AT_ONCE = Operation(0, 0, 0, 5, "subscribe_many", ((("f=1", "ann"), ("f=1", "bob")),), 2)


@pytest.mark.parametrize(
    ("spec", "changes", "asked", "right", "wrong"),
    [
        (Topics(), MOVES, ("matching", ("a.*",)), [{("a.b", 1)}, {("a.c", 1)}, {("a.b", 1), ("a.c", 1)}], [set()]),
        (Topics(), MOVES, ("matching", ("b.#",)), [set()], [{("a.b", 1)}]),
        (Fields(), [AT_ONCE], ("match", ("f=1",)), [set(), {"ann", "bob"}], [{"ann"}]),
    ],
    ids=["a value that moved was at one of two topics", "it was nowhere else", "several come at one instant"],
)
def test_an_answer_is_of_one_moment(spec: Spec, changes: Any, asked: Any, right: list[Any], wrong: list[Any]) -> None:
    for seen in [*right, *wrong]:
        history = [*changes, Operation(9, 1, 2, 7, asked[0], asked[1], frozenset(seen))]
        assert is_linearizable(history, spec) is (seen in right), seen


# ------------------------------------------------------------------------------------------- what is refused, and told


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


class Box:
    n = 0


class Unshown(tuple[int]):
    """Two of them may be equal, and look different."""

    __repr__ = object.__repr__


def changing(self: Spec, state: Box, op: str, args: tuple[Any, ...]) -> Any:
    state.n += 1
    return state, state.n


def assigning(self: Spec, state: Box, op: str, args: tuple[Any, ...]) -> Any:
    state.n = args[0]
    return state, None


def lie(base: type[Spec], **said: Any) -> Spec:
    """A specification that says something else than its base."""
    made: Spec = type("Lie", (base,), said)()
    return made


RECENT = one_by_one(
    ("put", ("a", 1), None), ("put", ("b", 2), None), ("get", ("a",), 1), ("put", ("c", 3), None),
    ("get", ("b",), None), ("get", ("a",), 1), ("get", ("c",), 3),
)  # fmt: skip
ADDS, VALUE = one_by_one(("add", (1,), True), ("discard", (1,), True)), one_by_one(("value", (), 0))
READS_KEYS = {
    "elements": lambda self, operation: operation.args[:1],
    "footprint": lambda self, operation, universe: operation.args[:1],
}
TURNS = itertools.cycle((1, True))  # equal, and of other types
REFUSED: list[tuple[Any, list[Any], str]] = [
    (lie(Recent, read_only={"get"}), RECENT, r"^Lie contradicts itself: get\('[abc]'\).* read-only, but turns \(\("),
    (lie(Spec, initial=0, read_only={"value"}, successors=lambda _, state, *__: (state, state + 1)), VALUE,
     r"read-only, but turns 0 into 1$"),
    (lie(Recent, **READS_KEYS), RECENT, r"^Lie contradicts itself: get\('[abc]'\).* is declared to touch nothing that"),
    (lie(Set, restrict=lambda *_: frozenset()), ADDS, r"Lie contradicts itself: .* does not do the same in state"),
    (lie(Spec, initial=Box(), step=changing), VALUE,
     r"Lie contradicts itself: value\(\).* changes the state that it is g"),
    (lie(Spec, initial=Box(), step=assigning), one_by_one(("write", (5,), None), ("write", (6,), None)),
     r"Lie contradicts itself: write\([56]\).* changes the state that it is g"),
    (lie(Spec, initial=Box(), step=lambda *_: (Box(), 1)), VALUE,
     "must be equal if they hold the same, as those of a dataclass"),
    (lie(Spec, initial=0, step=lambda *_: (next(TURNS), None)), VALUE,
     r"does not have the same effect twice in state"),
    *((lie(Spec, initial=0, step=lambda *_, found=found: found), VALUE,
       r"^what Lie.step\(0, 'value', \(\)\) returns is a state and an answer, n") for found in (None, 3, (1, 2, 3), ())),
    (lie(Spec, initial=(), step=lambda _, state, *__: state[0]), VALUE,
     r"^Lie.step\(\(\), 'value', \(\)\) raises IndexError: tuple index out of range"),
    (lie(Spec, initial=(), step=lambda *_: ([1], None)), VALUE,
     r"the one after value\(\) in state \(\) is not, \[1\]: let `init"),
    (lie(Spec, initial=(), step=lambda *_: ((), iter(()))), VALUE,
     r"Lie.step\(\(\), 'value', \(\)\) returns has an answer of type tuple_iterator"),
    (Counter, [], r"^Counter is the class of a specification: give an instance, Counter\(\)"),
    (7, [], r"an instance of a subclass of stress\.Spec, not 7"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "history", "told"), REFUSED)
def test_one_that_cannot_be_used_is_refused_in_a_sentence(spec: Any, history: list[Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        check(history, spec)


def test_a_right_one_is_accepted_and_a_new_operation_is_looked_at_though_others_have_been(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spec_check, "_MOST_TESTED", 2)
    assert check(RECENT, Recent())
    assert check(VALUE, lie(Spec, initial=Unshown([0]), step=lambda _, state, *__: (Unshown(state), state[0])))
    vars(spec := Recent())["read_only"] = frozenset({"get"})  # it has other attributes than the one before
    assert check(RECENT[:2], spec)
    with pytest.raises(SpecError, match="read-only"):
        check(RECENT, spec)
    kind: Any = type(lie(Recent, is_read_only=lambda its, op, *_: op == "get" and its.strict is True))
    vars(lax := kind())["strict"], vars(strict := kind())["strict"] = 1, True  # equal, and of other types
    assert check(RECENT, lax)
    with pytest.raises(SpecError, match="read-only"):
        check(RECENT, strict)
    assert len(spec_check._tested) <= 2


@pytest.mark.parametrize("kind", ["map", "queue"])
def test_to_look_at_one_takes_some_thousand_steps(kind: str) -> None:
    base = type(KINDS[kind][0])
    steps = itertools.count()
    look = lie(base, successors=lambda self, *step: (next(steps), base.successors(self, *step))[1])
    spec_check.check_spec(look, [each for some in itertools.islice(histories(Random(7), kind), 30) for each in some])
    assert 500 < next(steps) < 7_000


def listing(self: Spec, state: Any, op: str, args: tuple[Any, ...]) -> Any:
    """An answer may be a list, and a call may wait."""
    if op == "push":
        return state + args, None
    return (state, [[each] for each in state]) if state else stress.WAITS


LISTING = lie(Spec, initial=(), step=listing)
PUSH, LIST = Operation(0, 0, 0, 3, "push", (1,), None), Operation(1, 1, 1, 2, "all", (), ((1,),))


@pytest.mark.parametrize(
    ("history", "right"),
    [
        ([PUSH, LIST], True),
        ([PUSH, LIST._replace(result=((2,),))], False),
        ([PUSH._replace(call=2.5), LIST], False),  # what waits cannot have happened
        ([LIST._replace(result=Raised("Empty"))], False),
    ],
)
def test_answers_may_be_lists_and_calls_may_wait(history: list[Operation], right: bool) -> None:
    assert check(history, LISTING).verdict is (Verdict.LINEARIZABLE if right else Verdict.ILLEGAL)


CLASS: Any = Counter


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Subscriptions(dialect="smtp"), "no dialect 'smtp': there are amqp, mqtt, nats"),
        (lambda: Topics(dialect="kafka"), "no dialect 'kafka'"),
        (lambda: as_tests("!f=1"), "no criterion: '!f=1'"),
        (lambda: stress.run(object, CLASS, [("increment",)]), "Counter is the class of a specification"),
        (lambda: stress.explore(object, CLASS, [[("increment",)]]), "Counter is the class of a specification"),
    ],
)
def test_what_is_told_of_mistakes(make: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        make()


@pytest.mark.parametrize("operations", [["increment"], "increment", [()], [(1, 2)], [None]])
def test_an_operation_is_a_tuple_of_a_name_and_arguments(operations: Any) -> None:
    for make in (stress.Workload, lambda kind, spec, given: stress.explore(kind, spec, [given])):
        with pytest.raises(
            ValueError, match=r"^an operation is a tuple of a method's name and its arguments, such as \("
        ):
            make(object, Counter(), operations)


LIST_ARGUMENT: Any = ([1],)


@pytest.mark.parametrize(
    ("history", "told"),
    [
        ([("increment",)], "made of stress.Operation, not tuple"),
        ([Operation(0, 0, 0, 1, "add", LIST_ARGUMENT, True)], r"must be hashable \(stress.freeze .*: add"),
        ([Operation(0, 0, 0, 1, "items", (), LIST_ARGUMENT[0])], "must be hashable"),
        (
            [Operation(0, 0, 0, 10, "add", (1,), True), Operation(1, 0, 1, 9, "add", (2,), True)],
            r"thread 0 is in two calls at once: add\(1\) -> True, from 0 to 10, and",
        ),
    ],
)
def test_what_is_no_history_is_refused_in_a_sentence(history: Any, told: str) -> None:
    for judge in (check, is_linearizable)[: 1 if "at once" in told else 2]:
        with pytest.raises(HistoryError, match=told):
            judge(history, Set())


@pytest.mark.parametrize("first", [(0, None, "increment", (), UNSEEN), (0, 1, "increment", (), 1)])
def test_a_thread_may_give_up_a_call_and_may_call_at_the_tick_of_a_return(first: tuple[Any, ...]) -> None:
    second = 1 if first[1] is None else 2
    assert check([Operation(0, 0, *first), Operation(1, 0, 1, 9, "increment", (), second)], Counter())
