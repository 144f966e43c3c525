"""`Publisher`: what publishes a trie, when it is told to or by itself."""

from __future__ import annotations

import datetime
import itertools
import logging
import math
import os
import threading
import time
from types import TracebackType
from typing import Final, Self

from snapshot._extras import extra
from snapshot.published.errors import FencedError
from snapshot.published.retention import Keep
from snapshot.published.seconds import seconds_of
from snapshot.published.store import store_of
from snapshot.published.writer import Writer
from snapshot.texts import Key
from subtrie import SubscriptionTrie

LOOK: Final = 0.05
"""Seconds between two looks at how much has changed, at least."""

SHARE: Final = 20
"""Between two looks there is at least this many times the time that the last one took: 5 % of a core go into it."""

AFTER_FAILURE: Final = 1.0
"""Seconds after which publishing is tried again at the earliest."""

_log = logging.getLogger("snapshot.published")


class Publisher:
    """Publishes instants of a subscription trie in a directory, for other processes to restore and to follow.

    The first version holds all subscriptions. Each later one holds what has changed since the one before it, and takes
    time in proportion to that; when all such changes together outweigh a full instant, it holds all subscriptions,
    too. The trie goes on being written to meanwhile, and nobody who writes to it waits.

    A version is visible at once or not at all. When `publish` has returned, it is on the disk: neither a kill nor a
    loss of power takes it back.

    A directory has one publisher. Opening another one takes it over from the first, which may be dead, or may only
    seem so: that one's next `publish` raises FencedError, and changes nothing.

    :param trie: the trie, not one with ``weak=True``; or a snapshot
    :param where: the directory, a path or a ``file:`` URI: a new or empty one, or one with versions of the same
        dialect, which the next version then follows
    :param key: turns a subscriber into a string; needed unless all subscribers are strings or all are integers.
        `restore` gives the strings back. It is called once for each subscriber as long as that one has subscriptions
    :param every: publish by itself when this time has passed since the last time, and something has changed: seconds,
        or a ``timedelta``
    :param changes: publish by itself when so many subscriptions are not what they were in the last version. What was
        added and removed again is none of them. A background thread counts, 20 times a second, or less often where
        that would take more than 5 % of a core
    :param keep: how many versions can be restored, or for how long back, as a ``timedelta``; all, by default. Older
        ones are removed, as soon as no version that is kept is rebuilt from them
    :raises FileNotFoundError: and other OSErrors: the directory cannot be made, or not be written to
    :raises DamagedError: a manifest is damaged, or of a format that is not known here
    :raises ImportError: pyarrow is not installed
    :raises TypeError: ``trie`` is no subscription trie, or another argument is of the wrong kind
    :raises ValueError: the directory has other files, or subscriptions of another dialect

    With ``every`` or ``changes`` the first version is published at once, and a last one by `close`. If publishing
    fails, that is logged (logger ``snapshot.published``), and tried again next time; `close` raises if the last version
    cannot be published.

    May be used by several threads. Publishers of several processes exclude one another by the directory alone. A child
    of ``fork`` must open its own.

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
        trie: SubscriptionTrie,
        where: str | os.PathLike[str],
        *,
        key: Key | None = None,
        every: float | datetime.timedelta | None = None,
        changes: int | None = None,
        keep: Keep = None,
    ) -> None:
        extra("pyarrow.parquet")
        if not isinstance(trie, SubscriptionTrie):
            raise TypeError(f"a SubscriptionTrie or a snapshot of one is published, not {type(trie).__name__}")
        if trie.weak:
            raise ValueError(
                "a trie with weak=True is not published: its subscribers go without a change that could be seen; "
                "unsubscribe them, in a trie that holds them"
            )
        self._every = None if every is None else seconds_of(every)
        self._changes = None if changes is None else _number("changes", changes)
        if keep is not None and not isinstance(keep, datetime.timedelta):
            _number("keep", keep)
        elif keep is not None and keep <= datetime.timedelta():
            raise ValueError(f"keep must be a positive time, not {keep}")
        self._trie = trie
        self._process = os.getpid()
        self._where = where
        self._is_closed = False
        self._stop = threading.Event()
        self._one_at_a_time = threading.Lock()
        self._writer = Writer(trie, store_of(where), key, keep)
        self._thread: threading.Thread | None = None
        if self._every is not None or self._changes is not None:
            self._thread = threading.Thread(target=self._publish_by_itself, name="snapshot.Publisher", daemon=True)
            self._thread.start()

    def publish(self) -> int:
        """Publish what the trie is at one instant during the call; return the number of the version.

        If nothing has changed since the last version, nothing is written, and that is the version.

        :raises FencedError: another publisher has taken over
        :raises OSError: a file cannot be written, for instance since the disk is full; `publish` may be called again
        :raises TypeError: a subscription could not be rebuilt: an option that JSON has no equal of, one that is a
            string here and something else there, a subscriber that is neither string nor integer and has no ``key``
        :raises ValueError: two subscribers have the same key; or the publisher is closed

        Whatever it raises, either the version is visible or nothing is; which of them, the next call finds out: what
        was published is never published again. O(changes since the last version), and O(n) for the first version, for
        the first one of this publisher, and whenever the changes outweigh a full instant. Memory: a batch of rows, and
        what of the last version the trie does not share any more. Calls wait for each other. The version is the
        instant of the snapshot that is taken.
        """
        if os.getpid() != self._process:
            raise RuntimeError("this Publisher is the parent's; a child of fork opens its own")
        with self._one_at_a_time:
            if self._is_closed:
                raise ValueError("this Publisher is closed; open another one")
            return self._writer.publish().version

    def close(self) -> None:
        """Publish no more. With ``every`` or ``changes``, what has changed since the last version is published first.

        :raises FencedError: and whatever else `publish` raises, when that last version cannot be published; the
            publisher is not closed then, and `close` may be called again

        Closing a publisher that is closed does nothing.
        """
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            if not self._is_closed:
                self.publish()
        with self._one_at_a_time:
            self._is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    # --------------------------------------------------------------------------------------------------- by itself

    def _publish_by_itself(self) -> None:
        due, pause = time.monotonic(), 0.0
        while not self._stop.wait(pause):
            looked = time.monotonic()
            pause = 0.0
            if looked >= due or self._has_enough():
                due = math.inf if self._every is None else looked + self._every
                pause = self._tried()
            now = time.monotonic()
            look = math.inf if self._changes is None else max(LOOK, SHARE * (now - looked))
            pause = max(pause, min(look, due - now))

    def _has_enough(self) -> bool:
        """Whether as much has changed as is asked for."""
        instant = self._writer.instant
        if self._changes is None or instant is None:
            return False
        return sum(1 for _ in itertools.islice(self._trie.diff(instant), self._changes)) == self._changes

    def _tried(self) -> float:
        """Publish; return for how long to leave it after that."""
        try:
            self.publish()
        except FencedError as error:
            self._stop.set()
            _log.error("%s", error)
        except Exception:  # noqa: BLE001 (a thread that ends would be noticed by nobody)
            _log.exception("publishing to %s failed; it is tried again", self._where)
            return AFTER_FAILURE
        return 0.0


def _number(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return value
