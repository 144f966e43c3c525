"""Composes a version: writes its files, a full instant and a change feed, and finds the content of its manifest."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from snapshot.columns import Cut, in_batches
from snapshot.parquet import kinds_in, write_plain, write_stored
from snapshot.published.directory import Directory
from snapshot.published.feed import Written, write_feed
from snapshot.published.ledger import Ledger, Trial
from snapshot.published.manifest import CHANGES, FULL, DataFile, Version, data_name
from snapshot.published.restoring import lost, rebuild
from snapshot.published.sieve import Refused, Sieve, SubscriptionKey
from snapshot.published.store import Store
from snapshot.storing import Kinds, Storing
from subtrie import SubscriptionTrie
from subtrie.columns import Changed, changed

FEED_ROWS: Final = 300
"""Reading one more manifest, with its feed, takes about as long as reading this many rows of a full instant."""

FEWEST_ROWS: Final = 1000
"""Changes with at most this many rows never outweigh a full instant,"""

FEWEST_FEEDS: Final = 16
"""nor do at most this many manifests: for a small set, a feed and a full instant cost the same."""


class Published(NamedTuple):
    """The version published last, which the next one follows.

    Args:
        version: its manifest.
        instant: the trie as it was then; None if another process published it.
        manifests: how many manifests there are since the last full instant: feeds, and claims of publishers.
        rows: how many changes the feeds contain.
    """

    version: Version
    instant: SubscriptionTrie | None
    manifests: int
    rows: int


class Composition(NamedTuple):
    """A version before its commit.

    Args:
        fields: the fields of its manifest; None if nothing has changed.
        trial: the changes of the subscribers' keys; None if there is no key function.
        refused: the subscriptions that it lacks, since they cannot be stored.
    """

    fields: dict[str, Any] | None
    trial: Trial | None
    refused: dict[SubscriptionKey, Refused]


class Composer:
    """Writes the files of versions, under names that belong to one publisher.

    Args:
        directory: the published directory, for reading.
        store: the same, for writing.
        epoch: the epoch of the publisher.
        strict: whether a subscription that cannot be stored is an error.
    """

    def __init__(self, directory: Directory, store: Store, epoch: int, *, strict: bool) -> None:
        self._directory = directory
        self._store = store
        self._epoch = epoch
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

    def discard(self, files: Iterable[DataFile]) -> None:
        """Remove files that belong to no version."""
        for file in files:
            with contextlib.suppress(OSError):  # the next publisher will remove it
                self._store.remove(file.path)

    def _first(self, cut: Cut, number: int, sieve: Sieve, written: list[DataFile]) -> Composition:
        full, kinds = self._full(cut, number, sieve, written)
        counts = {"subscriptions": full.rows, "changes": full.rows, "refused": len(sieve.refused)}
        fields = {"kind": "full", "full": full, "feed": None, **counts, **_fields_of(kinds), "base": number}
        return Composition(fields, sieve.trial, sieve.refused)

    def _next(self, cut: Cut, number: int, last: Published, sieve: Sieve, written: list[DataFile]) -> Composition:
        version = last.version
        integers = None if version.subscriptions == 0 else version.integers  # a set without rows has no types to keep
        before = Kinds(integers, frozenset(version.json_options), frozenset(version.string_options))
        storing = Storing(before, tags=not self._strict)
        full: DataFile | None = None
        try:
            changes = sieve.stored(storing)
            if next(changes, None) is None and not _outweighs(last.manifests, 0, version.subscriptions):
                return Composition(None, sieve.trial, sieve.refused)
            feed, content = self._feed(cut, number, sieve.stored(storing), written)
            kinds = storing.kinds()
        except TypeError:
            if not self._strict:
                raise
            full, kinds = self._full(cut, number, sieve, written)  # perhaps an option has got another type
            feed, content = self._feed(cut, number, sieve.stored(Storing(kinds, tags=False)), written)
        subscriptions = version.subscriptions + content.growth
        if full is None and _outweighs(last.manifests + 1, last.rows + content.changes, subscriptions):
            full, kinds = self._full(cut, number, sieve, written)
            # The same text must name the same subscriber as in the feeds before, and the same options have columns as
            # in this version's own feed.
            if not kinds.agree(storing.kinds()) or not (self._strict or kinds.are_few()):
                self.discard([written.pop(written.index(full))])
                full, kinds = self._full(cut, number, sieve, written, storing.kinds())
        fields = {
            "kind": "changes" if full is None else "full",
            "full": full,
            "feed": feed,
            "subscriptions": subscriptions,
            "changes": content.changes,
            "refused": len(sieve.refused),
            "base": version.base if full is None else number,
            **_fields_of(kinds),
        }
        return Composition(fields, sieve.trial, sieve.refused)

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

    def _feed(
        self, cut: Cut, number: int, changes: Iterator[Changed], written: list[DataFile]
    ) -> tuple[DataFile, Written]:
        name = data_name(CHANGES, number, self._epoch)
        content, size, digest = self._store.produce(name, lambda path: write_feed(path, changes, cut, number))
        file = DataFile(name, content.rows, size, digest)
        written.append(file)
        return file, content

    def _full(
        self, cut: Cut, number: int, sieve: Sieve, written: list[DataFile], kinds: Kinds | None = None
    ) -> tuple[DataFile, Kinds]:
        """Write a full instant.

        Args:
            kinds: the types of columns that are given; None: those that suit the set.
        """

        def make(path: str) -> tuple[int, Kinds]:
            """Return how many rows the file has, and the types of its columns."""
            rows = functools.partial(sieve.rows, cut.trie)
            if kinds is not None:
                write_stored(cut, path, rows, kinds)
                return kinds_in(path)[0], kinds
            try:
                write_plain(cut, path, sieve.key)
                count, found = kinds_in(path)
                if found.are_few() or self._strict:
                    return count, found
            except (OSError, MemoryError):
                raise
            except Exception:  # of a value or a key function; row by row, those that raise one are set aside
                if self._strict:
                    raise
            write_stored(cut, path, rows)
            return kinds_in(path)

        name = data_name(FULL, number, self._epoch)
        (count, found), size, digest = self._store.produce(name, make)
        file = DataFile(name, count, size, digest)
        written.append(file)
        return file, found


def all_added(trie: SubscriptionTrie) -> Iterator[Changed]:
    """All subscriptions, as changes from an empty trie."""
    return (Changed(held.filter, None, held.subscriber, None, held.options) for held in trie.subscriptions())


def _outweighs(manifests: int, rows: int, subscriptions: int) -> bool:
    """Whether the changes since a full instant cost more to read than a new full instant would."""
    return rows > max(subscriptions, FEWEST_ROWS) or manifests > max(subscriptions // FEED_ROWS, FEWEST_FEEDS)


def _fields_of(kinds: Kinds) -> dict[str, Any]:
    """The types of columns as fields of a manifest."""
    return {
        "integers": kinds.integers,
        "json_options": tuple(sorted(kinds.json_options)),
        "string_options": tuple(sorted(kinds.string_options)),
    }
