"""The metadata of a file, which `load` needs to rebuild the trie: the dialect, and what the texts stand for."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from snapshot.dialect_fields import dialect_of, fields_of
from snapshot.topics import Limits
from subtrie import Dialect

FORMAT = 5
"""The version of this metadata and of the columns. Files of 3 and 4 had no types; in 4 there may be tagged texts."""

FORMATS = (3, 4, FORMAT)
"""The versions that are read."""


class FileMetadata(NamedTuple):
    """How to read the rows of a file.

    Args:
        dialect: the trie's dialect.
        integer_subscribers: whether the subscribers were integers (otherwise they were strings).
        rows: the number of rows, each of a different subscription.
        limits: those of the topic store, if the rows are those of one.
        json_options: names of the options whose texts are JSON, for rows that do not say their types; None if all do.
        tags: whether there may be tagged texts (`snapshot.storing`).
    """

    dialect: Dialect
    integer_subscribers: bool
    rows: int
    limits: Limits | None = None
    json_options: frozenset[str] | None = None
    tags: bool = True

    def to_json(self) -> str:
        """The metadata as text."""
        fields = {
            "format": FORMAT,
            "dialect": fields_of(self.dialect),
            "integer_subscribers": self.integer_subscribers,
            "rows": self.rows,
        }
        return json.dumps(fields if self.limits is None else {**fields, "limits": self.limits._asdict()})

    @classmethod
    def from_json(cls, text: str | bytes) -> FileMetadata:
        """Read what `to_json` wrote.

        Raises:
            ValueError: the text is not that, or has another version.
        """
        try:
            fields = json.loads(text)
            if fields["format"] not in FORMATS:
                raise ValueError(f"format {fields['format']!r}")
            is_old = fields["format"] != FORMAT
            names = _typed("json_options", fields["json_options"], list) if is_old else []
            return cls(
                dialect_of(_typed("dialect", fields["dialect"], dict)),
                _typed("integer_subscribers", fields["integer_subscribers"], bool),
                _typed("rows", fields["rows"], int),
                Limits.read(fields.get("limits")),
                frozenset(_typed("json_options", name, str) for name in names) if is_old else None,
                fields["format"] != FORMATS[0],
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"no metadata of a format up to {FORMAT}: {error!r}") from error


def _typed(name: str, value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must not be {value!r}")
    return value
