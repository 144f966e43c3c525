"""Where a published directory lies: the few operations on files that publishing and reading need.

`create` is what all of publishing hangs on: of all who create one name, one succeeds, and whoever sees the file sees
all of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import unquote, urlsplit


class Store(Protocol):
    """The files under one place. Names are relative to it, with "/" between folder and file."""

    place: str
    """How messages call the place."""

    def read(self, name: str) -> bytes:
        """The content of a file. FileNotFoundError where there is none."""

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading anywhere in it."""

    def locate(self, name: str) -> str:
        """The path or URI by which other programs find the file."""

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, without the folder's; none where there is no such folder."""

    def create(self, name: str, content: bytes, scratch: str) -> None:
        """Make a new file, whole and durable. FileExistsError where there is one already, which is left alone.

        Any other error leaves open whether the file is there. `scratch` is a name beside it that nobody else uses.
        """

    def replace(self, name: str, content: bytes, scratch: str) -> None:
        """Make a file, or put another content in the place of its content, at once; it need not be durable."""

    def writing(self, name: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """Write a file whose name nobody else uses; it is whole and durable when the context is left without error."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def prepare(self, folders: tuple[str, ...]) -> None:
        """Make the place and its folders, durably."""


class LocalStore:
    """A directory of a file system of this machine, or one that is mounted here and can link files."""

    def __init__(self, path: Path) -> None:
        self.place = str(path)
        self._path = path

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return (self._path / name).read_bytes()

    def open(self, name: str) -> BinaryIO:
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
            _write_durably(unfinished, content)
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
        _sync_folder((self._path / name).parent)

    def replace(self, name: str, content: bytes, scratch: str) -> None:
        """Put a content in the place of another."""
        unfinished = self._path / scratch
        try:
            unfinished.write_bytes(content)
            os.replace(unfinished, self._path / name)
        finally:
            unfinished.unlink(missing_ok=True)

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """Write a file under its own name, since nobody looks for it before a manifest names it."""
        path = self._path / name
        try:
            with path.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _sync_folder(path.parent)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self._path / name).unlink(missing_ok=True)

    def prepare(self, folders: tuple[str, ...]) -> None:
        """Make the directory and its folders."""
        for folder in folders:
            (self._path / folder).mkdir(parents=True, exist_ok=True)
        _sync_folder(self._path)
        _sync_folder(self._path.parent)


def store_of(where: str | os.PathLike[str]) -> Store:
    """The store at a path or a ``file:`` URI.

    :raises ValueError: the URI is of another scheme
    """
    text = os.fspath(where)
    if not isinstance(text, str):
        raise TypeError(f"where must be a path or a URI, not {where!r}")
    if "://" not in text and not text.startswith("file:"):
        return LocalStore(Path(text).absolute())
    parts = urlsplit(text)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return LocalStore(Path(unquote(parts.path)))
    raise ValueError(
        f"{text}: a published directory needs a file system that refuses to create a file twice; "
        f"{parts.scheme}: is not known to. Publish under a local path"
    )


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
