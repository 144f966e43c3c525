"""Composes a version: writes its files, a full instant and a change feed, and finds the content of its manifest."""

from __future__ import annotations

import contextlib
import functools
import uuid
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from snapshot.columns import in_batches
from snapshot.cut import Cut
from snapshot.parquet import write_plain, write_stored
from snapshot.published.directory import Directory
from snapshot.published.feed import Written, write_feed
from snapshot.published.ledger import Ledger, Trial
from snapshot.published.manifest import CHANGES, FULL, DataFile, Version, data_name
from snapshot.published.restoring import lost, rebuild
from snapshot.published.sieve import Place, Refused, Sieve
from snapshot.published.store import Store
from snapshot.published.textual import agree, fields_of, kinds_in, kinds_of
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

    :param version: its manifest
    :param instant: the trie as it was then; None if another process published it
    :param manifests: how many manifests there are since the last full instant: feeds, and claims of publishers
    :param rows: how many changes the feeds contain
    """

    version: Version
    instant: SubscriptionTrie | None
    manifests: int
    rows: int


class Composition(NamedTuple):
    """A version before its commit.

    :param fields: the fields of its manifest; None if nothing has changed
    :param trial: the changes of the subscribers' keys; None if there is no key function
    :param refused: the subscriptions that it lacks, since they cannot be stored
    """

    fields: dict[str, Any] | None
    trial: Trial | None
    refused: dict[Place, Refused]


class Composer:
    """Writes the files of versions, under names that belong to one publisher.

    :param directory: the published directory, for reading
    :param store: the same, for writing
    :param epoch: the epoch of the publisher
    :param strict: whether a subscription that cannot be stored is an error
    """

    def __init__(self, directory: Directory, store: Store, epoch: int, *, strict: bool) -> None:
        self._directory = directory
        self._store = store
        self._epoch = epoch
        self._strict = strict

    def compose(
        self, cut: Cut, number: int, last: Published | None, ledger: Ledger | None, refused: Mapping[Place, Refused]
    ) -> Composition:
        """Write the files of version `number`. If this fails, no files are left.

        :param refused: the subscriptions that the last version lacks
        :raises TypeError: strict, and a subscription could not be rebuilt
        :raises ValueError: strict, and two subscribers have the same key
        """
        written: list[DataFile] = []
        try:
            if last is None:
                return self._first(cut, number, ledger, written)
            return self._next(cut, number, last, self._sieve(cut, last, ledger, refused), written)
        except BaseException:
            self.discard(written)
            raise

    def discard(self, files: Iterable[DataFile]) -> None:
        """Remove files that belong to no version."""
        for file in files:
            with contextlib.suppress(OSError):  # the next publisher will remove it
                self._store.remove(file.path)

    def _first(self, cut: Cut, number: int, ledger: Ledger | None, written: list[DataFile]) -> Composition:
        sieve = Sieve(lambda: all_added(cut.trie), {}, cut.trie.dialect.queue_groups, strict=self._strict)
        if ledger is not None:
            sieve.with_keys(ledger)
        full, kinds = self._full(cut, number, sieve, ledger, written)
        counts = {"subscriptions": full.rows, "changes": full.rows, "refused": len(sieve.refused)}
        fields = {"kind": "full", "full": full, "feed": None, **counts, **fields_of(kinds), "base": number}
        return Composition(fields, sieve.trial, sieve.refused)

    def _next(
        self, cut: Cut, number: int, last: Published, sieved: tuple[Sieve, Ledger | None], written: list[DataFile]
    ) -> Composition:
        sieve, ledger = sieved
        storing = Storing(kinds_of(last.version), tags=not self._strict)
        full: DataFile | None = None
        try:
            changes = sieve.stored(storing)
            if next(changes, None) is None and not _outweighs(last.manifests, 0, last.version.subscriptions):
                return Composition(None, sieve.trial, sieve.refused)
            feed, content = self._feed(cut, number, sieve.stored(storing), written)
            kinds = storing.kinds()
        except TypeError:
            if not self._strict:
                raise
            full, kinds = self._full(cut, number, sieve, ledger, written)  # perhaps an option has got another type
            feed, content = self._feed(cut, number, sieve.stored(Storing(kinds, tags=False)), written)
        subscriptions = last.version.subscriptions + content.growth
        if full is None and _outweighs(last.manifests + 1, last.rows + content.changes, subscriptions):
            full, kinds = self._full(cut, number, sieve, ledger, written)
            # The same text must name the same subscriber as in the feeds before, and the same options have columns as
            # in this version's own feed.
            if not agree(kinds, storing.kinds()) or not (self._strict or kinds.are_few()):
                self.discard([written.pop(written.index(full))])
                full, kinds = self._full(cut, number, sieve, ledger, written, storing.kinds())
        fields = {
            "kind": "changes" if full is None else "full",
            "full": full,
            "feed": feed,
            "subscriptions": subscriptions,
            "changes": content.changes,
            "refused": len(sieve.refused),
            "base": last.version.base if full is None else number,
            **fields_of(kinds),
        }
        return Composition(fields, sieve.trial, sieve.refused)

    # ------------------------------------------------------------------------------------------------- what has changed

    def _sieve(
        self, cut: Cut, last: Published, ledger: Ledger | None, refused: Mapping[Place, Refused]
    ) -> tuple[Sieve, Ledger | None]:
        """The changes since the last version, and the keys."""
        instant, queues = last.instant, cut.trie.dialect.queue_groups
        if instant is None:
            sieve = Sieve(lambda: all_added(cut.trie), {}, queues, strict=self._strict)
            if ledger is not None:
                sieve.with_keys(ledger)
            self._compare_with_another(cut, last.version, sieve, ledger)
            return sieve, ledger
        sieve = Sieve(lambda: changed(cut.trie, instant), refused, queues, strict=self._strict)
        if ledger is not None:
            sieve.with_keys(ledger)
        return sieve, ledger

    def _compare_with_another(self, cut: Cut, version: Version, sieve: Sieve, ledger: Ledger | None) -> None:
        """Find the changes if another process published the last version, so that there are only its files. O(n)."""
        try:
            older = rebuild(self._directory, version)
        except FileNotFoundError as missing:
            raise lost(version, missing, self._directory) from missing
        if ledger is None:
            with contextlib.suppress(ValueError):  # the trie was made with exact=True
                cut.trie.diff(older)
                sieve.from_trie(lambda: changed(cut.trie, older))
                return
        plain = SubscriptionTrie(cut.trie.dialect)
        owners: dict[str, Hashable] = {}
        for some in in_batches(sieve.keyed(cut.trie, owners)):
            plain.subscribe_many(some)
        sieve.from_trie(lambda: changed(plain, older), None if ledger is None else owners)

    # ---------------------------------------------------------------------------------------------------------- files

    def _feed(
        self, cut: Cut, number: int, changes: Iterator[Changed], written: list[DataFile]
    ) -> tuple[DataFile, Written]:
        found: list[Written] = []
        name = self._name(CHANGES, number)
        size, digest = self._store.produce(name, lambda path: found.append(write_feed(path, changes, cut, number)))
        file = DataFile(name, found[0].rows, size, digest, found[0].text)
        written.append(file)
        return file, found[0]

    def _full(
        self,
        cut: Cut,
        number: int,
        sieve: Sieve,
        ledger: Ledger | None,
        written: list[DataFile],
        kinds: Kinds | None = None,
    ) -> tuple[DataFile, Kinds]:
        """Write a full instant.

        :param kinds: the types of columns that are given; None: those that suit the set
        """
        found: list[tuple[int, Kinds]] = []
        texts: list[int] = []
        trial = sieve.trial
        key = None if ledger is None or trial is None else functools.partial(ledger.of, trial)

        def make(path: str) -> None:
            rows = functools.partial(sieve.rows, cut.trie)
            if kinds is not None:
                texts.append(write_stored(cut, path, rows, kinds))
                found.append((kinds_in(path)[0], kinds))
                return
            try:
                texts.append(write_plain(cut, path, key))
                found.append(kinds_in(path))
                if found[0][1].are_few() or self._strict:
                    return
            except (OSError, MemoryError):
                raise
            except Exception:  # of a value or a key function; row by row, those that raise one are set aside
                if self._strict:
                    raise
            texts[:], found[:] = [write_stored(cut, path, rows)], []
            found.append(kinds_in(path))

        name = self._name(FULL, number)
        size, digest = self._store.produce(name, make)
        count, types = found[0]
        file = DataFile(name, count, size, digest, texts[0])
        written.append(file)
        return file, types

    def _name(self, folder: str, number: int) -> str:
        return data_name(folder, number, self._epoch, uuid.uuid4().hex[:8])


def all_added(trie: SubscriptionTrie) -> Iterator[Changed]:
    """All subscriptions, as changes from an empty trie."""
    return (Changed(held.filter, None, held.subscriber, None, held.options) for held in trie.subscriptions())


def _outweighs(manifests: int, rows: int, subscriptions: int) -> bool:
    """Whether the changes since a full instant cost more to read than a new full instant would."""
    return rows > max(subscriptions, FEWEST_ROWS) or manifests > max(subscriptions // FEED_ROWS, FEWEST_FEEDS)
