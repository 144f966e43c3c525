"""Odd values and odd tests: every answer is that of an oracle which reads the pattern by itself, value by value.

Fields have single values or lists of them, nested too; what belongs together is in test_events.py.
"""

from __future__ import annotations

import ipaddress
import math
import operator
import random
import re
from collections.abc import Callable, Iterator
from enum import Enum, StrEnum
from typing import Any, TypeAlias

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
    Prefix,
    Suffix,
    Wildcard,
    Within,
    explain,
    from_pattern,
    to_pattern,
)

Holds: TypeAlias = Callable[[Any], bool]

TEXTS = [
    *(
        "", "a", "A", "ab", "aB", "*", "\\", "a*b", "a\\b", "\x00", "a\x00b", "a.b", "a[0]", "$or", "1", "1.0",
        "true", "null",
    ),
    *("\xdf", "\u1e9e", "ss", "SS", "\u212a", "k", "K", "\u0130", "i", "\u0131", "I", "\u03c3", "\u03c2", "\u03a3"),
    *("\ufb01", "fi", "FI", "e\u0301", "\xe9", "\ud800", "\udfff", "a\ud800", "\uffff", "\U0001f600", "\U00010400"),
    *("\U00010428", "10.0.0.1", "010.0.0.1", "10.0.0.1 ", "::1", "::ffff:10.0.0.1", "2001:db8::1", "2001:DB8:0::1"),
    *("fe80::1%eth0", "\u0661\u0660.0.0.1"),
]  # fmt: skip
NUMBERS = [
    *(0, -0.0, 0.0, 1, 1.0, -1, True, False, 0.1, 0.3, 0.1 + 0.2, 5e-324, -5e-324, 1e16, 10**16, 10**16 + 1),
    *(2**53, 2**53 + 1, float(2**53), 2**63, 2**64, 10**30, 1e30, -(10**30), 10**400, 1e308, 1.7976931348623157e308),
]
NO_JSON = [None, math.nan, math.inf, -math.inf]
NETWORKS = ["10.0.0.0/8", "10.0.0.1", "0.0.0.0/0", "::/0", "::1", "2001:db8::/32", "::ffff:0:0/96", "10.0.0.7/8"]
NAMES = ["a", "b", "a.b", "", ".", "a[0]", "$or ", "\xdf", "\ud800"]
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def folded(text: str) -> str:
    def one(character: str) -> str:
        ways = (character.casefold(), character.lower())
        return next((way for way in ways if len(way) == 1), character)

    return "".join(map(one, text))


def equal_to(value: Any) -> Holds:
    return lambda x: isinstance(x, str) == isinstance(value, str) and (x is None) == (value is None) and x == value


def of_texts(holds: Callable[[str], bool]) -> Holds:
    return lambda x: isinstance(x, str) and holds(x)


def text_test(rng: random.Random, text: str) -> tuple[Any, Holds]:
    low = folded(text)
    forms: list[tuple[Any, Holds]] = [
        ({"prefix": text}, of_texts(lambda x: x[: len(text)] == text)),
        ({"suffix": text}, of_texts(lambda x: x[max(0, len(x) - len(text)) :] == text)),
        ({"exactly": text}, of_texts(lambda x: x == text)),
        ({"equals-ignore-case": text}, of_texts(lambda x: folded(x) == low)),
        ({"prefix": {"equals-ignore-case": text}}, of_texts(lambda x: folded(x)[: len(low)] == low)),
        ({"suffix": {"equals-ignore-case": text}}, of_texts(lambda x: folded(x)[max(0, len(x) - len(low)) :] == low)),
    ]
    return rng.choice(forms)


def wildcard(rng: random.Random) -> tuple[Any, Holds]:
    """Parts of a text with `*` between them, as a pattern of either kind and as a regular expression."""
    is_shell = rng.random() < 0.4
    parts = [rng.choice(["a", "b", "\\", "\xdf", "\ud800", "\U0001f600", ".", ""]) for _ in range(rng.randrange(1, 4))]
    if "" in parts[1:-1]:
        parts = [part for part in parts if part] or ["a", ""]
    known = re.compile("[\\s\\S]*".join(map(re.escape, parts)))
    pattern = "*".join(part if is_shell else part.replace("\\", "\\\\") for part in parts)
    return {"shellstyle" if is_shell else "wildcard": pattern}, of_texts(lambda x: known.fullmatch(x) is not None)


def network(rng: random.Random) -> tuple[Any, Holds]:
    text = rng.choice(NETWORKS)
    known = ipaddress.ip_network(text, strict=False)

    def holds(address: str) -> bool:
        try:
            return "%" not in address and ipaddress.ip_address(address) in known
        except ValueError:
            return False

    return {"cidr": text}, of_texts(holds)


def numeric(rng: random.Random) -> tuple[Any, Holds]:
    numbers = [number for number in NUMBERS if not isinstance(number, bool)]
    low, high = sorted(rng.sample(numbers, 2))
    above, below = rng.choice([">", ">="]), rng.choice(["<", "<="])
    both = low < high
    forms: list[tuple[Any, list[tuple[Callable[[Any, Any], bool], Any]]]] = [
        ({"numeric": [above, low]}, [(SIGNS[above], low)]),
        ({"numeric": [below, high]}, [(SIGNS[below], high)]),
        ({"numeric": ["=", low]}, [(operator.eq, low)]),
        ({"numeric": [above, low, below, high]}, [(SIGNS[above], low), (SIGNS[below], high)]),
    ]
    form, asked = rng.choice(forms if both else forms[:3])
    return form, lambda x: isinstance(x, int | float) and x == x and all(sign(x, bound) for sign, bound in asked)


def excluding(rng: random.Random) -> tuple[Any, Holds]:
    values = [rng.choice([*TEXTS, *NUMBERS]) for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.4:
        return {"anything-but": values}, lambda x: not any(equal_to(value)(x) for value in values)
    form, holds = text_test(rng, rng.choice(TEXTS)) if rng.random() < 0.7 else wildcard(rng)
    ((kind, text),) = form.items()
    if kind in ("exactly", "shellstyle") or isinstance(text, dict):
        return {"exists": True}, lambda x: True
    return {"anything-but": form}, lambda x: not holds(x)


def a_test(rng: random.Random) -> tuple[Any, Holds]:
    match rng.randrange(8):
        case 0 | 1:
            value = rng.choice([*TEXTS, *NUMBERS, None])
            return value, equal_to(value)
        case 2 | 3:
            return text_test(rng, rng.choice(TEXTS))
        case 4:
            return wildcard(rng)
        case 5:
            return network(rng)
        case 6:
            return numeric(rng)
    return excluding(rng)


def a_value(rng: random.Random) -> Any:
    if rng.random() < 0.75:
        return rng.choice([*TEXTS, *NUMBERS, *NO_JSON])
    return [a_value(rng) for _ in range(rng.randrange(4))]


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for one in value:
            yield from leaves(one)
    else:
        yield value


def wants(asked: dict[str, list[Holds] | bool], event: dict[str, Any]) -> bool:
    for name, holds in asked.items():
        values = list(leaves(event.get(name, [])))
        if isinstance(holds, bool):
            if bool(values) != holds:
                return False
        elif not any(one(value) for value in values for one in holds):
            return False
    return True


@pytest.mark.parametrize("seed", range(40))
def test_every_answer_is_that_of_the_oracle(seed: int) -> None:
    rng = random.Random(seed)
    matcher: FieldMatcher[int] = FieldMatcher()
    anew: FieldMatcher[int] = FieldMatcher()
    known: list[dict[str, list[Holds] | bool]] = []
    for number in range(rng.choice([5, 60])):
        pattern: dict[str, Any] = {}
        known.append({})
        for name in rng.sample(NAMES, rng.choice([1, 1, 2, 3])):
            if rng.random() < 0.1:
                pattern[name] = [{"exists": rng.random() < 0.5}]
                known[-1][name] = pattern[name][0]["exists"]
                continue
            tests = [a_test(rng) for _ in range(rng.choice([1, 1, 2]))]
            pattern[name] = [form for form, _ in tests]
            known[-1][name] = [holds for _, holds in tests]
        criteria = from_pattern(pattern)
        assert to_pattern(criteria) == pattern
        assert set(from_pattern(to_pattern(criteria))) == set(criteria)
        matcher.subscribe(criteria, number)
        for criterion in criteria:  # as if made without a pattern
            criterion.written = None
        anew.subscribe([one for criterion in criteria for one in from_pattern(to_pattern([criterion]))], number)
    matcher.check()
    for _ in range(60):
        event = {name: a_value(rng) for name in rng.sample(NAMES, rng.randrange(5))}
        wanted = [number for number, asked in enumerate(known) if wants(asked, event)]
        assert sorted(matcher.match_all(event)) == wanted, f"seed {seed}: {event}"
        assert sorted(anew.match_all(event)) == wanted, f"seed {seed}, anew: {event}"
        (first, *_) = matcher.subscriptions(0)
        assert explain(first.criteria, event).startswith("met" if 0 in wanted else "not met"), f"seed {seed}: {event}"


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
