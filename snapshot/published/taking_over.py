"""`take_over`: a published trie, restored and continued, whoever published it before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, TypeVar, Unpack, overload

from snapshot.published.claim import Claimed, claimed, removed
from snapshot.published.directory import Directory
from snapshot.published.errors import DamagedError, NotPublishedError
from snapshot.published.manifest import Version, note_origin
from snapshot.published.publisher import Options, Publisher, require_arguments, require_trie
from snapshot.published.restoring import Copy, change, restored
from snapshot.published.store import store_of
from snapshot.published.writer import last_published
from snapshot.topics import dialect_of, mirror_of, mirrored, topics_of
from subtrie import AMQP, Dialect, SubscriptionTrie, TopicStore
from subtrie.dialects import require_dialect

Source = TypeVar("Source", bound="SubscriptionTrie | TopicStore[Any]")


@overload
def take_over(
    where: str | os.PathLike[str],
    dialect: Dialect | None = None,
    *,
    into: None = None,
    known: str | None = None,
    **options: Unpack[Options],
) -> tuple[SubscriptionTrie, Publisher]: ...


@overload
def take_over(
    where: str | os.PathLike[str],
    dialect: Dialect | None = None,
    *,
    into: Source,
    known: str | None = None,
    **options: Unpack[Options],
) -> tuple[Source, Publisher]: ...


def take_over(
    where: str | os.PathLike[str],
    dialect: Dialect | None = None,
    *,
    into: Any = None,
    known: str | None = None,
    **options: Unpack[Options],
) -> tuple[Any, Publisher]:
    """Continue a published directory where it is: claim it, restore its newest version, and open a publisher for that.

    After the claim, an earlier publisher can neither publish nor acknowledge anything. The trie is restored after that.
    So nothing that was acknowledged is lost, whatever the earlier publisher did until then. The directory is claimed
    only when the newest version has been read and each folder has been written to: if this call fails before that, the
    earlier publisher goes on. After the claim it only reads what was published meanwhile. If that fails, since a file
    cannot be read, or with FencedError, nothing is lost either, and the earlier publisher has ended.

    Args:
        where: the directory, a path or a URI; a new or empty one, too.
        dialect: the dialect. None: that of ``into`` or of the directory, or AMQP in a new one.
        into: an empty trie that gets the content: one with an index, say; or an empty
            `TopicStore`, which is how a new directory becomes that of a store. None: a new trie; or, of a directory
            with a topic store, a new store with the limits that it had.
        known: the mark of a version that you have seen, as for `restore`: ``Publisher.mark`` of an earlier publisher.
        options: those of `Publisher`: ``key``, ``every``, ``changes``, ``keep``, ``strict``, ``on_error``,
            ``on_fenced`` and ``storage``.

    Returns:
        The trie or store, and its publisher, which publishes the changes made to it from now on.

    Raises:
        OSError: the directory cannot be read or written to.
        DamagedError: a file is damaged or missing, or has an unknown format.
        FencedError: another publisher has claimed the directory after this call did.
        HistoryError: files of two histories are mixed, or the version that is ``known`` was never here.
        ImportError: pyarrow is not installed.
        TypeError: an argument is of the wrong kind.
        ValueError: the directory has other files, or content of another dialect or kind; ``into`` is not empty.

    O(n), and a listing of the files, like `restore`; with ``key``, the first `Publisher.publish` is O(n), too, since
    the directory has keys and the trie may have others. Between the claim and the return it only lists the files, and
    applies what was published meanwhile.

    >>> import tempfile, snapshot
    >>> from subtrie import MQTT
    >>> with tempfile.TemporaryDirectory() as where:
    ...     for client in ("ann", "bob"):
    ...         trie, publisher = take_over(where, MQTT)
    ...         with publisher:
    ...             trie.subscribe("room/+", client)
    ...             version = publisher.publish()
    ...     len(snapshot.restore(where))
    True
    True
    2
    """
    _require_empty(into)
    if dialect is not None:
        require_dialect(dialect)
    given = None if into is None else mirrored(into)
    if given is not None:
        require_trie(given)
    require_arguments(**options)
    if into is not None and dialect is not None and into.dialect != dialect:
        raise ValueError(f"into= is of the dialect {into.dialect.name}, not {dialect.name}")
    store = store_of(where, options.get("storage"))
    directory = Directory(store)
    directory.require(known)
    try:
        found, version = _content(directory, into, given, dialect)
        trie = found if given is None else given
        if trie is not found:
            trie.subscribe_many(found.subscriptions())
        taken = claimed(directory, store, trie.dialect, lambda newest: None, version)
        _caught_up(found, version, taken, directory, trie)
        instant = None if options.get("key") else trie.snapshot()  # which has keys already, so that none is known
        last = last_published(directory, taken, instant)
    except BaseException:
        if given is not None:
            given.clear()
        raise
    if isinstance(into, TopicStore):
        mirror_of(into).apply(SubscriptionTrie(trie.dialect))
    source = topics_of(trie, taken.claim.limits) if into is None else into
    publisher = Publisher(source, where, _taken=(taken, last), **options)
    return source, publisher


def _require_empty(into: object) -> None:
    """Require what `take_over` can fill.

    Raises:
        TypeError: it is neither a trie nor a topic store, or is a snapshot.
        ValueError: it has content.
    """
    if into is None:
        return
    if not isinstance(into, SubscriptionTrie | TopicStore):
        raise TypeError(f"into= must be an empty SubscriptionTrie or TopicStore, not {type(into).__name__}")
    if isinstance(into, SubscriptionTrie) and into.taken_at is not None:
        raise TypeError("into= is a snapshot, which cannot be changed")
    if isinstance(into, TopicStore):
        into.expire()  # raises TypeError for a snapshot
    rows: Iterator[object] = into.subscriptions() if isinstance(into, SubscriptionTrie) else iter(into.entries())
    if next(rows, None) is not None:
        raise ValueError(
            "into= has content, and what it has would be lost or published: give an empty trie or store; or, to "
            "publish what this one has instead of what the directory has, use Publisher"
        )


def _content(
    directory: Directory, into: Any, given: SubscriptionTrie | None, dialect: Dialect | None
) -> tuple[SubscriptionTrie, Version | None]:
    """The trie of the newest version, and the version; of a new directory, an empty trie."""
    try:
        found, version = restored(directory)
    except (FileNotFoundError, NotPublishedError):
        return SubscriptionTrie((AMQP if given is None else given.dialect) if dialect is None else dialect), None
    place, is_store = directory.store.place, version.limits is not None
    if into is not None and is_store is not isinstance(into, TopicStore):
        has = "the topics of a store, not subscriptions" if is_store else "subscriptions, not topics"
        raise ValueError(f"{place} has {has}: give the other kind as into=, or leave it out")
    own, wanted = dialect_of(found.dialect) if is_store else found.dialect, dialect if into is None else into.dialect
    if wanted is not None and own != wanted:
        raise ValueError(f"{place} has subscriptions of the dialect {own.name}, not {wanted.name}")
    return found, version


def _caught_up(
    found: SubscriptionTrie, version: Version | None, taken: Claimed, directory: Directory, trie: SubscriptionTrie
) -> None:
    """Bring a trie with the content of a version, or of none, to the last version before the claim.

    Args:
        found: the trie of the version, as the directory has it; perhaps the same.
    """
    if taken.claim.content is None:
        return
    before = found.snapshot()
    try:
        copy = Copy(directory, *((found, version) if version is not None else restored(directory)))
        copy.update()
    except (DamagedError, NotPublishedError, FileNotFoundError) as error:
        raise removed(directory, taken.claim, error) from error.__cause__
    if copy.seen.version != taken.claim.version:
        raise removed(directory, taken.claim, directory.lost(copy.seen.version + 1))
    if trie is not copy.trie:
        change(trie, copy.trie.diff(before))
    note_origin(trie, copy.version)
