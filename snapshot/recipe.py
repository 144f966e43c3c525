"""What a file says beside its columns so that a trie can be rebuilt: dialect, and what texts stood for."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, NamedTuple

from snapshot.texts import rebuilds
from subtrie import Dialect, Subscription

FORMAT = 1
"""Version of the text of a recipe; any other is refused."""


class Recipe(NamedTuple):
    """How to read the rows of a file.

    :param dialect: the trie's dialect
    :param integer_subscribers: whether the subscribers were integers (otherwise they were strings)
    :param json_options: names of the options whose texts are JSON (all others are strings)
    """

    dialect: Dialect
    integer_subscribers: bool
    json_options: frozenset[str]

    def to_json(self) -> str:
        """The recipe as text."""
        return json.dumps(
            {
                "format": FORMAT,
                "dialect": dataclasses.asdict(self.dialect),
                "integer_subscribers": self.integer_subscribers,
                "json_options": sorted(self.json_options),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Recipe:
        """Read what `to_json` wrote.

        :raises ValueError: it did not, or another version of it did
        """
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise ValueError(f"not a recipe of format {FORMAT}")
        try:
            dialect = Dialect(**fields["dialect"])
            return cls(dialect, bool(fields["integer_subscribers"]), frozenset(fields["json_options"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a recipe of format {FORMAT}: {error!r}") from error

    def subscriber(self, text: str) -> str | int:
        """The subscriber that ``text`` stood for."""
        return int(text) if self.integer_subscribers else text

    def options(self, texts: dict[str, str | None]) -> dict[str, Any]:
        """The options that ``texts`` stood for."""
        return {
            name: json.loads(text) if text is not None and name in self.json_options else text
            for name, text in texts.items()
        }


class Recorder:
    """Finds the recipe of a set from the subscriptions that pass by.

    Where strings and other values share a name, their texts could not be told apart, so they are refused.
    Subscribers are not looked at when they are ``keyed``: then the keys are what is kept.
    """

    def __init__(self, dialect: Dialect, *, keyed: bool) -> None:
        self._dialect = dialect
        self._keyed = keyed
        self._subscribers = _Values("the subscriber")
        self._options: dict[str, _Values] = {}

    def note(self, held: Subscription) -> None:
        """Take one subscription into account.

        :raises TypeError: it, or it together with one noted before, could not be rebuilt
        """
        if not self._keyed:
            self._subscribers.note(held.subscriber, held)
        for name, value in held.options.items():
            if value is not None:
                self._values(name).note(value, held)

    def recipe(self) -> Recipe:
        """The recipe of all that was noted."""
        json_options = frozenset(name for name, values in self._options.items() if not values.are_strings)
        return Recipe(self._dialect, self._subscribers.are_strings is False, json_options)

    def _values(self, name: str) -> _Values:
        if name not in self._options:
            self._options[name] = _Values(f"option {name!r}")
        return self._options[name]


class _Values:
    """The values seen under one name: all of them strings, or none."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._first: Subscription | None = None
        self.are_strings: bool | None = None

    def note(self, value: object, held: Subscription) -> None:
        is_string = isinstance(value, str)
        if self._first is None:
            self._first, self.are_strings = held, is_string
        if is_string is not self.are_strings:
            raise TypeError(
                f"{self._name} is a string in one subscription and not in another, and could not be rebuilt: "
                f"{self._first!r}, {held!r}"
            )
        if not is_string and not rebuilds(value):
            raise TypeError(f"{self._name} could not be rebuilt, since JSON has no equal of it: {held!r}")
