"""How subscriptions are stored: the texts of a row, from which exactly the subscription is rebuilt.

A column has a type. The subscribers of a file are strings, or all are integers; the texts of one option are strings, or
all are JSON. A value of another type also has a readable text there, so that any program can read the column, and a
tagged text beside it (`subtrie.tagged`), from which it is rebuilt:

* an option ``n`` of another type: the tagged text is a second option, ``~n``
* an option whose name begins with ``~``, cannot be encoded as UTF-8, is longer than `MOST_NAME` or comes when
  `MOST_NAMES` others have columns already: only the second option, which is named ``~~`` and the name as JSON
* a subscriber of another type, or one that begins with ``~``: its text is ``~`` and its tagged text

So no two subscribers have the same text, and each row says by itself what it means.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from snapshot.texts import option_text, option_value
from subtrie import Subscription
from subtrie.tagged import MARK, form_of, has_surrogates, rebuilds, require_storable, untagged

MOST_NAME: Final = 256
"""The longest name of an option that has a column of its own, in characters."""

MOST_NAMES: Final = 4096
"""How many options have columns of their own. Each manifest lists their names, and must stay short."""


class Kinds(NamedTuple):
    """The types of columns.

    Args:
        integers: whether subscribers are integers (else strings); None if there are none.
        json_options: names of the options whose texts are JSON.
        string_options: names of the options whose texts are strings.
    """

    integers: bool | None = None
    json_options: frozenset[str] = frozenset()
    string_options: frozenset[str] = frozenset()

    def names(self) -> frozenset[str]:
        """The names of the options that have columns of their own."""
        return self.json_options | self.string_options

    def agree(self, other: Kinds) -> bool:
        """Whether no column has two types."""
        if self.json_options & other.string_options or self.string_options & other.json_options:
            return False
        return self.integers is None or other.integers is None or self.integers is other.integers

    def with_those_of(self, other: Kinds) -> Kinds:
        """These types and those of later columns, which agree."""
        integers = self.integers if other.integers is None else other.integers
        return Kinds(integers, self.json_options | other.json_options, self.string_options | other.string_options)

    def are_few(self) -> bool:
        """Whether a manifest may list these names, and more."""
        names = self.names()
        return len(names) < MOST_NAMES and all(len(name) <= MOST_NAME for name in names)


class Storing:
    """Turns subscriptions into rows of texts. A column gets its type from the first value that it holds.

    Args:
        kinds: the types that columns have already.
        tags: whether values of other types are stored with a tagged text. If not, they are refused.
    """

    def __init__(self, kinds: Kinds, *, tags: bool) -> None:
        self.integers = kinds.integers
        self._given = kinds
        self._is_json = dict.fromkeys(kinds.json_options, True) | dict.fromkeys(kinds.string_options, False)
        self._tags = tags

    def kinds(self) -> Kinds:
        """The types that columns have by now."""
        json_options = frozenset(name for name, is_json in self._is_json.items() if is_json)
        return Kinds(self.integers, json_options, frozenset(self._is_json.keys() - json_options))

    def decide(self, held: Iterable[Subscription]) -> None:
        """Choose the types of columns that were given none: strings, if some of these values are."""
        given = self._given.json_options | self._given.string_options
        for each in held:
            if self._given.integers is None and self.integers is not False and isinstance(each.subscriber, str | int):
                self.integers = not isinstance(each.subscriber, str) and not isinstance(each.subscriber, bool)
            for name, value in each.options.items():
                if name in given or self._is_apart(name):
                    continue
                if isinstance(value, str) or (name not in self._is_json and value is not None and rebuilds(value)):
                    self._is_json[name] = not isinstance(value, str)

    def subscriber(self, subscriber: Any) -> str:
        """The text of a subscriber.

        Raises:
            TypeError: it has none.
        """
        is_string = isinstance(subscriber, str)
        if is_string and self.integers is not True and not has_surrogates(subscriber):
            text = str.__str__(subscriber)
            if not (self._tags and text.startswith(MARK)):
                self.integers = False
                return text
        is_integer = isinstance(subscriber, int) and not isinstance(subscriber, bool)
        if is_integer and self.integers is not False and int.__abs__(subscriber) < 2**63:
            self.integers = True
            return int.__repr__(subscriber)
        if not self._tags:
            raise TypeError(self._refusal(subscriber))
        try:
            return MARK + form_of(_exact(subscriber))
        except TypeError as error:
            raise TypeError(f"the subscriber cannot be stored: {error}{_CURE}") from None

    def _refusal(self, subscriber: Hashable) -> str:
        if isinstance(subscriber, str | int) and self.integers is not None:
            ours, others = ("integers", "strings") if self.integers else ("strings", "integers")
            return f"there are subscribers that are {ours}, and {subscriber!r}: {others} could not be told apart{_CURE}"
        return f"the subscriber could not be rebuilt, since JSON cannot express it: {subscriber!r}{_CURE}"

    def options(self, options: Mapping[str, Any]) -> dict[str, str | None]:
        """The texts of options, by the names under which they are stored.

        Raises:
            TypeError: one of them has no form.
        """
        stored: dict[str, str | None] = {}
        for name, value in ((_plain(name), _plain(value)) for name, value in options.items()):
            if self._fits(name, value):
                stored[name] = option_text(name, value)
            elif not self._tags:
                raise TypeError(self._option_refusal(name, value))
            elif self._is_apart(name):
                stored[f"{MARK}{MARK}{json.dumps(name)}"] = _tagged_option(name, value)
            else:
                stored[MARK + name] = _tagged_option(name, value)
                stored[name] = _readable(value)
        return stored

    def _fits(self, name: str, value: Any) -> bool:
        """Whether the column's own text gives the value back."""
        if self._tags and self._is_apart(name):
            return False
        if value is None:
            return True
        is_string = isinstance(value, str)
        if self._is_json.get(name, not is_string) is is_string:
            return False
        if has_surrogates(value) if is_string else not rebuilds(value):
            return False
        self._is_json[name] = not is_string
        return True

    def _is_apart(self, name: str) -> bool:
        """Whether an option with this name has no column of its own."""
        if name.startswith(MARK) or has_surrogates(name):
            return True
        return name not in self._is_json and (len(name) > MOST_NAME or len(self._is_json) >= MOST_NAMES)

    def _option_refusal(self, name: str, value: Any) -> str:
        if self._is_json.get(name, not isinstance(value, str)) is isinstance(value, str):
            return f"option {name!r} is a string in one subscription and not in another, and could not be rebuilt"
        if isinstance(value, str):
            return f"option {name!r} cannot be encoded as UTF-8: {value!r}"
        return f"option {name!r} could not be rebuilt, since JSON cannot express it: {value!r}"


_CURE = "; give a key= function that turns a subscriber into a string"


def _tagged_option(name: str, value: Any) -> str:
    try:
        return form_of(value)
    except TypeError as error:
        raise TypeError(f"option {name!r} cannot be stored: {error}") from None


def _plain(value: Any) -> Any:
    """The value; the text of a subclass of strings, which may have other methods."""
    return str.__str__(value) if isinstance(value, str) else value


def _exact(subscriber: Hashable) -> Any:
    """The subscriber without a subclass of strings and integers, which the plain text does not keep either."""
    if isinstance(subscriber, str):
        return str.__str__(subscriber)
    if isinstance(subscriber, int) and not isinstance(subscriber, bool):
        return int.__index__(subscriber)
    return subscriber


def _readable(value: Any) -> str:
    """A text for people and other programs; that beside it is the faithful one."""
    if not isinstance(value, str):
        try:
            value = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            try:
                value = str(value)
            except ValueError:  # an integer of thousands of digits
                value = hex(value)
    return str.encode(value, "utf-8", "replace").decode()


# ------------------------------------------------------------------------------------------------------- and back


def subscriber_of(text: str, *, integers: bool, tags: bool) -> Any:
    """The subscriber of a text.

    Args:
        tags: whether the row may have tagged texts.

    Raises:
        ValueError: it is none.
    """
    if tags and text.startswith(MARK):
        return untagged(text[1:])
    return int(text) if integers else text


def options_of(
    names: Iterable[str], texts: Iterable[str | None], json_options: frozenset[str], *, tags: bool
) -> dict[str, Any]:
    """The options of a row.

    Args:
        tags: whether the row may have tagged texts.

    Raises:
        ValueError: a text is not what it should be.
    """
    names = list(names)
    pairs = dict(zip(names, texts, strict=True))
    if len(pairs) < len(names):
        raise ValueError(f"an option occurs twice among {names}")
    if not tags or not any(name.startswith(MARK) for name in pairs):
        return {name: option_value(name, text, json_options) for name, text in pairs.items()}
    values: dict[str, Any] = {}
    for name, text in pairs.items():
        if not name.startswith(MARK):
            if MARK + name not in pairs:
                values[name] = option_value(name, text, json_options)
            continue
        if text is None:
            raise ValueError(f"option {name!r} has no tagged text")
        own = json.loads(name[2:]) if name.startswith(MARK + MARK) else name[1:]
        if not isinstance(own, str):
            raise ValueError(f"option {name!r} names none")
        values[own] = untagged(text)
    return values


def check_storable(
    subscriber: Hashable, options: Mapping[str, Any], *, key: Callable[[Any], str] | None = None
) -> None:
    """Check that a subscription could be published and restored, before it is made.

    It tells what `Publisher` sets aside. With ``strict=True`` a publisher refuses more: also what needs a tagged text,
    which depends on the values that its columns have already.

    Args:
        key: the function that turns a subscriber into a string, if the publisher has one.

    Raises:
        TypeError: the subscriber or an option has no form that can be stored; the message names the type.
        ValueError: a value contains itself, or is nested too deeply.

    O(size of the values).

    >>> check_storable("alice", {"qos": 1, "will": b"bye"})
    >>> check_storable("alice", {"socket": object()})
    Traceback (most recent call last):
        ...
    TypeError: option 'socket' cannot be stored: object has no form as text
    """
    require_storable("", subscriber if key is None else key(subscriber), options)
