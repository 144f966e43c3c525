"""The options of the data source ``subscriptions``: one table of their domains.

An option is honoured or refused, never ignored: `Options` refuses a name that the table lacks and a text outside the
option's domain, and `Options.require` what a batch or a stream does not honour.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from snapshot.published import Directory, open_directory

NAME = "subscriptions"
"""The name of the data source, for ``format`` and ``USING``."""


def _path(text: str) -> str:
    if not text:
        raise ValueError
    return text


def _storage(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError
    return found


def _number(text: str) -> int:
    number = int(text) if re.fullmatch("[0-9]{1,19}", text) else 0
    if not 0 < number < 2**63:
        raise ValueError
    return number


_A_VERSION = "the number of a version (1 or more)"

TABLE: dict[str, tuple[Callable[[str], Any], str]] = {
    "path": (_path, "the path or URI of a published directory"),
    "storage": (_storage, "what the client of an object store needs to know, an object of JSON"),
    "readChangeFeed": (lambda text: {"true": True}[text.lower()], "true, since snapshot.read(spark, path) reads a set"),
    "startingVersion": (_number, _A_VERSION),
    "endingVersion": (_number, _A_VERSION),
    "maxVersionsPerTrigger": (_number, "a number of versions (1 or more)"),
}
"""The options: what makes a value of a text, and raises ValueError or KeyError for a text outside the domain; and the
domain in words. Spark ignores the case of their names."""

_BY_LOWER = {name.lower(): name for name in TABLE}


class Options:
    """The options that a user gave.

    Args:
        given: as Spark gives them.

    Raises:
        ValueError: one is unknown, or has a value that it cannot have.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        if given.get("provider", "").lower() == NAME:
            raise ValueError(
                f"{NAME} is read, or is a temporary view; Spark tells a table's reader none of its options"
            )
        self._values = values = {_known(name): _value(_known(name), text) for name, text in given.items()}
        self.start: int | None = values.get("startingVersion")
        self.end: int | None = values.get("endingVersion")
        self.most: int | None = values.get("maxVersionsPerTrigger")
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError(f"startingVersion {self.start} comes after endingVersion {self.end}")

    def require(self, *, stream: bool) -> Options:
        """Return these options, if a stream or a batch honours all of them, and has all that it needs.

        Raises:
            ValueError: it does not, or has not.
        """
        if "path" not in self._values:
            raise ValueError(f"{NAME} needs the path of a published directory: load(path)")
        if "readChangeFeed" not in self._values:
            raise ValueError(
                f'{NAME} has changes: option("readChangeFeed", "true"). A set is read by snapshot.read(spark, path)'
            )
        if not stream and self.most is not None:
            raise ValueError("maxVersionsPerTrigger is an option of a stream")
        if not stream and self.start is None:
            raise ValueError("readChangeFeed needs startingVersion, the first version whose changes are read")
        return self

    def directory(self) -> Directory:
        """The published directory."""
        return open_directory(self._values["path"], self._values.get("storage"))


def _known(name: str) -> str:
    known = _BY_LOWER.get(name.lower())
    if known is None:
        raise ValueError(f"{NAME} has no option {name!r}; it has {', '.join(TABLE)}")
    return known


def _value(name: str, text: str) -> Any:
    read, domain = TABLE[name]
    try:
        return read(text)
    except (ValueError, KeyError):
        shown = "what was given" if name == "storage" else repr(text)  # it may have keys
        raise ValueError(f"{name} must be {domain}, not {shown}") from None
