"""Writers that work through numbered steps, so that the rows of a writer in a cut tell how far it had come.

A writer owns some slots, each of them a filter. Step ``s`` subscribes subscriber ``(writer, s)`` to the filter of slot
``s % slots``. The first ``slots`` operations are the steps that fill the slots. After that, operations come in pairs:
step ``s``, and then the unsubscription of step ``s - slots`` from the same filter. So every filled slot has a
subscriber at every instant, the set does not grow, and after ``n`` operations a writer holds one unbroken range of
steps, different for every ``n``::

    slots = 3     operations    1  2  3   4    5    6    7
                  steps held    0  01 012 0123 123  1234 234
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Barrier

from subtrie import SubscriptionTrie

Step = tuple[int, int]
"""A subscriber: the number of its writer, and the number of the step that subscribed it."""


def held_after(operations: int, slots: int) -> range:
    """The steps that a writer holds after this number of operations."""
    if operations <= slots:
        return range(operations)
    pairs, half = divmod(operations - slots, 2)
    return range(pairs, pairs + slots + half)


def operations_behind(first: int, count: int, slots: int) -> int | None:
    """The number of operations after which a writer holds ``count`` steps from ``first`` on; None if there is none.

    >>> operations_behind(first=1, count=4, slots=3)
    6
    >>> print(operations_behind(first=1, count=2, slots=3))
    None
    """
    operations = count if first == 0 and count <= slots else count + 2 * first
    return operations if held_after(operations, slots) == range(first, first + count) else None


class Writer:
    """The work of one writer thread.

    :ivar completed: operations done. If another thread reads it, at least so many operations of the writer are done,
        and at most one more has begun
    :ivar stopping: set by another thread to end `run`
    """

    def __init__(self, number: int, filters: Sequence[str]) -> None:
        self.number = number
        self.filters = filters
        self.completed = 0
        self.stopping = False

    @property
    def slots(self) -> int:
        """How many filters the writer owns."""
        return len(self.filters)

    def run(self, trie: SubscriptionTrie, ready: Barrier, filled: Barrier) -> None:
        """Fill the slots once all are ``ready``. Once all are ``filled``, renew them until stopped.

        Raises:
            RuntimeError: the trie refused a subscription or an unsubscription that must succeed.
        """
        ready.wait()
        for step in range(self.slots):
            self._subscribe(trie, step)
        filled.wait()
        step = self.slots
        while not self.stopping:
            self._subscribe(trie, step)
            self._unsubscribe(trie, step - self.slots)
            step += 1

    def _subscribe(self, trie: SubscriptionTrie, step: int) -> None:
        if not trie.subscribe(self.filters[step % self.slots], (self.number, step)):
            raise RuntimeError(f"writer {self.number}: the subscription of step {step} was there before it was made")
        self.completed += 1

    def _unsubscribe(self, trie: SubscriptionTrie, step: int) -> None:
        if not trie.unsubscribe(self.filters[step % self.slots], (self.number, step)):
            raise RuntimeError(f"writer {self.number}: the subscription of step {step} was lost")
        self.completed += 1


def writers_for(filters: Sequence[str], count: int) -> list[Writer]:
    """Deal the filters to ``count`` writers, or to as many as there are filters."""
    return [Writer(number, filters[number::count]) for number in range(min(count, len(filters)))]
