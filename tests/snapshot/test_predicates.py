"""Criteria on fields as predicates of Spark: the same answers as the criteria's own."""

from __future__ import annotations

import datetime
import ipaddress
import random
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from snapshot import field_predicate
from snapshot.fields import fields_to_arrow
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
            lambda: more.InNetwork(name, chance.choice(["10.0.0.0/8", "10.0.0.1", "0.0.0.0/0", "::/0", "::1"])),
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
    assert arrays.where(field_predicate(arrays, [Present("x")])).count() == 1


ADDRESSES = [
    *(
        "::", "::1", "1::", "1::2", "0:0:0:0:0:0:0:1", "2001:db8::ff", "2001:DB8:0:0:1::", "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7::",
    ),
    *(
        "::2:3:4:5:6:7:8", "1::3:4:5:6:7:8", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
    ),
    *(
        ":", ":1", "1:", ":::", "::1:", ":1::", "1::2::3", "12345::", "g::", "::-1", "::0001", "::00001", " ::1",
        "::1 ", "::1\n",
    ),
    *(
        "::10.0.0.1", "::ffff:10.0.0.1", "1:2:3:4:5:6:10.0.0.1", "1:2:3:4:5:6:7:10.0.0.1", "1:2:3:4:5:10.0.0.1",
        "::10.0.0",
    ),
    *(
        "::10.0.0.256", "::10.0.0.01", "::10.0.0.1.2", "10.0.0.1::", "1.2.3.4", "::1.2.3.4:5", ":10.0.0.1",
        "0:10.0.0.1", "10.0.0.1",
    ),
    *("fe80::1%eth0", "::\u0661", "::\uff11", "", "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "::1/128", "[::1]"),
]  # fmt: skip


@pytest.mark.once
def test_addresses_are_read_as_python_reads_them(spark: SparkSession) -> None:
    chance = random.Random(6)
    signs = ["0", "1", "ab", "F", "::", ":", ":", "10.0.0.1", "."]
    made = ["".join(chance.choices(signs, k=chance.randrange(1, 12))) for _ in range(300)]
    texts = [
        *ADDRESSES,
        *made,
        *(str(ipaddress.IPv6Address(chance.getrandbits(128) >> chance.randrange(128))) for _ in range(100)),
    ]
    frame = spark.createDataFrame([(text,) for text in texts], "text string")
    networks = [
        "::/0", "::1", "::/8", "2001:db8::/32", "1::/16", "::ffff:0:0/96", "1:2:3:4:5:6::/96", "10.0.0.0/8",
        "0.0.0.0/0",
    ]  # fmt: skip
    criteria = [fields.InNetwork("text", network) for network in networks]
    columns = [field_predicate(frame, [each]).alias(f"p{n}") for n, each in enumerate(criteria)]
    rows = frame.select("text", *columns).collect()
    assert len(rows) == len(texts)
    for row in rows:
        for number, each in enumerate(criteria):
            assert row[f"p{number}"] is each.holds(row["text"]), (each, row["text"])
    assert sum(row["p0"] for row in rows) > 120


PATTERNS_OF_ROUTERS: list[dict[str, Any]] = [
    {"detail": {"file": {"name": [{"suffix": ".png"}]}}},
    {"detail": {"file": {"name": [{"wildcard": "*im*.p*g"}]}}},
    {"detail": {"file": {"name": [{"equals-ignore-case": "IMG.PNG"}]}}},
    {"detail": {"file": {"name": [{"prefix": {"equals-ignore-case": "IM"}}]}}},
    {"detail": {"file": {"name": [{"suffix": {"equals-ignore-case": "G"}}]}}},
    {"detail": {"file": {"name": [{"anything-but": ["img.png"]}]}}},
    {"detail": {"file": {"name": [{"anything-but": {"prefix": "i"}}]}}},
    {"detail": {"file": {"name": [{"anything-but": {"suffix": [".png", ".PNG"]}}]}}},
    {"detail": {"file": {"name": [{"anything-but": {"wildcard": "*.*"}}]}}},
    {"detail": {"file": {"name": [{"anything-but": {"equals-ignore-case": ["img.png", "a"]}}]}}},
    {"detail": {"file": {"name": [{"exists": False}]}}},
    {"detail": {"file": {"name": [{"exists": True}]}}},
    {"detail": {"file": {"name": ["a", {"prefix": "IMG"}, {"exists": False}]}}},
    {"detail": {"ip": [{"cidr": "10.0.0.0/8"}], "n": [{"numeric": [">", 0, "<=", 5]}]}},
    {"detail": {"n": [1, {"numeric": [">=", 5]}]}},
    {"detail": {"$or": [{"n": [1]}, {"file": {"name": ["a"]}, "ip": [{"exists": True}]}]}},
    {"a.b": [1], "$or": [{"detail": {"n": [5]}}, {"$or": [{"a.b": [2]}, {"detail": {"ip": ["10.1.1.1"]}}]}]},
]


@pytest.mark.once
def test_patterns_of_routers_hold_in_spark_as_they_do_here_and_in_an_export(spark: SparkSession) -> None:
    names, addresses, numbers = ["img.png", "IMG.PNG", "a", "", None], ["10.1.1.1", "11.1.1.1", None], [1, 5, None]
    rows = [((None if n is None else (n,), ip, k), 1) for n in names for ip in addresses for k in numbers]
    frame = spark.createDataFrame(
        [*rows, (None, 1), (None, 2)], "detail struct<file struct<name string>,ip string,n int>, `a.b` int"
    )
    matcher = fields.FieldMatcher()
    for number, pattern in enumerate(PATTERNS_OF_ROUTERS):
        matcher.subscribe(fields.from_pattern(pattern), number)
    exported = fields_to_arrow(matcher).to_pylist()
    read = {int(row["subscriber"]): fields.from_pattern(row["pattern"]) for row in exported}
    predicates = [field_predicate(frame, read[n]).alias(f"p{n}") for n in range(len(PATTERNS_OF_ROUTERS))]
    answers: set[tuple[int, bool]] = set()
    for row in frame.select("*", *predicates).collect():
        event = without_nulls(
            {"detail": row["detail"] and row["detail"].asDict(recursive=True), "a": {"b": row["a.b"]}}
        )
        wanted = set(matcher.match_all(event))
        assert {n for n in read if row[f"p{n}"]} == wanted, event
        answers |= {(n, n in wanted) for n in read}
    assert len(answers) == 2 * len(read)


def without_nulls(event: Any) -> Any:
    if not isinstance(event, dict):
        return event
    return {name: without_nulls(value) for name, value in event.items() if value is not None}


def test_fields_in_arrays_are_refused_by_name(spark: SparkSession) -> None:
    frame = spark.createDataFrame([([(1,)], (1,))], "items array<struct<id int>>, detail struct<`x.y` int>")
    with pytest.raises(
        TypeError, match=r"field 'items.id' is below 'items' of type array<.*>, which Spark alone cannot"
    ):
        field_predicate(frame, [Equals("items.id", 1)])
    assert frame.where(field_predicate(frame, [Equals("detail.x.y", 1)])).count() == 1
    with pytest.raises(ValueError, match=r"has no column 'detail.z', only \['items', 'detail'\]"):
        field_predicate(frame, [Equals("detail.z", 1)])


def test_no_text_of_spark_has_half_of_a_character(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a",), ("\U0001f600",)], "t string")
    tests = ["prefix", "suffix", "equals-ignore-case", "wildcard", "exactly"]
    for test in tests:
        assert frame.where(field_predicate(frame, fields.from_pattern({"t": [{test: "\ud83d"}]}))).count() == 0
        but = {"anything-but": "\ud83d" if test == "exactly" else {test: "\ud83d"}}
        assert frame.where(field_predicate(frame, fields.from_pattern({"t": [but]}))).count() == 2
