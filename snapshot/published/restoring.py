"""A trie rebuilt from a published directory."""

from __future__ import annotations

import datetime
import hashlib
import os

from snapshot.parquet import load
from snapshot.published.directory import Directory, open_directory
from snapshot.published.errors import DamagedError
from snapshot.published.feed import apply_feed
from snapshot.published.manifest import DataFile, Version
from subtrie import SubscriptionTrie


def restore(where: str | os.PathLike[str], at: int | datetime.datetime | None = None) -> SubscriptionTrie:
    """Rebuild the subscription trie as it was when a version was published.

    :param where: the directory, a path or a URI
    :param at: the number of a version, or a time with a zone, which means the newest version that is not later; None
        for the newest version
    :returns: a new, writable trie with the same dialect, filters, groups, subscribers and options. If it was published
        with a ``key``, the subscribers are the keys
    :raises FileNotFoundError: nothing was ever published there
    :raises NotPublishedError: there is no such version, or it is not kept any more
    :raises DamagedError: a file is damaged or missing, or has an unknown format; the error names it

    O(n + versions since the last full instant). Memory for the trie and a batch of rows. Lock-free: it blocks no
    publisher. The version is chosen at the start. If it is removed meanwhile, a newer one is taken if ``at`` allows it.
    """
    return restored(open_directory(where), at)[0]


def restored(directory: Directory, at: int | datetime.datetime | None = None) -> tuple[SubscriptionTrie, Version]:
    """The result of `restore`, and its version."""
    version = directory.version_at(at)
    # Progress: a round that does not return found that a publisher had removed a file that was needed.
    while True:
        try:
            return rebuild(directory, version), version
        except FileNotFoundError as missing:
            again = directory.version_at(at)
            if (again.version, again.base) == (version.version, version.base):
                raise lost(version, missing, directory) from missing
            version = again


def rebuild(directory: Directory, version: Version) -> SubscriptionTrie:
    """The trie of a version.

    :raises FileNotFoundError: a file is missing: it is not kept any more, or was lost
    :raises DamagedError: a file is damaged
    """
    full, feeds = directory.parts(version)
    assert full.full is not None
    trie = _load(directory, full.full)
    if trie.dialect != version.dialect:
        raise DamagedError(
            f"{directory.locate(full.full)} has the dialect {trie.dialect.name}, not that of its manifest"
        )
    for each in feeds:
        apply_feed(trie, directory, each)
    return trie


def _load(directory: Directory, file: DataFile) -> SubscriptionTrie:
    place = directory.locate(file)
    with directory.store.open(file.path) as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        size = content.tell()
    if (size, digest) != (file.bytes, file.sha256):
        raise DamagedError(
            f"{place} is damaged: it has other bytes than the {file.bytes} that were written; restore it from a copy, "
            "or restore an older version"
        )
    try:
        return load(place)
    except ValueError as error:
        raise DamagedError(str(error)) from error


def lost(version: Version, missing: FileNotFoundError, directory: Directory) -> DamagedError:
    """The error for a file that should be there."""
    return DamagedError(
        f"{missing.filename} is missing, which version {version.version} of {directory.store.place} needs: "
        "restore it from a copy, or restore another version"
    )
