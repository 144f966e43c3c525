"""`Follower`: a live copy of a published subscription trie, in any number of other processes."""

from __future__ import annotations

import datetime
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from snapshot.columns import in_batches
from snapshot.published.directory import open_directory
from snapshot.published.errors import DamagedError, HistoryError
from snapshot.published.feed import apply_feed
from snapshot.published.manifest import Version, note_origin
from snapshot.published.restoring import lost, restored
from snapshot.published.seconds import seconds_of
from snapshot.topics import mirror_of, topics_of
from subtrie import SubscriptionTrie

_log = logging.getLogger("snapshot.published")


class Follower:
    """A live copy of a published trie; `follow` opens one.

    `trie` is the same `SubscriptionTrie` all the time: threads may match with it during an update. Each change is
    atomic, but a version is not: a reader may see some of its changes before others. If you need a whole version, take
    a snapshot after `poll`. Nothing else should write to `trie`: what does stays there until a version changes that
    subscription, or until `resynchronise` removes it. Write to a fork instead.

    Several threads may use a follower.
    """

    def __init__(
        self, where: str | os.PathLike[str], every: float | datetime.timedelta | None, known: str | None
    ) -> None:
        seconds = None if every is None else seconds_of(every)
        self._directory = open_directory(where)
        self._directory.require(known)
        self._one_at_a_time = threading.Lock()
        self._stop = threading.Event()
        self._trie, self._version = restored(self._directory)
        self._seen = self._version
        note_origin(self._trie, self._version)
        # Of the limits, it has the age alone: what the publisher removes to make room is removed as it was there.
        limits = self._version.limits
        self._source = topics_of(self._trie, None if limits is None else limits._replace(max_topics=None))
        self._thread: threading.Thread | None = None
        if seconds is not None:
            self._thread = threading.Thread(target=self._follow, args=(seconds,), name="snapshot.Follower", daemon=True)
            self._thread.start()

    @property
    def trie(self) -> SubscriptionTrie:
        """The copy. It is the same object as long as the follower lives. Of a topic store, it is a store."""
        return self._source  # type: ignore[no-any-return]

    @property
    def version(self) -> int:
        """The number of the version that `trie` holds; during an update, the number of the version before."""
        return self._version.version

    @property
    def time(self) -> datetime.datetime:
        """When the version that `trie` holds was taken (UTC), by the clock of its publisher."""
        return self._version.time

    @property
    def mark(self) -> str:
        """A text that names the version that `trie` holds, for ``known=`` of `restore`, `follow` and `take_over`."""
        return self._version.mark

    def poll(self) -> int:
        """Bring `trie` up to date with the newest version; return that version's number.

        Raises:
            HistoryError: the directory was replaced by an older copy of itself, or continues from one. `trie` keeps
                what it has, which may be more than the directory has now; `resynchronise` accepts the directory as it
                is.
            DamagedError: a file is damaged or missing, or has an unknown format. `trie` keeps the changes applied so
                far, and `poll` may be called again.
            OSError: a file cannot be read.

        If nothing is new, it looks for two files. Otherwise it applies the changes of each version: O(changes). If its
        version is not kept any more, it rebuilds the newest version beside `trie` and applies the difference, so
        readers never see less than what both have in common: O(n) time, and memory for another trie. Calls wait for
        each other.
        """
        with self._one_at_a_time, self._shown():
            # Progress: each round that does not return reaches a later manifest.
            while True:
                following = self._directory.get(self._seen.version + 1)
                if following is not None and following.directory == self._version.directory:
                    if not following.follows(self._seen):
                        raise self._forked(f"version {following.version} follows another version {self._seen.version}")
                    self._advance(following)
                elif following is not None or self._is_behind():
                    self._resynchronise()
                else:
                    return self._version.version

    def resynchronise(self) -> int:
        """Bring `trie` to the newest version of the directory, whatever its history is, and whatever else has written
        to `trie`; return that version's number.

        Use this after a HistoryError, if the directory as it is now is what you want. It raises the other errors of
        `poll`. O(n): it rebuilds the version beside `trie` and applies the difference.
        """
        with self._one_at_a_time:
            try:
                self._resynchronise()
            finally:
                if self._source is not self._trie:
                    mirror_of(self._source).resynchronise()
            return self._version.version

    def close(self) -> None:
        """Stop following; `trie` stays as it is. Closing it again does nothing."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _shown(self) -> Iterator[None]:
        """Change the topic store, if it is one, as the trie that mirrors it is changed."""
        if self._source is self._trie:
            yield
            return
        before = self._trie.snapshot()
        try:
            yield
        finally:
            mirror_of(self._source).apply(before)

    def _advance(self, version: Version) -> None:
        """Apply the next version. This is idempotent, even if an earlier attempt stopped in the middle."""
        if version.feed is not None:
            try:
                apply_feed(self._trie, self._directory, version)
            except FileNotFoundError as missing:
                if not self._is_behind():
                    raise lost(version, missing, self._directory) from missing
                self._resynchronise()
                return
        self._seen = version
        if version.kind != "claim":
            self._hold(version)

    def _is_behind(self) -> bool:
        """Whether the trie's version is not kept any more. Versions are removed in order. So while it exists, the next
        one exists or is not published yet; afterwards, the next one may have been removed, too.

        Raises:
            HistoryError: the directory has gone back.
        """
        mine = self._directory.get(self._version.version)
        if mine is not None and mine.digest == self._version.digest:
            return False
        if mine is not None and mine.directory == self._version.directory:
            raise self._forked(f"it has another version {mine.version}")
        newest = self._directory.newest()
        is_same = newest is not None and newest.directory == self._version.directory
        if newest is not None and is_same and newest.version < self._version.version:
            raise self._forked(f"its newest version is {newest.version}")
        return True

    def _forked(self, how: str) -> HistoryError:
        return HistoryError(
            f"{self._directory.store.place} is not the directory that was followed up to version "
            f"{self._version.version}: {how}, as if an older copy of it had been restored. What was published after "
            "that copy is still in this follower's trie. To have it back, publish a fork of that trie to the "
            "directory; "
            "to accept the directory as it is, call resynchronise(), or follow it anew"
        )

    def _resynchronise(self) -> None:
        newest, version = restored(self._directory)
        if newest.dialect != self._trie.dialect:
            raise DamagedError(
                f"{self._directory.store.place} has subscriptions of the dialect {newest.dialect.name} now, instead of "
                f"{self._trie.dialect.name}: follow it anew"
            )
        if version.directory != self._version.directory:
            place = self._directory.store.place
            _log.warning("%s was made anew; it is followed from version %s on", place, version.version)
        for changes in in_batches(newest.diff(self._trie)):
            self._trie.unsubscribe_many(each.subscription for each in changes if each.kind == "removed")
            self._trie.subscribe_many(each.subscription for each in changes if each.kind != "removed")
        self._seen = version
        self._hold(version)

    def _hold(self, version: Version) -> None:
        self._version = version
        note_origin(self._trie, version)

    def _follow(self, every: float) -> None:
        while not self._stop.wait(every):
            try:
                self.poll()
            except Exception:  # noqa: BLE001 (nobody would notice that the thread ended)
                _log.exception("following %s failed; it is tried again", self._directory.store.place)


def follow(
    where: str | os.PathLike[str], *, every: float | datetime.timedelta | None = None, known: str | None = None
) -> Follower:
    """Open a live copy of the trie that is published in a directory.

    Args:
        where: the directory, a path or a URI.
        every: how often a background thread calls `Follower.poll`: seconds, or a ``timedelta``. It logs errors (logger
            ``snapshot.published``) and tries again. None: only your calls of `Follower.poll` update the copy.
        known: the mark of a version that you have seen, as for `restore`: ``Follower.mark`` of an earlier follower.

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
    return Follower(where, every, known)
