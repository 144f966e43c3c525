"""`to_delta`: two Delta tables, made of the files that lie in a published directory, for engines that read these.

The directory itself is a table of the newest version: its full instant and the feeds since, each with a deletion vector
of the rows that do not count any more. The folder ``changes`` is one of all feeds. Their logs are JSON of Delta's
protocol, and no row is copied. A commit is the creation of a file under the next number, as that of a manifest is. It
says all that the next one needs to know. Writers of Delta tables refuse these, since they lack a feature that the log
asks of them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from snapshot._extras import extra
from snapshot.columns import stored_schema
from snapshot.instants import files_of, parts_of
from snapshot.published.deletion_vector import descriptor
from snapshot.published.directory import Directory, open_directory
from snapshot.published.feed import feed_schema
from snapshot.published.manifest import CHANGES, DataFile, Version
from snapshot.published.restoring import whole
from snapshot.published.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

LOG: Final = "_delta_log"
ONE_PUBLISHER: Final = "subtrieOnePublisher"
"""The feature that writers need. Nobody has it."""

VECTOR, VECTORS, VERSION = "deletionVector", "deletionVectors", "subscriptionsVersion"

Fields: TypeAlias = dict[str, Any]
Following: TypeAlias = Callable[[int, list[Fields]], tuple[list[Fields], list[Fields], Fields]]
"""What a commit adds, what it removes, and what else it says: by its number and the actions of the one before."""

_COMMIT = re.compile(r"([0-9]{20})\.json")
_log = logging.getLogger("snapshot.published")


def to_delta(where: str | os.PathLike[str], *, storage: Mapping[str, Any] | None = None) -> int:
    """Make a published directory a Delta table of its newest version, and its folder ``changes`` one of the changes.

    The tables show what was the newest version at the last call, so a process beside the publisher calls this again and
    again. `compact` does, too. The table of changes has the columns of `snapshot.changes` and begins with the oldest
    version that is kept; the rows of the first one are no changes. Nobody else can write these tables. They must not be
    vacuumed, since older versions need their files. Retention removes files, so an older state of a table can be read
    as long as its version is kept.

    Args:
        where: the directory, a path or a URI, to which this process can write.
        storage: as for `Publisher`.

    Returns:
        The number of the version.

    Raises:
        FileNotFoundError: nothing was ever published there.
        NotPublishedError: nothing has been published there yet.
        DamagedError: a file is damaged or missing, or has an unknown format.
        ValueError: an earlier version of this package wrote files of this version, and nobody has compacted it.
        OSError: a file cannot be written.

    Any number of processes may call it at any time. If one is killed, the tables show what they did before. O(n) bytes,
    memory for the changes, and a byte for each row; a commit has at most an eighth of that, and a line for each feed.
    The manifest of each version since the last call is read; the first time, of each that is kept.
    The linearization point, for each of the tables, is the creation of the commit.

    >>> import tempfile, snapshot
    >>> from subtrie import SubscriptionTrie
    >>> trie = SubscriptionTrie()
    >>> with tempfile.TemporaryDirectory() as where, snapshot.Publisher(trie, where) as publisher:
    ...     for client in ("ann", "bob"):
    ...         added = trie.subscribe("a", client)
    ...         version = publisher.publish()
    ...     snapshot.to_delta(where), sorted(os.listdir(where))
    (2, ['_delta_log', '_versions', 'changes', 'full'])
    """
    directory = open_directory(where, storage)
    version, is_logged = log_delta(directory)
    if not is_logged:
        raise ValueError(f"{directory.store.place} has files of an earlier format: call snapshot.compact first")
    return version.version


def log_delta(directory: Directory) -> tuple[Version, bool]:
    """The same. Returns the version, and False if its files are of an earlier format, which Delta cannot convert."""
    (parts, there), version = whole(directory, parts_of)
    if any(each.json_options is not None for each in (parts[0].full, *parts[-1].feeds)):
        return version, False
    added, end = [], 0
    for file in files_of(parts):
        begin, end = end, end + file.rows
        gone = extra("numpy").flatnonzero(~there[begin:end])
        added.append(_added(version, file, file.path) | ({VECTOR: descriptor(gone)} if len(gone) else {}))
    _commit(directory.store, "", version, stored_schema(), partial(_replacing, added))
    _commit(directory.store, f"{CHANGES}/", version, feed_schema(), partial(_appending, directory, version))
    return version, True


def _replacing(added: list[Fields], _: int, last: list[Fields]) -> tuple[list[Fields], list[Fields], Fields]:
    """A table that has the files of the last commit, and no others."""
    same = [(each["path"], each.get(VECTOR)) for each in added]
    return added, [each for each in _adds(last) if (each["path"], each.get(VECTOR)) not in same], {}


def _appending(
    directory: Directory, version: Version, number: int, last: list[Fields]
) -> tuple[list[Fields], list[Fields], Fields]:
    """A table that has the feeds of all kept versions. A commit says which of these is the oldest, and the number of
    the first commit with a feed of one."""
    oldest, gone = version.oldest or 0, []
    info = last[0]["commitInfo"] if last else {VERSION: oldest - 1, "oldest": oldest, "first": 0}
    since, first = info[VERSION], info["first"]
    found = map(directory.get, range(max(since + 1, oldest), version.version + 1))
    kept = [each for each in found if each is not None and each.json_options is None]
    if kept and kept[0].version - (kept[0].epoch > since) > since + 1:  # a claim has no changes
        lost = f"{since + 1} to {kept[0].version - 1}"
        _log.warning("%s: the Delta table of changes lacks those of %s", directory.store.place, lost)
    while first < number and oldest > info["oldest"]:
        numbers = {int(each["path"][:20]): each for each in _adds(_actions(directory.store, f"{CHANGES}/", first))}
        gone += [each for of, each in numbers.items() if info["oldest"] <= of < oldest]
        if max(numbers, default=0) >= oldest:
            break
        first += 1
    feeds = [_added(each, each.feed, each.feed.path.removeprefix(f"{CHANGES}/")) for each in kept if each.feed]
    return feeds, gone, {"oldest": oldest, "first": first}


def _commit(store: Store, table: str, version: Version, schema: pa.Schema, following: Following) -> None:
    """Append a commit with the state of a version to the log of a table, unless it has that, or a later one. Compaction
    gives a version other files, with which it is committed again.

    Lock-free: if the next number is taken, another process has committed.
    """
    log, now = f"{table}{LOG}", round(version.time.timestamp() * 1000)
    store.prepare((log,))
    # Progress: a round that does not return found a commit more than the one before.
    while True:
        numbers = [int(found[1]) for found in map(_COMMIT.fullmatch, store.names(log)) if found]
        number = max(numbers, default=-1) + 1
        last = _actions(store, table, number - 1) if numbers else []
        added, gone, told = following(number, last)
        if last and last[0]["commitInfo"][VERSION] >= version.version + bool(gone):
            return
        actions = [
            {"commitInfo": {"timestamp": now, "operation": "WRITE", VERSION: version.version, **told}},
            {"protocol": _protocol([VECTORS] if any(VECTOR in each for each in added) else [])},
            {"metaData": _table(version, table, schema)},
            *({"remove": _removed(each, now)} for each in gone),
            *({"add": each} for each in added),
        ]
        with contextlib.suppress(FileExistsError):
            text = "\n".join(map(json.dumps, actions)).encode()
            store.create(f"{log}/{number:020}.json", text, f"{log}/.{uuid.uuid4().hex}")
            return


def _actions(store: Store, table: str, number: int) -> list[Fields]:
    return list(map(json.loads, store.read(f"{table}{LOG}/{number:020}.json").decode().splitlines()))


def _adds(actions: list[Fields]) -> list[Fields]:
    return [each["add"] for each in actions if "add" in each]


def _added(version: Version, file: DataFile, path: str) -> Fields:
    now = round(version.time.timestamp() * 1000)
    told = {"partitionValues": {}, "size": file.bytes, "modificationTime": now, "dataChange": True}
    return {"path": path, **told, "stats": json.dumps({"numRecords": file.rows})}


def _removed(added: Fields, now: int) -> Fields:
    vector = {VECTOR: added[VECTOR]} if VECTOR in added else {}
    return {"path": added["path"], "deletionTimestamp": now, "dataChange": True, **vector}


def _protocol(features: list[str]) -> Fields:
    """What readers need: no feature, if they can do without. And what writers do."""
    readers = {"minReaderVersion": 3, "readerFeatures": features} if features else {"minReaderVersion": 1}
    return {**readers, "minWriterVersion": 7, "writerFeatures": [*features, ONE_PUBLISHER]}


def _table(version: Version, table: str, schema: pa.Schema) -> Fields:
    fields = [{"name": each.name, "type": _type(each.type), "nullable": True, "metadata": {}} for each in schema]
    return {
        "id": str(uuid.uuid5(uuid.UUID(version.directory), table)),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {"delta.enableExpiredLogCleanup": "false"},  # a commit names an earlier one
        "createdTime": 0,
    }


def _type(kind: pa.DataType) -> Any:
    """Delta's name of a type of a column."""
    types = extra("pyarrow").types
    if types.is_map(kind):
        return {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}
    return "string" if types.is_string(kind) else "long" if types.is_integer(kind) else "timestamp"
