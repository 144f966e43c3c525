"""The metadata of a file, which `load` needs to rebuild the trie: the dialect, and what the texts stand for."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from snapshot.cut import Cut
from snapshot.dialect_fields import dialect_of, fields_of
from snapshot.texts import SubscriberKeys, option_value, rebuilds
from subtrie import Dialect, Subscription
from subtrie.columns import INTEGER_TEXTS, INTEGERS, STRINGS

FORMAT = 3
"""The version of this metadata and of the columns. Files of any other version are refused."""

OptionTexts = list[tuple[str, str | None]]
"""The options of a row as Arrow holds them: names and their texts. In a damaged file a name may occur twice."""


class FileMetadata(NamedTuple):
    """How to read the rows of a file.

    :param dialect: the trie's dialect
    :param integer_subscribers: whether the subscribers were integers (otherwise they were strings)
    :param json_options: names of the options whose texts are JSON (all others are strings)
    :param rows: the number of rows, each of a different subscription
    """

    dialect: Dialect
    integer_subscribers: bool
    json_options: frozenset[str]
    rows: int

    def to_json(self) -> str:
        """The metadata as text."""
        return json.dumps(
            {
                "format": FORMAT,
                "dialect": fields_of(self.dialect),
                "integer_subscribers": self.integer_subscribers,
                "json_options": sorted(self.json_options),
                "rows": self.rows,
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> FileMetadata:
        """Read what `to_json` wrote.

        :raises ValueError: the text is not that, or has another version
        """
        try:
            return cls._from_fields(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"no metadata of format {FORMAT}: {error!r}") from error

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> FileMetadata:
        if fields["format"] != FORMAT:
            raise ValueError(f"format {fields['format']!r}")
        json_options = _typed("json_options", fields["json_options"], list)
        return cls(
            dialect_of(_typed("dialect", fields["dialect"], dict)),
            _typed("integer_subscribers", fields["integer_subscribers"], bool),
            frozenset(_typed("json_options", name, str) for name in json_options),
            _typed("rows", fields["rows"], int),
        )

    def subscription(
        self, filter: str | None, subscriber: str | None, options: OptionTexts | None
    ) -> tuple[str, str | int, dict[str, Any]]:
        """The subscription of a row, as `SubscriptionTrie.subscribe_many` takes it.

        :raises ValueError: the row is damaged
        """
        if filter is None or subscriber is None or options is None:
            raise ValueError(f"a null in the row {(filter, subscriber, options)}")
        values = {name: option_value(name, text, self.json_options) for name, text in options}
        if len(values) < len(options):
            raise ValueError(f"an option twice in the row {(filter, subscriber, options)}")
        return filter, int(subscriber) if self.integer_subscribers else subscriber, values


def _typed(name: str, value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must not be {value!r}")
    return value


class Recorder:
    """Finds the metadata of a set, from its subscriptions one after another.

    An option that is a string in one subscription and something else in another is refused: their texts could not be
    told apart. So are such subscribers, unless they are ``keyed``: then only their keys are kept.
    """

    def __init__(self, dialect: Dialect, *, keyed: bool) -> None:
        self._dialect = dialect
        self._keyed = keyed
        self._subscribers = _Values("the subscriber", "; give a key= function that turns a subscriber into a string")
        self._options: dict[str, _Values] = {}
        self._rows = 0

    def note(self, held: Subscription) -> None:
        """Add one subscription.

        :raises TypeError: it could not be rebuilt, or not together with an earlier one
        """
        self._rows += 1
        if not self._keyed:
            self._subscribers.note(held.subscriber, held)
        for name, value in held.options.items():
            if value is not None:
                self._values(name).note(value, held)

    def metadata(self) -> FileMetadata:
        """The metadata of all subscriptions noted."""
        json_options = frozenset(name for name, values in self._options.items() if not values.are_strings)
        return FileMetadata(self._dialect, self._subscribers.are_strings is False, json_options, self._rows)

    def _values(self, name: str) -> _Values:
        if name not in self._options:
            self._options[name] = _Values(f"option {name!r}")
        return self._options[name]


def metadata_of(cut: Cut, keys: SubscriberKeys, rows: int) -> FileMetadata:
    """The metadata of an export, after its last row.

    :raises TypeError: as `Recorder.note`
    """
    kinds = {name: kinds & ~INTEGER_TEXTS for name, kinds in keys.option_kinds.items()}
    subscribers = STRINGS if keys.is_given else keys.kinds & ~INTEGER_TEXTS
    plain = (0, STRINGS, INTEGERS)
    if subscribers in plain and all(kind in plain for kind in kinds.values()):
        json_options = frozenset(name for name, kind in kinds.items() if kind == INTEGERS)
        return FileMetadata(cut.trie.dialect, subscribers == INTEGERS, json_options, rows)
    recorder = Recorder(cut.trie.dialect, keyed=keys.is_given)
    for held in cut.trie.subscriptions():
        recorder.note(held)
    return recorder.metadata()._replace(rows=rows)


class _Values:
    """The values seen under one name: either all are strings, or none is."""

    def __init__(self, name: str, cure: str = "") -> None:
        self._name = name
        self._cure = cure
        self._first: Subscription | None = None
        self.are_strings: bool | None = None

    def note(self, value: object, held: Subscription) -> None:
        is_string = isinstance(value, str)
        if self._first is None:
            self._first, self.are_strings = held, is_string
        if is_string is not self.are_strings:
            raise TypeError(
                f"{self._name} is a string in one subscription and not in another, and could not be rebuilt: "
                f"{self._first!r}, {held!r}{self._cure}"
            )
        if not is_string and not rebuilds(value):
            raise TypeError(f"{self._name} could not be rebuilt, since JSON cannot express it: {held!r}{self._cure}")
