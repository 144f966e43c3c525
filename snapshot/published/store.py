"""The storage of a published directory: the few operations on files that publishing and reading need.

Publishing depends on `create`: if several processes create the same name, one succeeds, and every reader that sees the
file sees all of it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from snapshot.paths import text_of
from snapshot.published.at_once import at_once
from snapshot.published.errors import DamagedError
from snapshot.published.objects import ObjectStore

Made = TypeVar("Made")

TRIAL_BYTES = 64 * 1024
"""How many bytes a publisher must be able to write into each folder before it claims a directory."""


class LocalStore:
    """A directory in a local or mounted file system that has hard links: files for reading, and for publishing."""

    is_local = True

    def __init__(self, path: Path) -> None:
        self.uri = self.place = str(path)
        self._path = path
        self._to_sync: dict[str, None] = {}  # files that were produced and may not be on the disk yet

    def read(self, name: str, most: int | None = None) -> bytes:
        """The content of a file."""
        with self.open(name) as file:
            if most is not None and os.fstat(file.fileno()).st_size > most:
                raise DamagedError(f"{self._path / name} is damaged: it has more than {most} bytes")
            content: bytes = file.read()
        return content

    def open(self, name: str) -> Any:
        """Open a file for random access. Anything but a file, such as a FIFO, would never end, or never begin."""
        path = self._path / name
        strange = f"{path} is not a file, but of another kind: move it away"
        try:
            file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
        except IsADirectoryError as error:
            raise DamagedError(strange) from error
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise DamagedError(f"{path} is not a file, but a link that leads nowhere: move it away") from error
            raise
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise DamagedError(strange)
        return file

    def locate(self, name: str) -> str:
        """The path of a file."""
        return str(self._path / name)

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder."""
        try:
            return os.listdir(self._path / folder)
        except FileNotFoundError:
            return []

    def create(self, name: str, content: bytes, scratch: str) -> None:
        """Create a file, whole and durable. FileExistsError if it exists already; then it stays as it is.

        A reader that sees the file also finds all files produced before it, even after a loss of power. After any other
        error, the file may exist or not. `scratch` is a name in the same place that nothing else uses. It becomes the
        file by link(2): a rename would overwrite, and with O_EXCL readers would see an incomplete file.
        """
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
        _sync((self._path / name).parent)

    def produce(self, name: str, make: Callable[[str], Made]) -> tuple[Made, int, str]:
        """Let `make` write a file under a name that nothing else uses. No reader looks for it before a manifest does.

        Returns what `make` does, the file's size, and the SHA-256 digest of its bytes. After an error, no file is left.
        """
        path = self._path / name
        try:
            made = make(str(path))
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
        except BaseException:
            self.remove(name)
            raise
        self._to_sync[name] = None
        return made, size, digest

    def make_durable(self, folder: str) -> None:
        """Make the files created in a folder durable."""
        _sync(self._path / folder)

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        self._to_sync.pop(name, None)
        (self._path / name).unlink(missing_ok=True)

    def prepare(self, folders: tuple[str, ...]) -> None:
        """Create the directory and its folders, durably: each new folder's name is in one that is flushed, too."""
        there = self._path
        while not there.exists():
            there = there.parent
        for folder in folders:
            (self._path / folder).mkdir(parents=True, exist_ok=True)
        for each in (self._path, *self._path.parents):
            _sync(each)
            if each == there.parent or each == there != self._path:
                break

    def add_folder(self, name: str) -> None:
        """Create a folder."""
        (self._path / name).mkdir()

    def clear_folder(self, name: str) -> None:
        """Remove a folder of files if it exists. It is renamed first: from then on, whoever writes into it fails."""
        cleared = f"{name}.cleared"
        with contextlib.suppress(FileNotFoundError):  # another publisher is clearing it, too
            if not name.endswith(".cleared"):
                os.rename(self._path / name, self._path / cleared)
                name = cleared
            shutil.rmtree(self._path / name)

    def set_aside(self, name: str) -> bool:
        """Rename whatever has this name. Return False if nothing has."""
        folder, _, file = name.rpartition("/")
        try:
            os.rename(self._path / name, self._path / f"{folder}/.stray.{os.urandom(4).hex()}.{file}")
        except FileNotFoundError:
            return False
        return True

    def attempt(self, name: str) -> None:
        """Write a file and remove it again: more than a file system has left over at the end of a file, and flushed.

        Raises:
            OSError: it cannot be written, or the files beside it not be listed.
        """
        path = self._path / name
        os.scandir(path.parent).close()
        try:
            with path.open("xb") as file:
                file.write(bytes(TRIAL_BYTES))
                file.flush()
                os.fsync(file.fileno())
        finally:
            path.unlink(missing_ok=True)

    def _sync_with(self, name: str) -> None:
        """Make a file and all produced files durable, in parallel: flushing takes longer than writing."""
        folders = {each.rpartition("/")[0] for each in self._to_sync}
        at_once(*(functools.partial(_sync, self._path / each) for each in (name, *self._to_sync, *folders)))
        self._to_sync.clear()


Store = LocalStore | ObjectStore
"""Where a directory is. Names are relative to it, with "/" between folder and file. `place` finds it on other machines,
too; `is_local` says whether programs without support for URIs can read the files."""


def store_of(where: str | os.PathLike[str], storage: Mapping[str, Any] | None = None) -> Store:
    """The store at a path or a URI.

    Raises:
        ValueError: there is no client for the URI's scheme, or ``storage`` has something that it does not know.
        ImportError: obstore is not installed.
    """
    path = _local(where)
    if path is None:
        return ObjectStore(os.fspath(where), storage)
    if storage:
        raise ValueError(f"storage= is for object stores, and {os.fspath(where)} is a path")
    return LocalStore(path)


def _local(where: str | os.PathLike[str]) -> Path | None:
    """The path on this machine; None for a URI of another kind."""
    text = text_of(where)
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
