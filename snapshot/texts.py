"""How subscribers and option values, which may be any object, become the texts of an exported row.

A subscriber becomes its key. The key of a string is the string, that of an integer its decimal digits; any other one
needs a ``key=`` function. No two subscribers may have the same key, since their rows could not be told apart.

An option value that is a string is its own text, and ``None`` becomes a null. Any other value becomes JSON (``1``,
``true``, ``["a"]``), or its ``str`` if JSON cannot express it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from subtrie import SubscriptionTrie
from subtrie.columns import INTEGER_TEXTS, INTEGERS, OTHERS, Rows
from subtrie.tagged import json_or_str

Key = Callable[[Any], str]


class SubscriberKeys:
    """The keys given so far, each to one subscriber; the `subtrie.columns.Texts` of an export.

    It holds one entry for each subscriber that it was asked for, so it calls ``key`` once for each. Without ``key``, it
    is not asked for plain strings and integers, which are the majority; `note` ensures that their keys differ.

    Args:
        key: turns a subscriber into its key, a string; None: the key of strings and integers is their own text.

    >>> keys = SubscriberKeys()
    >>> keys.subscriber("alice"), keys.subscriber(7)
    ('alice', '7')
    >>> keys.subscriber("7")
    Traceback (most recent call last):
        ...
    ValueError: subscribers 7 and '7' both have the key '7'; give a key= function that tells them apart
    """

    def __init__(self, key: Key | None = None) -> None:
        self.is_given = key is not None
        self._key = key or _own_text
        self.kinds = 0
        self.option_kinds: dict[str, int] = {}
        self._keys: dict[Hashable, str] = {}
        self._owners: dict[str, Hashable] = {}

    def subscriber(self, subscriber: Hashable) -> str:
        """The key of ``subscriber``.

        Raises:
            TypeError: the subscriber has no text of its own, or ``key`` did not return a string.
            ValueError: another subscriber has the key already, or it cannot be encoded as UTF-8.
        """
        known = self._keys.get(subscriber)
        return self._give(subscriber) if known is None else known

    def option(self, name: str, value: object) -> str | None:
        """The same as `option_text`."""
        return option_text(name, value)

    def note(self, rows: Rows, trie: SubscriptionTrie) -> None:
        """Add the kinds of subscribers and options in ``rows``, which come from ``trie``.

        If two of their subscribers could have the same key, the keys of all its subscribers are compared.

        Raises:
            ValueError: two subscribers have the same key.
        """
        for name, kinds in rows.option_kinds.items():
            self.option_kinds[name] = self.option_kinds.get(name, 0) | kinds
        before, self.kinds = self.kinds, self.kinds | rows.kinds
        if self.is_given or self.kinds == before:
            return
        both = INTEGER_TEXTS | INTEGERS
        if self.kinds & OTHERS or self.kinds & both == both:
            for held in trie.subscriptions():
                self.subscriber(held.subscriber)

    def _give(self, subscriber: Hashable) -> str:
        key = self._key(subscriber)
        if not isinstance(key, str):
            raise TypeError(f"the key of subscriber {subscriber!r} must be a string, not {type(key).__name__}")
        _require_utf8(key, "the key of subscriber", subscriber)
        if key in self._owners:
            owner = self._owners[key]
            raise ValueError(
                f"subscribers {owner!r} and {subscriber!r} both have the key {key!r}; "
                "give a key= function that tells them apart"
            )
        self._owners[key] = subscriber
        self._keys[subscriber] = key
        return key


def _own_text(subscriber: Hashable) -> str:
    if isinstance(subscriber, str):
        return str.__str__(subscriber)
    if isinstance(subscriber, int):
        return int.__repr__(subscriber)
    raise TypeError(
        f"subscriber {subscriber!r} is neither a string nor an integer; "
        "give a key= function that turns a subscriber into a string"
    )


def option_text(name: str, value: object) -> str | None:
    """The text of one option's value.

    Raises:
        ValueError: the name or the text cannot be encoded as UTF-8.

    >>> option_text("note", "x"), option_text("qos", 1), option_text("durable", True)
    ('x', '1', 'true')
    """
    _require_utf8(name, "the name of option", name)
    if value is None:
        return None
    text = str.__str__(value) if isinstance(value, str) else json_or_str(value)
    _require_utf8(text, "option", name)
    return text


def option_texts(options: Mapping[str, Any]) -> dict[str, str | None]:
    """The texts of options by their names. Errors as `option_text`."""
    return {name: option_text(name, value) for name, value in options.items()}


def _require_utf8(text: str, what: str, of: object) -> None:
    try:
        str.encode(text)  # a subclass may have another encode
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{what} {of!r} cannot be encoded as UTF-8: {error.reason} at character {error.start} of {text!r}"
        ) from None
