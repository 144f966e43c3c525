"""`compact`: a full instant of the newest version, written by any process beside the publisher.

It is a Parquet file as a publisher writes it, and a record of it: the manifest of its version with that file as its
full instant. Readers take the newest record that they find. The publisher does, too, so that it need not write a full
instant, and its retention removes both.
"""

from __future__ import annotations

import dataclasses
import os
import uuid
from collections.abc import Mapping
from typing import Any

from snapshot.columns import Cut
from snapshot.parquet import write_set
from snapshot.published.delta import log_delta
from snapshot.published.directory import open_directory
from snapshot.published.manifest import FULL, DataFile, data_name, record_name, sealed
from snapshot.published.restoring import rebuild, whole


def compact(where: str | os.PathLike[str], *, storage: Mapping[str, Any] | None = None) -> int:
    """Write a full instant of the newest version of a published directory, while its publisher goes on.

    Whoever restores, follows or matches with a later version begins with it, and reads only the changes since. If this
    is called often enough, the publisher of a large set never writes a full instant after the first, which takes it
    seconds in which it publishes nothing: each time when a quarter of the subscriptions has changed. A full instant
    that an earlier version of this package published is written again, in the present format; until then, readers
    convert it. (One that it compacted stays until there is a later version.)

    The directory becomes a Delta table, too, as by `to_delta`.

    Args:
        where: the directory, a path or a URI, to which this process can write.
        storage: as for `Publisher`.

    Returns:
        The number of the version.

    Raises:
        FileNotFoundError: nothing was ever published there.
        NotPublishedError: nothing has been published there yet.
        DamagedError: a file is damaged or missing, or has an unknown format.
        OSError: a file cannot be written.

    Any number of processes may call it at any time: a version gets one record. If one is killed, readers see nothing of
    it. O(n), and memory for the trie. The linearization point is the creation of the record.

    >>> import tempfile, snapshot
    >>> from subtrie import SubscriptionTrie
    >>> trie = SubscriptionTrie()
    >>> with tempfile.TemporaryDirectory() as where, snapshot.Publisher(trie, where) as publisher:
    ...     for client in ("ann", "bob"):
    ...         added = trie.subscribe("a", client)
    ...         version = publisher.publish()
    ...     compact(where), len(snapshot.restore(where))
    (2, 2)
    """
    directory = open_directory(where, storage)
    (trie, there), version = whole(directory, lambda of, version: (rebuild(of, version), of.parts(version).full))
    store, number = directory.store, version.version
    is_older = there == version and version.json_options is not None  # a record stays: later versions may begin with it
    if there.version == number and not is_older:
        log_delta(directory)
        return number
    cut = Cut(trie.snapshot(), version.snapshot_id, version.time, version.limits)
    name = data_name(FULL, number, "c")
    try:
        (rows, _), size, digest = store.produce(name, lambda path: write_set(cut, path, integers=version.integers))
        file = DataFile(name, rows, size, digest)
        store.create(
            record_name(number),
            sealed(dataclasses.replace(version, full=file))[0],
            f"{FULL}/.{number:020}.c.{uuid.uuid4().hex}.json",
        )
    except FileExistsError:  # another process was quicker
        store.remove(name)
    except FileNotFoundError:  # retention has removed the version, and the file with it
        if directory.version_at().version == number:
            raise
        return compact(where, storage=storage)  # progress: there is a later version
    log_delta(directory)
    return number
