"""A trie rebuilt from a published directory, and kept like it."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

from snapshot._extras import extra
from snapshot.columns import in_batches
from snapshot.parquet import load_opened
from snapshot.published.directory import Directory, open_directory, require_whole
from snapshot.published.errors import DamagedError, NotPublishedError
from snapshot.published.feed import apply_feed
from snapshot.published.manifest import Version, note_origin
from snapshot.topics import of_kind, topics_of
from subtrie import Change, SubscriptionTrie, TopicStore

Read = TypeVar("Read")


@overload
def restore(
    where: str | os.PathLike[str],
    at: int | datetime.datetime | None = None,
    *,
    kind: type[SubscriptionTrie] | None = None,
    known: str | None = None,
    storage: Mapping[str, Any] | None = None,
) -> SubscriptionTrie: ...


@overload
def restore(
    where: str | os.PathLike[str],
    at: int | datetime.datetime | None = None,
    *,
    kind: type[TopicStore[Any]],
    known: str | None = None,
    storage: Mapping[str, Any] | None = None,
) -> TopicStore[Any]: ...


def restore(
    where: str | os.PathLike[str],
    at: int | datetime.datetime | None = None,
    *,
    kind: type[SubscriptionTrie | TopicStore[Any]] | None = None,
    known: str | None = None,
    storage: Mapping[str, Any] | None = None,
) -> SubscriptionTrie | TopicStore[Any]:
    """Rebuild the subscription trie as it was when a version was published.

    Args:
        where: the directory, a path or a URI.
        at: the number of a version, or a time with a zone, which means the newest version that is not later; None for
            the newest version.
        kind: `TopicStore` or `SubscriptionTrie`, if you know what was published; anything else is refused then. None:
            whichever it is; type checkers take it for a trie.
        known: the mark of a version that you have seen (`Publisher.mark`, `Follower.mark`, `Version.mark`). If the
            directory was replaced since by an older copy of itself, or by another one, this raises HistoryError.
        storage: as for `Publisher`.

    Returns:
        A new, writable trie with the same dialect, filters, groups, subscribers and options. If it was published with a
        ``key``, the subscribers are the keys. If a `TopicStore` was published, a store with its topics, values and
        times, and with the limits (``max_age``, ``max_topics``) that it had.

    Raises:
        FileNotFoundError: nothing was ever published there.
        NotPublishedError: there is no such version, or it is not kept any more.
        DamagedError: a file is damaged or missing, or has an unknown format; the error names it.
        HistoryError: files of two histories are mixed, or the version that is ``known`` was never here.
        ValueError: it is of another kind, or ``known`` is no mark.

    A `Publisher` that is given the trie refuses to publish it if there is a newer version by then. To continue a
    directory, use `take_over`, for which this cannot happen.

    O(n + versions since the last full instant), and a listing of the manifests that are kept. Memory for the trie and a
    batch of rows. Lock-free: it blocks no publisher. The version is chosen at the start. If it is removed meanwhile, a
    newer one is taken if ``at`` allows it.
    """
    directory = open_directory(where, storage)
    directory.require(known)
    trie, version = restored(directory, at)
    note_origin(trie, version)
    return of_kind(kind, topics_of(trie, version.limits), directory.store.place)  # type: ignore[no-any-return]


def restored(directory: Directory, at: int | datetime.datetime | None = None) -> tuple[SubscriptionTrie, Version]:
    """The result of `restore`, and its version."""
    return whole(directory, rebuild, at)


def whole(
    directory: Directory, read: Callable[[Directory, Version], Read], at: int | datetime.datetime | None = None
) -> tuple[Read, Version]:
    """What `read` makes of the files of a version, and the version."""
    version = directory.version_at(at)
    gone = None
    # Progress: a round that does not return found that a publisher had removed a file that was needed. It is not needed
    # any more then, so no file is missed twice.
    while True:
        try:
            return read(directory, version), version
        except FileNotFoundError as missing:
            again = directory.version_at(at)
            if (again.version, again.base) == (version.version, version.base) or _name_of(missing) == gone:
                raise lost(version, missing, directory) from missing
            version, gone = again, _name_of(missing)


def _name_of(missing: FileNotFoundError) -> str:
    """The file that is not there. Arrow's errors have its name in their text only."""
    return str(missing.filename or missing)


class Copy:
    """A trie that is brought from version to version.

    Args:
        trie: has the content of ``version``.

    `version` is the version that it has, and `seen` the manifest that was read last: a claim perhaps, which follows.
    """

    def __init__(self, directory: Directory, trie: SubscriptionTrie, version: Version) -> None:
        self._directory = directory
        self.trie = trie
        self._hold(version)

    def update(self) -> None:
        """Bring it to the newest version; see `Follower.poll`."""
        newest = self._directory.newest_since(self.seen, ahead=True)
        # Progress: each round that does not end reaches a later manifest.
        while self.seen.version != newest:
            self._directory.look_ahead(self.seen.version, newest or 0)
            following = self._directory.get(self.seen.version + 1)
            # In an object store, a request may come so late that its number is free again, as are those before it.
            if (
                following is not None
                and following.follows(self.seen)
                and (newest is not None or self._directory.store.is_local or self._is_kept())
            ):
                self._advance(following)
            elif not self._is_kept():
                self.resynchronise()
            elif following is not None:
                self._directory.require_order(self.seen, following)
            else:
                break

    def _advance(self, version: Version) -> None:
        """Apply the next version. This is idempotent, even if an earlier attempt stopped in the middle."""
        if version.feed is not None:
            try:
                apply_feed(self.trie, self._directory, version)
            except FileNotFoundError as missing:
                if self._is_kept():
                    raise lost(version, missing, self._directory) from missing
                self.resynchronise()
                return
        if version.kind == "claim":
            self.seen = version
        else:
            self._hold(version)

    def _is_kept(self) -> bool:
        """Whether what was seen last is still there. Versions are removed in order. So while it is there, the next one
        is there or not published yet; afterwards, the next one may have been removed, too.

        Raises:
            HistoryError: the directory has another history.
        """
        seen = self.seen
        return self._directory.get(seen.version, seen) is seen or self._directory.require(seen.marked())

    def resynchronise(self) -> None:
        """Bring it to the newest version, whatever it has."""
        newest, version = restored(self._directory)
        if newest.dialect != self.trie.dialect:
            raise DamagedError(
                f"{self._directory.store.place} has subscriptions of the dialect {newest.dialect.name} now, instead of "
                f"{self.trie.dialect.name}: follow it anew"
            )
        change(self.trie, newest.diff(self.trie))
        self._hold(version)

    def _hold(self, version: Version) -> None:
        self.version = self.seen = version
        note_origin(self.trie, version)


def change(trie: SubscriptionTrie, differences: Iterable[Change]) -> None:
    """Make the changes of a difference."""
    for changes in in_batches(differences):
        trie.unsubscribe_many(each.subscription for each in changes if each.kind == "removed")
        trie.subscribe_many(each.subscription for each in changes if each.kind != "removed")


def rebuild(directory: Directory, version: Version) -> SubscriptionTrie:
    """The trie of a version.

    Raises:
        FileNotFoundError: a file is missing: it is not kept any more, or was lost.
        DamagedError: a file is damaged.
    """
    full, feeds = directory.parts(version)
    assert full.full is not None
    require_whole(directory.store, full.full)
    try:
        with directory.store.open(full.full.path) as opened:
            trie = load_opened(opened, directory.locate(full.full))[0]
    except (ValueError, extra("pyarrow").ArrowException) as error:
        raise DamagedError(f"{directory.locate(full.full)}: {error}") from error
    if trie.dialect != version.dialect:
        raise DamagedError(
            f"{directory.locate(full.full)} has the dialect {trie.dialect.name}, not that of its manifest"
        )
    apply_feed(trie, directory, *feeds)
    return trie


def verify(directory: Directory) -> Version | None:
    """Read all bytes that the newest version is rebuilt from, and compare their digests; return it, if there is one.

    Raises:
        DamagedError: a file is missing or damaged.
    """
    try:
        return whole(directory, _verify_all)[1]
    except (FileNotFoundError, NotPublishedError):
        return None


def _verify_all(directory: Directory, version: Version) -> None:
    full, feeds = directory.parts(version)
    assert full.full is not None
    for file in (full.full, *(each.feed for each in feeds)):
        assert file is not None
        require_whole(directory.store, file)


def lost(version: Version, missing: FileNotFoundError, directory: Directory) -> DamagedError:
    """The error for a file that should be there."""
    return DamagedError(
        f"{_name_of(missing)} is missing, which version {version.version} of {directory.store.place} needs: "
        "restore it from a copy, or restore another version"
    )
