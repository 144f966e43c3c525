"""A known, harmless data race. With it, `make races` checks that ThreadSanitizer finds races: `stats()` reads the
counters of the match cache as plain integers while matches increment them (docs/design.md)."""

from __future__ import annotations

from subtrie import SubscriptionTrie
from tests.threads import run_together

TIMES = 20_000
ROUNDS = 5  # on a busy machine, one thread of a round may end before the other one begins


def race() -> None:
    trie = SubscriptionTrie(cache=64)
    trie.subscribe("a.b", 1)

    def match() -> None:
        for _ in range(TIMES):
            trie.match("a.b")

    def read_counters() -> None:
        for _ in range(TIMES):
            trie.stats()

    run_together([match, read_counters])
    trie.check()


if __name__ == "__main__":
    for _ in range(ROUNDS):
        race()
