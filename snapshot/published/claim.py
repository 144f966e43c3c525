"""How a publisher takes a directory: first it makes sure that it can write there, then it claims the next number.

The claim fences the publisher before, which then cannot publish any more. So everything that can fail comes first: the
manifests that the newest version needs are read, each folder is written to, and the caller looks at the newest version.
A newcomer that fails leaves the directory to the publisher that has it.

Of the other manifests, one is read for each of the last publishers. So a million versions that are kept cost a listing,
and one of them may be damaged: who wants that version is told. Retention takes it for a version that is as old as the
next one, and removes it when its time has come. What it named goes when a publisher opens the directory after that.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from snapshot.published.directory import Directory
from snapshot.published.errors import DamagedError, FencedError
from snapshot.published.manifest import (
    CHANGES,
    FOLDERS,
    FULL,
    VERSIONS,
    Version,
    desk_name,
    manifest_name,
    process,
    scratch_name,
    sealed,
    trial_name,
)
from snapshot.published.retention import sweep
from snapshot.published.store import Store
from subtrie import Dialect

TICK: Final = datetime.timedelta(microseconds=1)
"""Later versions have later times, at least by this."""


class Claimed(NamedTuple):
    """A directory that belongs to this publisher, until another one claims it.

    Args:
        claim: the manifest of the claim.
        desk: the folder of its unfinished manifests.
        known: manifests that were read, by their numbers: what the version before needs, unless another publisher has
            removed it meanwhile, and what was published while this was being claimed.
        present: the numbers of all manifests, the claim last.
        alone: whether no earlier publisher can write a manifest any more, whatever numbers become free.
    """

    claim: Version
    desk: str
    known: Mapping[int, Version]
    present: Sequence[int]
    alone: bool


def claimed(
    directory: Directory,
    store: Store,
    dialect: Dialect,
    require: Callable[[Version | None], None],
    seen: Version | None = None,
) -> Claimed:
    """Claim a directory with the next number.

    Args:
        seen: a version that was read just now (`Directory.newest`).
        require: called with the newest version before each attempt; raises an error if it must not be followed.

    Raises:
        ValueError: the directory holds other files, or subscriptions of another dialect.
        DamagedError: a manifest that the newest version needs is damaged, or does not belong there.
        OSError: the directory cannot be read or written to.

    Lock-free: an attempt fails only if another publisher has taken the number. In an object store, the next request
    after the one that has read that manifest is the claim; a publisher makes three for each version.
    """
    newest = _newest(directory, store, dialect, seen)
    require(newest)
    store.prepare(FOLDERS)
    _attempt_to_write(store, newest)
    known, attempt = dict[int, Version](), 0
    with contextlib.suppress(FileNotFoundError):  # another publisher may have gone on, and removed one
        if newest is not None and newest.base is not None:
            known = {each.version: each for each in directory.needed(newest, directory.there)[1]}
    # Progress: a round that does not return found that another publisher has taken a number.
    while True:
        attempt += 1
        claim = _after(newest, dialect)
        desk = desk_name(claim.version, claim.writer)
        store.add_folder(desk)
        there, is_mine = None, False
        try:
            # On a disk, a number has not been used before while the one before it is there, since they are removed in
            # order. The desk is there before this looks. From then on, another newcomer that takes the number removes
            # the desk before it removes any manifest. If it is the publisher that takes it, `_made` sees that.
            if not store.is_local or _is_last(directory, newest):
                there = _made(directory, store, claim, desk, newest)
                is_mine = there is not None and there.writer == claim.writer
        finally:
            if not is_mine:
                with contextlib.suppress(OSError):  # the next publisher will clear it
                    store.clear_folder(desk)
        if there is None:  # its number has been used and is free again
            return claimed(directory, store, dialect, require)
        known[there.version] = there
        if is_mine:
            return Claimed(there, desk, known, *sweep(directory, there, desk))
        newest = there if attempt % 4 else directory.newest() or there  # this may be far behind, and no quicker
        _require_dialect(store, newest, dialect)
        require(newest)


def fenced(store: Store, by: Version) -> FencedError:
    """The error of a publisher whose directory has another claim, or a version, of another one."""
    return fenced_by(store, f"another publisher (process {by.process} on {by.host}), with number {by.version},")


def removed(directory: Directory, claim: Version, error: Exception) -> Exception:
    """The error of a publisher that does not find what its claim follows: only one with a later claim removes that.

    Args:
        error: the error if there is no later claim.
    """
    newest = directory.newest()
    return error if newest is None or newest.epoch <= claim.epoch else fenced(directory.store, newest)


def fenced_by(store: Store, who: str) -> FencedError:
    """The same, with what is known of the other one."""
    return FencedError(
        f"{store.place}: {who} has taken over, so this one publishes nothing any more; if it should, use take_over"
    )


def _newest(directory: Directory, store: Store, dialect: Dialect, seen: Version | None = None) -> Version | None:
    """The newest version, which a claim may follow."""
    newest = directory.newest(seen)
    if newest is None:
        others = set(store.names("")).difference(FOLDERS)
        others.update(name for folder in (FULL, CHANGES) for name in store.names(folder) if not name.startswith("."))
        if others and directory.newest() is not None:  # of a publisher that came meanwhile
            return _newest(directory, store, dialect)
        if others:
            raise ValueError(
                f"{store.place} is not a published directory and has other files "
                f"({', '.join(sorted(others)[:3])}): publish to a new or an empty one"
            )
        return None
    _require_dialect(store, newest, dialect)
    earlier = directory.get(newest.version - 1) or directory.get(
        max((number for number in directory.numbers() if number < newest.version), default=-1)
    )
    if earlier is not None and earlier.directory != newest.directory:
        raise DamagedError(
            f"{store.locate(manifest_name(newest.version))} is of another published directory than the versions before "
            "it: if no publisher wrote it here, move it away; otherwise restore the directory from a copy"
        )
    return newest


def _is_last(directory: Directory, newest: Version | None) -> bool:
    """Whether no manifest after this one has been removed yet, since it is there. None stands for that before all."""
    if newest is None:
        return not directory.numbers()[1:]
    return directory.get(newest.version, newest) is newest


def _require_dialect(store: Store, newest: Version, dialect: Dialect) -> None:
    if newest.dialect != dialect:
        raise ValueError(
            f"{store.place} has subscriptions of the dialect {newest.dialect.name}, "
            f"and the trie is of {dialect.name}: publish to another directory"
        )


def _attempt_to_write(store: Store, newest: Version | None) -> None:
    epoch, token = 0 if newest is None else newest.version + 1, uuid.uuid4().hex
    for folder in FOLDERS:
        store.attempt(trial_name(folder, epoch, token))


def _made(directory: Directory, store: Store, claim: Version, desk: str, newest: Version | None) -> Version | None:
    """Create the manifest of a claim. If another publisher has taken its number, its manifest; None if it is gone."""
    text, claim = sealed(claim)
    name = manifest_name(claim.version)
    try:
        store.create(name, text, scratch_name(desk, claim))
    except FileNotFoundError:  # the publisher that took the number has cleared our desk
        if desk.rpartition("/")[2] in store.names(VERSIONS):
            raise
        return None
    except FileExistsError:
        there = directory.get(claim.version)
        if there is None:
            directory.newest()  # raises DamagedError if it is there and cannot be read
        return there
    if (
        _is_last(directory, newest)
        if store.is_local
        else (directory.newest_since(claim) or 0) <= claim.version or directory.is_followed(claim)
    ):
        return claim
    store.remove(name)  # its number was taken and removed before: by the publisher, or where there are no desks
    return None


def _after(newest: Version | None, dialect: Dialect) -> Version:
    """The claim of the next number, or of an empty directory."""
    now = datetime.datetime.now(datetime.UTC)
    if newest is None:
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
            dialect=dialect,
            integers=None,
            snapshot_id="",
            directory=uuid.uuid4().hex,
            epoch=0,
            **process(),
        )
    number, time = newest.version + 1, max(now, newest.time + TICK)
    return dataclasses.replace(
        newest,
        version=number,
        time=time,
        kind="claim",
        changes=0,
        full=None,
        feed=None,
        merged=None,
        json_options=None,
        epoch=number,
        previous=newest.digest,
        **process(),
    )
