"""The metadata of a file, which `load` needs to rebuild the trie: the dialect, and what the texts stand for."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from snapshot.columns import Cut
from snapshot.dialect_fields import dialect_of, fields_of
from snapshot.storing import Kinds, Storing
from snapshot.texts import SubscriberKeys
from snapshot.topics import Limits
from subtrie import Dialect
from subtrie.columns import INTEGER_TEXTS, INTEGERS, STRINGS

FORMAT = 5
"""The version of this metadata and of the columns, for files without tagged texts."""

TAGGED_FORMAT = 6
"""The version for files with tagged texts (`snapshot.storing`)."""

FORMATS = {3: False, 4: True, FORMAT: False, TAGGED_FORMAT: True}
"""The versions that are read, and whether there may be tagged texts: those before had further columns."""


class FileMetadata(NamedTuple):
    """How to read the rows of a file.

    Args:
        dialect: the trie's dialect.
        integer_subscribers: whether the subscribers were integers (otherwise they were strings).
        json_options: names of the options whose texts are JSON (all others are strings).
        rows: the number of rows, each of a different subscription.
        tags: whether there may be tagged texts (`snapshot.storing`).
        limits: those of the topic store, if the rows are those of one.
    """

    dialect: Dialect
    integer_subscribers: bool
    json_options: frozenset[str]
    rows: int
    tags: bool = False
    limits: Limits | None = None

    def to_json(self) -> str:
        """The metadata as text."""
        fields = {
            "format": TAGGED_FORMAT if self.tags else FORMAT,
            "dialect": fields_of(self.dialect),
            "integer_subscribers": self.integer_subscribers,
            "json_options": sorted(self.json_options),
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
            json_options = _typed("json_options", fields["json_options"], list)
            return cls(
                dialect_of(_typed("dialect", fields["dialect"], dict)),
                _typed("integer_subscribers", fields["integer_subscribers"], bool),
                frozenset(_typed("json_options", name, str) for name in json_options),
                _typed("rows", fields["rows"], int),
                FORMATS[fields["format"]],
                Limits.read(fields.get("limits")),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"no metadata of a format up to {TAGGED_FORMAT}: {error!r}") from error


def _typed(name: str, value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must not be {value!r}")
    return value


def kinds_of(cut: Cut, keys: SubscriberKeys, rows: int) -> Kinds:
    """The types of the columns of an export, after its last row.

    Raises:
        TypeError: a subscription could not be rebuilt, or not together with another one.
    """
    kinds = {name: kinds & ~INTEGER_TEXTS for name, kinds in keys.option_kinds.items()}
    subscribers = STRINGS if keys.is_given and rows else keys.kinds & ~INTEGER_TEXTS
    plain = (0, STRINGS, INTEGERS)
    if subscribers in plain and all(kind in plain for kind in kinds.values()):
        integers, strings = (frozenset(n for n in kinds if kinds[n] == kind) for kind in (INTEGERS, STRINGS))
        return Kinds(subscribers == INTEGERS if subscribers else None, integers, strings)
    storing = Storing(Kinds(), tags=False)
    for held in cut.subscriptions():
        storing.subscriber("" if keys.is_given else held.subscriber)
        storing.options(held.options)
    return storing.kinds()


def metadata_of(cut: Cut, kinds: Kinds, rows: int, *, tags: bool) -> FileMetadata:
    """The metadata of a file whose columns have these types."""
    return FileMetadata(cut.trie.dialect, kinds.integers is True, kinds.json_options, rows, tags, cut.limits)
