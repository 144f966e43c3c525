"""How subscriptions are stored: the texts of a row, from which exactly the subscription is rebuilt.

An option has a readable text, which any program can use. The column ``types`` of its row says what it stands for: a
JSON object with a text for each name. Without one, the value is the text itself. For ``json`` it is what the text is
the JSON of. Any other is a tagged text (`subtrie.tagged`), from which the value is rebuilt; other programs can do
without it. An option whose name cannot be encoded as UTF-8 stands there alone. There may be names that the row lacks.

All subscribers of a directory, or a file, are strings, or all are integers. One of another type has ``~`` and its
tagged text, and so has a string that begins with ``~``. So no two subscribers have the same text. The same holds for
queue groups, since they name subscriptions, too.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final

from snapshot.texts import option_text
from subtrie import Subscription
from subtrie.tagged import MARK, form_of, has_surrogates, rebuilds, require_storable, untagged

JSON: Final = "json"
"""The type of an option whose text is JSON."""

QUEUE: Final = "queue"
"""The option that names the queue group."""

MOST_TYPES: Final = 256
"""How many characters say the types of all rows of a file, at most; otherwise each row has those of its own options."""

Texts = tuple[dict[str, str | None], str]
"""The texts of options by their names, and that of their types."""


class Storing:
    """Turns subscriptions into rows of texts.

    Args:
        integers: whether subscribers are integers (else strings); None if there are none. Then the first decides.
        tags: whether values that need a tagged text are stored. If not, they are refused.
    """

    def __init__(self, integers: bool | None, *, tags: bool) -> None:
        self.integers = integers
        self._tags = tags

    def decide(self, held: Iterable[Subscription]) -> None:
        """Choose the type of subscribers, if there is none yet: strings, if some of these are."""
        if self.integers is None and any(isinstance(each.subscriber, str) for each in held):
            self.integers = False

    def subscriber(self, subscriber: Any) -> str:
        """The text of a subscriber.

        Raises:
            TypeError: it has none.
        """
        if (
            isinstance(subscriber, str)
            and self.integers is not True
            and not (has_surrogates(subscriber) or subscriber.startswith(MARK))
        ):
            self.integers = False
            return str.__str__(subscriber)
        if isinstance(subscriber, int) and not isinstance(subscriber, bool) and self.integers is not False:
            with contextlib.suppress(ValueError):  # of thousands of digits, which Python does not write
                text, self.integers = int.__repr__(subscriber), True
                return text
        if not self._tags:
            kinds = {True: "integers", False: "strings", None: "strings or integers"}[self.integers]
            raise TypeError(f"subscribers are {kinds} here, and {subscriber!r} needs a tagged text{_CURE}")
        return MARK + _form_of("the subscriber", _exact(subscriber), _CURE)

    def options(self, options: Mapping[str, Any]) -> Texts:
        """The texts of options.

        Raises:
            TypeError: one of them has no form.
        """
        texts: dict[str, str | None] = {}
        types: dict[str, str] = {}
        for name, value in ((_plain(name), _plain(value)) for name, value in options.items()):
            is_named = not has_surrogates(name)
            kind = _kind_of(name, value) if is_named else ""
            if kind == "":
                if not self._tags:
                    raise TypeError(f"option {name!r} needs a tagged text: {value!r}")
                kind = _form_of(f"option {name!r}", value)
            if kind is not None:
                types[name] = kind
            if is_named:
                texts[name] = option_text(name, value) if kind in (None, JSON) else _readable(name, value)
        return texts, types_text(types)


def types_text(types: Mapping[str, str]) -> str:
    """The text of the types of options."""
    return json.dumps(types, sort_keys=True)


def types_in(text: str) -> dict[str, str]:
    """The types of options of a row.

    Raises:
        ValueError: the text says none.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(kind, str) for kind in found.values()):
        raise ValueError(f"{text:.100} says no types of options")
    return found


def _kind_of(name: str, value: Any) -> str | None:
    """The type of an option, None if its text is the value; "" if it needs a tagged text."""
    if value is None:
        return None
    if not isinstance(value, str):
        return JSON if rebuilds(value) else ""
    return "" if has_surrogates(value) or (name == QUEUE and value.startswith(MARK)) else None


_CURE = "; give a key= function that turns a subscriber into a string"


def _form_of(what: str, value: Any, cure: str = "") -> str:
    try:
        return form_of(value)
    except TypeError as error:
        raise TypeError(f"{what} cannot be stored: {error}{cure}") from None


def _plain(value: Any) -> Any:
    """The value; the text of a subclass of strings, which may have other methods."""
    return str.__str__(value) if isinstance(value, str) else value


def _exact(subscriber: Hashable) -> Any:
    """The subscriber without a subclass of strings and integers, which the plain text does not keep either."""
    is_integer = isinstance(subscriber, int) and not isinstance(subscriber, bool)
    return int.__index__(subscriber) if is_integer else _plain(subscriber)  # type: ignore[arg-type]


def _readable(name: str, value: Any) -> str:
    """A text for people and other programs; that beside it is the faithful one."""
    if name == QUEUE:  # it must differ from those of other groups
        return MARK + form_of(value)
    if not isinstance(value, str):
        try:
            value = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            try:
                value = str(value)
            except ValueError:  # an integer of thousands of digits, or one among others
                value = hex(value) if isinstance(value, int) else form_of(value)
    return str.encode(value, "utf-8", "replace").decode()


# ------------------------------------------------------------------------------------------------------- and back


def subscriber_of(text: str, *, integers: bool) -> Any:
    """The subscriber of a text.

    Raises:
        ValueError: it is none.
    """
    if text.startswith(MARK):
        return untagged(text[1:])
    return int(text) if integers else text


def options_of(names: Iterable[str], texts: Iterable[str | None], types: str) -> dict[str, Any]:
    """The options of a row, of their texts and that of their types.

    Raises:
        ValueError: a text is not what it should be.
    """
    names = list(names)
    pairs, kinds = dict(zip(names, texts, strict=True)), types_in(types)
    if len(pairs) < len(names):
        raise ValueError(f"an option occurs twice among {names}")
    values = {name: _value(name, text, kinds.get(name)) for name, text in pairs.items()}
    return values | {name: untagged(kind) for name, kind in kinds.items() if kind != JSON and name not in pairs}


def _value(name: str, text: str | None, kind: str | None) -> Any:
    if text is None or kind is None:
        return text
    if kind != JSON:
        return untagged(kind)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"option {name!r} is not JSON: {error}") from error


def check_storable(
    subscriber: Hashable, options: Mapping[str, Any], *, key: Callable[[Any], str] | None = None
) -> None:
    """Check that a subscription could be published and restored, before it is made.

    It tells what `Publisher` sets aside. With ``strict=True`` a publisher refuses more: also what needs a tagged text.

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
