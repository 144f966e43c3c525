"""What the objects under test have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stress.recorder.record import Deferred


class UnderTest:
    """The calls of a specification, on `trie`. Calls that are not defined here go to the trie."""

    def __init__(self, trie: Any) -> None:
        self.trie = trie

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trie, name)

    def content_of(self, trie: Any) -> list[Any]:
        """What a trie of this kind holds."""
        return list(trie.items())

    def snapshot(self) -> Deferred:
        """A snapshot, read later."""
        taken = self.trie.snapshot()
        return Deferred(lambda: self.content_of(taken))


def check(subject: Any) -> None:
    """Raise if an invariant of the trie is broken."""
    subject.check()


def beside_a_fork(taken: Any, fork: Callable[[], Any]) -> Deferred:
    """A snapshot, read later. Changes of a fork of it must not show in the snapshot, nor in what it was taken of."""

    def read() -> list[tuple[Any, Any]]:
        copy = fork()
        copy["written.to.a.fork"] = True
        for key in taken:
            del copy[key]
        return list(taken.items())

    return Deferred(read)
