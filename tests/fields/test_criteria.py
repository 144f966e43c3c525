"""Criteria one by one: which values they hold for, odd ones too, and what is refused by name."""

from __future__ import annotations

import decimal
import pickle
import weakref
from collections import UserDict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from numbers import Integral, Real
from random import Random
from typing import Any

import pytest

from subtrie import MQTT, NATS
from subtrie.errors import TopicError
from subtrie.fields import (
    Absent,
    AnyOf,
    AtLeast,
    AtMost,
    Criterion,
    Equals,
    EqualsIgnoringCase,
    FieldMatcher,
    GreaterThan,
    InNetwork,
    LessThan,
    Not,
    NotIn,
    OneOf,
    Prefix,
    Present,
    RoutingMatcher,
    Suffix,
    Wildcard,
    Within,
    explain,
    from_pattern,
    to_pattern,
)
from tests.fields.reading import asked_by, meets
from tests.fields.test_stateful import left_in

NAN = float("nan")


class Text(StrEnum):
    OPEN = "open"


class Named(str, Enum):  # noqa: UP042  as older code writes it
    OPEN = "open"


def raises(*_: Any) -> Any:
    raise ZeroDivisionError


# A text whose methods say something else than its characters; and texts, bytes and numbers whose methods all raise.
Liar: Any = type("Liar", (str,), {n: lambda *_: "lie" for n in ("__str__", "__getitem__", "startswith", "casefold")})
COMPARED = {"__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__str__"}
Mute, MuteBytes, MuteInt, MuteFloat = MUTE = [
    type("Mute", (kind,), dict.fromkeys(COMPARED | ({*dir(kind)} - {*dir(object)}), raises))
    for kind in (str, bytes, int, float)
]
Zone: Any = type("Zone", (tzinfo,), {"utcoffset": lambda *_: timedelta(hours=1)})  # one of rules, as those of zoneinfo


class Narrow:
    """As a NumPy integer: a number that compares with ints and floats only, and raises otherwise."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def as_integer_ratio(self) -> tuple[int, int]:
        return Fraction(self.value).as_integer_ratio()

    def _comparing(name: str) -> Any:  # type: ignore[misc]  # noqa: N805
        def compare(self: Any, other: Any) -> Any:
            if not isinstance(other, int | float | Narrow):
                raise TypeError("argument must be an integer")
            answer = getattr(self.value, name)(other.value if isinstance(other, Narrow) else other)
            return getattr(float(self.value), name)(other) if answer is NotImplemented else answer

        return compare

    __lt__, __le__, __gt__, __ge__, __eq__ = map(_comparing, ("__lt__", "__le__", "__gt__", "__ge__", "__eq__"))  # type: ignore[assignment, arg-type]


class NarrowWhole(Narrow):
    """One that is registered as a whole number."""


class NarrowReal(Narrow):
    """One that is registered as a real number."""


Integral.register(NarrowWhole)
Real.register(NarrowReal)


class Unanswered:
    """As pandas' NA: a comparison gives what is neither true nor false."""

    def __hash__(self) -> int:
        return hash(5)

    def _compared(self, other: object) -> Any:
        return self

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _compared  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


HOLDS: list[tuple[Criterion, list[Any], list[Any]]] = [
    (Equals("f", 1), [1, 1.0], [2, None, "1"]),
    (Equals("f", None), [None], [0]),
    (Present("f"), [None, 0, ""], []),
    (OneOf("f", ["a", "b"]), ["a", "b"], ["c", None]),
    (OneOf("f", []), [], ["a", None]),
    (Within("f", 1, 3), [1, 2.5, 3], [0, 3.5, "2", None, NAN]),
    (Within("f", low=1), [1, 10**9], [0, "2", Decimal("NaN"), 1j]),
    (Within("f", low=Decimal(1)), [1, 2.5], [NAN, 1j]),
    (Within("f", high="m"), ["a", "m"], ["n", 2]),
    (Within("f"), [0, "a", None], []),
    (Within("f", 1, 3, True, True), [1.5, 2, Decimal("2.5"), Fraction(3, 2)], [1, 3, "2", 1 + 0j]),
    (Within("f", "a", "b", high_open=True), ["a", "az"], ["b", b"a", 1]),
    (Within("f", b"a", b"b"), [b"a", b"ab"], ["a"]),
    (Within("f", date(2026, 1, 1)), [date(2026, 1, 1), type("Kin", (date,), {})(2026, 1, 1)], [datetime(2026, 1, 2), 1]),
    (Within("f", datetime(2026, 1, 1)), [datetime(2026, 1, 2), type("Kin", (datetime,), {})(2026, 1, 2)], [datetime(2026, 1, 2, tzinfo=UTC), 1]),
    *[
        (
            made,
            [datetime(2026, 1, 1, 1, tzinfo=Zone()), datetime(2026, 1, 2, tzinfo=UTC)],
            [datetime(2026, 1, 1, tzinfo=Zone()), datetime(2026, 1, 2), 1],
        )
        for made in (Within("f", datetime(2026, 1, 1, tzinfo=UTC)), Within("f", datetime(2026, 1, 1, 1, tzinfo=Zone())))
    ],
    (Within("f", timedelta(1), timedelta(2)), [timedelta(1.5), type("Kin", (timedelta,), {})(1.5)], [timedelta(3), 1]),
    (Within("f", (1, 2), (3,)), [(2,), (1, 2)], [(0,), (4,), 2, "a"]),
    (LessThan("f", 3), [2, 2.9, True], [3, "2", None]),
    (AtMost("f", 3), [3, Decimal(3)], [3.1]),
    (GreaterThan("f", "m"), ["n", "ma"], ["m", 9]),
    (AtLeast("f", 3), [3, float("inf")], [2, NAN]),
    (NotIn("f", ["a", 1]), ["b", 2, None, ""], ["a", 1, True]),
    (NotIn("f", []), [0, None], []),
    (Prefix("f", "ab"), ["ab", "abc", "ab\U0010ffff"], ["a", "ac", "AB", b"ab", None, 1]),
    (Prefix("f", ""), ["", "a"], [b"", 1]),
    (Prefix("f", "\U0010ffff"), ["\U0010ffff", "\U0010ffffa"], ["a"]),
    (Prefix("f", b"a\xff"), [b"a\xff", b"a\xffb"], [b"b", "a"]),
    # A text of a subclass is its characters.
    *[
        (made, [Text.OPEN, Named.OPEN, Liar("open"), Mute("open"), "open"], ["lie", Liar("shut"), Mute("shut"), None])
        for made in (
            *(Equals("f", "open"), Prefix("f", "op"), Prefix("f", "OP", True), Suffix("f", "en"), Suffix("f", "EN", True)),
            *(EqualsIgnoringCase("f", Text.OPEN), Wildcard("f", "o*n"), Wildcard("f", Mute("*pe*")), Prefix("f", Named.OPEN)),
            *(Wildcard("f", "open"), OneOf("f", [Mute("open"), 1]), Within("f", Mute("op"), "oq")),
        )
    ],
    *[
        (made, [Liar("open"), Mute("open"), "lie", None], [Liar("shut"), Mute("shut"), "shut"])
        for made in (NotIn("f", ["shut"]), *map(Not, (Equals("f", "shut"), Wildcard("f", "s*"), AtLeast("f", "s"))))
    ],
    *[
        (made, [MuteBytes(b"open"), b"open"], [MuteBytes(b"shut"), b"", "lie"])
        for made in (Equals("f", b"open"), Prefix("f", b"op"), Within("f", b"o", b"p"))
    ],
    # A number of a subclass is that number.
    *[
        (made, [MuteInt(5), MuteFloat(5.0), 5], [MuteInt(4), MuteFloat(4.5), "5", 1j])
        for made in (Equals("f", MuteInt(5)), Within("f", MuteFloat(5)), Within("f", 5, MuteInt(6)), OneOf("f", [MuteFloat(5)]))
    ],
    (InNetwork("f", "10.0.0.0/8"), [Liar("10.1.2.3"), Mute("10.1.2.3"), "10.0.0.1"], ["11.0.0.1", "lie", 10]),
]  # fmt: skip


@pytest.mark.parametrize(("criterion", "holds", "fails"), HOLDS)
def test_which_values_a_criterion_holds_for(criterion: Criterion, holds: list[Any], fails: list[Any]) -> None:
    matcher: FieldMatcher[str] = FieldMatcher()
    matcher.subscribe([criterion], "ann")
    for value in holds + fails:
        wanted = any(value is one for one in holds)
        assert criterion.holds(value) is wanted, value
        assert isinstance(value, (Liar, *MUTE)) or any(meets(test, value) for test in asked_by(criterion)) is wanted, (
            value
        )
        assert matcher.match_all({"f": value}) == matcher.match_any({"f": value}) == ("ann",) * wanted
    assert matcher.match_all({"g": (holds + fails)[0]}) == ()
    assert pickle.loads(pickle.dumps(criterion)) == criterion
    assert matcher.unsubscribe([pickle.loads(pickle.dumps(criterion))], "ann")
    assert left_in(matcher) == []
    matcher.check()


# -------------------------------------------------------------------------------------------- numbers of other libraries

RULES: list[Criterion] = [
    *(
        make("f", bound)
        for make in (Equals, AtLeast, GreaterThan, AtMost, LessThan)
        for bound in (Decimal("5"), 5, 5.5)
    ),
    *(
        Within("f", Decimal("1.5"), 4.5),
        Within("f", 2, Fraction(11, 2)),
        Within("f", 4.5, 8),
        Within("f", 2, NarrowReal(8)),
    ),
    *(OneOf("f", [5, Decimal("7.5")]), NotIn("f", [Decimal(5)]), NotIn("f", [5, 8.5]), AtLeast("f", date(2020, 1, 1))),
    *(AtLeast("f", "a"), Prefix("f", "a"), Present("f"), AtLeast("f", NarrowWhole(3))),
]
RULES += [Not(rule) for rule in RULES]


def every_verdict(value: Any) -> set[tuple[int, ...]]:
    """What everything that asks says of a value of a field, as the numbers of the rules that it meets."""
    fields, routes, crowd = FieldMatcher[int](), RoutingMatcher[int](), FieldMatcher[int]()
    for number, rule in enumerate(RULES):
        fields.subscribe([rule], number)
        routes.subscribe("#", [rule], number)
        crowd.subscribe_many([([Equals("g", 1), rule], 100 * number + other) for other in range(40)])
    found = [
        fields.match_all({"f": value}),
        fields.match_all({"f": [value]}),
        [each.subscriber for each in fields.deliveries({"f": value})],
        [each.subscriber for each in fields.hits({"f": value})],
        routes.match("a.b", {"f": value}),
        {number // 100 for number in crowd.match_all({"f": value, "g": 1})},
        [number for number, rule in enumerate(RULES) if rule.holds(value)],
    ]
    return {tuple(sorted(one)) for one in found}


@pytest.mark.parametrize("number", [5, 5.5, 8, 2**60, 0.1, Fraction(1, 3)])
def test_a_number_of_another_library_compares_as_pythons_own(number: Any) -> None:
    assert len(every_verdict(number) | every_verdict(NarrowReal(number))) == 1
    assert len(every_verdict(int(number)) | every_verdict(NarrowWhole(int(number)))) == 1


@pytest.mark.parametrize("value", [Unanswered(), object(), 1j, b"a"], ids=lambda value: type(value).__name__)
def test_what_does_not_compare_meets_no_bound_and_every_other_answer_is_given(value: Any) -> None:
    (found,) = every_verdict(value)
    half = len(RULES) // 2
    assert RULES.index(Present("f")) in found
    assert {number % half for number in found} == set(range(half))  # of a rule and Not of it, one is met
    assert not [number for number in found if isinstance(RULES[number], Within)]


def test_the_numbers_of_numpy_and_the_na_of_pandas() -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    for kind in (numpy.int64, numpy.uint8, numpy.float32, numpy.float64, numpy.longdouble):
        assert (every_verdict(kind(5)), AtLeast("f", kind(5))) == (every_verdict(5), AtLeast("f", 5))
    assert len(every_verdict(pandas.NA)) == 1
    assert Equals("f", numpy.int64(5)).value.__class__ is int  # type: ignore[attr-defined]


def test_numbers_compare_under_a_trap_of_decimals() -> None:
    rng = Random(5)
    numbers: list[Any] = [rng.choice([Decimal, float, int, Fraction])(rng.randrange(20)) for _ in range(60)]
    with decimal.localcontext() as context:
        context.traps[decimal.FloatOperation] = True
        fields: FieldMatcher[int] = FieldMatcher()
        for i, bound in enumerate(numbers):
            fields.subscribe([AtLeast("f", bound)], i)
            fields.subscribe([Within("f", min(bound, 5, key=int), max(bound, 5, key=int))], 100 + i)
        fields.check()
        for value in numbers:
            wanted = {i for i, bound in enumerate(numbers) if int(bound) <= int(value)}
            assert {number for number in fields.match_all({"f": value}) if number < 100} == wanted
            assert {i for i in range(60) if AtLeast("f", numbers[i]).holds(value)} == wanted


# ------------------------------------------------------------------------------------------- users' code in a comparison


class Meddling:
    """A value of the text "open" that calls a function when it is compared."""

    def __init__(self, change: Callable[[], object]) -> None:
        self.change = change

    def __hash__(self) -> int:
        return hash("open")

    def __eq__(self, other: object) -> bool:
        self.change()
        return other == "open"


CHANGES: list[Callable[[dict[str, Any]], object]] = [
    lambda message: message.clear(),
    lambda message: message.update(kind=2, other=1),
    lambda message: message.update(state="shut", name=None),
    lambda message: message.pop("kind", None),
    lambda message: [message.update({str(i): "x" * i for i in range(100)}), message.pop("state", None)],
]


@pytest.mark.parametrize("change", CHANGES)
def test_users_code_that_changes_the_message_changes_no_answer(change: Callable[[dict[str, Any]], object]) -> None:
    rests: list[list[Any]] = [[], [Equals("kind", 1)], [Absent("other")], [Equals("kind", 1), Absent("other")]]
    for rest in rests:
        for more in ({}, {"b": (1, 2)}, {"c": ["x"]}):
            message: dict[str, Any] = {}
            matcher: FieldMatcher[str] = FieldMatcher()
            matcher.subscribe([Equals("state", Meddling(lambda message=message: change(message))), *rest], "ann")
            matcher.subscribe([GreaterThan("name", "a"), *rest], "bob")
            for found in (matcher.match_all, matcher.match_any, matcher.deliveries):
                message.clear()
                message.update({"state": "open", "kind": 1, "name": "".join(["b", "c"]), **more})
                assert sorted(getattr(each, "subscriber", each) for each in found(message)) == ["ann", "bob"]  # type: ignore[operator]


def test_a_value_whose_comparison_raises_is_equal_to_none() -> None:
    matcher: FieldMatcher[str] = FieldMatcher()
    matcher.subscribe([Equals("state", "open")], "ann")
    matcher.subscribe([Present("urgent")], "bob")

    def refuse() -> None:
        raise error("not to be compared")

    error: type[BaseException]
    for error in (TypeError, ValueError, KeyError):  # noqa: B007 - it is raised
        assert matcher.match_all({"state": Meddling(refuse), "urgent": None}) == ("bob",)
    for error in (MemoryError, RecursionError, KeyboardInterrupt):
        with pytest.raises(error, match="not to be compared"):
            matcher.match_all({"state": Meddling(refuse)})
    assert matcher.match_all({"state": [set(), "open"]}) == ("ann",)
    wanted: dict[str, list[Criterion]] = {
        "cid": [Absent("state")],
        "dan": [AnyOf(NotIn("state", [1]), [Absent("state"), Equals("urgent", 0)])],
    }
    matcher.subscribe_many((criteria, name) for name, criteria in wanted.items())
    routes: RoutingMatcher[str] = RoutingMatcher()
    routes.subscribe_many(("t", criteria, name) for name, criteria in wanted.items())
    without_hash: list[Any] = [
        *(set(), bytearray(), Decimal("sNaN"), {}, [], [[], {}], {"a": []}, UserDict({"a": 1})),
        type("Frozen", (dict,), {"__hash__": lambda _: 0})(),
        type("Odd", (list,), {"__iter__": raises})([1]),
        type("Odd", (dict,), {"items": raises})(a=1),
        [type("Odd", (UserDict,), {"items": lambda _: [(1, 2, 3)]})()],
        weakref.proxy(type("Odd", (), {})()),
        type("Odd", (), {"__class__": property(raises)})(),
    ]
    for value in without_hash:  # they are no values of their field, which is not there
        for message in ({"state": value, "urgent": 1}, {"state": value, "urgent": [1]}):
            assert sorted(matcher.match_all(message)) == ["bob", "cid"]
            assert routes.match("t", message) == ("cid",)
            assert [name for name, one in wanted.items() if explain(one, message)[:3] == "met"] == ["cid"]


# --------------------------------------------------------------------------------------------------------- what is refused

fits = [AnyOf(Equals(f"a{i}", 1), Equals(f"b{i}", 1)) for i in range(4)]
long = "x" * 100_000
made: Any = {kind.__name__: kind for kind in (Equals, OneOf, NotIn, AtLeast, LessThan, Within, Prefix, Not)}
# Calls with an empty matcher for up to three criteria with five values, and with empty routes.
REFUSED: list[tuple[Callable[[Any, Any], object], str]] = [
    # criteria
    (lambda few, routes: made["Equals"](1, 1), "the name of a field is a str, not int"),
    (lambda few, routes: made["OneOf"]("f", "ab"), "the values of field 'f' are several: give a list of them, not 'ab'"),
    (lambda few, routes: made["OneOf"]("f", 5), "the values of field 'f' are several: give a list of them, not 5"),
    (lambda few, routes: made["OneOf"]("f", [[]]), "the value of field 'f' must be hashable, not list"),
    (lambda few, routes: made["AtLeast"]("f", None), "a comparison with field 'f' needs a bound, not None"),
    (lambda few, routes: made["Prefix"]("f", 1), "a prefix is a str or bytes, not int"),
    (lambda few, routes: made["Not"]([Equals("a", 1)]), "a criterion must be Equals, .*, not list"),
    (lambda few, routes: Equals("price", NAN), "nothing is equal to nan"),
    (lambda few, routes: Equals("price", Decimal("sNaN")), "nothing is equal to Decimal"),
    (lambda few, routes: OneOf("price", [1, NAN]), "nothing is equal to nan"),
    (lambda few, routes: NotIn("price", [1, NAN]), "nothing is equal to nan"),
    (lambda few, routes: Within("price", 2, 1), "nothing lies within 2 and 1"),
    (lambda few, routes: Within("price", NAN, 1), "nothing lies within nan and 1"),
    (lambda few, routes: Within("price", Decimal("NaN"), 1), "nothing lies within"),
    (lambda few, routes: LessThan("price", NAN), "nothing lies within None and nan"),
    (lambda few, routes: Within("price", 1, 1, low_open=True), "nothing lies within 1 and 1, open"),
    (lambda few, routes: Within("n", 5, "a"), "nothing lies within 5 and 'a', which do not compare"),
    *[(lambda few, routes, kind=kind: kind("x", 1j), "nothing lies within") for kind in (GreaterThan, AtLeast, LessThan, AtMost, Within)],
    (lambda few, routes: AnyOf([Equals("s", 1), Equals("s", 2)]), "AnyOf takes alternatives one by one"),
    (lambda few, routes: AnyOf({Equals("s", 1), Equals("s", 2)}), "AnyOf takes alternatives one by one"),
    # subscriptions
    (lambda few, routes: few.subscribe([], "ann"), "a subscription has 1 to 3 criteria, not 0"),
    (lambda few, routes: few.unsubscribe([Present(name) for name in "abcd"], "ann"), "a subscription has 1 to 3 criteria, not 4"),
    (lambda few, routes: few.subscribe(["urgent"], "ann"), "a criterion must be Equals, Present or another of subtrie.fields, not str"),
    (lambda few, routes: few.unsubscribe([OneOf("f", range(4)), NotIn("g", ["a", ""])], "ann"), "name up to 5 values, not 6"),
    (lambda few, routes: few.subscribe([AnyOf(OneOf("a", range(6)), Equals("b", 1))], "ann"), "name up to 5 values, not 6"),
    (lambda few, routes: few.subscribe([made["Equals"]("f", ["a"])], "ann"), "unhashable type: 'list'"),
    (lambda few, routes: few.subscribe([Present("f")], {}), "unhashable type: 'dict'"),
    (lambda few, routes: few.subscribe_many([([Present("a")], 1), (["a"], 2)]), "a criterion must be"),
    (lambda few, routes: FieldMatcher(max_values=16).subscribe([*fits, AnyOf(Equals("a", 1), Equals("b", 1))], "ann"), "the alternatives of a subscription make up to 16 ways, not 32"),
    (lambda few, routes: FieldMatcher(weak=True).subscribe([Present("a")], 1), "cannot create weak reference to 'int' object"),
    (lambda few, routes: few.subscribe([Present("a")], 1, but=("a",)), "has no exclusions"),
    (lambda few, routes: few.subscribe([Present("a")], 1, options={"qos": 1}), r"did you mean \*\*options"),
    (lambda few, routes: routes.subscribe_many([("a", [], 1, {"options": vars(int)})]), r"did you mean \*\*options"),
    *[(lambda few, routes, name=name: few.subscribe([Present("a")], 1, **{name: 1}), "has no exclusions|did you mean but") for name in ("butt", "But", "buts", "BUT", "but_")],
    (lambda few, routes: few.subscribe_many([([Present("a")], 1, {"butt": 1})]), "has no exclusions|did you mean but"),
    (lambda few, routes: RoutingMatcher(MQTT).subscribe("a/#", [], 1, buts=("a/secret/#",)), "has no exclusions|did you mean but"),
    (lambda few, routes: few.subscribe(Equals, 1), "made with the name of a field, not the class Equals itself"),
    (lambda few, routes: few.unsubscribe([Equals], 1), "made with the name of a field, not the class Equals itself"),
    (lambda few, routes: few.subscribe(Equals("a", 1), 1), r"a list, even if it is one: \[Equals\('a', 1\)\]"),
    (lambda few, routes: few.subscribe({"a": [1]}, 1), r"a list, not dict: from_pattern\(\) reads a JSON pattern"),
    (lambda few, routes: few.subscribe('{"a": [1]}', 1), r"a list, not str: from_pattern\(\) reads a JSON pattern"),
    (lambda few, routes: few.subscribe([{"a": [1]}], 1), "another of subtrie.fields, not dict"),
    (lambda few, routes: few.subscribe(None, 1), "not iterable"),
    # messages and other matchers
    (lambda few, routes: few.match_all([("f", 1)]), "a message is a mapping of .*, not list"),
    (lambda few, routes: few.match_many({"f": 1}), "match_many.. takes several messages"),
    (lambda few, routes: few.diff({}), "older must be a FieldMatcher, not dict"),
    (lambda few, routes: FieldMatcher(max_criteria=0), "max_criteria must be 1 or more, not 0"),
    (lambda few, routes: FieldMatcher(max_criteria=-1), "max_criteria must be 1 or more, not -1"),
    (lambda few, routes: few.snapshot().subscribe([Present("f")], 1), r"is a read-only snapshot; take \.fork"),
    (lambda few, routes: few.snapshot().unsubscribe([Present("f")], 1), r"is a read-only snapshot; take \.fork"),
    (lambda few, routes: few.snapshot().replace([Present("f")], [Present("g")], 1), r"is a read-only snapshot; take \.fork"),
    (lambda few, routes: few.snapshot().subscribe_many([]), r"is a read-only snapshot; take \.fork"),
    (lambda few, routes: few.snapshot().unsubscribe_all(1), r"is a read-only snapshot; take \.fork"),
    (lambda few, routes: few.snapshot().clear(), r"is a read-only snapshot; take \.fork"),
    (lambda few, routes: few.replace([Present("a")], [], 1), "1 to 3 criteria"),
    (lambda few, routes: explain([], {}), "a subscription has 1 to 64 criteria, not 0"),
    (lambda few, routes: explain([Present("a")], []), "a message is a mapping"),  # type: ignore[arg-type]
    (lambda few, routes: explain(made["Equals"]("a", 1), {}), "are a list, even if it is one"),
    # routes
    (lambda few, routes: routes.subscribe("a\0", [], "ann"), "forbidden character"),
    (lambda few, routes: routes.match("a\0", {"f": []}), "forbidden character"),
    (lambda few, routes: routes.match(5, {}), "a topic must be a str, not int"),
    (lambda few, routes: routes.subscribe("a", ["urgent"], "ann"), "a criterion must be"),
    (lambda few, routes: routes.subscribe_many([("a", [], 1), ("a", Equals("a", 1), 1)]), "a list, even if it is one"),
    (lambda few, routes: routes.subscribe("a", [], 1, queue="workers"), "queue='workers': a RoutingMatcher has no queue groups"),
    (lambda few, routes: routes.subscribe_many([("a", [], 0), ("a", [], 1, {"queue": "workers"})]), "a RoutingMatcher has no queue groups"),
    (lambda few, routes: routes.subscribe("a", [], 1, qeue="workers"), "did you mean queue"),
    (lambda few, routes: RoutingMatcher(MQTT).subscribe("a", [], 1, qos=3), "the option qos of MQTT is one of 0, 1, 2, not 3"),
    (lambda few, routes: RoutingMatcher(MQTT).subscribe("$share/workers/jobs", [Present("f")], "ann"), "shared subscription"),
    (lambda few, routes: RoutingMatcher(MQTT).unsubscribe("$share/workers/jobs", [Present("f")], "ann"), "shared subscription"),
    (lambda few, routes: routes.subscribe_many([("a", [])]), r"a subscription is \(filter, criteria, subscriber\) or"),
    (lambda few, routes: routes.subscribe_many([("a", [], 2, {1: 2})]), "the name of an option is a str, not 1"),
    (lambda few, routes: routes.diff(few), "older must be a RoutingMatcher, not FieldMatcher"),
    (lambda few, routes: routes.__init__(MQTT), "initialised once"),
    (lambda few, routes: RoutingMatcher.__new__(RoutingMatcher).subscribe("a", [], 1), "is not initialised"),
    # errors are short
    (lambda few, routes: Within("f", long, "a"), "nothing lies within"),
    (lambda few, routes: Wildcard("f", long + "**"), "side by side"),
    (lambda few, routes: OneOf("f", long), "give a list of them"),
    (lambda few, routes: to_pattern([Equals("f", (long,))]), "is not a text, number"),
    (lambda few, routes: few.subscribe({long: [1]}, 1), "a list, not dict"),
    (lambda few, routes: few.subscribe_many([long]), "a subscription is"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "says"), REFUSED)
def test_what_is_refused_is_told_shortly_and_changes_nothing(call: Callable[[Any, Any], object], says: str) -> None:
    few, routes = FieldMatcher[Any](max_criteria=3, max_values=5), RoutingMatcher[Any](NATS)
    with pytest.raises((TypeError, ValueError, TopicError), match=says) as caught:
        call(few, routes)
    assert len(str(caught.value)) < 500
    assert len(few) == len(routes) == 0
    few.check()
    routes.check()


def test_alternatives_are_given_one_by_one_and_criteria_in_criteria_have_an_end() -> None:
    one, other = Equals("state", "open"), Equals("state", "paid")
    assert AnyOf(*[one, other]) == AnyOf(other, one)
    for both in (AnyOf([one, Present("a")], other), AnyOf((one, other))):  # one alternative, as patterns have it
        assert pickle.loads(pickle.dumps(both)) == both
    assert FieldMatcher(max_values=16).subscribe(fits, "ann")
    for make in (Not, lambda inner: AnyOf(inner, Equals("b", 1)), lambda inner: AnyOf((inner, Equals("a", 1)))):
        criterion: Criterion = Equals("a", 1)
        for _ in range(100):
            criterion = make(criterion)
        assert hash(criterion) == hash(criterion)
        matcher: FieldMatcher[str] = FieldMatcher()
        matcher.subscribe([criterion], "ann")
        assert matcher.match_all({"a": 1}) == ("ann",)
        with pytest.raises(ValueError, match="criteria are nested up to 100 deep"):
            make(criterion)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(
    ("value", "bounds"),
    [
        (2, [type("Bound", (Decimal,), {})(2), 2]),
        # On the clock of the zone it is past the first bound, and in UTC before both.
        *[
            (
                datetime(2026, 1, 1, 2, 45, tzinfo=zone),
                [datetime(2026, 1, 1, 2, 30, tzinfo=zone, fold=1), datetime(2026, 1, 1, 2, tzinfo=UTC)],
            )
            for zone in [type("Zone", (tzinfo,), {"utcoffset": lambda _, when: timedelta(hours=1 - when.fold)})()]
        ],
    ],
)
def test_a_range_to_a_bound_of_another_type_is_another_range(value: Any, bounds: list[Any], first: int) -> None:
    """What is of a type of its own may compare in a way of its own, so its range is filed elsewhere than an int's. So
    is that of a time in a zone of rules."""
    both = [[AtLeast("f", bound)] for bound in bounds]
    matcher: FieldMatcher[str] = FieldMatcher()
    matcher.hits({})
    for rule in (both[first], both[1 - first]):
        assert matcher.subscribe(rule, "me")
        matcher.check()
    assert (
        {change.subscription.criteria for change in matcher.diff(FieldMatcher())},
        matcher.match_all({"f": value}),
    ) == ({*map(frozenset, both)}, ("me",))
    for rule in (both[first], both[1 - first]):
        assert matcher.unsubscribe(rule, "me")
        matcher.check()
    assert left_in(matcher) == []


def test_overlapping_criteria_on_one_field_each_count_and_nobody_is_a_subscriber_like_others() -> None:
    """`subscriptions` alone cannot be asked for the subscriber None, since None means all subscribers there."""
    matcher: FieldMatcher[Any] = FieldMatcher()
    rules = [Present("f"), Equals("f", 2), OneOf("f", [1, 2]), OneOf("f", [2, 3]), Within("f", 1, 2), Within("f", 2, 9)]
    matcher.subscribe(rules, 1)
    assert [([*matcher.hits({"f": n}).values()], matcher.match_all({"f": n})) for n in (2, 1)] == [
        ([6], (1,)),
        ([3], ()),
    ]
    assert [each.subscriber for each in matcher.subscriptions(1)] == [1]
    assert (rules, None) not in matcher
    matcher.subscribe(rules, None)
    assert (rules, None) in matcher
    assert matcher.unsubscribe(rules, 1)
    assert matcher.match_all({"f": 2}) == (None,)
    assert from_pattern(to_pattern([Present("$or")])) == [Present("$or")]
    matcher.clear()
    assert left_in(matcher) == []
