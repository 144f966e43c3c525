"""The specifications: what they allow, and whether every hint that they give to the checker is true."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stress import (
    EVERYTHING,
    UNSEEN,
    Counter,
    FrozenMap,
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
    Subscriptions,
    is_linearizable,
)
from stress.specs import SPECS
from stress.specs.wildcards import matches
from tests.stress.test_brute_force import KINDS, answer
from tests.tries.fields import Fields, as_tests
from tests.tries.specs import Exclusions, Shares
from tests.tries.topics import Topics

pytestmark = pytest.mark.once  # Python that is the same everywhere

VECTORS = Path(__file__).parents[1] / "data" / "vectors" / "topics.jsonl"


def outcome(spec: Spec, state: Any, *call: Any) -> Any:
    """State and answer after a call."""
    return spec.step(state, *call)


def possible(spec: Spec, state: Any, op: str, args: Any, result: Any) -> list[Any]:
    """The states that a call with this answer may leave."""
    return list(spec.successors(state, op, args, result))


def some_states(spec: Spec, any_call: Any, random: Random, count: int = 60) -> list[Any]:
    """States that a few random operations lead to."""
    states = [spec.initial]
    for _ in range(count):
        state: Any = random.choice(states)
        for _ in range(random.randrange(4)):
            state, _ = answer(spec, state, any_call(random), random)
        states.append(state)
    return states


@pytest.mark.parametrize("kind", KINDS)
class TestHints:
    """A hint that is wrong for one state would make the checker wrong."""

    def test_a_read_changes_no_state_at_all(self, kind: str) -> None:
        spec, any_call = KINDS[kind]
        random = Random(f"reads, {kind}")
        states = some_states(spec, any_call, random)
        for _ in range(300):
            op, args = any_call(random)
            _, given = answer(spec, random.choice(states), (op, args), random)
            for result in (given, False, None, Raised("KeyError"), UNSEEN):
                if spec.is_read_only(op, args, result):
                    assert all(set(spec.successors(state, op, args, result)) <= {state} for state in states)

    def test_what_lies_outside_its_footprint_neither_matters_nor_changes(self, kind: str) -> None:
        spec, any_call = KINDS[kind]
        random = Random(f"footprints, {kind}")
        states = some_states(spec, any_call, random)
        universe = list(dict.fromkeys(element for state in states for element in spec.elements_of(state)))
        for _ in range(300):
            state: Any = random.choice(states)
            call = any_call(random)
            after, result = answer(spec, state, call, random)
            footprint: Any = spec.footprint(Operation(0, 0, 0, 1, *call, result), universe)
            if footprint is EVERYTHING:
                continue
            inside = spec.restrict(state, footprint)
            assert spec.restrict(after, footprint) in spec.successors(inside, *call, result)
            outside = [element for element in universe if element not in set(footprint)]
            assert spec.restrict(after, outside) == spec.restrict(state, outside)

    def test_what_an_answer_shows_was_there_or_is_brought(self, kind: str) -> None:
        spec, any_call = KINDS[kind]
        random = Random(f"origins, {kind}")
        states = some_states(spec, any_call, random)
        for _ in range(300):
            state: Any = random.choice(states)
            call = any_call(random)
            after, result = answer(spec, state, call, random)
            for given in (result, UNSEEN):
                operation = Operation(0, 0, 0, 1, *call, given)
                before, brought = set(spec.content(state)), spec.brings(operation)
                if brought is not EVERYTHING:
                    assert set(spec.content(after)) <= before | set(brought)
                    assert set(spec.shows(operation)) <= before | set(brought)

    def test_a_legal_operation_is_legal_for_every_element(self, kind: str) -> None:
        spec, any_call = KINDS[kind]
        if type(spec).project is Spec.project:
            return  # it says nothing about single elements
        random = Random(f"projections, {kind}")
        states = some_states(spec, any_call, random)
        universe = dict.fromkeys(element for state in states for element in spec.elements_of(state))
        for _ in range(300):
            state: Any = random.choice(states)
            call = any_call(random)
            after, result = answer(spec, state, call, random)
            operation = Operation(0, 0, 0, 1, *call, result)
            for element in [*universe, *spec.elements(operation)]:
                said = spec.project(operation, element, universe)
                here = spec.restrict(state, (element,))
                there = spec.restrict(after, (element,))
                if said is None:
                    assert here == there
                else:
                    assert there in {here, *spec.successors(here, said.op, said.args, said.result)}
                    assert said.pending or there in spec.successors(here, said.op, said.args, said.result)

    def test_it_can_be_made_again_from_its_options(self, kind: str) -> None:
        spec, _ = KINDS[kind]

        again = SPECS.get(spec.name, type(spec))(**spec.options())

        assert again.initial == spec.initial
        assert again.options() == spec.options()


class TestMap:
    def test_it_answers_as_a_dict(self) -> None:
        """Every operation that `dict` also has, with the same random calls."""
        random, spec = Random(3), Map()
        state, real = spec.initial, dict[str, int]()
        names = {"put": "__setitem__", "delitem": "__delitem__", "len": "__len__"}
        for _ in range(3_000):
            op, args = KINDS["map"][1](random)
            name = names.get(op, op)
            if not hasattr(real, name) or op == "popitem":
                continue
            try:
                given = getattr(real, name)(*args)
            except KeyError as error:
                given = error
            state, expected = outcome(spec, state, op, args)
            assert spec.normalise(op, given) == expected
        assert state == real

    @pytest.mark.parametrize(
        ("call", "result", "after"),
        [
            (("put_if_absent", ("a", 9)), 1, {"a": 1}),
            (("put_if_absent", ("b", 9)), None, {"a": 1, "b": 9}),
            (("put_if_absent", ("b", 9, "new")), "new", {"a": 1, "b": 9}),
            (("get_or_create", ("a", 9)), 1, {"a": 1}),
            (("replace", ("a", 9)), True, {"a": 9}),
            (("replace", ("b", 9)), False, {"a": 1}),
            (("replace_if", ("a", 1, 9)), True, {"a": 9}),
            (("replace_if", ("a", 2, 9)), False, {"a": 1}),
            (("remove_if", ("a", 1)), True, {}),
            (("remove_if", ("a", 2)), False, {"a": 1}),
            (("compute", ("a", 5)), 6, {"a": 6}),
            (("compute", ("b", 5)), 5, {"a": 1, "b": 5}),
            (("snapshot", ()), frozenset({("a", 1)}), {"a": 1}),
            (("readonly_snapshot", ()), frozenset({("a", 1)}), {"a": 1}),
        ],
    )
    def test_what_dict_does_not_have(self, call: Any, result: Any, after: dict[str, int]) -> None:
        assert outcome(Map(), FrozenMap(a=1), *call) == (FrozenMap(after), result)

    def test_none_is_an_ordinary_value(self) -> None:
        spec = Map({"a": None})

        assert outcome(spec, spec.initial, "put_if_absent", ("a", 1)) == ({"a": None}, None)
        assert not spec.is_read_only("put_if_absent", ("a", 1), None)  # it may have stored 1

    def test_the_same_item_twice_is_no_answer_of_any_state(self) -> None:
        assert Map().normalise("items", [("a", 1), ("a", 1)]) == (("a", 1), ("a", 1))


class TestSubscriptions:
    @pytest.mark.parametrize("line", [line for line in VECTORS.read_text().splitlines() if '"matches"' in line])
    def test_it_matches_as_published(self, line: str) -> None:
        case = json.loads(line)

        assert matches(case["dialect"], case["filter"], case["topic"]) == case["matches"]

    def test_dialects(self) -> None:
        spec = Subscriptions([("a/+", 1), ("#", 2)], dialect="mqtt")

        assert outcome(spec, spec.initial, "match", ("a/b",))[1] == {1, 2}
        with pytest.raises(ValueError, match="no dialect 'smtp': there are amqp, mqtt, nats"):
            Subscriptions(dialect="smtp")

    def test_a_subscriber_is_found_once_however_many_filters_lead_to_it(self) -> None:
        spec = Subscriptions([("a.b", 1), ("*.b", 1), ("#", 2)])

        assert outcome(spec, spec.initial, "match", ("a.b",))[1] == frozenset({1, 2})
        assert outcome(spec, spec.initial, "count", ("a.b",))[1] == 2
        assert len(outcome(spec, spec.initial, "entries", ("a.b",))[1]) == 3
        assert not possible(spec, spec.initial, "match", ("a.b",), spec.normalise("match", [1, 2, 1]))


class TestOthers:
    def test_register(self) -> None:
        assert Register(3).initial == 3
        assert outcome(Register(), 4, "cas", (5, 6)) == (4, False)

    def test_a_store_starts_with_what_it_is_told(self) -> None:
        assert outcome(KeyValue(), FrozenMap(), "get", ("k",))[1] == ""
        assert outcome(KeyValue(None), FrozenMap(), "append", ("k", "a"))[0] == {"k": "a"}

    def test_what_is_no_text_cannot_be_appended_to_and_what_is_no_number_cannot_be_added_to(self) -> None:
        assert outcome(KeyValue(), FrozenMap(k=1), "append", ("k", "a")) == ({"k": 1}, Raised("TypeError"))
        assert outcome(Map(), FrozenMap(k="a"), "compute", ("k", 1)) == ({"k": "a"}, Raised("TypeError"))

    def test_transactions_see_their_own_writes(self) -> None:
        steps = (("read", "x"), ("write", "x", 1), ("read", "x"))

        assert outcome(MultiRegister(0), FrozenMap(), "txn", steps) == ({"x": 1}, (0, 1))
        assert MultiRegister(frozenset({("x", 7)})).step(FrozenMap(x=7), "txn", steps[:1])[1] == (7,)

    def test_a_lock_that_is_tried_answers_false_while_it_is_held(self) -> None:
        assert possible(Mutex(), True, "acquire", (), False) == [True]
        assert not possible(Mutex(), False, "acquire", (), False)
        assert possible(Mutex(), False, "release", (), Raised("RuntimeError")) == [False]

    def test_an_empty_queue_answers_none_or_raises(self) -> None:
        assert possible(Queue(), (), "dequeue", (), None) == [()]
        assert possible(Queue(), (), "get_nowait", (), Raised("Empty")) == [()]
        assert not possible(Queue(), (1,), "get_nowait", (), Raised("Empty"))

    def test_weak_answers_say_nothing(self) -> None:
        assert possible(Set(), frozenset(), "add", (1,), None) == [{1}]
        assert possible(Counter(), 4, "increment", (), None) == [5]


class TestFields:
    def test_what_criteria_ask_for(self) -> None:
        """Compared with a table, since every verdict of the explorer on fields depends on this."""
        for criteria, met, unmet in [
            ("f=1", ["f=1", "f=1 g=2"], ["f=2", "f=x", "g=1", "f="]),
            ("f=", ["f="], ["f=0", "g=1"]),
            ("f!=1", ["f=2", "f=x"], ["f=1", "g=2"]),
            ("f>=1 & f<3", ["f=1", "f=2"], ["f=0", "f=3", "f=x", "g=1"]),
            ("f", ["f=1", "f="], ["g=1"]),
            ("!f & g>x", ["g=y"], ["f=1 g=y", "g=x", "g=1", "h=1"]),
            ("@a.* & f=1", ["@a.b f=1"], ["@a.b", "@b.a f=1", "f=1"]),
        ]:
            spec = Fields([(criteria, 1)])
            found = {m: outcome(spec, spec.initial, "match", (m,))[1] == {1} for m in [*met, *unmet]}
            assert found == dict.fromkeys(met, True) | dict.fromkeys(unmet, False), criteria

    def test_hits_are_counted(self) -> None:
        spec = Fields([("f=1 & g", "ann"), ("f=2", "bob"), ("!h", "cat")])
        assert outcome(spec, spec.initial, "hits", ("f=1",))[1] == {("f=1 & g", "ann", 1), ("!h", "cat", 1)}
        assert outcome(spec, spec.initial, "match_any", ("f=1 h=1",))[1] == {"ann"}

    def test_several_come_at_one_instant(self) -> None:
        both = Operation(0, 0, 0, 5, "subscribe_many", ((("f=1", "ann"), ("f=1", "bob")),), 2)
        for seen, is_possible in [((), True), (("ann", "bob"), True), (("ann",), False)]:
            asked = Operation(1, 1, 1, 2, "match", ("f=1",), frozenset(seen))
            assert is_linearizable([both, asked], Fields()) == is_possible

    def test_what_is_no_criterion_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no criterion: '!f=1'"):
            as_tests("!f=1")


class TestTopics:
    def test_an_answer_that_was_read_at_two_moments(self) -> None:
        """A value moved from a.b to a.c while the store was asked for a.*; at every moment one of the two had it."""
        moves = [
            Operation(0, 0, 0, 1, "put", ("a.b", 1), None),
            Operation(1, 0, 3, 4, "put", ("a.c", 1), None),
            Operation(2, 0, 5, 6, "pop", ("a.b", None), 1),
        ]
        for seen in ({("a.b", 1)}, {("a.c", 1)}, {("a.b", 1), ("a.c", 1)}):
            assert is_linearizable([*moves, Operation(3, 1, 2, 7, "matching", ("a.*",), frozenset(seen))], Topics())
        torn = Operation(3, 1, 2, 7, "matching", ("a.*",), frozenset())
        assert not is_linearizable([*moves, torn], Topics())
        assert is_linearizable([*moves, torn._replace(args=("b.#",))], Topics())

    def test_the_rules_are_the_dialects(self) -> None:
        state = FrozenMap({"$SYS/load": 1, "a/b": 2})
        assert outcome(Topics(dialect="mqtt"), state, "matching", ("#",))[1] == {("a/b", 2)}
        assert outcome(Topics(dialect="mqtt"), state, "matching", ("$SYS/#",))[1] == {("$SYS/load", 1)}
        with pytest.raises(ValueError, match="no dialect 'kafka'"):
            Topics(dialect="kafka")


@pytest.mark.parametrize("spec", [Exclusions(), Shares()])
def test_answers_in_any_order_are_one_answer_and_an_exception_is_none_of_them(spec: Spec) -> None:
    assert spec.normalise("subscriptions", [("a", 1), ("b", 2)]) == spec.normalise(
        "subscriptions", [("b", 2), ("a", 1)]
    )
    raised = Raised("ValueError")
    assert spec.normalise("subscriptions", raised) == raised
