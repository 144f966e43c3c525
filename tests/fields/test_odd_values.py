"""Odd values in messages and criteria: texts of subclasses, users' code that meddles, bounds without an order.

test_every_door.py asks for odd values by patterns.
"""

from __future__ import annotations

import decimal
import itertools
import random
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import pytest

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
)


class State(StrEnum):
    OPEN = "open"


class Named(str, Enum):  # noqa: UP042  as older code writes it
    OPEN = "open"


class Liar(str):
    """A text whose methods say something else than its characters."""

    __slots__ = ()

    def __str__(self) -> str:
        return "lie"

    def __getitem__(self, _: Any) -> str:
        return "lie"

    def startswith(self, *_: Any) -> bool:
        return False

    def casefold(self) -> str:
        return "lie"


TEXT_TESTS: list[Callable[[str, str], Criterion]] = [
    lambda name, text: Equals(name, text),
    lambda name, text: Prefix(name, text[:2]),
    lambda name, text: Prefix(name, text[:2].upper(), ignore_case=True),
    lambda name, text: Suffix(name, text[2:]),
    lambda name, text: Suffix(name, text[2:].upper(), ignore_case=True),
    lambda name, text: EqualsIgnoringCase(name, text.upper()),
    lambda name, text: Wildcard(name, f"{text[0]}*{text[3]}"),
    lambda name, text: Wildcard(name, f"*{text[1:3]}*"),
]


@pytest.mark.parametrize("text", [State.OPEN, Named.OPEN, Liar("open"), "open"], ids=lambda text: type(text).__name__)
def test_a_text_of_a_subclass_is_its_characters(text: str) -> None:
    tests = [make("state", "open") for make in TEXT_TESTS]
    matcher: FieldMatcher[int] = FieldMatcher()
    for number, test in enumerate(tests):
        matcher.subscribe([test], number)
        matcher.subscribe([Equals("kind", 1), test], 100 + number)
    found = matcher.match_all({"state": text, "kind": 1})
    assert sorted(found) == [base + number for base in (0, 100) for number in range(len(tests))]
    assert all(test.holds(text) for test in tests)
    matcher.check()


def test_an_address_of_a_subclass_is_its_characters() -> None:
    matcher: FieldMatcher[str] = FieldMatcher()
    matcher.subscribe([InNetwork("source", "10.0.0.0/8")], "ann")
    assert matcher.match_all({"source": Liar("10.1.2.3")}) == ("ann",)
    matcher.check()


@pytest.mark.parametrize("made", [Prefix, Suffix, Wildcard, EqualsIgnoringCase])
def test_a_criterion_may_be_made_of_a_text_of_a_subclass(made: Any) -> None:
    assert made("state", State.OPEN) == made("state", Liar("open")) == made("state", "open")


@pytest.mark.parametrize("made", [GreaterThan, AtLeast, LessThan, AtMost, Within])
def test_bounds_without_an_order_are_refused(made: Any) -> None:
    matcher: FieldMatcher[str] = FieldMatcher()
    matcher.subscribe([GreaterThan("x", 1)], "ann")
    with pytest.raises(ValueError, match="nothing lies within"):
        matcher.subscribe([made("x", 1j)], "bob")
    with pytest.raises(ValueError, match="nothing lies within"):
        AnyOf(made("x", 1j), Equals("x", 1))
    assert matcher.match_all({"x": 2}) == ("ann",)
    matcher.check()


class Meddling:
    """A value that changes a message when it is compared: what has been asked about does not change with it."""

    def __init__(self, change: Callable[[], object]) -> None:
        self.change = change

    def __hash__(self) -> int:
        return hash("open")

    def __eq__(self, other: object) -> bool:
        self.change()
        return other == "open"


@pytest.mark.parametrize(
    "change",
    [
        lambda message: message.clear(),
        lambda message: message.update(kind=2, other=1),
        lambda message: message.update(state="shut", name=None),
        lambda message: message.pop("kind", None),
        lambda message: [message.update({str(i): "x" * i for i in range(100)}), message.pop("state", None)],
    ],
)
@pytest.mark.parametrize("rest", [[], [Equals("kind", 1)], [Absent("other")], [Equals("kind", 1), Absent("other")]])
@pytest.mark.parametrize("more", [{}, {"b": (1, 2)}, {"c": ["x"]}])
def test_users_code_that_changes_the_message_changes_no_answer(
    change: Callable[[dict[str, Any]], object], rest: list[Any], more: dict[str, Any]
) -> None:
    message: dict[str, Any] = {}
    matcher: FieldMatcher[str] = FieldMatcher()
    matcher.subscribe([Equals("state", Meddling(lambda: change(message))), *rest], "ann")
    matcher.subscribe([GreaterThan("name", "a"), *rest], "bob")
    for found in (
        matcher.match_all,
        matcher.match_any,
        lambda asked: [each.subscriber for each in matcher.deliveries(asked)],
    ):
        message.clear()
        message.update({"state": "op" + "en", "kind": 1, "name": "".join(["b", "c"]), **more})
        assert sorted(found(message)) == ["ann", "bob"]


@pytest.mark.parametrize("seed", range(12))
def test_patterns_that_have_pieces_in_common(seed: int) -> None:
    """Each text is met by those whose pieces it has one after the other, and not by those that it has pieces of."""
    rng = random.Random(seed)

    def word(size: int) -> str:
        return "".join(rng.choices("ab\xe9", k=size))

    patterns = [
        (f"*{word(rng.randrange(1, 7))}*{word(rng.randrange(5))}".rstrip("*") + "*", word(4)) for _ in range(80)
    ]
    matcher: FieldMatcher[int] = FieldMatcher()
    for number, (pattern, other) in enumerate(patterns):
        more: list[Criterion] = [Wildcard("b", f"*{other}*")] if number % 2 else []
        matcher.subscribe([Wildcard("a", pattern), *more], number)
    matcher.check()
    for _ in range(40):
        texts = [word(rng.randrange(14)) for _ in range(rng.randrange(1, 3))]
        beside = word(rng.randrange(10))
        wanted = [
            number
            for number, (pattern, other) in enumerate(patterns)
            if any(re.fullmatch(pattern.replace("*", ".*"), text) for text in texts)
            and (number % 2 == 0 or other in beside)
        ]
        assert sorted(matcher.match_all({"a": texts if len(texts) > 1 else texts[0], "b": beside})) == wanted


# ------------------------------------------------------------------------------------------------ what does not compare


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
        ratio: tuple[int, int] = Fraction(self.value).as_integer_ratio()
        return ratio

    def _with(self, other: object) -> Any:
        if not isinstance(other, int | float | Narrow):
            raise TypeError("argument must be an integer")
        return other.value if isinstance(other, Narrow) else other

    def __eq__(self, other: object) -> bool:
        return bool(self.value == self._with(other))

    def __lt__(self, other: object) -> bool:
        return bool(self.value < self._with(other))

    def __le__(self, other: object) -> bool:
        return bool(self.value <= self._with(other))

    def __gt__(self, other: object) -> bool:
        return bool(self.value > self._with(other))

    def __ge__(self, other: object) -> bool:
        return bool(self.value >= self._with(other))


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


RULES: list[Criterion] = [
    *(
        make("f", bound)
        for make in (Equals, AtLeast, GreaterThan, AtMost, LessThan)
        for bound in (Decimal("5"), 5, 5.5)
    ),
    *(Within("f", low, high) for low, high in itertools.combinations((Decimal("1.5"), 2, 4.5, Fraction(11, 2), 8), 2)),
    *(OneOf("f", [5, Decimal("7.5")]), NotIn("f", [Decimal(5)]), NotIn("f", [5, 8.5]), AtLeast("f", date(2020, 1, 1))),
    *(AtLeast("f", "a"), Prefix("f", "a"), Present("f"), Within("f", 2, NarrowReal(8)), AtLeast("f", NarrowWhole(3))),
]
RULES += [Not(rule) for rule in RULES]


def every_verdict(value: Any) -> list[tuple[int, ...]]:
    """What everything that asks says of a value of a field, as the numbers of the rules that it meets."""
    fields: FieldMatcher[int] = FieldMatcher()
    routes: RoutingMatcher[int] = RoutingMatcher()
    crowd: FieldMatcher[int] = FieldMatcher()
    for number, rule in enumerate(RULES):
        fields.subscribe([rule], number)
        routes.subscribe("#", [rule], number)
        for other in range(40):
            crowd.subscribe([Equals("g", 1), rule], 100 * number + other)
    found = [
        fields.match_all({"f": value}),
        fields.match_all({"f": [value]}),
        [each.subscriber for each in fields.deliveries({"f": value})],
        [each.subscriber for each in fields.hits({"f": value})],
        routes.match("a.b", {"f": value}),
        {number // 100 for number in crowd.match_all({"f": value, "g": 1})},
        [number for number, rule in enumerate(RULES) if rule.holds(value)],
    ]
    return [tuple(sorted(one)) for one in found]


@pytest.mark.parametrize("number", [5, 5.5, 8, 2**60, 0.1, Fraction(1, 3)])
@pytest.mark.parametrize("kind", [NarrowWhole, NarrowReal])
def test_a_number_of_another_library_compares_as_pythons_own(kind: Any, number: Any) -> None:
    if kind is NarrowWhole:
        number = int(number)
    plain, narrow = every_verdict(number), every_verdict(kind(number))
    assert len({*plain, *narrow}) == 1


@pytest.mark.parametrize("value", [Unanswered(), object(), 1j, b"a"], ids=lambda value: type(value).__name__)
def test_what_does_not_compare_meets_no_bound_and_every_other_answer_is_given(value: Any) -> None:
    (found,) = set(every_verdict(value))
    half = len(RULES) // 2
    assert RULES.index(Present("f")) in found
    assert {number % half for number in found} == set(range(half))  # of a rule and Not of it, one is met
    assert not [number for number in found if isinstance(RULES[number], Within)]


def test_numbers_compare_under_a_trap_of_decimals() -> None:
    rng = random.Random(5)
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


def test_the_numbers_of_numpy_and_the_na_of_pandas() -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    for kind in (numpy.int64, numpy.uint8, numpy.float32, numpy.float64, numpy.longdouble):
        assert set(every_verdict(kind(5))) == set(every_verdict(5))
    assert len(set(every_verdict(pandas.NA))) == 1
    assert Equals("f", numpy.int64(5)).value.__class__ is int
