"""Composes a version: writes its files, a full instant and a change feed, and finds the content of its manifest."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from snapshot.columns import Cut, in_batches
from snapshot.parquet import write_set
from snapshot.published.directory import Directory
from snapshot.published.errors import DamagedError
from snapshot.published.feed import alike, write_feed, write_merged
from snapshot.published.ledger import Ledger, Trial
from snapshot.published.manifest import CHANGES, FULL, DataFile, Merged, Version, data_name
from snapshot.published.restoring import lost, rebuild
from snapshot.published.sieve import Refused, Sieve, SubscriptionKey
from snapshot.published.store import Store
from snapshot.storing import Storing
from subtrie import SubscriptionTrie
from subtrie.columns import Changed, changed

Made = TypeVar("Made", bound=tuple[Any, ...])

FEED_ROWS: Final = 300
"""Reading one more manifest, with its feed, takes about as long as reading this many rows of a full instant."""

FEWEST_ROWS: Final = 1000
"""Changes with at most this many rows never outweigh a full instant,"""

LOOSE_FEEDS: Final = 32
"""So many manifests with feeds are merged into one file."""

ROW_COST: Final = 4
"""A merged change takes a trie two to three times as long as a row of a full instant, and its feed has to be read."""

FEWEST_FEEDS: Final = 16
"""nor do at most this many manifests: for a small set, a feed and a full instant cost the same."""


class Published(NamedTuple):
    """The version published last, which the next one follows.

    Args:
        version: its manifest.
        instant: the trie as it was then; None if another process published it.
        chain: the manifests that a reader opens who begins now: that of the last full instant, then those of merged
            changes, of feeds, and claims of publishers.
    """

    version: Version
    instant: SubscriptionTrie | None
    chain: tuple[Version, ...]

    def followed_by(self, version: Version, instant: SubscriptionTrie) -> Published:
        """The next version, once it is published."""
        if version.full is not None:
            return Published(version, instant, (version,))
        before = [each for each in self.chain if each.version <= version.before()]
        return Published(version, instant, (*before, version))


Composition = tuple[dict[str, Any] | None, Trial | None, dict[SubscriptionKey, Refused]]
"""A version before its commit: the fields of its manifest, None if nothing has changed; the changes of the subscribers'
keys, None if there is no key function; and the subscriptions that it lacks, since they cannot be stored."""


class Composer:
    """Writes the files of versions, under names that belong to one publisher.

    Args:
        directory: the published directory, for reading.
        store: the same, for writing.
        epoch: the epoch of the publisher.
        strict: whether a subscription that cannot be stored is an error.
        apart: how far apart full instants may be; None for any distance.
    """

    def __init__(
        self, directory: Directory, store: Store, epoch: int, apart: datetime.timedelta | None, *, strict: bool
    ) -> None:
        self._directory = directory
        self._store = store
        self._epoch = epoch
        self._apart = apart
        self._strict = strict

    def compose(
        self,
        cut: Cut,
        number: int,
        last: Published | None,
        ledger: Ledger | None,
        refused: Mapping[SubscriptionKey, Refused],
    ) -> Composition:
        """Write the files of version `number`. If this fails, no files are left.

        Args:
            refused: the subscriptions that the last version lacks.

        Raises:
            TypeError: strict, and a subscription could not be rebuilt.
            ValueError: strict, and two subscribers have the same key.
        """
        instant = None if last is None else last.instant
        sieve = Sieve(
            lambda: all_added(cut.trie) if instant is None else changed(cut.trie, instant),
            {} if instant is None else refused,
            ledger,
            queues=cut.trie.dialect.queue_groups,
            strict=self._strict,
        )
        written: list[DataFile] = []
        try:
            if last is None:
                return self._first(cut, number, sieve, written)
            if instant is None:
                self._compare_with_another(cut, last.version, sieve)
            return self._next(cut, number, last, sieve, written)
        except BaseException:
            self.discard(written)
            raise

    def _is_far(self, full: Version, time: datetime.datetime) -> bool:
        """Whether a full instant is too long ago."""
        return self._apart is not None and time - full.time >= self._apart

    def rebased(self, last: Published, time: datetime.datetime) -> Published:
        """The same, with a later full instant that somebody has written meanwhile. It is looked for from half the time
        on after which a new one is due."""
        first, *others = last.chain
        if self._is_far(first, time) or _outweighs(
            2 * len(others), 2 * _changes_in(others), last.version.subscriptions
        ):
            later = dataclasses.replace(others[-1], base=first.version + 1) if others else None
            found = None if later is None else self._directory.compacted(later)
            there = None if found is None else self._directory.get(found.version)
            if there is not None:
                return last._replace(chain=(there, *(each for each in others if each.version > there.version)))
        return last

    def discard(self, files: Iterable[DataFile]) -> None:
        """Remove files that belong to no version."""
        for file in files:
            with contextlib.suppress(OSError):  # the next publisher will remove it
                self._store.remove(file.path)

    def _first(self, cut: Cut, number: int, sieve: Sieve, written: list[DataFile]) -> Composition:
        full, integers = self._full(cut, number, sieve, written, None)
        fields = {
            "kind": "full",
            "full": full,
            "feed": None,
            "subscriptions": full.rows,
            "changes": full.rows,
            "refused": len(sieve.refused),
            "integers": integers,
            "base": number,
        }
        return fields, sieve.trial, sieve.refused

    def _next(self, cut: Cut, number: int, last: Published, sieve: Sieve, written: list[DataFile]) -> Composition:
        version = last.version
        integers = None if version.subscriptions == 0 else version.integers  # a set without rows has no types to keep
        storing = Storing(integers, tags=not self._strict)
        changes = sieve.stored(storing)
        if (
            next(changes, None) is None
            and cut.limits == version.limits
            and not _outweighs(len(last.chain) - 1, 0, version.subscriptions)
        ):
            return None, sieve.trial, sieve.refused
        _, count, growth = self._file(
            CHANGES, number, written, lambda path: write_feed(path, sieve.stored(storing), cut, number)
        )
        feed = written[-1]
        integers, full = storing.integers, None
        subscriptions = version.subscriptions + growth
        chain = (
            *last.chain,
            dataclasses.replace(
                version,
                version=number,
                feed=feed,
                merged=None,
                changes=count,
                integers=integers,
                json_options=None,
            ),
        )
        if self._is_far(chain[0], cut.taken_at) or _outweighs(len(last.chain), _changes_in(chain[1:]), subscriptions):
            full, integers = self._full(cut, number, sieve, written, integers)
        fields = {
            "kind": "changes" if full is None else "full",
            "full": full,
            "feed": feed,
            "subscriptions": subscriptions,
            "changes": count,
            "refused": len(sieve.refused),
            "base": last.chain[0].version if full is None else number,
            "merged": None if full is not None else self._merged(chain, written),
            "integers": integers,
        }
        return fields, sieve.trial, sieve.refused

    def _compare_with_another(self, cut: Cut, version: Version, sieve: Sieve) -> None:
        """Find the changes if another process published the last version, so that there are only its files. O(n)."""
        try:
            older = rebuild(self._directory, version)
        except FileNotFoundError as missing:
            raise lost(version, missing, self._directory) from missing
        if sieve.key is None:
            with contextlib.suppress(ValueError):  # the trie was made with exact=True
                cut.trie.diff(older)
                sieve.from_trie(lambda: changed(cut.trie, older))
                return
        plain = SubscriptionTrie(cut.trie.dialect)
        owners: dict[str, Hashable] = {}
        for some in in_batches(sieve.keyed(cut.trie, owners)):
            plain.subscribe_many(some)
        sieve.from_trie(lambda: changed(plain, older), None if sieve.key is None else owners)

    # ---------------------------------------------------------------------------------------------------------- files

    def _file(self, folder: str, number: int, written: list[DataFile], write: Callable[[str], Made]) -> Made:
        """Write a file of version `number`. Return what `write` does, which is the number of rows, and more."""
        name = data_name(folder, number, self._epoch)
        made, size, digest = self._store.produce(name, write)
        written.append(DataFile(name, made[0], size, digest))
        return made

    def _merged(self, chain: tuple[Version, ...], written: list[DataFile]) -> Merged | None:
        """Merge the last changes of a chain, if there are many feeds. None if not, or if one cannot be read."""
        since, versions = _to_merge(chain)
        if len(versions) < 2:
            return None
        try:
            self._file(CHANGES, chain[-1].version, written, lambda path: (write_merged(path, self._store, versions),))
        except (OSError, DamagedError):  # then readers take the feeds themselves, and see
            return None
        return Merged(written[-1], since.version, since.digest)

    def _full(
        self, cut: Cut, number: int, sieve: Sieve, written: list[DataFile], integers: bool | None
    ) -> tuple[DataFile, bool | None]:
        """Write a full instant. Return whether subscribers are integers, too.

        Args:
            integers: the type that they have already. The same text must name the same subscriber as in feeds before.
        """
        write = functools.partial(
            write_set,
            cut,
            key=sieve.key,
            rows=functools.partial(sieve.rows, cut.trie),
            integers=integers,
            tags=not self._strict,
        )
        _, found = self._file(FULL, number, written, write)
        return written[-1], found


def all_added(trie: SubscriptionTrie) -> Iterator[Changed]:
    """All subscriptions, as changes from an empty trie."""
    return (Changed(held.filter, None, held.subscriber, None, held.options) for held in trie.subscriptions())


def _outweighs(manifests: int, rows: int, subscriptions: int) -> bool:
    """Whether the changes since a full instant cost more to read than a new full instant would."""
    are_many = manifests > max(subscriptions // FEED_ROWS, FEWEST_FEEDS)
    return are_many or rows > max(subscriptions // ROW_COST, FEWEST_ROWS)


def _changes_in(chain: Iterable[Version]) -> int:
    """How many changes the versions of a chain have, merged where they are."""
    return sum(each.changes if each.merged is None else each.merged.file.rows for each in chain)


def _to_merge(chain: tuple[Version, ...]) -> tuple[Version, list[Version]]:
    """The last versions of a chain whose changes are to be merged, after the version with which they begin. None, if
    there are fewer than `LOOSE_FEEDS` after the last merged ones.

    Merged changes are merged again with as many others. So each change is merged a number of times that is the
    logarithm of how many there are.
    """
    start, rows = len(chain), 0
    while start > 1 and (chain[start - 1].merged is None or _changes_in(chain[start - 1 : start]) <= rows):
        start -= 1
        rows += _changes_in(chain[start : start + 1])
    loose = list(itertools.takewhile(lambda each: each.merged is None, chain[:0:-1]))
    feeds = [each.replayed() for each in chain[start:] if each.feed is not None]
    if len(loose) < LOOSE_FEEDS or not feeds:
        return chain[-1], []
    *_, (some, _) = alike(feeds)
    place = [each.version for each in chain].index(some[0].version)
    return chain[place - 1], some
