"""Which filters match which topics, decided for each filter by the plainest rule: the oracle of the subscription spec.

Nothing here is shared with the structures under test. A filter and a topic are split into words. The comparison keeps
the set of positions in the filter that the words so far may have led to; a wildcard that takes any number of words
keeps its own position in the set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True)
class Wildcards:
    """The wildcards of one dialect: `one` stands for one word, `many` for at least `at_least` words."""

    separator: str
    one: str
    many: str
    at_least: int
    empty_words: bool = True
    """Whether a topic with an empty word can match anything."""
    dollar_is_private: bool = False
    """MQTT: a topic that starts with `$` is not matched by a filter that starts with a wildcard."""


DIALECTS: Final = {
    "amqp": Wildcards(".", "*", "#", 0),
    "mqtt": Wildcards("/", "+", "#", 0, dollar_is_private=True),
    "nats": Wildcards(".", "*", ">", 1, empty_words=False),
}


@lru_cache(maxsize=65536)
def matches(dialect: str, filter: str, topic: str) -> bool:
    """Whether `filter` matches `topic` under the rules of `dialect` ("amqp", "mqtt" or "nats"). O(words of
    both).

    >>> matches("amqp", "*.stock.#", "usd.stock"), matches("nats", "a.>", "a"), matches("mqtt", "#", "$SYS")
    (True, False, False)
    """
    rules = DIALECTS[dialect]
    words, pattern = (text.split(rules.separator) if text else [] for text in (topic, filter))
    if rules.dollar_is_private and topic.startswith("$") and filter.startswith((rules.one, rules.many)):
        return False
    if not rules.empty_words and "" in words:
        return False
    reached = _past_empty({0}, pattern, rules)
    for word in words:
        reached = _past_empty({after for at in reached for after in _after(at, word, pattern, rules)}, pattern, rules)
    return len(pattern) in reached


def _after(at: int, word: str, pattern: list[str], rules: Wildcards) -> tuple[int, ...]:
    if at == len(pattern):
        return ()
    if pattern[at] == rules.many:
        return (at, at + 1) if rules.at_least else (at,)
    return (at + 1,) if pattern[at] in (rules.one, word) else ()


def _past_empty(reached: set[int], pattern: list[str], rules: Wildcards) -> set[int]:
    """The positions reached without another word: a wildcard for zero or more words may match none."""
    if rules.at_least:
        return reached
    for at, word in enumerate(pattern):
        if word == rules.many and at in reached:
            reached.add(at + 1)
    return reached
