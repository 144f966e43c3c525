"""Where a published directory lies: the few operations on files that publishing and reading need.

`create` is what all of publishing hangs on: of all who create one name, one succeeds, and whoever sees the file sees
all of it.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from snapshot.published.remote import RemoteFiles


class Files(Protocol):
    """The files under one place, to be read. Names are relative to it, with "/" between folder and file."""

    place: str
    """The path or URI of the place, by which `files_of` finds it on other machines, too."""
    is_local: bool
    """Whether programs that know no URIs find the files."""

    def read(self, name: str) -> bytes:
        """The content of a file. FileNotFoundError where there is none."""

    def open(self, name: str) -> Any:
        """Open a file for reading anywhere in it: a binary stream, as pyarrow and hashlib take it."""

    def locate(self, name: str) -> str:
        """The path or URI by which other programs find the file."""

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, without the folder's; none where there is no such folder."""


class Store(Files, Protocol):
    """Files that one may publish."""

    def create(self, name: str, content: bytes, scratch: str) -> None:
        """Make a new file, whole and durable. FileExistsError where there is one already, which is left alone.

        Whoever sees the file finds what was produced before it, even after a loss of power. Any other error leaves open
        whether the file is there. `scratch` is a name beside it that nobody else uses.
        """

    def overwrite(self, name: str, content: bytes) -> None:
        """Make a small file, or overwrite one of the same length. Readers may see a part of it, and it may be lost."""

    def produce(self, name: str, make: Callable[[str], None]) -> tuple[int, str]:
        """Let `make` write a local file, and put it here under a name that nobody else uses.

        Returns its size and the SHA-256 digest of its bytes. If there is an error, it leaves nothing behind.
        """

    def settle(self, folder: str) -> None:
        """Make durable what was created in a folder."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def prepare(self, folders: tuple[str, ...]) -> None:
        """Make the place and its folders, durably."""


class LocalStore:
    """A directory of a file system of this machine, or one that is mounted here and can link files."""

    is_local = True

    def __init__(self, path: Path) -> None:
        self.place = str(path)
        self._path = path
        self._threads: ThreadPoolExecutor | None = None
        self._to_sync: dict[str, None] = {}  # what was produced and may not be on the disk

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return (self._path / name).read_bytes()

    def open(self, name: str) -> Any:
        """Open a file for reading anywhere in it."""
        return (self._path / name).open("rb")

    def locate(self, name: str) -> str:
        """The path by which other programs find the file."""
        return str(self._path / name)

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder."""
        try:
            return os.listdir(self._path / folder)
        except FileNotFoundError:
            return []

    def create(self, name: str, content: bytes, scratch: str) -> None:
        """Make a new file by link(2): a rename would overwrite, and O_EXCL would show the file before it is whole."""
        unfinished = self._path / scratch
        try:
            with unfinished.open("xb") as file:
                file.write(content)
            self._sync_with(scratch)
            try:
                os.link(unfinished, self._path / name)
            except OSError as error:
                if error.errno in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                    raise OSError(
                        error.errno, f"{self.place} is on a file system without hard links; publish on another one"
                    ) from error
                raise
        finally:
            unfinished.unlink(missing_ok=True)
        self.settle(name.rpartition("/")[0])

    def overwrite(self, name: str, content: bytes) -> None:
        """Overwrite in place: to rename a new file over an old one makes some file systems write it to the disk."""
        file = os.open(self._path / name, os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            os.pwrite(file, content, 0)
        finally:
            os.close(file)

    def produce(self, name: str, make: Callable[[str], None]) -> tuple[int, str]:
        """Write a file under its own name, since nobody looks for it before a manifest names it."""
        path = self._path / name
        try:
            make(str(path))
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
        except BaseException:
            self.remove(name)
            raise
        self._to_sync[name] = None
        return size, digest

    def settle(self, folder: str) -> None:
        """Make durable what was created in a folder."""
        _sync(self._path / folder)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self._to_sync.pop(name, None)
        (self._path / name).unlink(missing_ok=True)

    def prepare(self, folders: tuple[str, ...]) -> None:
        """Make the directory and its folders."""
        for folder in folders:
            (self._path / folder).mkdir(parents=True, exist_ok=True)
        _sync(self._path)
        _sync(self._path.parent)

    def _sync_with(self, name: str) -> None:
        """Make durable what was produced and a file, all at once: to flush the disk takes longer than to write."""
        produced = list(self._to_sync)
        folders = {each.rpartition("/")[0] for each in produced}
        if produced and self._threads is None:
            self._threads = ThreadPoolExecutor(4, thread_name_prefix="snapshot.flush")
        others = (
            []
            if self._threads is None
            else [self._threads.submit(_sync, self._path / each) for each in (*produced, *folders)]
        )
        try:
            _sync(self._path / name)
        finally:
            wait(others)
        for other in others:
            other.result()
        self._to_sync.clear()


def files_of(where: str | os.PathLike[str]) -> Files:
    """What is at a path or a URI, to be read.

    :raises ValueError: nobody knows the URI's scheme
    """
    path = _local(where)
    return RemoteFiles(os.fspath(where)) if path is None else LocalStore(path)


def store_of(where: str | os.PathLike[str]) -> Store:
    """The store at a path or a ``file:`` URI.

    :raises ValueError: the URI is of another scheme
    """
    path = _local(where)
    if path is None:
        raise ValueError(
            f"{os.fspath(where)}: publishing needs a file system that refuses to create a file twice, and this one is "
            "not known to. Publish under a local path, and copy from there, manifests last (docs/published.md, Object "
            "stores)"
        )
    return LocalStore(path)


def _local(where: str | os.PathLike[str]) -> Path | None:
    """The path on this machine, None for a URI of something else."""
    text = os.fspath(where)
    if not isinstance(text, str):
        raise TypeError(f"where must be a path or a URI, not {where!r}")
    if "://" not in text and not text.startswith("file:"):
        return Path(text).absolute()
    parts = urlsplit(text)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(unquote(parts.path))
    return None


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
