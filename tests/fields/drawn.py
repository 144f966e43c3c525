"""Criteria and messages that random tests draw. A theme says of which names, values and kinds they are, so that criteria
ask for what messages have."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

from tests.ctrie.oracle import UNIVERSES

RANGES = ("Within", "Within", "Within", "AtLeast", "AtMost", "GreaterThan", "LessThan")
TEXTS = ("Prefix", "Suffix", "Wildcard", "EqualsIgnoringCase")
VALUES = ("Equals", "Equals", "OneOf", "NotIn")
PLAIN = (*VALUES, *RANGES, "Prefix", "Present", "Absent")
ANY = (*PLAIN, *TEXTS, "Not", "AnyOf", "AnyOf")


class Theme(NamedTuple):
    """`values` are those of criteria and of messages, `more` those of messages alone. `common` has criteria and the
    message that meets them, which many subscriptions have."""

    names: tuple[str, ...]
    values: list[Any]
    kinds: tuple[str, ...] = PLAIN
    more: list[Any] = []
    subscribers: list[Any] = list(range(30))
    most: int = 3  # criteria of a subscription
    common: tuple[tuple[str, str, Any], ...] = ()
    nested: bool = False

    def criterion(self, fields: Any, rng: Random, name: str, depth: int = 0) -> Any:
        """Draw one, of `fields` or a private copy of it. Values that cannot be a bound or a text are drawn again."""
        while True:
            kind = rng.choice(self.kinds)
            if depth < 2 or kind not in ("Not", "AnyOf"):
                with suppress(TypeError, ValueError):
                    return self._made(fields, rng, name, kind, depth)

    def _made(self, fields: Any, rng: Random, name: str, kind: str, depth: int) -> Any:
        make, value = getattr(fields, kind), rng.choice(self.values)
        match kind:
            case "OneOf" | "NotIn":
                return make(name, rng.choices(self.values, k=rng.randrange(4)))
            case "Within":
                return make(name, value, rng.choice([*self.values, None]), rng.random() < 0.3, rng.random() < 0.3)
            case "Present" | "Absent":
                return make(name)
            case "Prefix" | "Suffix":
                return make(name, value, *([True] if rng.random() < 0.3 else []))
            case "Wildcard":
                pieces = [one for one in rng.choices(self.values, k=rng.randint(1, 3)) if one]
                return make(name, rng.choice(["", "*"]) + "*".join(pieces) + rng.choice(["", "*"]))
            case "Not":
                return make(self.criterion(fields, rng, name, depth + 1))
            case "AnyOf":
                names = [rng.choice(self.names) for _ in range(rng.randint(1, 2))]
                way = [self.criterion(fields, rng, each, depth + 1) for each in names]
                return make(way, self.criterion(fields, rng, name, depth + 1))
        return make(name, value)

    def criteria(self, fields: Any, rng: Random) -> list[Any]:
        names = rng.sample(self.names, rng.randint(1, min(self.most, len(self.names))))
        drawn = [self.criterion(fields, rng, name) for name in names]
        return drawn + [getattr(fields, kind)(name, value) for kind, name, value in self.common if rng.random() < 0.3]

    def value(self, rng: Random) -> Any:
        return rng.choice(self.more if self.more and rng.random() < 0.2 else self.values)

    def message(self, rng: Random) -> dict[str, Any]:
        message = {name: self.value(rng) for name in self.names if rng.random() < 0.7}
        message |= {name: value for _, name, value in self.common if rng.random() < 0.5}
        return {**message, **self.event(rng)} if self.nested else message

    def event(self, rng: Random) -> dict[str, Any]:
        drawn = {
            "l": self.some_list(rng, "ab", {"k": "cd", "m": "e"}),
            "m": self.some_list(rng, "ab", {}),
            "d": {"t": self.value(rng), "l": self.some_list(rng, "ab", {}), "unasked": [self.some_list(rng, "ab", {})]},
            "unasked": self.some_list(rng, "ab", {"k": "cd"}),
        }
        return {name: value for name, value in drawn.items() if rng.random() < 0.8}

    def some_list(self, rng: Random, names: str, inner: dict[str, str]) -> list[Any]:
        """Of plain values, lists, and objects with these names and with lists of other objects."""
        makers: list[Callable[[], Any]] = [lambda: self.value(rng), lambda: self.some_list(rng, names, inner)]
        makers += 6 * [
            lambda: (
                {name: self.value(rng) for name in names if rng.random() < 0.7}
                | {name: self.some_list(rng, of, {}) for name, of in inner.items() if rng.random() < 0.5}
            )
        ]
        return [rng.choice(makers)() for _ in range(rng.randrange(4))]


def some_texts() -> list[Any]:
    """Texts and bytes that begin like others, with about as many equal characters as the index keeps of each."""
    rng = Random(1)
    characters = ["\0", "a", "b", "\x7f", "\x80", "\u07ff", "\u0800", "\ud7ff", "\ud800", "\udfff", "\ue000", "\uffff"]
    characters += ["\U00010000", "\U0010ffff", "\xe9"]
    first = ["", "aaaaa", "aaaaaaa", "\U00010000a\x80", "\u07ffa\x80"]
    beginnings = [b"", b"aaaaaa", b"\xff\xdf\xff\xff\xff\xff", b"\x7f\xef\xff\xff\xff\xff", b"\x80"]
    texts: list[Any] = [rng.choice(first) + "".join(rng.choices(characters, k=rng.randrange(5))) for _ in range(150)]
    return texts + [
        rng.choice(beginnings) + bytes(rng.choices([0, 1, 97, 223, 224, 254, 255], k=rng.randrange(9)))
        for _ in range(80)
    ]


EDGES: list[Any] = [
    -math.inf, -2.0, -1, -5e-324, -0.0, 0, 5e-324, 0.1, 1, math.nextafter(1, 2), 2**53 - 1, 2**53, 2.0**53, 2**53 + 1,
    10**400, math.inf, True, Fraction(1, 10), Decimal("0.1"), Decimal(2) ** 53 + 1, Fraction(10**400),
]  # fmt: skip
ODD: list[Any] = [math.nan, Decimal("NaN"), 1j, b"a", (1,), None, "a", [5, 0.5, "x"], [1, "a"], [], {"x": 1}]
SMALL: list[Any] = [0, 1, 2, 3, 0.5, 1.5, Decimal("1.5"), Fraction(1, 2), math.inf, "", "a", "b", "ab", "a\U0010ffff"]
LISTS = ("x", "l", "l.a", "l.b", "l.k.c", "l.k.d", "l.m.e", "m.a", "m.b", "d.t", "d.l.a", "d.l.b")
CROWD = (("Equals", "type", "order"), ("Equals", "state", "open"), ("Within", "price", 5))

THEMES = {
    "small": Theme(("f", "g", "h"), SMALL, ANY, ODD),
    "alike": Theme(("f", "g"), UNIVERSES["alike"].keys[:-1], PLAIN, subscribers=UNIVERSES["alike"].keys[:-1]),
    "edges": Theme(("f",), EDGES, (*RANGES, "Equals", "NotIn"), ODD),
    "boxes": Theme(("a", "b", "c"), [n * abs(n) / 7 for n in range(-60, 60)] + [2**60 + n for n in range(9)], RANGES, [*ODD, *EDGES]),
    "texts": Theme(("f",), some_texts(), (*RANGES, *TEXTS)),
    "pieces": Theme(("a", "b"), ["".join(Random(n).choices("ab\xe9", k=n % 9)) for n in range(90)], ("Wildcard",) * 9 + TEXTS),
    "many": Theme(("r", "s"), list(range(300)), (*RANGES, "Equals")),
    "crowds": Theme(("size", "name", "urgent"), [*range(25), "x", "xy", "yx"], ANY, ["large", ["x", 7]], common=CROWD),
    "lists": Theme(LISTS, [0, 1, 2, 3, 3.0, "a", "ab", "ba", None], ANY, most=4, nested=True),
}  # fmt: skip
