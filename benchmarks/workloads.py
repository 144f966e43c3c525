"""The subscriptions and messages of the benchmarks, made from seeds."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import cycle, islice

DIGITS = "0123456789"


def throughput_filters(seed: int = 1, count: int = 1_000) -> list[str]:
    """Make filters of three digits. `*` is first in every 10th, else second in every 25th, else third in every 45th."""
    rng = random.Random(seed)
    filters = []
    for number in range(count):
        words = rng.choices(DIGITS, k=3)
        for place, every in enumerate((10, 25, 45)):
            if number % every == 0:
                words[place] = "*"
                break
        filters.append(".".join(words))
    return filters


def throughput_topics(filters: Sequence[str], count: int = 100_000, seed: int = 2) -> list[str]:
    """Return topics made from the filters in turn, each `*` replaced by a random digit."""
    rng = random.Random(seed)
    return [_filled(filter, rng) for filter in islice(cycle(filters), count)]


def _filled(filter: str, rng: random.Random) -> str:
    return ".".join(rng.choice(DIGITS) if word == "*" else word for word in filter.split("."))


LATENCY_FILTER = "foo.*.baz.qux.quux"
LATENCY_TOPIC = "foo.bar.baz.qux.quux"


def long_filters(count: int, seed: int = 3) -> Iterator[str]:
    """Yield random filters of five words, each a long number, so equal words are very rare."""
    rng = random.Random(seed)
    for _ in range(count):
        yield ".".join(str(rng.getrandbits(63)) for _ in range(5))


def growing_filters(count: int, seed: int = 4, words: int = 100) -> Iterator[str]:
    """Yield filters of five words out of so many for each level; every 10th has a `*` in one place."""
    rng = random.Random(seed)
    for number in range(count):
        # Multiplied by a prime, the numbers up to words**5 are all different, and their order cannot
        # help.
        rest = number * 2_654_435_761 % words**5
        filter = []
        for _ in range(5):
            rest, digit = divmod(rest, words)
            filter.append(f"w{digit}")
        if number % 10 == 0:
            filter[rng.randrange(5)] = "*"
        yield ".".join(filter)
