"""The options of the data source ``subscriptions``, checked."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from snapshot.published import Directory, open_directory

KNOWN = ("versionAsOf", "timestampAsOf", "readChangeFeed", "startingVersion", "endingVersion", "maxVersionsPerTrigger")
"""Names of the options besides the path. Spark ignores their case."""


class Options:
    """The options that a user gave.

    :raises ValueError: one is unknown, or has a value that it cannot have
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        unknown = sorted(self._given.keys() - {"path", *map(str.lower, KNOWN)})
        if unknown:
            raise ValueError(f"subscriptions has no option {unknown[0]!r}; it has path, {', '.join(KNOWN)}")
        if not self._text("path"):
            raise ValueError("subscriptions needs the path of a published directory: load(path)")
        self.path = self._given["path"]
        self.changes = self._flag("readChangeFeed")
        self.start = self._number("startingVersion")
        self.end = self._number("endingVersion")
        self.most = self._number("maxVersionsPerTrigger")
        self.at: int | datetime.datetime | None = self._number("versionAsOf")
        time = self._time("timestampAsOf")
        if time is not None:
            if self.at is not None:
                raise ValueError("versionAsOf and timestampAsOf exclude each other")
            self.at = time

    def directory(self) -> Directory:
        """The published directory."""
        return open_directory(self.path)

    def _text(self, name: str) -> str | None:
        return self._given.get(name.lower())

    def _flag(self, name: str) -> bool:
        text = self._text(name) or "false"
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{name} must be true or false, not {text!r}")
        return text.lower() == "true"

    def _number(self, name: str) -> int | None:
        text = self._text(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            raise ValueError(f"{name} must be the number of a version, not {text!r}") from None

    def _time(self, name: str) -> datetime.datetime | None:
        text = self._text(name)
        try:
            return None if text is None else datetime.datetime.fromisoformat(text)
        except ValueError:
            example = "2026-11-24T12:00:00Z"
            raise ValueError(f"{name} must be a time in ISO's format, such as {example}, not {text!r}") from None
