"""Which versions are kept, and which files belong to no version."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from time import monotonic
from typing import Any, Final, NamedTuple
from uuid import uuid4

from snapshot.published.directory import Directory
from snapshot.published.errors import DamagedError
from snapshot.published.manifest import (
    CHANGES,
    FULL,
    HINT,
    VERSIONS,
    Version,
    desk_epoch,
    epoch_of,
    full_number,
    is_trial,
    kept_name,
    left_in,
    manifest_name,
)
from snapshot.published.store import Store

Keep = int | datetime.timedelta | Sequence[tuple[datetime.timedelta, datetime.timedelta | None]] | None

REMOVALS: Final = 64
"""At most so many versions are removed when one is published, so no single call pays for all of them."""


class _Kept(NamedTuple):
    """A version that is kept, and when this process got to know it, by a clock that nobody sets."""

    number: int
    time: datetime.datetime
    base: int
    noted: float

    def age(self, time: datetime.datetime, now: float) -> datetime.timedelta:
        """How long ago it was published, as far as times of versions and this process tell."""
        return max(time - self.time, datetime.timedelta(seconds=now - self.noted))


class Retention:
    """Finds the oldest version that is kept, and removes versions that no kept one is rebuilt from, and the claims
    between them. Manifests are removed in order, so those that remain have no gaps.

    Of the versions that it removes, it may leave some, for a time: those with a full instant of their own, of which it
    makes copies of their manifests. `apart` is how far apart the first of these may be, None if there are to be none.

    Args:
        keep: how many of the newest versions are kept, or for how long; None keeps all. Or pairs: for how long all are
            kept, with None; then, for how long such are left that are at most so far apart. What an earlier publisher
            left stays as long as this lets any version stay that is so old, or that has so few newer ones.
        present: the existing manifests.
        oldest: the oldest version that is kept so far.
        removes: whether anything may be removed: not while an earlier publisher may still be able to write.
    """

    def __init__(
        self,
        keep: Keep,
        present: Sequence[Version],
        oldest: int | None,
        *,
        removes: bool = True,
    ) -> None:
        self._keep = keep
        age = keep if isinstance(keep, datetime.timedelta) else datetime.timedelta.max
        self._levels: Any = keep if isinstance(keep, Sequence) else [(age, None)]
        self._most = keep if isinstance(keep, int) else sys.maxsize
        self.apart: datetime.timedelta | None = self._levels[1][1] if self._levels[1:] else None
        self._left: dict[int, datetime.datetime] | None = None  # the times of those that are left, once they are read
        self._removes = removes
        self._there = deque(each.version for each in present)  # the numbers of all manifests
        self._kept = deque(
            _kept(each) for each in present if each.kind != "claim" and (oldest is None or each.version >= oldest)
        )

    def oldest_with(self, number: int, time: datetime.datetime, directory: Directory, store: Store) -> int:
        """The oldest version that is kept once version `number` is published. When this returns, there are copies of
        the manifests of those before it that may be left: before a reader hears that they have gone. If this
        fails, since the disk is full perhaps, all are kept this time."""
        expired = self._expired(time)
        try:
            if self._left is None:  # a copy that is damaged does not say how old it is: it might be of now
                times = {of: time if each is None else each.time for of, each in directory.left().items()}
                self._left = {of: times[of] for of in times if self._kept and of < self._kept[0].number}
            whole = {full_number(name) for name in store.names(FULL)}.difference(self._left) if self.apart else ()
            for each in itertools.islice(self._kept, expired):
                name, scratch = kept_name(each.number), f"{FULL}/.{each.number:020}.0.{uuid4().hex}.json"
                with contextlib.suppress(DamagedError, FileNotFoundError):  # what cannot be restored is not left
                    version = directory.get(each.number) if each.number in whole else None
                    if version is not None and directory.parts(version).full.version == each.number:
                        with contextlib.suppress(FileExistsError):
                            store.create(name, store.read(manifest_name(each.number)), scratch)
                        self._left[each.number] = version.time
        except OSError:
            expired = 0
        return next((each.number for each in itertools.islice(self._kept, expired, None)), number)

    def add(self, version: Version) -> None:
        """Note that a version has been published. Noting it again changes nothing. If all are kept, only the oldest has
        to be known."""
        if self._kept and (self._keep is None or self._kept[-1].number == version.version):
            return
        while self._kept and self._kept[0].number < (version.oldest or 0):
            self._kept.popleft()
        self._kept.append(_kept(version))
        self._there.append(version.version)

    def _thinned(self, before: Mapping[int, datetime.datetime]) -> dict[int, datetime.datetime]:
        """Without those that are too old, or too many, or between two that are near enough to each other."""
        there, now = sorted(before.items(), key=itemgetter(1)), self._kept[-1].time
        there = there[max(0, len(there) + len(self._kept) - self._most) :]
        left: list[tuple[int, datetime.datetime]] = []
        for each, after in itertools.zip_longest(there, there[1:]):
            apart = next((apart or datetime.timedelta() for age, apart in self._levels if now - each[1] < age), None)
            if apart is not None and (not left or after is None or after[1] - left[-1][1] > apart):
                left.append(each)
        return dict(left)

    def remove_some(self, directory: Directory, store: Store) -> None:
        """Remove the oldest manifests that are not needed any more, each before the files that it names."""
        if not self._removes or self._left is None:
            return
        needed, left = self._kept[0].base, self._thinned(self._left)
        numbers = list(itertools.islice(itertools.takewhile(lambda number: number < needed, self._there), REMOVALS))
        for number in numbers:
            version = None
            with contextlib.suppress(DamagedError):  # then the next publisher removes the files that it named
                version = directory.get(number)
            store.remove(manifest_name(number))
            for file in () if version is None else version.files():
                if not file.path.startswith(FULL):
                    store.remove(file.path)
            self._there.popleft()
        are_some = numbers or len(left) < len(self._left)
        for name in sorted(store.names(FULL), reverse=True) if are_some else ():  # a copy or a record before its file
            of = full_number(name)
            if of is not None and of < next(iter(self._there), needed) and of not in left:
                store.remove(f"{FULL}/{name}")
        self._left = left

    def _expired(self, time: datetime.datetime) -> int:
        """How many of the kept versions, from the oldest, expire when a version with this time is published."""
        keep, now = self._levels[0][0], monotonic()
        # The version that was the newest so long ago is kept, so one expires when the next one is as old. If the clock
        # ran ahead and was put right, times tell nothing for long: then this process's own clock does.
        later = itertools.islice(self._kept, 1, None)
        too_old = sum(1 for _ in itertools.takewhile(lambda each: each.age(time, now) >= keep, later))
        return max(too_old, len(self._kept) + 1 - self._most)


def _kept(version: Version) -> _Kept:
    assert version.base is not None
    return _Kept(version.version, version.time, version.base, monotonic())


def sweep(store: Store, present: Iterable[Version], epoch: int, own: str) -> bool:
    """Remove what publishers of earlier epochs left: their desks, files that no manifest names, and unfinished files.
    Also the desks of those that wanted this epoch and did not get it.

    None of them can become part of a version any more, since the manifest would need a number that is taken. Without
    its desk, such a publisher cannot write a manifest, even after its number has been removed.

    Args:
        present: all manifests.
        own: the desk of this publisher.

    Returns:
        Whether no other desk is left.
    """
    cleared = True
    for name in store.names(VERSIONS):
        of = desk_epoch(name)
        if of is not None and of <= epoch and f"{VERSIONS}/{name}" != own:
            try:
                store.clear_folder(f"{VERSIONS}/{name}")
            except OSError:
                cleared = False  # all claims stay, and fence that publisher
    named = {file.path for version in present for file in version.files()}
    for folder in (FULL, CHANGES, VERSIONS):
        names = store.names(folder)
        left = left_in(names)
        for name in names:
            written = epoch_of(name)
            is_over = written is not None and (written < epoch or (written == epoch and is_trial(name)))
            if f"{folder}/{name}" == HINT or (
                is_over and f"{folder}/{name}" not in named and full_number(name) not in left
            ):
                with contextlib.suppress(OSError):  # such a file does no harm
                    store.remove(f"{folder}/{name}")
    return cleared
