"""A Delta log beside the full instants of a published directory: ``full`` is a Delta table, for engines that read one.

The log is JSON of Delta's protocol, versions 1 and 2. Each commit adds a full instant and removes the one before it. It
copies no data. A commit is the creation of a file under the next number, as that of a manifest is.
"""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from typing import TYPE_CHECKING, Any, Final

from snapshot._extras import extra
from snapshot.columns import stored_schema
from snapshot.published.manifest import FULL, DataFile, Version
from snapshot.published.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

LOG: Final = f"{FULL}/_delta_log"

_COMMIT = re.compile(r"([0-9]{20})\.json")


def log_full(store: Store, version: Version, file: DataFile) -> None:
    """Make the full instant of a version the content of the Delta table, unless it has a later one.

    Lock-free: if the next number is taken, another process has committed.
    """
    store.prepare((LOG,))
    name, now = file.path.removeprefix(f"{FULL}/"), round(version.time.timestamp() * 1000)
    add = {"path": name, "partitionValues": {}, "size": file.bytes, "modificationTime": now, "dataChange": True}
    added = {"add": {**add, "stats": json.dumps({"numRecords": file.rows})}}
    # Progress: a round that does not return found a commit more than the one before.
    while True:
        numbers = [int(found[1]) for found in map(_COMMIT.fullmatch, store.names(LOG)) if found]
        actions = _begun(version) if not numbers else []
        if numbers:
            *_, last = store.read(_name(max(numbers))).decode().splitlines()
            before = json.loads(last)["add"]["path"]
            if before >= name[: len(f"{0:020}")]:
                return
            actions = [{"remove": {"path": before, "deletionTimestamp": now, "dataChange": True}}]
            _, table = _begun(version)
            if json.dumps(table) not in store.read(_name(min(numbers))).decode().splitlines():
                actions.insert(0, table)  # an earlier version of this package began it, with other columns
        commit = {"commitInfo": {"timestamp": now, "operation": "WRITE", "subscriptionsVersion": version.version}}
        text = "\n".join(map(json.dumps, [commit, *actions, added])).encode()
        with contextlib.suppress(FileExistsError):
            store.create(_name(max(numbers, default=-1) + 1), text, f"{LOG}/.{uuid.uuid4().hex}")
            return


def _name(number: int) -> str:
    return f"{LOG}/{number:020}.json"


def _begun(version: Version) -> list[dict[str, Any]]:
    """What the first commit says of the table."""
    fields = [
        {"name": each.name, "type": _type(each.type), "nullable": True, "metadata": {}} for each in stored_schema()
    ]
    table = {
        "id": str(uuid.UUID(version.directory)),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }
    return [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": table}]


def _type(kind: pa.DataType) -> Any:
    """Delta's name of a type of a column."""
    types = extra("pyarrow").types
    if types.is_map(kind):
        return {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}
    return "string" if types.is_string(kind) else "timestamp"
