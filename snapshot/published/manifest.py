"""The manifest of a version: one small JSON file. The version becomes visible when the file appears.

Manifests form a chain. The last line of a manifest is a checksum of all bytes before it, so a flipped bit anywhere
shows. And each manifest names the digest of the one before it, so it shows when a history is not the one that was seen
before.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import hashlib
import json
import os
import re
import socket
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Final, Literal, NamedTuple, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from snapshot.dialect_fields import dialect_of, fields_of
from snapshot.paths import PUBLISHED
from snapshot.published.errors import DamagedError
from snapshot.topics import Limits
from subtrie import Dialect, SubscriptionTrie

FORMAT: Final = 4
"""The version of the format that docs/published-format.md describes. Files of format 3 had further columns, and none of
types. Of format 2 there were no merged files and records."""

FORMATS: Final = (2, 3, FORMAT)
"""The formats that are read."""

MOST_BYTES: Final = 16 * 1024 * 1024
"""No manifest is longer, so a reader never takes more memory for one than a small multiple of this."""

VERSIONS, FULL, CHANGES = FOLDERS = (PUBLISHED, "full", "changes")
KEPT: Final = ".kept.json"
HINT: Final = f"{VERSIONS}/newest"
"""A hint at the newest version, which earlier versions of this package wrote. They begin their search with it."""

Kind = Literal["full", "changes", "claim"]


@dataclass(frozen=True)
class DataFile:
    """A Parquet file of a published directory.

    Args:
        path: relative to the directory.
        rows: how many rows it has.
        bytes: its size.
        sha256: digest of its bytes, in hexadecimal digits.
    """

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Merged:
    """All changes since an earlier version in one file, for readers that begin there or before.

    Args:
        file: the last row of each subscription that changed.
        since: the number of the earlier version.
        digest: the digest of its manifest.
    """

    file: DataFile
    since: int
    digest: str


class Mark(NamedTuple):
    """A version, told from versions of other histories that have its number.

    Args:
        directory: the name of the directory.
        version: the number of the version.
        digest: the digest of its manifest.
    """

    directory: str
    version: int
    digest: str

    @classmethod
    def parse(cls, text: str) -> Mark:
        """Read `Version.mark`.

        Raises:
            ValueError: the text is no mark.
            TypeError: it is no text.
        """
        if not isinstance(text, str):
            raise TypeError(f"the mark of a version is a text, not {text!r}")
        found = re.fullmatch(r"([0-9]{1,20})\.([0-9a-f]+)\.([0-9a-f]{64})", text)
        if found is None:
            raise ValueError(f"{text!r} is not the mark of a published version")
        return cls(found[2], int(found[1]), found[3])


@dataclass(frozen=True)
class Version:
    """One published instant of a subscription set.

    Args:
        version: its number. Later versions have higher numbers, and some numbers are skipped.
        time: when the snapshot was taken (UTC); later than the time of the previous version.
        kind: ``"full"`` if it has a full instant, ``"changes"`` if it has only a feed, ``"claim"`` if a publisher took
            over and has published nothing yet: a claim has the content of the previous version.
        subscriptions: how many there are at this instant.
        changes: how many subscriptions were added, removed or given other options since the previous version.
        full: the file of the full instant, or None.
        feed: the file of the changes since the previous version; None in the first version and in a claim.
        base: the number of the version with the full instant that this one is rebuilt from, with the feeds of the later
            versions up to this one; None if nothing has been published.
        content: the number of the version whose content this is: its own number, or for a claim, that of the last
            published version; None if there is none.
        oldest: the number of the oldest version from which on all are kept; None if nothing has been published.
        dialect: the trie's dialect.
        integers: True if subscribers are integers, False if strings; None if there have been none.
        snapshot_id: the name of the snapshot.
        directory: the name of the directory, the same in all its versions.
        epoch: the number of the claim of the publisher that published it.
        writer: the name of the attempt to publish it.
        host: the machine of the publisher.
        process: the publisher's process number on that machine.
        previous: the digest of the manifest with the number before; None if there is none.
        refused: how many subscriptions could not be stored, so that this version lacks them.
        limits: those of the topic store that was published; None for a set of subscriptions.
        merged: the changes of this version and others before it, in one file; None in most versions.
        json_options: names of the options whose texts are JSON, in files of formats that had no types; else None.
        digest: the digest of the manifest's own bytes, once it is written.
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
    snapshot_id: str
    directory: str
    epoch: int
    writer: str
    host: str
    process: int
    previous: str | None = None
    refused: int = 0
    limits: Limits | None = None
    merged: Merged | None = None
    json_options: tuple[str, ...] | None = None
    digest: str = field(default="", compare=False)

    @property
    def mark(self) -> str:
        """A text that names this version among all that ever were, for ``known=`` of `restore` and others."""
        return f"{self.version}.{self.directory}.{self.digest}"

    def marked(self) -> Mark:
        """The same, in parts."""
        return Mark(self.directory, self.version, self.digest)

    def files(self) -> list[DataFile]:
        """The version's own files."""
        merged = None if self.merged is None else self.merged.file
        return [file for file in (self.full, self.feed, merged) if file is not None]

    def to_json(self) -> bytes:
        """The text of the manifest, in the present format."""
        fields = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        for name in ("digest", "json_options"):
            del fields[name]
        fields["time"] = self.time.isoformat(timespec="microseconds")
        fields["dialect"] = fields_of(self.dialect)
        fields["limits"] = None if self.limits is None else self.limits._asdict()
        for name in ("full", "feed", "merged"):
            fields[name] = None if fields[name] is None else dataclasses.asdict(fields[name])
        text = json.dumps({"format": FORMAT, **fields}, indent=1).removesuffix(_END).encode()
        return text + _checksum_of(text)

    def follows(self, other: Version) -> bool:
        """Whether this is the manifest that was written after ``other``, as far as the two can tell."""
        return (self.version - 1, self.directory, self.previous) == (other.version, other.directory, other.digest)

    def before(self) -> int:
        """The number of the version that its changes begin with, for a reader that takes the merged ones."""
        return self.version - 1 if self.merged is None else self.merged.since

    def replayed(self) -> Version:
        """This version with the merged changes as its feed, if it has any."""
        return self if self.merged is None else dataclasses.replace(self, feed=self.merged.file)

    def continues(self, other: Version) -> bool:
        """Whether its changes, merged or not, are those since the other version, as far as the two can tell."""
        merged = self.merged
        known = self.previous if merged is None else merged.digest
        return (self.before(), known, self.directory) == (other.version, other.digest, other.directory)


_END: Final = "\n}"


def _checksum_of(text: bytes) -> bytes:
    """The end of a manifest: the checksum of all bytes before it."""
    return f',\n "checksum": "{hashlib.sha256(text).hexdigest()}"{_END}'.encode()


_CHECKSUM_BYTES: Final = len(_checksum_of(b""))


def digest_of(text: bytes) -> str:
    """The digest by which the next manifest names this one."""
    return hashlib.sha256(text).hexdigest()


def process() -> dict[str, Any]:
    """The fields of a manifest that name its writer."""
    return {"writer": uuid.uuid4().hex, "host": socket.gethostname(), "process": os.getpid()}


def sealed(version: Version) -> tuple[bytes, Version]:
    """The text of a manifest to be written, and the version with its digest.

    Raises:
        ValueError: it is too long to be read again.
    """
    text = version.to_json()
    if len(text) > MOST_BYTES:
        raise ValueError(f"the dialect {version.dialect.name} does not fit into a manifest")
    return text, dataclasses.replace(version, digest=digest_of(text))


def from_json(text: bytes, number: int, where: str) -> Version:
    """Read the manifest of version `number`.

    Args:
        where: the file's path, for messages.

    Raises:
        DamagedError: the text is not that manifest.
    """
    try:
        fields = json.loads(text)
        written = fields.pop("format")
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(f"{where} is not the manifest of a published version ({error!r}); {_CURE}") from error
    if type(written) is not int or written not in FORMATS:
        raise DamagedError(
            f"{where} is of format {written!r}; this version of the package reads formats 2 to {FORMAT}: "
            "use the version of the package that published it, or a later one"
        )
    try:
        body = text[:-_CHECKSUM_BYTES]
        if text != body + _checksum_of(body):
            raise ValueError("its checksum is that of other bytes")
        fields = _known(Version, fields)
        version = Version(**{**fields, **_read(fields), "digest": digest_of(text)})
        _check(version, number)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedError(f"{where} is damaged ({error}); {_CURE}") from error
    return version


_CURE = "restore it from a copy, or publish to a new directory"


def _known(kind: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that this version of the package knows. Later versions may add some that readers can do without."""
    names = {each.name for each in dataclasses.fields(kind)}
    return {name: value for name, value in fields.items() if name in names}


def _read(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "time": datetime.datetime.fromisoformat(fields["time"]),
        "full": _file(fields["full"]),
        "feed": _file(fields["feed"]),
        "dialect": dialect_of(fields["dialect"]),
        "json_options": tuple(fields["json_options"]) if "json_options" in fields else None,
        "limits": Limits.read(fields.get("limits")),
        "merged": _merged(fields.get("merged")),
    }


def _file(fields: dict[str, Any] | None) -> DataFile | None:
    return None if fields is None else DataFile(**_known(DataFile, fields))


def _merged(fields: dict[str, Any] | None) -> Merged | None:
    return (
        None
        if fields is None
        else Merged(DataFile(**_known(DataFile, fields["file"])), fields["since"], fields["digest"])
    )


_TYPES: Final[dict[str, Any]] = {
    name: hint
    for name, hint in get_type_hints(Version).items()
    if get_origin(hint) in (None, UnionType) and name != "json_options"
}
"""The types of fields, but for those that have parts."""


def _check(version: Version, number: int) -> None:
    if version.version != number:
        raise ValueError(f"it says that it is version {version.version!r}")
    if version.time.tzinfo is None:
        raise ValueError("its time has no zone")
    for name, kind in {**_TYPES, "kind": str}.items():
        if not isinstance(getattr(version, name), kind):
            raise TypeError(f"its {name} is {getattr(version, name)!r}")
    for other in (version.base, version.content, version.oldest, version.epoch, version.before() + 1):
        if other is not None and not 0 <= other <= number:
            raise ValueError(f"it refers to version {other}")
    if not all(isinstance(name, str) for name in version.json_options or ()):
        raise TypeError("a name of an option is not text")
    for file in version.files():
        if not _DATA.fullmatch(file.path):
            raise ValueError(f"it names the file {file.path!r}")
        if (type(file.rows), type(file.bytes), type(file.sha256)) != (int, int, str):
            raise TypeError(f"it describes a file as {file!r}")


_origins: WeakKeyDictionary[SubscriptionTrie, dict[str, Version]] = WeakKeyDictionary()


def note_origin(trie: SubscriptionTrie, version: Version) -> None:
    """Note that a trie contains everything up to a version of a directory."""
    _origins.setdefault(trie, {})[version.directory] = version


def origin_of(trie: SubscriptionTrie, directory: str) -> Version | None:
    """The version of this directory that a trie has the content of, or began with, in this process; None if there is
    none, as for a fork or a snapshot of such a trie."""
    return _origins.get(trie, {}).get(directory)


# ------------------------------------------------------------------------------------------------------------- names

# Only the ten digits of ASCII: a name in other digits would be read as a number, and never be found under it.
_DATA = re.compile(rf"(?:{FULL}|{CHANGES})/([0-9]{{20}})\.([0-9]+|c)\.[0-9a-f]+\.parquet")
_OF_FULL = re.compile(r"\.?([0-9]{20})\..*")
_MANIFEST = re.compile(r"([0-9]{20})\.json")
_SCRATCH = re.compile(r"\.?[0-9]{20}\.([0-9]+)\.[0-9a-f]+\..*")
_DESK = re.compile(r"\.desk\.([0-9]{20})\.[0-9a-f]+(?:\.cleared)?")
_TRIAL = ".trial"


def _number_in(pattern: re.Pattern[str], file: str) -> int | None:
    found = pattern.fullmatch(file)
    return int(found[1]) if found else None


manifest_number: Final = functools.partial(_number_in, _MANIFEST)
"""The version that a file in the folder of versions is the manifest of; None for other files."""

full_number: Final = functools.partial(_number_in, _OF_FULL)
"""The version that a file in the folder of full instants belongs to; None for other files."""

desk_epoch: Final = functools.partial(_number_in, _DESK)
"""The epoch of the publisher that a folder in the folder of versions belongs to; None for any other name."""

epoch_of: Final = functools.partial(_number_in, _SCRATCH)
"""The epoch of the publisher that wrote a Parquet file or an unfinished file; None for any other file."""


def manifest_name(version: int) -> str:
    """The name of a version's manifest."""
    return f"{VERSIONS}/{version:020}.json"


def numbers_in(files: Iterable[str]) -> Sequence[int]:
    """The versions that some of these files are the manifests of, in order. A million names are no million numbers if
    none is missing between them."""
    names = list(filter(_MANIFEST.fullmatch, files))
    first, last = (int(name[:20]) for name in (min(names, default="1"), max(names, default="0")))
    return range(first, last + 1) if last - first < len(names) else sorted(int(name[:20]) for name in names)


def newest_in(files: list[str]) -> Sequence[int]:
    """The newest of these versions, if there is one. Hardly any other name lies behind all manifests."""
    last = max(files, default="")
    return numbers_in([last] if _MANIFEST.fullmatch(last) else files)[-1:]


def record_name(version: int) -> str:
    """The name of the record of a full instant that was written after its version."""
    return f"{FULL}/{version:020}.json"


def kept_name(version: int) -> str:
    """The name of a copy of a manifest, of a version that is kept though others around it are not."""
    return f"{FULL}/{version:020}{KEPT}"


def left_in(files: Iterable[str]) -> list[int]:
    """The versions that are left, by the names of files in the folder of full instants. A copy without a full instant
    is not one: a publisher that slept may make it after its successor has removed the version."""
    whole = {full_number(file) for file in files if file.endswith(".parquet")}
    return sorted({int(file[:20]) for file in files if file.endswith(KEPT) and full_number(file) in whole})


def data_name(folder: str, version: int, epoch: int | str) -> str:
    """A new name for a Parquet file that the publisher with `epoch` writes for a version in one attempt; or, with "c",
    a compactor."""
    return f"{folder}/{version:020}.{epoch}.{uuid.uuid4().hex[:8]}.parquet"


def trial_name(folder: str, epoch: int, token: str) -> str:
    """The name of a file by which a publisher finds out whether it can write, before it claims an epoch."""
    return f"{folder}/.{epoch:020}.{epoch}.{token}{_TRIAL}"


def is_trial(file: str) -> bool:
    """Whether a file is one of these: it belongs to nobody who has the epoch in its name."""
    return file.endswith(_TRIAL)


def scratch_name(desk: str, version: Version) -> str:
    """The name of an unfinished manifest, which no other attempt has."""
    return f"{desk}/{version.version:020}.{version.writer}.json"


def desk_name(epoch: int, token: str) -> str:
    """The folder in which the publisher with `epoch` writes its unfinished manifests."""
    return f"{VERSIONS}/.desk.{epoch:020}.{token}"
