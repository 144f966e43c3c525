"""How a version gets into a published directory: the steps, and what remains if the process dies after one of them.

1. Write the Parquet files, under names that nothing else uses. No reader looks for them yet. If the publisher is
   killed, the next one removes them.
2. Create the manifest, under the name of the next number. This is the commit. It fails if another publisher has taken
   that number. The files that it names are durable before; when it returns, so is the version.
3. Apply retention.

Step 2 may fail before the commit or after it. So the attempt is remembered first. The next `publish` looks for its
manifest, and adopts the version or drops it.

A publisher that has slept finds the claim of its successor under the number of its own next version. If retention has
removed that claim, it finds that the version before is gone. It may fall asleep after that look, before its commit.
Then the commit fails, since an unfinished manifest lies on the publisher's desk, a folder that its successor removes
before it removes any claim.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from snapshot.columns import Cut, cut_of
from snapshot.published.claim import TICK, Claimed, fenced, fenced_by, removed
from snapshot.published.composer import Composer, Published, all_added
from snapshot.published.directory import Directory
from snapshot.published.errors import DamagedError, FencedError, HistoryError
from snapshot.published.ledger import Ledger, Trial
from snapshot.published.manifest import (
    VERSIONS,
    Version,
    desk_epoch,
    manifest_name,
    note_origin,
    process,
    scratch_name,
    sealed,
)
from snapshot.published.restoring import lost
from snapshot.published.retention import Keep, Retention
from snapshot.published.sieve import Refused, SubscriptionKey
from snapshot.published.store import Store
from snapshot.texts import Key
from snapshot.topics import limits_of, mirrored
from subtrie import SubscriptionTrie, TopicStore

MOST_LOGGED: Final = 10
"""How many subscriptions of one version are logged when they are set aside."""

_log = logging.getLogger("snapshot.published")


class _Attempt(NamedTuple):
    """A version that may have been committed, and the state to adopt if it was."""

    version: Version
    text: bytes
    published: Published
    trial: Trial | None
    refused: Mapping[SubscriptionKey, Refused]


class Writer:
    """The only writer of a directory, until another one claims it. Not for two threads at once.

    `published` is the newest version; None if there is none. `refused` are the subscriptions that it lacks.

    Args:
        claimed: the directory, which belongs to this writer.
        last: the version that the claim has the content of, if there is one.
    """

    def __init__(
        self,
        source: SubscriptionTrie | TopicStore[Any],
        store: Store,
        claimed: Claimed,
        key: Key | None,
        keep: Keep,
        last: Published | None,
        *,
        strict: bool,
    ) -> None:
        self._source = source  # whose mirror goes with it
        self._trie: SubscriptionTrie = mirrored(source)
        self._store = store
        self._directory = Directory(store)
        self._claim, self._desk = claimed.claim, claimed.desk
        self._retention = Retention(keep, self._claim, claimed.present, self._directory, removes=claimed.alone)
        self._composer = Composer(self._directory, store, self._claim.epoch, self._retention.apart, strict=strict)
        self.refused: Mapping[SubscriptionKey, Refused] = {}
        self._key = key
        self._ledger = None if key is None else Ledger(key)
        self._previous = self._claim
        self._attempt: _Attempt | None = None
        self.published = last

    def publish(self) -> Version:
        """Publish the trie's present content, unless nothing has changed; return the version with that content.

        Raises:
            FencedError: another publisher has taken over.
        """
        if self._attempt is not None or self._store.is_local:  # otherwise the commit itself tells, and spares requests
            self._resolve_attempt()
        cut = cut_of(mirrored(self._source))
        cut = cut._replace(taken_at=max(cut.taken_at, self._previous.time + TICK), limits=limits_of(self._source))
        if self.published is not None:
            self.published = self._composer.rebased(self.published, cut.taken_at)
        last, number = self.published, self._previous.version + 1
        ledger = None if self._key is None else self._restored_ledger(self._key)
        oldest = self._retention.oldest_with(number, cut.taken_at)
        try:
            fields, trial, refused = self._composer.compose(cut, number, last, ledger, self.refused)
        except (OSError, DamagedError):
            self._resolve_attempt()  # the files of a publisher that has been fenced may have been removed
            raise
        if fields is not None:
            self._commit(self._attempted(cut, number, {**fields, "oldest": oldest}, trial, refused))
        elif last is not None:
            if not self._store.is_local and self._directory.newest_since(self._previous) != self._previous.version:
                self._resolve_attempt()
            self._adopt(_Attempt(self._previous, b"", last._replace(instant=cut.trie), trial, refused))
        assert self.published is not None
        return self.published.version

    @property
    def newest(self) -> int:
        """The number of the newest version, or of the claim if there is none."""
        return self._previous.version if self.published is None else self.published.version.version

    def close(self) -> None:
        """Clear the desk. Nothing can be published afterwards."""
        with contextlib.suppress(OSError):  # the next publisher will clear it
            self._store.clear_folder(self._desk)

    # ------------------------------------------------------------------------------------------------------- a version

    def _attempted(
        self,
        cut: Cut,
        number: int,
        fields: dict[str, Any],
        trial: Trial | None,
        refused: Mapping[SubscriptionKey, Refused],
    ) -> _Attempt:
        """The next version, whose files are written."""
        text, version = sealed(
            dataclasses.replace(
                self._claim,
                version=number,
                time=cut.taken_at,
                content=number,
                snapshot_id=cut.snapshot_id,
                previous=self._previous.digest,
                limits=cut.limits,
                **fields,
                **process(),
            )
        )
        last = self.published or Published(version, None, ())
        return _Attempt(version, text, last.followed_by(version, cut.trie), trial, refused)

    def _commit(self, attempt: _Attempt) -> None:
        self._attempt = attempt
        number = attempt.version.version
        name, scratch = manifest_name(number), scratch_name(self._desk, attempt.version)
        try:
            try:
                self._store.create(name, attempt.text, scratch)
            except FileExistsError:
                if not self._clear(number):
                    raise
                self._store.create(name, attempt.text, scratch)
        except (FileExistsError, FileNotFoundError):  # its number may be taken, and its desk or its files removed
            self._resolve_attempt()
            if self._previous is attempt.version:  # it was committed, which the first answer did not say
                return
            if self._store.is_local and self._desk.rpartition("/")[2] not in self._store.names(VERSIONS):
                raise self._fenced(self._previous) from None
            raise
        self._require_last(attempt)
        self._committed(attempt)

    def _require_last(self, attempt: _Attempt) -> None:
        """Require that a version which was committed follows the last one, and is the newest or is followed itself.

        An object store has no desks: there a publisher that slept can create a manifest whose number its successors
        have used, and retention made free again. Then there are later ones, and none of the next number follows it.
        """
        version = attempt.version
        if self._store.is_local:
            return
        newest = self._directory.newest_since(self._previous)
        if newest is None:  # not all is listed, or the last one is not there
            mine = self._mine()
            newest = None if mine is None or mine.digest != self._previous.digest else version.version
        if (newest is None or newest > version.version) and not self._directory.is_followed(version):
            with contextlib.suppress(OSError):  # it belongs to no history
                self._store.remove(manifest_name(version.version))
            self._composer.discard(version.files())
            self._attempt = None
            raise self._gone()

    def _resolve_attempt(self) -> None:
        """Find out whether the last attempt was committed, and whether this writer still owns the directory.

        Raises:
            FencedError: it does not.
            HistoryError: the directory is not the one that this writer has written.
        """
        attempt = self._attempt
        if attempt is not None:
            number = attempt.version.version
            found = self._at(number)
            if found is None and not self._store.is_local:
                # The request may still arrive. So it is made again, rather than taken back.
                with contextlib.suppress(FileExistsError):
                    self._store.create(manifest_name(number), attempt.text, "")
                found = self._at(number)
            if found is not None and found.writer == attempt.version.writer:
                self._store.make_durable(VERSIONS)
                self._require_last(attempt)
                self._committed(attempt)
            else:
                self._composer.discard(attempt.version.files())
                self._attempt = None
        following = self._at(self._previous.version + 1)
        if following is not None and following.follows(self._previous):
            raise self._fenced(following)
        mine = self._mine()
        if following is not None or mine is None or mine.digest != self._previous.digest:
            raise self._gone()

    def _at(self, number: int) -> Version | None:
        """The manifest of the next number, if another publisher has taken it."""
        try:
            return self._directory.get(number)
        except DamagedError:
            if self._clear(number):
                return None
            raise

    def _mine(self) -> Version | None:
        """The last manifest that this writer wrote. If it is damaged, it is written again, since its text is known."""
        number = self._previous.version
        try:
            return self._directory.get(number, self._previous)
        except DamagedError:
            if not self._clear(number):
                raise
        text, version = sealed(self._previous)
        scratch = scratch_name(self._desk, dataclasses.replace(version, **process()))
        self._store.create(manifest_name(number), text, scratch)
        return version

    def _clear(self, number: int) -> bool:
        """Move away what has the name of a manifest and is none. Return False if it may be of a successor.

        A successor clears older desks after its claim, and keeps its own until it closes. While there is no desk but
        this writer's, there has been none.
        """
        with contextlib.suppress(DamagedError):
            if self._directory.get(number) is not None:
                return False
        desks = [name for name in self._store.names(VERSIONS) if desk_epoch(name) is not None]
        if desks != [self._desk.rpartition("/")[2]]:
            return False
        name = manifest_name(number)
        if not self._store.set_aside(name):
            return False
        _log.warning("%s was damaged, or no manifest, and was renamed", self._store.locate(name))
        return True

    def _fenced(self, by: Version) -> FencedError:
        if by is self._previous:
            desk = self._store.locate(self._desk)
            return fenced_by(self._store, f"the folder {desk} of this publisher is gone, as if another one")
        return fenced(self._store, by)

    def _gone(self) -> Exception:
        """The error for a directory in which this writer's last manifest is missing, or is not the one it wrote."""
        newest = self._directory.newest()
        if newest is None:
            return FileNotFoundError(errno.ENOENT, "the published directory has been removed", self._store.place)
        if newest.directory == self._claim.directory and newest.version > self._previous.version:
            return self._fenced(newest)
        return HistoryError(
            f"{self._store.place} is not the directory that this publisher has written up to version "
            f"{self._previous.version}: its newest version is {newest.version}, as if an older copy of it had been "
            "restored. Nothing was published. To publish what this trie has, open a new Publisher for a fork of it"
        )

    def _committed(self, attempt: _Attempt) -> None:
        if self._previous is not attempt.version:  # otherwise it was adopted before an interrupt
            self._retention.add(attempt.version)
            self._adopt(attempt)
        self._attempt = None
        with contextlib.suppress(OSError):  # the version is visible
            self._retention.remove_some()

    def _adopt(self, attempt: _Attempt) -> None:
        ledger, self._ledger = self._ledger, None
        before, self.refused = self.refused, attempt.refused
        self.published = attempt.published
        self._previous = attempt.version
        note_origin(self._trie, attempt.published.version)
        if self.refused:
            self._report(before)
        if ledger is not None and attempt.trial is not None:
            ledger.book(attempt.trial)
        self._ledger = ledger

    def _report(self, before: Mapping[SubscriptionKey, Refused]) -> None:
        """Log the subscriptions that were set aside in this version, and not before."""
        new = [one for key, one in self.refused.items() if key not in before]
        for one in new[:MOST_LOGGED]:
            _log.warning(
                "%s: a subscription was set aside, since it cannot be stored: filter %.200r, subscriber %.200s: %.300s",
                self._store.place,
                one.filter,
                _shown(one.subscriber),
                one.reason,
            )
        if len(new) > MOST_LOGGED:
            _log.warning("%s: %d more were set aside: see Publisher.refused", self._store.place, len(new) - MOST_LOGGED)

    def _restored_ledger(self, key: Key) -> Ledger:
        """The keys of what is published. They are made anew if an interrupt came while they were booked."""
        if self._ledger is None:
            ledger = Ledger(key)
            if self.published is not None and self.published.instant is not None:
                ledger.book(ledger.trial(all_added(self.published.instant)))
            self._ledger = ledger
        return self._ledger


def _shown(subscriber: object) -> str:
    try:
        return repr(subscriber)
    except Exception:  # noqa: BLE001 (it must not stop the others)
        return f"of type {type(subscriber).__name__}"


def last_published(directory: Directory, claimed: Claimed, instant: SubscriptionTrie | None) -> Published | None:
    """The version that the claim has the content of.

    Args:
        instant: its content, if this process knows it.

    Raises:
        FencedError: another publisher has claimed the directory since, and removed that version.
        DamagedError: it is missing.
    """
    claim = claimed.claim
    if claim.content is None or claim.base is None:
        return None
    try:
        chain = directory.needed(claim, lambda number: claimed.known.get(number) or directory.there(number))[1]
    except FileNotFoundError as missing:
        raise removed(directory, claim, lost(claim, missing, directory)) from missing
    return Published(next(each for each in chain if each.version == claim.content), instant, tuple(chain))
