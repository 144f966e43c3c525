"""The manifest of a version: one small JSON file. The version becomes visible when the file appears."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from snapshot.dialect_fields import dialect_of, fields_of
from snapshot.published.errors import DamagedError
from subtrie import Dialect

FORMAT: Final = 1
"""The version of the format that docs/published.md describes. Any other is refused."""

VERSIONS, FULL, CHANGES = FOLDERS = ("_versions", "full", "changes")
NEWEST: Final = f"{VERSIONS}/newest"
"""A hint at the newest version."""

Kind = Literal["full", "changes", "claim"]


@dataclass(frozen=True)
class DataFile:
    """A Parquet file of a published directory.

    :param path: relative to the directory
    :param rows: how many rows it has
    :param bytes: its size
    :param sha256: digest of its bytes, in hexadecimal digits
    """

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Version:
    """One published instant of a subscription set.

    :param version: its number. Later versions have higher numbers, and some numbers are skipped
    :param time: when the snapshot was taken (UTC); later than the time of the previous version
    :param kind: ``"full"`` if it has a full instant, ``"changes"`` if it has only a feed, ``"claim"`` if a publisher
        took over and has published nothing yet: a claim has the content of the previous version
    :param subscriptions: how many there are at this instant
    :param changes: how many subscriptions were added, removed or given other options since the previous version
    :param full: the file of the full instant, or None
    :param feed: the file of the changes since the previous version; None in the first version and in a claim
    :param base: the number of the version with the full instant that this one is rebuilt from, with the feeds of the
        later versions up to this one; None if nothing has been published
    :param content: the number of the version whose content this is: its own number, or for a claim, that of the last
        published version; None if there is none
    :param oldest: the number of the oldest version that is kept; None if nothing has been published
    :param dialect: the trie's dialect
    :param integers: True if subscribers are integers, False if strings; None if there have been none
    :param json_options: names of the options whose texts are JSON
    :param string_options: names of the options whose texts are strings
    :param snapshot_id: the name of the snapshot
    :param directory: the name of the directory, the same in all its versions
    :param epoch: the number of the claim of the publisher that published it
    :param writer: the name of the attempt to publish it
    :param host: the machine of the publisher
    :param process: the publisher's process number on that machine
    """

    version: int
    time: datetime.datetime
    kind: Kind
    subscriptions: int
    changes: int
    full: DataFile | None
    feed: DataFile | None
    base: int | None
    content: int | None
    oldest: int | None
    dialect: Dialect
    integers: bool | None
    json_options: tuple[str, ...]
    string_options: tuple[str, ...]
    snapshot_id: str
    directory: str
    epoch: int
    writer: str
    host: str
    process: int

    def files(self) -> list[DataFile]:
        """The version's own files."""
        return [file for file in (self.full, self.feed) if file is not None]

    def to_json(self) -> bytes:
        """The text of the manifest."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["time"] = self.time.isoformat(timespec="microseconds")
        fields["dialect"] = fields_of(self.dialect)
        for name in ("full", "feed"):
            file = fields[name]
            fields[name] = None if file is None else dataclasses.asdict(file)
        return json.dumps({"format": FORMAT, **fields}, indent=1).encode()


def from_json(text: bytes, number: int, where: str) -> Version:
    """Read the manifest of version `number`.

    :param where: the file's path, for messages
    :raises DamagedError: the text is not that manifest
    """
    try:
        fields = json.loads(text)
        written = fields.pop("format")
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(f"{where} is not the manifest of a published version ({error!r}); {_CURE}") from error
    if written != FORMAT:
        raise DamagedError(
            f"{where} is of format {written!r}; this version of the package reads format {FORMAT}: "
            "use the version of the package that published it, or a later one"
        )
    try:
        version = Version(**{**fields, **_read(fields)})
        _check(version, number)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{where} is damaged ({error}); {_CURE}") from error
    return version


_CURE = "restore it from a copy, or publish to a new directory"


def _read(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "time": datetime.datetime.fromisoformat(fields["time"]),
        "full": fields["full"] and DataFile(**fields["full"]),
        "feed": fields["feed"] and DataFile(**fields["feed"]),
        "dialect": dialect_of(fields["dialect"]),
        "json_options": tuple(fields["json_options"]),
        "string_options": tuple(fields["string_options"]),
    }


def _check(version: Version, number: int) -> None:
    if version.version != number:
        raise ValueError(f"it says that it is version {version.version!r}")
    if version.time.tzinfo is None:
        raise ValueError("its time has no zone")
    for name in ("subscriptions", "changes", "epoch", "process"):
        if not isinstance(getattr(version, name), int):
            raise TypeError(f"its {name} is {getattr(version, name)!r}")
    for file in version.files():
        if not _DATA.fullmatch(file.path):
            raise ValueError(f"it names the file {file.path!r}")


# ------------------------------------------------------------------------------------------------------------- names

_DATA = re.compile(rf"(?:{FULL}|{CHANGES})/(\d{{20}})\.(\d+)\.[0-9a-f]+\.parquet")
_MANIFEST = re.compile(r"(\d{20})\.json")
_SCRATCH = re.compile(r"\.?(\d{20})\.(\d+)\.[0-9a-f]+\..*")


def manifest_name(version: int) -> str:
    """The name of a version's manifest."""
    return f"{VERSIONS}/{version:020}.json"


def manifest_number(file: str) -> int | None:
    """The version that a file in the folder of versions is the manifest of; None for other files."""
    found = _MANIFEST.fullmatch(file)
    return int(found[1]) if found else None


def hint_of(version: Version) -> bytes:
    """The content of the hint if this version is the newest. All hints have the same length."""
    return b"%020d" % version.version


def data_name(folder: str, version: int, epoch: int, token: str) -> str:
    """The name of a Parquet file that the publisher with `epoch` writes for a version in one attempt."""
    return f"{folder}/{version:020}.{epoch}.{token}.parquet"


def scratch_name(version: int, epoch: int, token: str) -> str:
    """The name of an unfinished manifest."""
    return f"{VERSIONS}/.{version:020}.{epoch}.{token}.json"


def epoch_of(file: str) -> int | None:
    """The epoch of the publisher that wrote a Parquet file or an unfinished file; None for any other file."""
    found = _SCRATCH.fullmatch(file)
    return int(found[2]) if found else None
