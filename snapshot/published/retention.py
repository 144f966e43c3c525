"""Which versions are kept, and which files belong to no version."""

from __future__ import annotations

import bisect
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
    numbers_in,
)

Keep = int | datetime.timedelta | Sequence[tuple[datetime.timedelta, datetime.timedelta | None]] | None

REMOVALS: Final = 64
"""At most so many versions are removed when one is published, so no single call pays for all of them."""


CLAIMS: Final = 200
"""Of so many publishers at most, the files are found that they wrote when another one had taken their next number."""


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

    What earlier publishers wrote is read when it may expire. To keep a number of versions takes one manifest of each of
    those publishers, to tell claims from versions. A manifest that is missing or cannot be read counts as a version, as
    old as the next one.

    Args:
        keep: how many of the newest versions are kept, or for how long; None keeps all. Or pairs: for how long all are
            kept, with None; then, for how long such are left that are at most so far apart. What an earlier publisher
            left stays as long as this lets any version stay that is so old, or that has so few newer ones.
        claim: the claim of the publisher.
        present: the numbers of the existing manifests.
        removes: whether anything may be removed: not while an earlier publisher may still be able to write.
    """

    def __init__(
        self, keep: Keep, claim: Version, present: Iterable[int], directory: Directory, *, removes: bool = True
    ) -> None:
        self._keep, self._directory, self._store = keep, directory, directory.store
        age = keep if isinstance(keep, datetime.timedelta) else datetime.timedelta.max
        self._levels: Any = keep if isinstance(keep, Sequence) else [(age, None)]
        self._most = keep if isinstance(keep, int) else sys.maxsize
        self.apart: datetime.timedelta | None = self._levels[1][1] if self._levels[1:] else None
        self._left: dict[int, datetime.datetime] | None = None  # the times of those that are left, once they are read
        self._removes = removes
        self._there = deque(present)  # the numbers of all manifests
        self._newest, self._begun = claim, monotonic()
        self._oldest = claim.version + 1 if claim.oldest is None else claim.oldest
        self._claim, self._claims = claim, set[int]()  # those among the kept, once they are read
        self._kept: dict[int, _Kept] = {}  # by the numbers of manifests, those that were written or read

    def oldest_with(self, number: int, time: datetime.datetime) -> int:
        """The oldest version that is kept once version `number` is published. When this returns, there are copies of
        the manifests of those before it that may be left: before a reader hears that they have gone. If this
        fails, since the disk is full perhaps, all are kept this time."""
        try:
            if self._left is None:  # a copy that is damaged does not say how old it is: it might be of now
                claims = self._directory.claims(self._claim, self._oldest) if isinstance(self._keep, int) else ()
                self._claims = {each for each in claims if each >= self._oldest}
                times = {of: time if each is None else each.time for of, each in self._directory.left().items()}
                self._left = {of: times[of] for of in times if of < self._oldest}
            oldest = self._expired(number, time)
            whole = {full_number(name) for name in self._store.names(FULL)}.difference(self._left) if self.apart else ()
            for each in [each for each in range(self._oldest, oldest) if each in whole]:
                with contextlib.suppress(DamagedError, FileNotFoundError):  # what cannot be restored is not left
                    version = self._directory.there(each)
                    if self._directory.parts(version).full.version == each:
                        with contextlib.suppress(FileExistsError):
                            text = self._store.read(manifest_name(each))
                            self._store.create(kept_name(each), text, f"{FULL}/.{each:020}.0.{uuid4().hex}.json")
                        self._left[each] = version.time
        except OSError:
            oldest = self._oldest
        return oldest

    def add(self, version: Version) -> None:
        """Note that a version has been published. Noting it again changes nothing. If all are kept, only the oldest has
        to be known."""
        for number in range(self._oldest, version.oldest or 0):
            self._kept.pop(number, None)
            self._claims.discard(number)
        if self._keep is not None and self._newest.version < version.version:
            self._kept[version.version] = _Kept(version.version, version.time, version.base or 0, monotonic())
            self._there.append(version.version)
        self._oldest, self._newest = version.oldest or 0, version

    def _thinned(self, before: Mapping[int, datetime.datetime]) -> dict[int, datetime.datetime]:
        """Without those that are too old, or too many, or between two that are near enough to each other."""
        there, now = sorted(before.items(), key=itemgetter(1)), self._newest.time
        there = there[max(0, len(there) + self._more(self._newest.version)) :]
        left: list[tuple[int, datetime.datetime]] = []
        for each, after in itertools.zip_longest(there, there[1:]):
            apart = next((apart or datetime.timedelta() for age, apart in self._levels if now - each[1] < age), None)
            if apart is not None and (not left or after is None or after[1] - left[-1][1] > apart):
                left.append(each)
        return dict(left)

    def remove_some(self) -> None:
        """Remove the oldest manifests that are not needed any more, each before the files that it names."""
        if not self._removes or self._left is None:
            return
        needed, left = min(self._oldest, self._at(self._oldest).base), self._thinned(self._left)
        numbers = list(itertools.islice(itertools.takewhile(lambda number: number < needed, self._there), REMOVALS))
        for number in numbers:
            version = self._directory.first_of([number])  # if it is damaged, the next publisher removes its files
            self._store.remove(manifest_name(number))
            for file in () if version is None else version.files():
                if not file.path.startswith(FULL):
                    self._store.remove(file.path)
            self._there.popleft()
        are_some = numbers or len(left) < len(self._left)
        # A copy or a record goes before its file.
        for name in sorted(self._store.names(FULL), reverse=True) if are_some else ():
            of = full_number(name)
            if of is not None and of < next(iter(self._there), needed) and of not in left:
                self._store.remove(f"{FULL}/{name}")
        self._left = left

    def _expired(self, number: int, time: datetime.datetime) -> int:
        """The oldest version that does not expire when one with this number and time is published."""
        if self._most < sys.maxsize:
            versions = (each for each in range(self._oldest, number + 1) if each not in self._claims)
            return next(itertools.islice(versions, max(0, self._more(number)), None))
        age, now = self._levels[0][0], monotonic()

        def is_young(each: int) -> bool:
            return bool(self._at(each).age(time, now) < age)

        # The version that was the newest so long ago is kept, so one expires when the next one is as old. If the clock
        # ran ahead and was put right, times tell nothing for long: then this process's own clock does. As both are in
        # the order of numbers, few manifests tell, even if very many versions expire at once.
        oldest, step = self._oldest, 1
        while self._keep is not None and oldest + step < number and not is_young(oldest + step):
            oldest, step = oldest + step, 2 * step
        later = range(oldest + 1, min(oldest + step, number))
        oldest += bisect.bisect_left(later, True, key=is_young)
        return oldest if oldest == self._oldest else self._at(oldest).number

    def _more(self, newest: int) -> int:
        """How many versions too many are kept, up to a number; less than none if there may be more."""
        return newest + 1 - self._oldest - len(self._claims) - self._most

    def _at(self, number: int) -> _Kept:
        """The kept version with a number, or the one before if that is a claim's, with the time of the claim."""
        if number not in self._kept:
            found = self._directory.first_of(range(number, self._newest.version)) or self._newest
            kept = _Kept(found.content or 0, found.time, found.base or 0, self._begun)  # there has been a version
            self._kept[number] = self._kept.setdefault(found.version, kept)
        return self._kept[number]


def sweep(directory: Directory, claim: Version, own: str) -> tuple[Sequence[int], bool]:
    """Remove what publishers of earlier epochs left: their desks, files that no manifest names, and unfinished files.
    Also the desks of those that wanted this epoch and did not get it.

    None of them can become part of a version any more, since the manifest would need a number that is taken. Without
    its desk, such a publisher cannot write a manifest, even after its number has been removed.

    A file is found by its number. A publisher that is killed leaves files of the number that the next claim takes, or
    of one whose manifest it has removed. What it failed to remove of a version that it published later stays, and so
    does what it left when `CLAIMS` others had followed. Nobody reads such a file. It goes when a publisher opens the
    directory, and there is no manifest of its number any more.

    Args:
        claim: that of this publisher.
        own: the desk of this publisher.

    Returns:
        The numbers of all manifests, up to that of the claim; and whether no other desk is left.
    """
    store, epoch, cleared = directory.store, claim.epoch, True
    there, last = store.names(VERSIONS), f"{claim.version:020}.json"
    for name in there:
        of = desk_epoch(name) if name.startswith(".") else None
        if of is not None and of <= epoch and f"{VERSIONS}/{name}" != own:
            try:
                store.clear_folder(f"{VERSIONS}/{name}")
            except OSError:
                cleared = False  # all claims stay, and fence that publisher
    present = numbers_in([last, *(name for name in there if name < last)])  # a listing may lag, and others may follow
    claims = itertools.islice(directory.claims(claim, present[0]), CLAIMS)
    first, free = f"{min(present[0], claim.base or present[0]):020}", {f"{number:020}" for number in claims}
    for folder in (FULL, CHANGES, VERSIONS):
        names = there if folder == VERSIONS else store.names(folder)
        left = left_in(names) if folder == FULL else []
        for name in [name for name in names if not first <= name < last or name[:20] in free]:
            written = epoch_of(name)
            is_over = written is not None and (written < epoch or (written == epoch and is_trial(name)))
            is_left = full_number(name) in left and not name.startswith(".")  # which is unfinished, whatever its number
            if f"{folder}/{name}" == HINT or (is_over and not is_left):
                with contextlib.suppress(OSError):  # such a file does no harm
                    store.remove(f"{folder}/{name}")
    return present, cleared
