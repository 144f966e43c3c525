"""How a version gets into a published directory: the steps, and what remains if the process dies after one of them.

1. Write the Parquet files, under names that nothing else uses. No reader looks for them yet. If the publisher is
   killed, the next one removes them.
2. Create the manifest, under the name of the next number. This is the commit. It fails if another publisher has taken
   that number. The files that it names are durable before; when it returns, so is the version.
3. Write the hint, for readers.
4. Apply retention.

Step 2 may fail before the commit or after it. So the attempt is remembered first. The next `publish` looks for its
manifest, and adopts the version or drops it.

A claim takes a number for ever, since manifests of claims are never removed. So a publisher that has slept finds the
claim of its successor under the number of its own next version, whatever was published and removed since.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import socket
import uuid
from typing import Any, Final, NamedTuple

from snapshot.cut import Cut, cut_of
from snapshot.published.composer import Composer, Published, all_added
from snapshot.published.directory import Directory
from snapshot.published.errors import DamagedError, FencedError
from snapshot.published.ledger import Ledger, Trial
from snapshot.published.manifest import (
    CHANGES,
    FOLDERS,
    FULL,
    NEWEST,
    VERSIONS,
    Version,
    hint_of,
    manifest_name,
    scratch_name,
)
from snapshot.published.retention import Keep, Retention, sweep
from snapshot.published.store import Store
from snapshot.texts import Key
from subtrie import SubscriptionTrie

_TICK: Final = datetime.timedelta(microseconds=1)


class _Attempt(NamedTuple):
    """A version that may have been committed, and the state to adopt if it was."""

    version: Version
    published: Published
    trial: Trial | None


class Writer:
    """The only writer of a directory, until another one claims it. Not for two threads at once.

    :raises ValueError: the directory holds other files, or subscriptions of another dialect
    """

    def __init__(self, trie: SubscriptionTrie, store: Store, key: Key | None, keep: Keep) -> None:
        self._trie = trie
        self._store = store
        self._directory = Directory(store)
        self._claim = self._taken()
        present = self._present()
        sweep(store, present, self._claim.epoch)
        self._retention = Retention(keep, present, self._claim.oldest)
        self._composer = Composer(self._directory, store, self._claim.epoch)
        self._key = key
        self._ledger = None if key is None else Ledger(key)
        self._previous = self._claim
        self._attempt: _Attempt | None = None
        self._published = self._found(present)

    @property
    def instant(self) -> SubscriptionTrie | None:
        """The instant published last; None until this writer has published one."""
        return None if self._published is None else self._published.instant

    def publish(self) -> Version:
        """Publish the trie's present content, unless nothing has changed; return the version with that content.

        :raises FencedError: another publisher has taken over
        """
        self._settle()
        cut = cut_of(self._trie)
        cut = cut._replace(taken_at=max(cut.taken_at, self._previous.time + _TICK))
        try:
            attempt = self._composed(cut)
        except (OSError, DamagedError):
            self._settle()  # the files of a publisher that has been fenced may have been removed
            raise
        if attempt is not None:
            self._commit(attempt)
        assert self._published is not None
        return self._published.version

    # ------------------------------------------------------------------------------------------------------ the claim

    def _taken(self) -> Version:
        """Claim the directory with the next number."""
        newest = self._newest()
        self._store.prepare(FOLDERS)
        # Progress: a round that does not return found that another publisher has taken a number.
        while True:
            claim = self._claim_after(newest)
            if self._is_made(claim) and max(self._directory.numbers()) == claim.version:
                return claim  # a lower number may be free because the version that had it has been removed
            newest = self._newest()

    def _is_made(self, claim: Version) -> bool:
        """Create the manifest of a claim; return False if another publisher has taken its number."""
        try:
            scratch = scratch_name(claim.version, claim.version, claim.writer)
            self._store.create(manifest_name(claim.version), claim.to_json(), scratch)
        except FileNotFoundError:  # the publisher that took the number may have removed our unfinished file
            if self._directory.get(claim.version) is None:
                raise
            return False
        except FileExistsError:
            return False
        return True

    def _newest(self) -> Version | None:
        newest = self._directory.newest()
        if newest is None:
            self._require_unused()
        elif newest.dialect != self._trie.dialect:
            raise ValueError(
                f"{self._store.place} has subscriptions of the dialect {newest.dialect.name}, "
                f"and the trie is of {self._trie.dialect.name}: publish to another directory"
            )
        return newest

    def _require_unused(self) -> None:
        others = set(self._store.names("")).difference(FOLDERS)
        others.update(name for folder in (FULL, CHANGES) for name in self._store.names(folder))
        if others:
            raise ValueError(
                f"{self._store.place} is not a published directory and has other files "
                f"({', '.join(sorted(others)[:3])}): publish to a new or an empty one"
            )

    def _claim_after(self, newest: Version | None) -> Version:
        now = datetime.datetime.now(datetime.UTC)
        if newest is None:
            return _nothing(self._trie, now)
        number, time = newest.version + 1, max(now, newest.time + _TICK)
        return dataclasses.replace(
            newest, version=number, time=time, kind="claim", changes=0, full=None, feed=None, epoch=number, **_process()
        )

    def _present(self) -> list[Version]:
        """All manifests. Until it is fenced, only this writer adds any."""
        found = map(self._directory.get, self._directory.numbers())
        return [version for version in found if version is not None]

    def _found(self, present: list[Version]) -> Published | None:
        claim = self._claim
        if claim.content is None or claim.base is None:
            return None
        version = next((each for each in present if each.version == claim.content), None)
        if version is None:
            self._settle()  # raises an error if another publisher has taken over, and may have removed it
            raise self._directory.lost(claim.content)
        changes = [each.changes for each in present if each.feed is not None and each.version > claim.base]
        return Published(version, None, len(changes), sum(changes))

    # ------------------------------------------------------------------------------------------------------- a version

    def _composed(self, cut: Cut) -> _Attempt | None:
        """Write the files of the next version; None if nothing has changed."""
        last, number = self._published, self._previous.version + 1
        fields, trial = self._composer.compose(cut, number, last, self._restored_ledger())
        if fields is None:
            assert last is not None
            self._adopt(_Attempt(self._previous, last._replace(instant=cut.trie), trial))
            return None
        oldest = self._retention.oldest_with(number, cut.taken_at)
        version = dataclasses.replace(
            self._claim,
            version=number,
            time=cut.taken_at,
            content=number,
            oldest=oldest,
            snapshot_id=cut.snapshot_id,
            **fields,
            **_process(),
        )
        full = version.full is not None
        feeds, changes = (0, 0) if full or last is None else (last.feeds + 1, last.rows + version.changes)
        return _Attempt(version, Published(version, cut.trie, feeds, changes), trial)

    def _commit(self, attempt: _Attempt) -> None:
        self._attempt = attempt
        version = attempt.version
        scratch = scratch_name(version.version, version.epoch, version.writer)
        try:
            self._store.create(manifest_name(version.version), version.to_json(), scratch)
        except (FileExistsError, FileNotFoundError):  # its number may be taken, and its files removed
            self._settle()
            raise
        self._committed(attempt)

    def _settle(self) -> None:
        """Find out whether the last attempt was committed, and whether this writer still owns the directory.

        :raises FencedError: it does not
        """
        attempt = self._attempt
        if attempt is not None:
            found = self._directory.get(attempt.version.version)
            if found is not None and found.writer == attempt.version.writer:
                self._store.settle(VERSIONS)
                self._committed(attempt)
            else:
                self._composer.discard(attempt.version.files())
                self._attempt = None
        found = self._directory.get(self._previous.version + 1)
        if found is not None:
            raise FencedError(
                f"{self._store.place}: another publisher (process {found.process} on {found.host}) has taken over with "
                f"number {found.version}, so this one publishes nothing any more; if it should, open a new Publisher"
            )

    def _committed(self, attempt: _Attempt) -> None:
        if self._previous is not attempt.version:  # otherwise it was adopted before an interrupt
            self._retention.add(attempt.version)
            self._adopt(attempt)
        self._attempt = None
        with contextlib.suppress(OSError):  # the version is visible; a reader without the hint lists the manifests
            self._store.overwrite(NEWEST, hint_of(attempt.version))
            self._retention.remove_some(self._directory, self._store)

    def _adopt(self, attempt: _Attempt) -> None:
        ledger, self._ledger = self._ledger, None
        self._published = attempt.published
        self._previous = attempt.version
        if ledger is not None and attempt.trial is not None:
            ledger.book(attempt.trial)
        self._ledger = ledger

    def _restored_ledger(self) -> Ledger | None:
        """The keys of what is published. They are made anew if an interrupt came while they were booked."""
        if self._key is not None and self._ledger is None:
            ledger = Ledger(self._key)
            instant = self.instant
            if instant is not None:
                ledger.book(ledger.trial(all_added(instant)))
            self._ledger = ledger
        return self._ledger


def _process() -> dict[str, Any]:
    """The fields of a manifest that name its writer."""
    return {"writer": uuid.uuid4().hex, "host": socket.gethostname(), "process": os.getpid()}


def _nothing(trie: SubscriptionTrie, now: datetime.datetime) -> Version:
    """The claim of an empty directory."""
    return Version(
        version=0,
        time=now,
        kind="claim",
        subscriptions=0,
        changes=0,
        full=None,
        feed=None,
        base=None,
        content=None,
        oldest=None,
        dialect=trie.dialect,
        integers=None,
        json_options=(),
        string_options=(),
        snapshot_id="",
        directory=uuid.uuid4().hex,
        epoch=0,
        **_process(),
    )
