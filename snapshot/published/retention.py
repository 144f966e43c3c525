"""Which versions are kept, and which files belong to none."""

from __future__ import annotations

import contextlib
import datetime
import itertools
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from snapshot.published.directory import Directory
from snapshot.published.manifest import CHANGES, FULL, VERSIONS, Version, epoch_of, manifest_name
from snapshot.published.store import Store

Keep = int | datetime.timedelta | None

REMOVALS: Final = 64
"""At most so many versions are removed when one is published, lest a single one pays for all."""


class _Kept(NamedTuple):
    number: int
    time: datetime.datetime
    base: int


class Retention:
    """Says which version is the oldest that is kept, and removes what none of these is rebuilt from.

    :param keep: how many of the newest versions are kept, or for how long each is to be had; None keeps all
    :param present: the manifests that are there
    :param oldest: the oldest that is kept up to now
    """

    def __init__(self, keep: Keep, present: Iterable[Version], oldest: int | None) -> None:
        self._keep = keep
        self._kept: deque[_Kept] = deque()
        self._stale: deque[_Kept] = deque()
        for version in present:
            if version.kind != "claim":
                kept = oldest is None or version.version >= oldest
                (self._kept if kept else self._stale).append(_kept(version))

    def oldest_with(self, number: int, time: datetime.datetime) -> int:
        """The oldest version that is kept once a version is published."""
        numbers = [each.number for each in itertools.islice(self._kept, self._expired(time), None)][:1]
        return numbers[0] if numbers else number

    def add(self, version: Version) -> None:
        """Note that a version has been published; to do so again changes nothing."""
        if self._kept and self._kept[-1].number == version.version:
            return
        if self._keep is None:
            # Of what is kept for good only the oldest has to be known.
            if not self._kept:
                self._kept.append(_kept(version))
            return
        for _ in range(self._expired(version.time)):
            self._stale.append(self._kept.popleft())
        self._kept.append(_kept(version))

    def remove_some(self, directory: Directory, store: Store) -> None:
        """Remove the oldest of what is not needed any more: each manifest before the files that it names."""
        needed = self._kept[0].base
        for _ in range(REMOVALS):
            if not self._stale or self._stale[0].number >= needed:
                return
            number = self._stale[0].number
            version = directory.get(number)
            store.remove(manifest_name(number))
            for file in () if version is None else version.files():
                store.remove(file.path)
            self._stale.popleft()

    def _expired(self, time: datetime.datetime) -> int:
        """How many of the oldest kept versions are not kept any more once a version of a time is published."""
        if self._keep is None:
            return 0
        if isinstance(self._keep, int):
            return max(0, len(self._kept) + 1 - self._keep)
        start = time - self._keep  # the version that was the newest then is kept
        later = itertools.chain((each.time for each in itertools.islice(self._kept, 1, None)), (time,))
        return sum(1 for _ in itertools.takewhile(lambda each: each <= start, later)) if self._kept else 0


def _kept(version: Version) -> _Kept:
    assert version.base is not None
    return _Kept(version.version, version.time, version.base)


def sweep(store: Store, present: Iterable[Version], epoch: int) -> None:
    """Remove what publishers of earlier epochs have left: files that no manifest names, and unfinished ones.

    None of them can become a version any more, since the manifest would need a number that is taken.
    """
    named = {file.path for version in present for file in version.files()}
    for folder in (FULL, CHANGES, VERSIONS):
        for name in store.names(folder):
            written = epoch_of(name)
            if written is not None and written < epoch and f"{folder}/{name}" not in named:
                with contextlib.suppress(OSError):  # it is in nobody's way
                    store.remove(f"{folder}/{name}")
