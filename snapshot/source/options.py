"""The options of the data source ``subscriptions``: one table of their domains and of the readers that honour them.

An option is honoured or refused, never ignored: `Options` refuses a name that the table lacks and a text outside the
option's domain, and `Options.require` an option that the reader in question does not honour.
"""

from __future__ import annotations

import datetime
import enum
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from snapshot.published import Directory, open_directory

NAME = "subscriptions"
"""The name of the data source, for ``format`` and ``USING``."""


class Reader(enum.Enum):
    """What reads: each kind honours some of the options."""

    INSTANT = "the set of one version"
    CHANGES = "the changes between versions"
    STREAM = "a stream of changes"


_OF_CHANGES = frozenset({Reader.CHANGES, Reader.STREAM})


def _path(text: str) -> str:
    if not text:
        raise ValueError
    return text


def _storage(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError
    return found


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _number(text: str) -> int:
    number = int(text) if re.fullmatch("[0-9]{1,19}", text) else 0
    if not 0 < number < 2**63:
        raise ValueError
    return number


def _time(text: str) -> datetime.datetime:
    time = datetime.datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError
    return time


class Option(NamedTuple):
    """One row of the table.

    Args:
        read: makes the value of a text; it raises ValueError or KeyError for a text outside the domain.
        domain: the texts that it takes, in words.
        readers: those that honour it.
    """

    read: Callable[[str], Any]
    domain: str
    readers: frozenset[Reader]


_A_VERSION = "the number of a version (1 or more)"

TABLE = {
    "path": Option(_path, "the path or URI of a published directory", frozenset(Reader)),
    "storage": Option(
        _storage, "what the client of an object store needs to know, an object of JSON", frozenset(Reader)
    ),
    "versionAsOf": Option(_number, _A_VERSION, frozenset({Reader.INSTANT})),
    "timestampAsOf": Option(
        _time, "a time in ISO's format, such as 2026-11-24T12:00:00Z (with its zone)", frozenset({Reader.INSTANT})
    ),
    "readChangeFeed": Option(_flag, "true or false", frozenset(Reader)),
    "startingVersion": Option(_number, _A_VERSION, _OF_CHANGES),
    "endingVersion": Option(_number, _A_VERSION, _OF_CHANGES),
    "maxVersionsPerTrigger": Option(_number, "a number of versions (1 or more)", frozenset({Reader.STREAM})),
}
"""The options. Spark ignores the case of their names."""

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
        texts = {_known(name): text for name, text in given.items()}
        if {"versionAsOf", "timestampAsOf"} <= texts.keys():
            raise ValueError("versionAsOf and timestampAsOf exclude each other")
        self._values = values = {name: _value(name, text) for name, text in texts.items()}
        self.changes: bool = values.get("readChangeFeed", False)
        self.start: int | None = values.get("startingVersion")
        self.end: int | None = values.get("endingVersion")
        self.most: int | None = values.get("maxVersionsPerTrigger")
        self.at: int | datetime.datetime | None = values.get("versionAsOf", values.get("timestampAsOf"))
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError(f"startingVersion {self.start} comes after endingVersion {self.end}")
        self._refuse_all_but(_OF_CHANGES if self.changes else frozenset({Reader.INSTANT}))

    def require(self, reader: Reader) -> Options:
        """Return these options, if ``reader`` honours all of them and they name a directory.

        Raises:
            ValueError: it does not, or they do not.
        """
        if reader is Reader.STREAM and not self.changes:
            raise ValueError('a stream of subscriptions is one of changes: option("readChangeFeed", "true")')
        self._refuse_all_but(frozenset({reader}))
        if "path" not in self._values:
            raise ValueError(f"{NAME} needs the path of a published directory: load(path)")
        if reader is Reader.CHANGES and self.start is None:
            raise ValueError("readChangeFeed needs startingVersion, the first version whose changes are read")
        return self

    def _refuse_all_but(self, readers: frozenset[Reader]) -> None:
        """Refuse an option that none of these readers honours."""
        for name in self._values:
            if not TABLE[name].readers & readers:
                honoured = " or ".join(reader.value for reader in Reader if reader in TABLE[name].readers)
                asked = " or ".join(reader.value for reader in Reader if reader in readers)
                cure = '; for changes, set option("readChangeFeed", "true")' if readers == {Reader.INSTANT} else ""
                raise ValueError(f"{name} is an option of {honoured}, not of {asked}{cure}")

    @property
    def path(self) -> str:
        """The published directory."""
        path: str = self._values["path"]
        return path

    def directory(self) -> Directory:
        """The published directory."""
        return open_directory(self.path, self._values.get("storage"))


def _known(name: str) -> str:
    known = _BY_LOWER.get(name.lower())
    if known is None:
        raise ValueError(f"{NAME} has no option {name!r}; it has {', '.join(TABLE)}")
    return known


def _value(name: str, text: str) -> Any:
    try:
        return TABLE[name].read(text)
    except (ValueError, KeyError):
        shown = "what was given" if name == "storage" else repr(text)  # it may have keys
        raise ValueError(f"{name} must be {TABLE[name].domain}, not {shown}") from None
