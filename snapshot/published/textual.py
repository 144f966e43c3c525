"""What the texts of published rows stand for. All versions from one full instant to the next agree on that."""

from __future__ import annotations

from typing import Any, NamedTuple

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS
from snapshot.file_metadata import FileMetadata
from snapshot.parquet import METADATA_KEY
from snapshot.published.manifest import Version


class Texts(NamedTuple):
    """What the texts of some rows stand for.

    :param integers: True if the subscribers are integers, False if strings; None if there are none
    :param json_options: names of options whose texts are JSON
    :param string_options: names of options whose texts are strings
    """

    integers: bool | None
    json_options: frozenset[str]
    string_options: frozenset[str]

    def fields(self) -> dict[str, Any]:
        """The fields of a manifest."""
        return {
            "integers": self.integers,
            "json_options": tuple(sorted(self.json_options)),
            "string_options": tuple(sorted(self.string_options)),
        }

    def after(self, last: Version) -> Texts | None:
        """The meaning for these rows and all up to version `last`; None if an option is JSON in some and not in others.

        :raises TypeError: subscribers are integers in some and strings in others
        """
        held = None if last.subscriptions == 0 else last.integers
        if None not in (held, self.integers) and held is not self.integers:
            here, there = ("integers", "strings") if self.integers else ("strings", "integers")
            raise TypeError(
                f"there are subscribers that are {here}, and those of version {last.version} are {there}: their texts "
                "could not be told apart; publish to another directory, or with a key= function as before"
            )
        json_options = self.json_options.union(last.json_options)
        string_options = self.string_options.union(last.string_options)
        integers = held if self.integers is None else self.integers
        return None if json_options & string_options else Texts(integers, json_options, string_options)


def texts_in(path: str) -> tuple[int, Texts]:
    """How many rows a file of `snapshot.write` has, and what its texts stand for."""
    file = extra("pyarrow.parquet").ParquetFile(path)
    metadata = FileMetadata.from_json(file.metadata.metadata[METADATA_KEY])
    names: set[str] = set()
    for batch in file.iter_batches(BATCH_ROWS, columns=["options"]):
        names.update(_names(batch.column("options")))
    integers = metadata.integer_subscribers if metadata.rows else None
    return metadata.rows, Texts(integers, metadata.json_options, frozenset(names - metadata.json_options))


def _names(options: Any) -> list[str]:
    """The names of the options that have values."""
    pc = extra("pyarrow.compute")
    used: list[str] = pc.unique(options.keys.filter(pc.is_valid(options.items))).to_pylist()
    return used
