"""`Publisher`: publishes a trie, on request or automatically."""

from __future__ import annotations

import atexit
import contextlib
import datetime
import itertools
import logging
import math
import os
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

from snapshot._extras import extra
from snapshot.published.claim import Claimed, claimed
from snapshot.published.composer import Published
from snapshot.published.directory import Directory
from snapshot.published.errors import FencedError, OutdatedError
from snapshot.published.manifest import Version, origin_of
from snapshot.published.restoring import verify
from snapshot.published.retention import Keep
from snapshot.published.rounds import Closing, OnError, Rounds, seconds_of
from snapshot.published.sieve import Refused
from snapshot.published.store import Store, store_of
from snapshot.published.writer import Writer, last_published
from snapshot.texts import Key
from snapshot.topics import mirrored
from snapshot.turns import Turns, this_process
from subtrie import SubscriptionTrie, TopicStore

LOOK: Final = 0.05
"""The shortest time between two counts of the changes, in seconds."""

SHARE: Final = 20
"""After a count, the next one waits at least this many times as long as it took. So counting takes 5 % of a core."""

AFTER_FAILURE: Final = 1.0
"""How long after the first failure publishing is tried again, in seconds."""

SIGNALS: Final = 10
"""How many signals that end the program are outlived while the last changes are published at its end."""

_log = logging.getLogger("snapshot.published")


_publishing: weakref.WeakSet[Publisher] = weakref.WeakSet()
"""The publishers that publish by themselves and are not closed."""


@atexit.register
def _close_all() -> None:
    """Publish the last changes when the interpreter ends."""
    for publisher in list(_publishing):
        try:
            _close(publisher)
        except Exception:  # noqa: BLE001 (the others have to be closed, too)
            _log.exception("the last changes could not be published")


def _close(publisher: Publisher) -> None:
    """Close a publisher, also if handlers of signals ask meanwhile for the end of the program, which has come."""
    for _ in range(SIGNALS):
        with contextlib.suppress(SystemExit):
            publisher.close()
            return
    publisher.close()


class Options(TypedDict, total=False):
    """What a publisher is told besides its trie and its place; see `Publisher`."""

    key: Key | None
    every: float | datetime.timedelta | None
    changes: int | None
    keep: Keep
    strict: bool
    on_error: OnError | None
    on_fenced: OnError | None
    storage: Mapping[str, Any] | None


class Publisher(Closing):
    """Publishes instants of a subscription trie in a directory, for other processes to restore and to follow.

    The first version holds all subscriptions. Each later one holds the changes since the previous one, and takes time
    proportional to them. When the changes since a full instant outweigh it, the next version holds all subscriptions,
    too. Threads may write to the trie meanwhile, and never wait.

    A version becomes visible as a whole or not at all. When `publish` has returned, it is on the disk: neither a kill
    nor a loss of power undoes it.

    A directory has one publisher. A new publisher takes the directory over from the old one, even if the old one is
    still alive. Then the old one's next `publish` raises FencedError and changes nothing. A new publisher that cannot
    read or write the directory raises an error before that, and the old one goes on.

    The next version has the content of ``trie``, whatever the last one had. So to continue a directory, use
    `take_over`. If the trie comes from a version of this directory (by `restore`, `follow` or an earlier publisher of
    this process), and there is a newer version, that one would be undone: then this raises OutdatedError. A fork, a
    snapshot or a copy of such a trie is one of its own, and is published whatever the last version had.

    Args:
        trie: the trie, but not one with ``weak=True``; or a snapshot; or a `TopicStore`, whose topics, values and times
            are published (`snapshot.topics`).
        where: the directory: a path, or the URI of a place in an object store (``s3://``, ``gs://``, ``az://``). It is
            new or empty, or has versions of the same dialect, which the next version then follows.
        key: turns a subscriber into a string; needed for subscribers that are no values, such as connections (values
            are what `subtrie.tagged` lists: strings, integers, tuples of them, and so on). `restore` returns these
            strings as subscribers. It is called once for each subscriber while that subscriber has subscriptions.
        every: publish automatically when this time has passed since the last time and something has changed: seconds,
            or a ``timedelta``. If the process is killed, or the power fails, the changes of this time are lost, and
            those made while the last version was being written. A change is on the disk at the latest this time and the
            time that two versions take after it was made, or later if publishing fails.
        changes: publish automatically when so many subscriptions differ from the last version. A subscription that was
            added and removed again does not count. A background thread counts them, 20 times a second, or less often if
            that would take more than 5 % of a core.
        keep: how many versions can be restored, or a ``timedelta``: for how long back; by default, all. An older
            version is removed as soon as no kept version is rebuilt from it. Or pairs, such as ``[(timedelta(days=1),
            None), (timedelta(weeks=1), timedelta(hours=1))]``: all of a day, and some of a week. Between two of these
            lies at most an hour, and the time until the next version was published. The publisher writes a full
            instant each hour, unless `compact` has. Versions that an earlier publisher left count, too: of those, a
            number keeps the newest, a time the younger ones, and None all.
        strict: whether `publish` raises an error if a subscription cannot be stored, or two subscribers have the same
            key, and publishes nothing. Otherwise those subscriptions alone are set aside: they are logged and are in
            `refused`, and everything else is published. Also, what needs a tagged text (`snapshot.storing`) is an
            error then, such as subscribers of several types.
        on_error: called with the error when publishing begins to fail, or fails in another way than before.
        on_fenced: called once, with FencedError, when another publisher has taken over. What is changed from then on is
            published by nobody, so let it refuse further changes, or end the program. None: ``on_error`` is called.
        storage: what the object store's client needs to know and does not find in the environment: ``endpoint``,
            ``region``, credentials, as `obstore.store.from_url` takes them.

    Raises:
        FileNotFoundError: or another OSError: the directory cannot be made or written to.
        OutdatedError: the trie comes from a version that is not the newest any more.
        DamagedError: a file of the last version is damaged or missing, or has an unknown format.
        ImportError: pyarrow is not installed.
        TypeError: ``trie`` is not a subscription trie, or another argument is of the wrong kind.
        ValueError: the directory has other files, or subscriptions of another dialect.

    With ``every`` or ``changes``, a thread publishes the first version a moment later, and `close` the last one: at
    the end of a ``with`` block, also after an exception or ``sys.exit``, and otherwise when the interpreter ends.
    SIGTERM ends a process without any of this, unless it has a handler: ``signal.signal(signal.SIGTERM, lambda *_:
    sys.exit(0))``. A failure to publish is logged once (logger ``snapshot.published``) and is `error`, and it is tried
    again, after 1 second and later after up to 10; `close` raises if it cannot publish the last version.

    Several threads may use a publisher. Publishers of several processes exclude one another by the directory alone. A
    child of ``fork`` must open its own: in the child, `publish` raises RuntimeError and `close` does nothing. The
    handler of a signal may call `publish` and `close`. If it interrupts a call of the same thread, they return at once,
    and what they ask for is done when that call ends, whether it returns or raises. If that fails, `error` tells.

    >>> import tempfile, snapshot
    >>> trie = SubscriptionTrie()
    >>> trie.subscribe("stock.*", "alice", qos=1)
    True
    >>> with tempfile.TemporaryDirectory() as where, Publisher(trie, where) as publisher:
    ...     first = publisher.publish()
    ...     trie.unsubscribe("stock.*", "alice")
    ...     second = publisher.publish()
    ...     [len(snapshot.restore(where, at=version)) for version in (first, second)]
    True
    [1, 0]
    """

    def __init__(
        self,
        trie: SubscriptionTrie | TopicStore[Any],
        where: str | os.PathLike[str],
        *,
        key: Key | None = None,
        every: float | datetime.timedelta | None = None,
        changes: int | None = None,
        keep: Keep = None,
        strict: bool = False,
        on_error: OnError | None = None,
        on_fenced: OnError | None = None,
        storage: Mapping[str, Any] | None = None,
        _taken: tuple[Claimed, Published | None] | None = None,
    ) -> None:
        self._source = trie
        self._trie: SubscriptionTrie = mirrored(trie)
        require_trie(self._trie)
        require_arguments(
            key=key,
            every=every,
            changes=changes,
            keep=keep,
            strict=strict,
            on_error=on_error,
            on_fenced=on_fenced,
        )
        self._process = this_process()
        self._every = None if every is None else seconds_of(every)
        self._changes = changes
        self._due = -math.inf
        self._is_closed = False
        self._turns = Turns()
        store = store_of(where, storage)
        self._on_fenced = on_fenced
        self._rounds = Rounds(
            "snapshot.Publisher", f"publishing to {store.place}", self._round, AFTER_FAILURE, on_error
        )
        if _taken is None:
            claimed_now = _claimed(self._trie, store)
            _taken = claimed_now, last_published(Directory(store), claimed_now, None)
        taken, last = _taken
        self._writer = Writer(trie, store, taken, key, keep, last, strict=strict)
        self._thread = None if every is None and changes is None else self._rounds.thread
        if self._thread is not None:
            _publishing.add(self)
            self._rounds.start()

    def publish(self) -> int:
        """Publish the content of the trie at one instant during the call; return the number of the version.

        If nothing has changed since the last version, nothing is written, and its number is returned.

        Raises:
            FencedError: another publisher has taken over.
            OSError: a file cannot be written, for instance because the disk is full; `publish` may be called again.
            TypeError: ``strict``, and an option or a subscriber needs a tagged text, or a subscriber is neither string
                nor integer and there is no ``key``.
            ValueError: ``strict``, and two subscribers have the same key; or the publisher is closed.
            DamagedError: a file of the last version, which another publisher wrote, is damaged or missing.
            HistoryError: the directory was replaced by an older copy of itself.

        If it raises, the version is visible as a whole or not at all. The next call finds out which, so nothing is
        published twice. O(changes since the last version), and O(n) for the first version, for the first one of this
        publisher, and whenever the changes outweigh a full instant. Memory: a batch of rows, and the parts of the last
        version that the trie no longer shares. Calls wait for each other, except that of a signal's handler in the
        middle of another one: it returns the newest number. The linearization point is the snapshot.
        """
        if self._process is not this_process():
            raise RuntimeError("this Publisher is the parent's; a child of fork opens its own")
        try:
            return self._turns.take(self._published, lambda: self._writer.newest, self._asked)
        except Exception as error:
            self._failed(error)
            raise

    def _published(self) -> int:
        """Publish, while no other call does."""
        if self._is_closed:
            raise ValueError("this Publisher is closed; open another one")
        version = self._writer.publish()
        self._rounds.note(None)
        return version.version

    def _asked(self) -> None:
        """Publish, as a handler asked that interrupted a call: that of `close`, perhaps."""
        if not self._is_closed:
            self.publish()

    def _failed(self, error: Exception) -> None:
        if isinstance(error, FencedError):
            self._rounds.stop.set()
            self._rounds.note(error, self._on_fenced)
        elif not self._is_closed:
            self._rounds.note(error)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """The subscriptions that the last version lacks, since they cannot be stored, and why. They are published as
        soon as they can be: when they have other options, or when another subscriber has left the key."""
        return tuple(self._writer.refused.values())

    @property
    def version(self) -> int | None:
        """The number of the newest version, as far as this publisher knows; None if there is none."""
        newest = self._writer.published
        return None if newest is None else newest.version.version

    @property
    def mark(self) -> str | None:
        """A text that names the newest version, as far as this publisher knows, for ``known=`` of `restore`, `follow`
        and `take_over`; None if there is none. Kept in another place, it shows later whether the directory was
        replaced by an older copy."""
        newest = self._writer.published
        return None if newest is None else newest.version.mark

    @property
    def error(self) -> BaseException | None:
        """The error with which publishing failed the last time; None while all is well. A FencedError stays."""
        return self._rounds.error

    def close(self) -> None:
        """Stop publishing. With ``every`` or ``changes``, the changes since the last version are published first.

        Raises:
            OSError: or another error of `publish`: the last version cannot be published. The publisher is not closed
                then, and `close` may be called again.

        If another publisher has taken over, that is logged and is `error`, unless it was before. Closing it again does
        nothing, nor does closing it in a child of ``fork``.
        """
        if self._process is not this_process():
            return
        self._rounds.stop.set()
        if self._turns.take(self._closed, lambda: False, self.close):
            self._rounds.join()

    def _closed(self) -> bool:
        """Close it, while no other call does anything."""
        if not self._is_closed:
            if self._thread is not None and not isinstance(self.error, FencedError):
                try:
                    self._published()
                except Exception as error:
                    self._failed(error)
                    if not isinstance(error, FencedError):
                        raise
            self._is_closed = True
            self._writer.close()
        _publishing.discard(self)  # not before: if a signal ends the program here, the interpreter's end closes it
        return True

    # --------------------------------------------------------------------------------------------------- by itself

    def _round(self) -> float:
        """Publish if it is time; return after how many seconds to look again."""
        begun = time.monotonic()
        is_time = begun >= self._due or self._has_enough()
        compared = time.monotonic() - begun
        if is_time:
            self.publish()
            self._due = math.inf if self._every is None else begun + self._every
        look = math.inf if self._changes is None else max(LOOK, SHARE * compared)
        return max(0.0, min(look, self._due - time.monotonic()))

    def _has_enough(self) -> bool:
        """Whether there are as many changes as were asked for."""
        newest = self._writer.published
        if self._changes is None or newest is None or newest.instant is None:
            return False
        try:
            mirrored(self._source)
            return sum(1 for _ in itertools.islice(self._trie.diff(newest.instant), self._changes)) == self._changes
        except Exception:  # noqa: BLE001 (publishing compares them, too, and notes what goes wrong)
            return True


def _claimed(trie: SubscriptionTrie, store: Store) -> Claimed:
    """Claim a directory for a trie, unless that would undo a version that the trie does not contain."""
    directory = Directory(store)
    seen = verify(directory)

    def require(newest: Version | None) -> None:
        origin = None if newest is None else origin_of(trie, newest.directory)
        if origin is None or newest is None or newest.content is None:
            return
        last = newest if newest.kind != "claim" else directory.get(newest.content) or directory.version_at()
        if origin.version != last.version or origin.digest != last.digest:
            which = "another version of this number" if origin.version == last.version else f"version {last.version}"
            raise OutdatedError(
                f"{store.place} has {which} (published by process {last.process} on {last.host}), and the trie comes "
                f"from version {origin.version}: publishing it would undo the changes between them. Use take_over, "
                "which "
                "restores the newest version. To publish this trie nevertheless, give a fork of it"
            )

    return claimed(directory, store, trie.dialect, require, seen)


def require_trie(trie: object) -> None:
    """Check the trie, before anything is done."""
    if not isinstance(trie, SubscriptionTrie):
        raise TypeError(f"the trie must be a SubscriptionTrie or a snapshot of one, not {type(trie).__name__}")
    if trie.weak:
        raise ValueError(
            "a trie with weak=True is not published: its subscribers can vanish without a change that could be "
            "published; use a trie that holds its subscribers"
        )


def require_arguments(
    *,
    key: Key | None = None,
    every: float | datetime.timedelta | None = None,
    changes: int | None = None,
    keep: Keep = None,
    strict: bool = False,
    on_error: OnError | None = None,
    on_fenced: OnError | None = None,
    storage: Mapping[str, Any] | None = None,
) -> None:
    """Check the other arguments, before anything is done."""
    extra("pyarrow.parquet")
    extra("pyarrow").array([])  # which imports pandas, if it is there: seconds, which the first version need not wait
    if key is not None and not callable(key):
        raise TypeError(f"key must be a function that turns a subscriber into a string, not {key!r}")
    for each in (on_error, on_fenced):
        if each is not None and not callable(each):
            raise TypeError(f"on_error and on_fenced must be functions that are called with an error, not {each!r}")
    if not isinstance(strict, bool):
        raise TypeError(f"strict must be True or False, not {strict!r}")
    if every is not None:
        seconds_of(every)
    if changes is not None:
        if isinstance(changes, bool) or not isinstance(changes, int):
            raise TypeError(f"changes must be a number, not {changes!r}")
        if changes < 1:
            raise ValueError(f"changes must be at least 1, not {changes}")
    if not _is_keep(keep):
        raise (ValueError if isinstance(keep, int | datetime.timedelta | Sequence) else TypeError)(
            "keep must be a number of versions, at least 1; or a positive timedelta; or pairs of such times that get "
            f"longer, the first one with None: not {keep!r}"
        )


def _is_keep(keep: Any) -> bool:
    """Whether it has one of the forms; a time is a single pair."""
    if keep is None or isinstance(keep, int):
        return keep is None or (keep >= 1 and not isinstance(keep, bool))
    pairs = [(keep, None)] if isinstance(keep, datetime.timedelta) else keep
    if not isinstance(pairs, Sequence) or {len(each) if isinstance(each, Sequence) else 0 for each in pairs} != {2}:
        return False
    levels: Any = [age for age, _ in pairs], [apart for _, apart in pairs[1:]]
    are_times = all(
        isinstance(time, datetime.timedelta) and time > datetime.timedelta() for each in levels for time in each
    )
    return pairs[0][1] is None and are_times and all(each == sorted(set(each)) for each in levels)
