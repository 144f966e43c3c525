"""The types of the columns of published rows (`snapshot.storing`), as manifests and files tell them."""

from __future__ import annotations

from typing import Any

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS
from snapshot.file_metadata import FileMetadata
from snapshot.parquet import METADATA_KEY
from snapshot.published.manifest import Version
from snapshot.storing import Kinds
from subtrie.tagged import MARK


def fields_of(kinds: Kinds) -> dict[str, Any]:
    """The fields of a manifest."""
    return {
        "integers": kinds.integers,
        "json_options": tuple(sorted(kinds.json_options)),
        "string_options": tuple(sorted(kinds.string_options)),
    }


def kinds_of(version: Version) -> Kinds:
    """The types that the columns of a version have, and those of the next version, too."""
    integers = None if version.subscriptions == 0 else version.integers
    return Kinds(integers, frozenset(version.json_options), frozenset(version.string_options))


def agree(one: Kinds, other: Kinds) -> bool:
    """Whether no column has two types."""
    if one.json_options & other.string_options or one.string_options & other.json_options:
        return False
    return one.integers is None or other.integers is None or one.integers is other.integers


def kinds_in(path: str) -> tuple[int, Kinds]:
    """How many rows a file of `snapshot.write` has, and the types of its columns."""
    file = extra("pyarrow.parquet").ParquetFile(path)
    metadata = FileMetadata.from_json(file.metadata.metadata[METADATA_KEY])
    names: set[str] = set()
    for batch in file.iter_batches(BATCH_ROWS, columns=["options"]):
        names.update(_names(batch.column("options")))
    if metadata.tags:
        names = {name for name in names if not name.startswith(MARK)}
    integers = metadata.integer_subscribers if metadata.rows else None
    return metadata.rows, Kinds(integers, metadata.json_options, frozenset(names - metadata.json_options))


def _names(options: Any) -> list[str]:
    """The names of the options that have values."""
    pc = extra("pyarrow.compute")
    used: list[str] = pc.unique(options.keys.filter(pc.is_valid(options.items))).to_pylist()
    return used
