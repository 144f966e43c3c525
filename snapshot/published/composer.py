"""Composes a version: writes its files, a full instant and a change feed, and finds the content of its manifest."""

from __future__ import annotations

import contextlib
import functools
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from snapshot.columns import in_batches
from snapshot.cut import Cut
from snapshot.parquet import write
from snapshot.published.directory import Directory
from snapshot.published.feed import Written, write_feed
from snapshot.published.ledger import Ledger, Trial
from snapshot.published.manifest import CHANGES, FULL, DataFile, Version, data_name
from snapshot.published.restoring import lost, rebuild
from snapshot.published.store import Store
from snapshot.published.textual import Texts, texts_in
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
    """

    fields: dict[str, Any] | None
    trial: Trial | None


class Composer:
    """Writes the files of versions, under names that belong to one publisher.

    :param directory: the published directory, for reading
    :param store: the same, for writing
    :param epoch: the epoch of the publisher
    """

    def __init__(self, directory: Directory, store: Store, epoch: int) -> None:
        self._directory = directory
        self._store = store
        self._epoch = epoch

    def compose(self, cut: Cut, number: int, last: Published | None, ledger: Ledger | None) -> Composition:
        """Write the files of version `number`. If this fails, no files are left.

        :raises TypeError: a subscription could not be rebuilt
        :raises ValueError: two subscribers have the same key
        """
        written: list[DataFile] = []
        try:
            if last is None:
                return self._first(cut, number, ledger, written)
            return self._next(cut, number, last, ledger, written)
        except BaseException:
            self.discard(written)
            raise

    def discard(self, files: Iterable[DataFile]) -> None:
        """Remove files that belong to no version."""
        for file in files:
            with contextlib.suppress(OSError):  # the next publisher will remove it
                self._store.remove(file.path)

    def _first(self, cut: Cut, number: int, ledger: Ledger | None, written: list[DataFile]) -> Composition:
        trial = None if ledger is None else ledger.trial(all_added(cut.trie))
        full, texts = self._full(cut, number, trial, ledger, written)
        counts = {"subscriptions": full.rows, "changes": full.rows}
        return Composition(
            {"kind": "full", "full": full, "feed": None, **counts, **texts.fields(), "base": number}, trial
        )

    def _next(
        self, cut: Cut, number: int, last: Published, ledger: Ledger | None, written: list[DataFile]
    ) -> Composition:
        changes, trial = self._changes(cut, last, ledger)
        if next(changes(), None) is None and not _outweighs(last.manifests, 0, last.version.subscriptions):
            return Composition(None, trial)
        feed, content = self._feed(cut, number, changes(), written)
        texts = content.texts.after(last.version)
        fields: dict[str, Any] = {
            "kind": "changes",
            "full": None,
            "feed": feed,
            "subscriptions": last.version.subscriptions + content.growth,
            "changes": content.changes,
            "base": last.version.base,
        }
        if texts is None or _outweighs(last.manifests + 1, last.rows + content.changes, fields["subscriptions"]):
            full, texts = self._full(cut, number, trial, ledger, written)
            fields.update(kind="full", full=full, base=number)
        return Composition({**fields, **texts.fields()}, trial)

    # ------------------------------------------------------------------------------------------------- what has changed

    def _changes(
        self, cut: Cut, last: Published, ledger: Ledger | None
    ) -> tuple[Callable[[], Iterator[Changed]], Trial | None]:
        """The changes since the last version, with keys, and the changes of the keys. Deletes come first if an insert
        may have the same subscription."""
        instant = last.instant
        if instant is None:
            return self._changes_from_another(cut, last.version, ledger)
        if ledger is None:
            return lambda: changed(cut.trie, instant), None
        trial = ledger.trial(changed(cut.trie, instant))
        return lambda: trial.keyed(_deletes_first(lambda: changed(cut.trie, instant)), ledger), trial

    def _changes_from_another(
        self, cut: Cut, version: Version, ledger: Ledger | None
    ) -> tuple[Callable[[], Iterator[Changed]], Trial | None]:
        """The same if another process published the last version, so that there are only its files. O(n)."""
        try:
            older = rebuild(self._directory, version)
        except FileNotFoundError as missing:
            raise lost(version, missing, self._directory) from missing
        trial = None if ledger is None else ledger.trial(all_added(cut.trie))
        if ledger is None or trial is None:
            with contextlib.suppress(ValueError):  # the trie was made with exact=True
                cut.trie.diff(older)
                return lambda: changed(cut.trie, older), None
        held = cut.trie.subscriptions() if ledger is None or trial is None else trial.keyed_all(cut.trie, ledger)
        plain = SubscriptionTrie(cut.trie.dialect)
        for some in in_batches(held):
            plain.subscribe_many(some)
        return lambda: changed(plain, older), trial

    # ---------------------------------------------------------------------------------------------------------- files

    def _feed(
        self, cut: Cut, number: int, changes: Iterator[Changed], written: list[DataFile]
    ) -> tuple[DataFile, Written]:
        found: list[Written] = []
        name = self._name(CHANGES, number)
        size, digest = self._store.produce(name, lambda path: found.append(write_feed(path, changes, cut, number)))
        file = DataFile(name, found[0].rows, size, digest)
        written.append(file)
        return file, found[0]

    def _full(
        self, cut: Cut, number: int, trial: Trial | None, ledger: Ledger | None, written: list[DataFile]
    ) -> tuple[DataFile, Texts]:
        found: list[tuple[int, Texts]] = []
        key = None if ledger is None or trial is None else functools.partial(ledger.of, trial)

        def make(path: str) -> None:
            write(cut.trie, path, key=key)
            found.append(texts_in(path))

        name = self._name(FULL, number)
        size, digest = self._store.produce(name, make)
        rows, texts = found[0]
        file = DataFile(name, rows, size, digest)
        written.append(file)
        return file, texts

    def _name(self, folder: str, number: int) -> str:
        return data_name(folder, number, self._epoch, uuid.uuid4().hex[:8])


def all_added(trie: SubscriptionTrie) -> Iterator[Changed]:
    """All subscriptions, as changes from an empty trie."""
    return (Changed(held.filter, None, held.subscriber, None, held.options) for held in trie.subscriptions())


def _deletes_first(changes: Callable[[], Iterator[Changed]]) -> Iterator[Changed]:
    yield from (change for change in changes() if change.after is None)
    yield from (change for change in changes() if change.after is not None)


def _outweighs(manifests: int, rows: int, subscriptions: int) -> bool:
    """Whether the changes since a full instant cost more to read than a new full instant would."""
    return rows > max(subscriptions, FEWEST_ROWS) or manifests > max(subscriptions // FEED_ROWS, FEWEST_FEEDS)
