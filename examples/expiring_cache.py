"""A cache that threads share: each value is made once, entries expire, and the oldest
make room for new ones.

    python examples/expiring_cache.py

`Ctrie.get_or_create` calls the factory at most once for a key. Threads that ask
meanwhile wait for that value. `remove_if` removes an expired entry, but never a newer
one that another thread has made.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Generic, TypeVar

from ctrie import Ctrie

K = TypeVar("K")
V = TypeVar("V")


# compared by identity, so that `remove_if` removes only this object
@dataclass(frozen=True, eq=False)
class Entry(Generic[V]):
    value: V
    made: float


class Cache(Generic[K, V]):
    """`load(key)` makes a value.

    It is valid for `lifetime` seconds. About `size` entries are kept.
    """

    def __init__(
        self,
        load: Callable[[K], V],
        *,
        lifetime: float,
        size: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load, self._lifetime, self._size, self._clock = (
            load,
            lifetime,
            size,
            clock,
        )
        self._entries: Ctrie[K, Entry[V]] = Ctrie()

    def get(self, key: K) -> V:
        while True:
            entry = self._entries.get_or_create(
                key, lambda: Entry(self._load(key), self._clock())
            )
            if self._clock() - entry.made < self._lifetime:
                return entry.value
            # Success: the next round makes a new one. Failure: another thread has
            # removed or replaced it.
            self._entries.remove_if(key, entry)

    def forget(self, key: K) -> bool:
        return self._entries.pop(key, None) is not None

    def sweep(self) -> int:
        """Remove expired entries, and the oldest if there are too many; return how
        many. Call it now and then.
        """
        # all of one instant
        present = sorted(
            self._entries.items(), key=lambda pair: pair[1].made, reverse=True
        )
        now = self._clock()
        kept = sum(
            now - entry.made < self._lifetime for _, entry in present[: self._size]
        )
        return sum(self._entries.remove_if(key, entry) for key, entry in present[kept:])

    def __len__(self) -> int:
        return len(self._entries)


def main() -> None:
    now = 0.0
    loads: list[str] = []

    def load(key: str) -> str:
        loads.append(key)
        return key.upper()

    cache = Cache(load, lifetime=60, size=3, clock=lambda: now)
    together = Barrier(8)

    def ask(_: int) -> str:
        together.wait()
        return cache.get("rate")

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(ask, range(8)))
    print("eight threads asked at once and got", answers, "- loads:", len(loads))
    now = 61.0
    print("after a minute:", cache.get("rate"), "- loads:", len(loads))
    for number in range(5):
        now += 1
        cache.get(f"key {number}")
    print(
        "swept:",
        cache.sweep(),
        "- left:",
        len(cache),
        "- the newest is still there:",
        "key 4" in cache._entries,
    )


if __name__ == "__main__":
    main()
