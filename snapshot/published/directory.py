"""A published directory as its readers see it: the versions in it, and the files that each is made of.

Reading takes no lock and needs no publisher. A version exists as soon as its manifest does; the files that the manifest
names were complete before. Retention removes the oldest versions, manifests before files. A reader that comes too late
gets an error that says so.
"""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import datetime
import errno
import functools
import hashlib
import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from snapshot.published.at_once import at_once
from snapshot.published.errors import DamagedError, HistoryError, NotPublishedError
from snapshot.published.manifest import (
    FULL,
    MOST_BYTES,
    VERSIONS,
    DataFile,
    Mark,
    Version,
    digest_of,
    from_json,
    kept_name,
    left_in,
    manifest_name,
    manifest_number,
    newest_in,
    numbers_in,
    record_name,
)
from snapshot.published.objects import RANGE_BYTES, ObjectStore
from snapshot.published.store import Store, store_of

AT_ONCE: Final = 16
"""So many versions are got side by side from an object store."""


class Parts(NamedTuple):
    """The parts that a version is rebuilt from: one version's full instant, and the feeds of later ones, in order."""

    full: Version
    feeds: list[Version]


class Directory:
    """The versions of a published directory.

    A publisher may publish between two calls, so two answers need not belong together.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._listed: dict[str, Any] | None = None  # the newest manifest, as a listing showed it
        self._ahead: dict[int, Version] = {}  # got before they are needed, for one `get` of each

    def newest(self, seen: Version | None = None) -> Version | None:
        """The newest version, which may be a claim; None if there is none. Lists the manifests and reads the last.

        Args:
            seen: one that was read just now. On a disk, as long as it is there, those after it are looked for one by
                one: manifests are removed in order, so none of them is missing, and a million need not be listed.

        Raises:
            HistoryError: a version does not follow the one before it.
            DamagedError: a manifest is damaged, or is listed and cannot be found.
        """
        self._ahead, found, gone = {}, None, None
        if isinstance(self.store, ObjectStore):
            self.store.ahead = {}
        elif seen is not None:
            found = self.get(seen.version, seen)
            found = found if found is seen else None
        # Progress: a round without a result found that the newest manifest had been removed, so others followed it. If
        # it is still listed afterwards, it was not removed, and the search ends.
        while found is None and (numbers := newest_in(self.store.names(VERSIONS))):
            found = self.get(numbers[-1])
            if found is None and numbers[-1] == gone:
                raise DamagedError(
                    f"{self._manifest(gone)} is listed, but there is no such file. If it is a link, move it away; if "
                    "an object store lists it, try again later"
                )
            gone = numbers[-1]
        # A listing may lag. Progress: each round reaches a later manifest.
        while found is not None and (following := self.get(found.version + 1)) is not None:
            self.require_order(found, following)
            found = following
        return found

    def newest_since(self, seen: Version, *, ahead: bool = False) -> int | None:
        """The number of the newest manifest, by one request that lists those from that of `seen` on.

        None if that does not tell. Files of this machine are not listed, since looking for two is quicker. And if the
        manifest of `seen` is not there as it was read, it is not kept, or the directory has another history.

        Args:
            ahead: whether the next version, which is probably there, is got at the same time. The listing decides.
        """
        if not isinstance(self.store, ObjectStore):
            return None
        listing = functools.partial(self.store.listed, manifest_name(seen.version))
        listed, *_ = self._get_ahead(self.store, [seen.version + 1] if ahead else [], listing)
        if not listed or _number_of(listed[0]) != seen.version:
            return None
        if listed[0] != self._listed:  # otherwise it was read after it was listed so, and has not changed since
            there = self.get(seen.version, seen)
            if there is None or there.digest != seen.digest:
                return None
        self._listed = listed[-1]
        return _number_of(self._listed)

    def look_ahead(self, seen: int, newest: int) -> None:
        """Get the versions after that of a number, up to that of another one, side by side. No answer depends on it."""
        if isinstance(self.store, ObjectStore) and seen < newest and seen + 1 not in self._ahead:
            self._get_ahead(self.store, range(seen + 1, min(newest, seen + AT_ONCE) + 1))

    def _get_ahead(self, store: ObjectStore, numbers: Iterable[int], *others: Callable[[], Any]) -> list[Any]:
        """What other calls return, while versions and their feeds are got, for whoever asks for them next."""
        self._ahead, store.ahead = {}, {}

        def get(number: int) -> None:
            with contextlib.suppress(OSError, DamagedError):  # which comes again then
                version = self.get(number)
                if version is not None:
                    self._ahead[number] = version
                    if version.feed is not None and version.feed.bytes <= RANGE_BYTES:
                        store.ahead[version.feed.path] = store.read(version.feed.path, version.feed.bytes)

        return at_once(*others, *(functools.partial(get, number) for number in numbers))

    def is_followed(self, version: Version) -> bool:
        """Whether the next manifest follows this one."""
        following = self.get(version.version + 1)
        return following is not None and following.follows(version)

    def require_order(self, earlier: Version, later: Version) -> None:
        """Require that one version was published after the other.

        Raises:
            HistoryError: it was not.
        """
        if not later.follows(earlier):
            raise self._mixed(earlier, later)

    def _mixed(self, earlier: Version, later: Version) -> HistoryError:
        return HistoryError(
            f"{self.store.place}: version {later.version} was not published after this version {earlier.version}, "
            "but after another one: files of two histories are mixed. Restore the directory from one copy, or "
            "publish to a new directory"
        )

    def require(self, known: Mark | str | None) -> bool:
        """Require that a version that was seen is here, or was before what is here. None asks for nothing.

        If neither it nor the one after it is kept any more, only its number tells.

        Returns:
            Whether it is here. If so, this reads one small file.

        Raises:
            ValueError: the text is no mark.
            HistoryError: it was not: the directory is older than that version, or has another history.
        """
        if known is None:
            return True
        if not isinstance(known, Mark):
            known = Mark.parse(known)
        mine = self.get(known.version)
        if mine is not None and mine.digest == known.digest:
            return True
        newest = self.newest()
        if newest is None or newest.directory != known.directory:
            raise self._other_than(known, "it is another directory" if newest else "nothing is published there")
        if mine is not None:
            raise self._other_than(known, f"it has another version {known.version}")
        following = self.get(known.version + 1)
        if following is not None and following.previous != known.digest:
            raise self._other_than(known, f"version {following.version} follows another version {known.version}")
        if newest.version < known.version:
            raise self._other_than(known, f"its newest version is {newest.version}")
        return False

    def _other_than(self, known: Mark, how: str) -> HistoryError:
        return HistoryError(
            f"{self.store.place} does not continue the history in which version {known.version} was seen: {how}, as if "
            "it had been removed, or another one or an older copy of it put in its place. Put the right directory "
            "there; or, if this is the right one, start anew from it: a follower, whose trie keeps what it has until "
            "then, by resynchronise()"
        )

    def get(self, number: int, known: Version | None = None) -> Version | None:
        """One version, which may be a claim; None if it does not exist.

        Args:
            known: what is probably there, which is then not parsed again.
        """
        if (ahead := self._ahead.pop(number, None)) is not None:
            return ahead
        name = manifest_name(number)
        try:
            text = self.store.read(name, MOST_BYTES)
        except FileNotFoundError:
            return None
        if known is not None and digest_of(text) == known.digest:
            return known
        return from_json(text, number, self.store.locate(name))

    def versions(self) -> list[Version]:
        """All published versions that are kept, in order. Reads all manifests.

        Raises:
            HistoryError: a version does not follow the one before it.
        """
        found = [each for each in self._side_by_side(self.get, self.numbers()) if each is not None]
        if not found:  # Progress: if there are manifests now, others have followed those that were listed.
            return self.versions() if self.newest() else []
        oldest = math.inf if found[-1].oldest is None else found[-1].oldest
        for one, following in itertools.pairwise(found):
            if oldest <= one.version == following.version - 1:  # before, one may have come late (`Copy.update`)
                self.require_order(one, following)
        kept = {each.version: each for each in found if each.kind != "claim" and each.version >= oldest}
        # One that was listed and is not there any more may have been left meanwhile.
        kept.update((number, each) for number, each in self.left().items() if each is not None)
        return [kept[number] for number in sorted(kept)]

    def left(self, only: int | None = None) -> dict[int, Version | None]:
        """The versions that are kept though others around them are not, in order; None for a copy that is damaged, or
        was removed meanwhile.

        Args:
            only: the number of one; None for all.
        """

        def read(number: int) -> Version | None:
            with contextlib.suppress(FileNotFoundError, DamagedError):
                return self._read(kept_name(number), number)
            return None

        numbers = [number for number in left_in(self.store.names(FULL)) if only in (None, number)]
        return dict(zip(numbers, self._side_by_side(read, numbers), strict=True))

    def _read(self, name: str, number: int) -> Version:
        return from_json(self.store.read(name, MOST_BYTES), number, self.store.locate(name))

    def version_at(self, at: int | datetime.datetime | None = None) -> Version:
        """The version with a number; the newest that is not later than a time; or, for None, the newest.

        The number of a claim means the last version published before it.

        Raises:
            NotPublishedError: there is none.
            DamagedError: the newest manifest is a claim, and that of the version before it is missing.
            ValueError: the time has no zone.
        """
        before: Version | None = None
        # Progress: a round that does not return found that the version that was the newest at its start was removed.
        while True:
            newest = self.newest()
            if newest is None or newest.oldest is None:
                raise self._missing(at)
            found = self._found(at, newest, newest.oldest)
            if found is not None and found.kind == "claim":
                found = None if found.content is None else self.get(found.content)
            if found is not None and found.version >= newest.oldest:
                return found
            if at is not None:
                return self._left_at(at)
            if newest == before and newest.content is not None:
                raise self.lost(newest.content)
            before = newest

    def _left_at(self, at: int | datetime.datetime) -> Version:
        """The same, of those that are left. If the copy is damaged of the one that is meant, or may be, this raises."""
        some = self.left(at if isinstance(at, int) else None).items()
        numbers = [
            number
            for number, _ in itertools.takewhile(
                lambda one: one[1] is None or isinstance(at, int) or one[1].time <= at, some
            )
        ]
        for number in reversed(numbers):
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                return self._read(kept_name(number), number)
        raise self._missing(at)

    def lost(self, number: int) -> DamagedError:
        """The error for a manifest that should be there."""
        return DamagedError(
            f"{self._manifest(number)} is missing, and no later version has been published: restore it from a copy, or "
            "publish to a new directory"
        )

    def parts(self, version: Version) -> Parts:
        """The parts that `version` is rebuilt from.

        Raises:
            HistoryError: they belong to different histories.
            FileNotFoundError: a manifest is missing: the version is not kept any more, or the file was lost.
        """
        if version.base is None:
            raise self._missing(version.version)
        compacted, (full, *later) = self.needed(version, self.there)
        full = compacted or full
        if full.full is None:
            raise DamagedError(
                f"{self._manifest(full.version)} has no full instant, which version {version.version} needs"
            )
        return Parts(full, [each.replayed() for each in later if each.feed is not None])

    def needed(self, version: Version, get: Callable[[int], Version]) -> tuple[Version | None, list[Version]]:
        """The manifests that a reader of a version opens: what `compacted` finds, and the `chain` from there, or from
        the full instant that the publisher wrote."""
        compacted = self.compacted(version)
        return compacted, self.chain(version, compacted.version if compacted else version.base or 0, get)

    def compacted(self, version: Version) -> Version | None:
        """The newest version that this one can be rebuilt from, and of which `compact` has written a full instant, with
        that; None if there is none."""
        assert version.base is not None
        for number in reversed(self.numbers(FULL)):
            if version.base <= number <= version.version:
                with contextlib.suppress(FileNotFoundError, DamagedError):  # then it does not help
                    found = self._read(record_name(number), number)
                    there = version if number == version.version else self.there(number)
                    if found == dataclasses.replace(there, full=found.full, json_options=found.json_options):
                        return found
        return None

    def chain(self, version: Version, start: int, get: Callable[[int], Version]) -> list[Version]:
        """The version `start`, and those after it whose changes, merged where they are, lead to `version`. Claims are
        among them. Merged changes may begin before `start`: they have the last row of each subscription.

        Args:
            get: returns a version.

        Raises:
            HistoryError: they belong to different histories.
        """
        found = [version]
        while found[-1].version > start:
            after = found[-1]
            found.append(get(max(start, after.before())))
            if after.before() >= start and not after.continues(found[-1]):
                raise self._mixed(found[-1], after)
        return found[::-1]

    def changes(self, after: int, until: int, *, first: bool = False) -> list[Version]:
        """The versions with feeds that lead from version `after` to version `until`, in order.

        Args:
            first: whether the first version, which has no feed, is one of them; otherwise it is an error.

        Raises:
            NotPublishedError: not all of them are kept any more.
            HistoryError: they belong to different histories.
        """
        found: list[Version] = []
        for number in range(after + 1, until + 1):
            version = self.get(number)
            if version is None:
                raise self._missing(number)
            if found:
                self.require_order(found[-1], version)
            if version.feed is None and version.kind != "claim" and not first:
                raise NotPublishedError(
                    f"{self.store.place}: version {number} is the first one, and has no changes from another; "
                    "read it whole"
                )
            found.append(version)
        return [version for version in found if version.kind != "claim"]

    def locate(self, file: DataFile) -> str:
        """The path or URI of a file, for any reader of Parquet."""
        return self.store.locate(file.path)

    # ---------------------------------------------------------------------------------------------------------------

    def numbers(self, folder: str = VERSIONS) -> Sequence[int]:
        """The numbers of all manifests, or of all records, in order."""
        return numbers_in(self.store.names(folder))

    def there(self, number: int) -> Version:
        """One version, which may be a claim.

        Raises:
            FileNotFoundError: it does not exist.
        """
        found = self.get(number)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._manifest(number))
        return found

    def first_of(self, numbers: Iterable[int]) -> Version | None:
        """The first version of these numbers that exists and can be read; None if there is none."""
        for number in numbers:
            with contextlib.suppress(DamagedError):
                if (found := self.get(number)) is not None:
                    return found
        return None

    def claims(self, version: Version, oldest: int) -> Iterator[int]:
        """The numbers of claims, from that of the publisher of a version back to that of the oldest one. Reads one
        manifest for each: the last of the publisher before. If it cannot be read, the one before it is."""
        found: Version | None = version
        while found is not None:
            yield found.epoch
            found = self.first_of(range(found.epoch - 1, oldest - 1, -1))

    def _side_by_side(self, get: Callable[[int], Version | None], numbers: Sequence[int]) -> Iterator[Version | None]:
        width = AT_ONCE if isinstance(self.store, ObjectStore) else 1
        for start in range(0, len(numbers), width):
            yield from at_once(*(functools.partial(get, number) for number in numbers[start : start + width]))

    def _found(self, at: int | datetime.datetime | None, newest: Version, oldest: int) -> Version | None:
        if at is None:
            return newest
        if isinstance(at, datetime.datetime):
            return self._newest_until(at, oldest)
        if isinstance(at, bool) or not isinstance(at, int):
            raise TypeError(f"at must be the number of a version, a datetime or None, not {at!r}")
        return self.get(at) if at >= 0 else None

    def _newest_until(self, time: datetime.datetime, oldest: int) -> Version | None:
        """Found by bisection, since versions are in the order of their times."""
        if time.tzinfo is None:
            raise ValueError(f"the time {time!r} has no zone: say which, for instance tzinfo=datetime.UTC")
        numbers = [number for number in self.numbers() if number >= oldest]

        def is_later(number: int) -> bool:
            version = self.get(number)
            return version is not None and version.time > time  # None: removed meanwhile, like all before it

        until = bisect.bisect_left(numbers, True, key=is_later)
        return self.get(numbers[until - 1]) if until else None

    def _missing(self, at: int | datetime.datetime | None) -> Exception:
        place = self.store.place
        kept = self.versions()
        if not kept or at is None:
            if not self.numbers():
                return FileNotFoundError(
                    f"{place} is not a published directory: nothing was published there, or not yet"
                )
            return NotPublishedError(f"{place}: nothing has been published yet")
        first, last = kept[0], kept[-1]
        after = bisect.bisect(kept, at, key=attrgetter("version" if isinstance(at, int) else "time"))
        near = " and ".join(f"{each.version} ({each.time})" for each in kept[max(0, after - 1) : after + 1])
        return NotPublishedError(
            f"{place}: there is no version {at if isinstance(at, int) else f'as early as {at}'}, or it is not kept "
            f"any more; kept are {first.version} ({first.time}) to {last.version} ({last.time}), next to it {near}"
        )

    def _manifest(self, number: int) -> str:
        return self.store.locate(manifest_name(number))


def _number_of(listed: dict[str, Any]) -> int | None:
    """The number of a manifest that was listed."""
    return manifest_number(listed["path"].rpartition("/")[2])


# A file is read only if its bytes are those that the manifest names.


def read_whole(store: Store, file: DataFile) -> bytes:
    """The bytes of a file.

    Raises:
        DamagedError: they are not those that were written.
        FileNotFoundError: there is no such file.
    """
    content = store.read(file.path, file.bytes)
    if len(content) != file.bytes or hashlib.sha256(content).hexdigest() != file.sha256:
        raise _damaged(store, file)
    return content


def require_whole(store: Store, file: DataFile) -> None:
    """Require the same of a file that is too large to be kept in memory.

    Raises:
        DamagedError: it has others.
        FileNotFoundError: there is no such file.
    """
    with store.open(file.path) as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(0)
        digest = hashlib.file_digest(content, "sha256").hexdigest() if size == file.bytes else ""
    if digest != file.sha256:
        raise _damaged(store, file)


def _damaged(store: Store, file: DataFile) -> DamagedError:
    return DamagedError(
        f"{store.locate(file.path)} is damaged: it has other bytes than the {file.bytes} that were written; restore it "
        "from a copy, or restore an older version"
    )


def open_directory(where: str | os.PathLike[str], storage: Mapping[str, Any] | None = None) -> Directory:
    """Return a reader of the directory at `where`, a path or a URI. It reads no file yet."""
    return Directory(store_of(where, storage))


def versions(where: str | os.PathLike[str], *, storage: Mapping[str, Any] | None = None) -> list[Version]:
    """All versions published at ``where`` that can be restored, in order.

    Args:
        where: the directory, a path or a URI.
        storage: as for `Publisher`.

    Raises:
        FileNotFoundError: nothing was ever published there.
        DamagedError: a manifest is damaged, or has an unknown format.

    O(versions): it reads one small file for each. Lock-free. Versions that are published or removed during the call may
    be missing or present.
    """
    directory = open_directory(where, storage)
    found = directory.versions()
    if not found and directory.newest() is None:
        raise directory._missing(None)
    return found
