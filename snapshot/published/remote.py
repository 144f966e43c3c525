"""A published directory in an object store, or in any other file system that pyarrow or fsspec knows, by its URI.

It can be read like a local one: there, too, a manifest appears as a whole or not at all, and the copy of a directory
gets the manifests after the files that they name. It cannot be published to: a publisher must create a file only if it
does not exist, and none of pyarrow's file systems can do that. (For S3 they silently drop the header ``If-None-Match``
and overwrite.)
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from snapshot._extras import extra
from snapshot.paths import place_of
from snapshot.published.errors import DamagedError


class RemoteFiles:
    """The files under a URI."""

    is_local = False

    def __init__(self, uri: str) -> None:
        base, mark, query = uri.partition("?")
        self._base = base.rstrip("/")
        self._query = mark + query
        self.place = self._base + self._query
        self._files, path, _ = place_of(self.place)
        self._path = path.rstrip("/")

    def read(self, name: str, most: int | None = None) -> bytes:
        """The content of a file."""
        with self.open(name) as file:
            if most is not None and file.size() > most:
                raise DamagedError(f"{self.locate(name)} is damaged: it has more than {most} bytes")
            content: bytes = file.read()
        return content

    def open(self, name: str) -> Any:
        """Open a file for random access."""
        with self._naming(name):
            return self._files.open_input_file(f"{self._path}/{name}")

    def locate(self, name: str) -> str:
        """The URI of a file, for other programs."""
        return f"{self._base}/{name}{self._query}"

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder."""
        fs = extra("pyarrow.fs")
        selector = fs.FileSelector(f"{self._path}/{folder}".rstrip("/"), allow_not_found=True)
        return [each.base_name for each in self._files.get_file_info(selector)]

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Name a missing file by its URI in the error."""
        try:
            yield
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.locate(name)) from error
