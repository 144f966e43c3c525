"""Where files are: paths of this machine, and URIs of any file system that pyarrow knows.

``s3a`` and ``s3n``, as Spark's users write it, are S3, too.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from snapshot._extras import extra

Path: TypeAlias = str | os.PathLike[str]


PUBLISHED = "_versions"
"""The folder in a published directory that has its versions."""

S3 = ("s3", "s3a", "s3n")
"""Schemes of S3."""


class Location(NamedTuple):
    """A file system of pyarrow, a path in it, and the name that the caller gave, for messages."""

    files: Any
    path: str
    name: str

    def is_folder(self) -> bool:
        """Whether the path is a folder."""
        return bool(self.files.get_file_info(self.path).type == extra("pyarrow.fs").FileType.Directory)


def text_of(path: Path) -> str:
    """A path or a URI as a text.

    Raises:
        TypeError: it is neither.
        ValueError: it cannot be encoded as UTF-8, as Parquet's libraries need it.
    """
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"a path or a URI must be a text, not {path!r}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the path {text!r} cannot be encoded as UTF-8: rename the folder or file") from error
    return text


def without_secrets(path: str) -> str:
    """A path as it is; a URI without user, password and options, some of which may be keys."""
    scheme, mark, rest = path.partition("://")
    if not mark:
        return path
    host, slash, inside = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{inside}"


def location_of(path: Path) -> Location:
    """Find the file system of a path or URI (``s3://bucket/key``, ``file:///folder/file``, ``gs://...``).

    Raises:
        ValueError: pyarrow does not know the URI's scheme.
    """
    fs = extra("pyarrow.fs")
    name = text_of(path)
    if "://" not in name:
        return Location(fs.LocalFileSystem(), name, name)
    scheme, _, rest = name.partition("://")
    uri, place = f"s3://{rest}" if scheme in S3 else name, without_secrets(name)
    try:
        files, inside = fs.FileSystem.from_uri(uri)
    except extra("pyarrow").ArrowInvalid as unknown:
        why = str(unknown).replace(uri, place)
        raise ValueError(f"{place}: pyarrow has no file system for {scheme}: {why}") from None
    return Location(files, inside, place)


@contextmanager
def replaced_whole(location: Location) -> Iterator[Any]:
    """Open a stream to a new file, which appears at `location` when it is complete, and not at all if that fails.

    Until then it has another name in the same folder, which begins with a dot, so Spark and others ignore it. A local
    file is on the disk before it gets its name. It keeps the mode of the file that it replaces; behind a link, the file
    that the link leads to is replaced. What earlier calls left there when they were killed is removed.

    Raises:
        IsADirectoryError: the location is a folder.
        OSError: the file cannot be written.
    """
    path = location.path
    is_local = isinstance(location.files, extra("pyarrow.fs").LocalFileSystem)
    if path.rpartition("/")[2] in ("", ".", "..") or location.is_folder():
        raise IsADirectoryError(
            errno.EISDIR, "a folder; name a file in it, such as subscriptions.parquet", location.name
        )
    if is_local:
        path = os.path.realpath(path)
        _remove_left(path)
    folder, slash, name = path.rpartition("/")
    unfinished = f"{folder}{slash}.{name}.{uuid.uuid4().hex}"
    try:
        with _held(unfinished, path) if is_local else contextlib.nullcontext() as descriptor:
            with location.files.open_output_stream(unfinished) as stream:
                yield stream
            if descriptor is not None:
                os.fsync(descriptor)
            location.files.move(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):  # the caller needs to hear of the error before it
            location.files.delete_file(unfinished)
        raise


@contextmanager
def _held(unfinished: str, path: str) -> Iterator[int]:
    """Create an unfinished file, with the mode of what it replaces. While it is locked, its writer is alive."""
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(descriptor, stat.S_IMODE(os.stat(path).st_mode))
        yield descriptor
    finally:
        os.close(descriptor)


def _remove_left(path: str) -> None:
    """Remove the unfinished files of writers that were killed."""
    folder, name = os.path.split(path)
    left = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{32}}")
    for each in os.listdir(folder) if os.path.isdir(folder) else ():
        if left.fullmatch(each):
            with contextlib.suppress(OSError):  # BlockingIOError: its writer has it locked
                descriptor = os.open(f"{folder}/{each}", os.O_RDWR | os.O_NOFOLLOW)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(f"{folder}/{each}")
                finally:
                    os.close(descriptor)


def parquet_files(location: Location) -> list[str]:
    """The path of a Parquet file, or the sorted paths of those in a folder and below, without hidden ones.

    Raises:
        FileNotFoundError: the folder has none.
        IsADirectoryError: it holds several instants.
    """
    fs = extra("pyarrow.fs")
    if not location.is_folder():
        return [location.path]
    found = location.files.get_file_info(fs.FileSelector(location.path, recursive=True))
    if any(PUBLISHED in each.path[len(location.path) :].split("/") for each in found):
        why = "a published directory holds many instants; snapshot.restore(path) gives the newest, or another version"
        raise IsADirectoryError(errno.EISDIR, why, location.name)
    kept = [each.path for each in found if each.type == fs.FileType.File and _is_data(each.path[len(location.path) :])]
    if not kept:
        raise FileNotFoundError(errno.ENOENT, "no Parquet files in the folder", location.name)
    return sorted(kept)


def _is_data(path: str) -> bool:
    return path.endswith(".parquet") and not any(part.startswith((".", "_")) for part in path.split("/"))
