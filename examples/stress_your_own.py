"""Testing a concurrent object of your own: a registry of sessions, with a fault and
without it.

    python examples/stress_your_own.py

The registry lets at most two sessions in. Its first version checks, and then acts.
`stress.explore` runs every schedule of two threads that enter at once, and shows the
one that lets three sessions in. For the second version it proves that no schedule of
these calls is wrong.
"""

from __future__ import annotations

from collections.abc import Hashable

from ctrie import AtomicReference
from subtrie import stress

ROOM = 2


class Hasty:
    """Checks whether there is room, and then enters."""

    def __init__(self) -> None:
        self.inside: AtomicReference[frozenset[str]] = AtomicReference(frozenset())

    def enter(self, who: str) -> bool:
        if len(self.inside.load()) >= ROOM:
            return False
        while not self.inside.compare_and_set(
            inside := self.inside.load(), inside | {who}
        ):
            pass
        return True

    def count(self) -> int:
        return len(self.inside.load())


class Careful(Hasty):
    """Enters only if nothing has changed since it checked."""

    def enter(self, who: str) -> bool:
        while True:
            inside = self.inside.load()
            if len(inside) >= ROOM:
                return False
            # Success: there was room at this very instant. Failure: another session has
            # entered; look again.
            if self.inside.compare_and_set(inside, inside | {who}):
                return True


class Registry(stress.Spec):
    """The registry as it should be, without threads."""

    initial: Hashable = frozenset()
    read_only = frozenset({"count"})

    def step(
        self, state: frozenset[str], op: str, args: tuple[str, ...]
    ) -> tuple[frozenset[str], object]:
        if op == "count":
            return state, len(state)
        return (state | {args[0]}, True) if len(state) < ROOM else (state, False)


def explored(kind: type[Hasty]) -> stress.Explored:
    return stress.explore(
        kind,
        Registry(),
        [[("enter", "bob")], [("enter", "cleo")]],
        at_start=[("enter", "ann")],
        at_end=[("count",)],
    )


def main() -> None:
    hasty = explored(Hasty)
    report = hasty.report()
    print(
        report[report.index("What the threads did") : report.index("\n\n  operations:")]
    )
    print(
        f"\nHasty is right: {bool(hasty)}. Careful is right: {bool(explored(Careful))}."
    )


if __name__ == "__main__":
    main()
