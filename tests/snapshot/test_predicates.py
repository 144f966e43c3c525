"""Criteria on fields as predicates of Spark: the same answers as the criteria's own."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from snapshot import field_predicate
from subtrie import fields
from subtrie.fields import Equals, OneOf, Present, Within

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int": [0, 1, -5, 2**31 - 1],
    "bigint": [0, 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "double": [0.0, -0.0, 1.0, 0.1, 2.0**53, float("inf"), float("-inf"), float("nan"), 1e300],
    "float": [0.5, 1.0, float("inf")],
    "decimal(10,2)": [Decimal("0.10"), Decimal("1.00"), Decimal("-2.55")],
    "string": [
        *("", "a", "1", "é", "\U0001f600", "\uffff", "É", "Aé", "\u03c3", "\u03c2", "\u1e9e", "\xdf", "\u0130"),
        *("\U00010400", "a%b", "a_b", "a\\b", "a\nb", "10.0.0.1", "10.0.0.01", "10.0.0.256", "9.255.255.255"),
        *("10.0.0", "10.0.0.1\n", "::1", "\u0661\u0660.0.0.1"),
    ],
    "binary": [b"", b"a", b"\xff"],
    "date": [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
    "timestamp_ntz": [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 5, 1, 3)],
}
"""The values of columns, by their types, which are also their names."""

TEXTS = ["", "a", "B", "é", "\u03a3", "\xdf", "ss", "i", "\U00010428", "b", "_b", "\\b"]
PATTERNS = ["*", "", "a*", "*b", "a*b", "*\\**", "a%*", "a_*", "a\\\\*", "*\n*", "\u03a3*", "a"]
OTHERS = [Fraction(1, 3), Decimal("0.1"), 2**100, -(2**70), 0.3, "zz", (1,), 2**53 + 1.0, Decimal("1E+50"), 10**40]
CRITERIA = 350


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    chance = random.Random(4)
    rows = [tuple(chance.choice([*values, None]) for values in VALUES.values()) for _ in range(80)]
    return spark.createDataFrame(rows, ", ".join(f"`{name}` {name}" for name in VALUES))


def criterion(chance: random.Random, constants: list[Any]) -> Any:
    name, one, other = chance.choice(list(VALUES)), chance.choice(constants), chance.choice(constants)
    kinds: list[Any] = [
        lambda: Equals(name, one),
        lambda: Present(name),
        lambda: OneOf(name, [one, other]),
        lambda: Within(name, low=one),
        lambda: Within(name, high=one),
        lambda: Within(name, one, other),
    ]
    if hasattr(fields, "NotIn"):
        more: Any = fields
        kinds += [
            lambda: more.Absent(name),
            lambda: more.NotIn(name, [one, other]),
            lambda: more.Prefix(name, chance.choice(["", "a", "é", b"a"])),
            lambda: more.Prefix(name, chance.choice(TEXTS), ignore_case=True),
            lambda: more.Suffix(name, chance.choice(TEXTS), ignore_case=chance.random() < 0.5),
            lambda: more.EqualsIgnoringCase(name, chance.choice(TEXTS)),
            lambda: more.Wildcard(name, chance.choice(PATTERNS)),
            lambda: more.InNetwork(name, chance.choice(["10.0.0.0/8", "10.0.0.1", "0.0.0.0/0"])),
            lambda: more.Not(more.Suffix(name, chance.choice(TEXTS))),
            lambda: more.AnyOf(Equals(name, one), [more.Absent(name), Present(chance.choice(list(VALUES)))]),
            lambda: more.GreaterThan(name, one),
            lambda: more.LessThan(name, one),
        ]
    while True:
        try:
            return chance.choice(kinds)()
        except (TypeError, ValueError):  # no value can equal this constant, or no range can have it as a bound
            one = chance.choice(constants)


def holds(criterion: Any, message: dict[str, Any]) -> bool:
    return bool(criterion.met_by(message))


def messages_of(frame: DataFrame) -> list[dict[str, Any]]:
    return [
        {name: bytes(value) if isinstance(value, bytearray) else value for name, value in row.asDict().items()}
        for row in frame.collect()
    ]


@pytest.mark.once
def test_holds_where_the_criterion_holds(frame: DataFrame) -> None:
    chance = random.Random(5)
    constants = [value for values in VALUES.values() for value in values] + OTHERS
    criteria = [criterion(chance, constants) for _ in range(CRITERIA)]
    predicates = [field_predicate(frame, [each]).alias(f"p{n}") for n, each in enumerate(criteria)]
    found = frame.select("*", *predicates).collect()
    true = 0
    for row in found:
        message = {name: row[name] for name in VALUES if row[name] is not None}
        message = {name: bytes(value) if isinstance(value, bytearray) else value for name, value in message.items()}
        for number, each in enumerate(criteria):
            assert row[f"p{number}"] is holds(each, message), (each, message.get(each.name))
            true += row[f"p{number}"]
    assert CRITERIA * 10 < true < CRITERIA * 60


def test_joins_criteria_by_and_or_by_or(frame: DataFrame) -> None:
    criteria = [Present("int"), Equals("string", "a")]
    wanted = [[holds(each, message) for each in criteria] for message in present(frame)]
    assert frame.where(field_predicate(frame, criteria)).count() == sum(map(all, wanted))
    assert frame.where(field_predicate(frame, criteria, any=True)).count() == sum(map(any, wanted))


def present(frame: DataFrame) -> list[dict[str, Any]]:
    return [{name: value for name, value in each.items() if value is not None} for each in messages_of(frame)]


def test_refuses_what_it_cannot_evaluate(spark: SparkSession, frame: DataFrame) -> None:
    arrays = spark.createDataFrame([([1],)], "x array<int>")
    with pytest.raises(ValueError, match="there are no criteria"):
        field_predicate(frame, [])
    with pytest.raises(ValueError, match=r"has no column 'price', only \['boolean'"):
        field_predicate(frame, [Present("price")])
    with pytest.raises(TypeError, match=r"column 'x' is of type array<int>, whose values do not compare"):
        field_predicate(arrays, [Equals("x", 1)])
    with pytest.raises(
        TypeError, match=r"a criterion must be one of subtrie\.fields that Spark can evaluate, not 'price'"
    ):
        field_predicate(frame, ["price"])
    with pytest.raises(
        TypeError, match=r"Spark alone cannot evaluate InNetwork.*: it has no addresses of IP version 6"
    ):
        field_predicate(frame, [fields.InNetwork("string", "::/0")])
    assert arrays.where(field_predicate(arrays, [Present("x")])).count() == 1
