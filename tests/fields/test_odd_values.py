"""Odd values in messages and criteria: texts of subclasses, users' code that meddles, bounds without an order.

test_every_door.py asks for odd values by patterns.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from enum import Enum, StrEnum
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
    Prefix,
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
