"""`Follower`: a live copy of a published subscription trie, in any number of other processes."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping
from typing import Any

from snapshot.published.directory import open_directory
from snapshot.published.restoring import Copy, restored
from snapshot.published.rounds import Closing, OnError, Rounds, seconds_of
from snapshot.topics import mirror_of, topics_of
from snapshot.turns import Turns, asked_here, this_process
from subtrie import SubscriptionTrie


class Follower(Closing):
    """A live copy of a published trie; `follow` opens one.

    `trie` is the same `SubscriptionTrie` all the time: threads may match with it during an update. Each change is
    atomic, but a version is not: a reader may see some of its changes before others. If you need a whole version, take
    a snapshot after `poll`. Nothing else should write to `trie`: what does stays there until a version changes that
    subscription, or until `resynchronise` removes it. Write to a fork instead.

    Several threads may use a follower. A child of ``fork`` may call `poll` of its copy, which no thread follows there.
    The handler of a signal may call the methods, too: in the middle of a call of the same thread they return at once,
    and what they ask for is done when that call ends. If that fails, `error` tells.
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        every: float | datetime.timedelta | None,
        known: str | None,
        on_error: OnError | None,
        storage: Mapping[str, Any] | None,
    ) -> None:
        self._every = 0.0 if every is None else seconds_of(every)
        if on_error is not None and not callable(on_error):
            raise TypeError(f"on_error must be a function that is called with an error, not {on_error!r}")
        self._process = this_process()
        self._directory = open_directory(where, storage)
        self._directory.require(known)
        self._turns = Turns()
        self._copy = Copy(self._directory, *restored(self._directory))
        # Of the limits, it has the age alone: what the publisher removes to make room is removed as it was there.
        limits = self._copy.version.limits
        self._source = topics_of(self._copy.trie, None if limits is None else limits._replace(max_topics=None))
        self._is_shown = True  # whether the topic store has what the trie has
        what = f"following {self._directory.store.place}"
        self._rounds = Rounds("snapshot.Follower", what, self._round, self._every, on_error)
        if every is not None:
            self._rounds.start()

    @property
    def trie(self) -> SubscriptionTrie:
        """The copy. It is the same object as long as the follower lives. Of a topic store, it is a store."""
        return self._source  # type: ignore[no-any-return]

    @property
    def version(self) -> int:
        """The number of the version that `trie` holds; during an update, the number of the version before."""
        return self._copy.version.version

    @property
    def time(self) -> datetime.datetime:
        """When the version that `trie` holds was taken (UTC), by the clock of its publisher."""
        return self._copy.version.time

    @property
    def mark(self) -> str:
        """A text that names the version that `trie` holds, for ``known=`` of `restore`, `follow` and `take_over`."""
        return self._copy.version.mark

    def poll(self) -> int:
        """Bring `trie` up to date with the newest version; return that version's number.

        Raises:
            HistoryError: the directory is gone or empty, was replaced by another one or by an older copy of itself, or
                continues from one. `trie` keeps what it has, which may be more than the directory has now;
                `resynchronise` accepts the directory as it is.
            DamagedError: a file is damaged or missing, or has an unknown format. `trie` keeps the changes applied so
                far, and `poll` may be called again.
            OSError: a file cannot be read.

        If nothing is new, it looks for two files; in an object store, that takes one round trip. Otherwise it applies
        the changes of each version: O(changes). If its version is not kept any more, it rebuilds the newest version
        beside `trie` and applies the difference, so readers never see less than what both have in common: O(n) time,
        and memory for another trie. Calls wait for each other.
        """
        return self._noted(
            lambda: self._shown(self._copy.update, self._copy.trie.snapshot() if self._is_shown else None)
        )

    def resynchronise(self) -> int:
        """Bring `trie` to the newest version of the directory, whatever its history is, and whatever else has written
        to `trie`; return that version's number.

        Use this after a HistoryError, if the directory as it is now is what you want. It raises the other errors of
        `poll`, and FileNotFoundError or NotPublishedError if there is no version. O(n): it rebuilds the version beside
        `trie` and applies the difference.
        """
        return self._noted(lambda: self._shown(self._copy.resynchronise, None))

    @property
    def error(self) -> BaseException | None:
        """The error with which the last `poll` ended, whoever called it; None while all is well."""
        return self._rounds.error

    def close(self) -> None:
        """Stop following; `trie` stays as it is. Closing it again does nothing, nor does closing it in a child of
        ``fork``."""
        if self._process is this_process():
            self._rounds.stop.set()
            if asked_here() is None:  # otherwise the thread may be waiting for the call that a handler interrupted
                self._rounds.join()

    def _noted(self, call: Callable[[], int]) -> int:
        """Make a call while no other call does anything."""
        try:
            return self._turns.take(call, lambda: self.version, lambda: self._noted(call))
        except Exception as error:
            self._rounds.note(error)
            raise

    def _round(self) -> float:
        self.poll()
        return self._every

    def _shown(self, bring: Callable[[], None], before: SubscriptionTrie | None) -> int:
        """Bring the trie up to date, and the topic store, if it is one. ``before`` is what that has; None if that is
        not known, since the last time was interrupted or a fork came in the middle of it: then all is compared."""
        self._is_shown = False
        try:
            bring()
            self._rounds.note(None)
        finally:
            if self._source is not self._copy.trie:
                mirror_of(self._source).apply(before)
            self._is_shown = True
        return self.version


def follow(
    where: str | os.PathLike[str],
    *,
    every: float | datetime.timedelta | None = None,
    known: str | None = None,
    on_error: OnError | None = None,
    storage: Mapping[str, Any] | None = None,
) -> Follower:
    """Open a live copy of the trie that is published in a directory.

    Args:
        where: the directory, a path or a URI.
        every: how often a background thread calls `Follower.poll`: seconds, or a ``timedelta``. While that fails, it
            waits longer and longer, up to 10 seconds. None: only your calls of `Follower.poll` update the copy.
        known: the mark of a version that you have seen, as for `restore`: ``Follower.mark`` of an earlier follower.
        on_error: called with the error when `Follower.poll` begins to fail, or fails in another way than before. That
            is logged, too (logger ``snapshot.published``), and so is that it works again.
        storage: as for `Publisher`.

    Raises:
        FileNotFoundError: nothing was ever published there.
        NotPublishedError: nothing has been published there yet.
        DamagedError: a file is damaged or missing, or has an unknown format.
        HistoryError: files of two histories are mixed, or the version that is ``known`` was never here.

    O(n), like `restore`.

    >>> import tempfile, snapshot
    >>> trie = SubscriptionTrie()
    >>> with tempfile.TemporaryDirectory() as where, snapshot.Publisher(trie, where) as publisher:
    ...     first = publisher.publish()
    ...     with follow(where) as replica:
    ...         trie.subscribe("stock.*", "alice")
    ...         second = publisher.publish()
    ...         replica.poll() == second, replica.trie.match("stock.usd")
    True
    (True, ('alice',))
    """
    return Follower(where, every, known, on_error, storage)
