"""A published directory that lies in an object store, or in any other file system that pyarrow or fsspec knows, by URI.

It can be read as a local one: a manifest is there whole or not at all there, too, and whoever copies a directory copies
the manifests after the files that they name. It cannot be published to: a publisher must create a file only where there
is none, and none of pyarrow's file systems can. (Of S3 they leave out the header ``If-None-Match`` without a word, and
overwrite.)
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from snapshot._extras import extra
from snapshot.paths import place_of


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

    def read(self, name: str) -> bytes:
        """The content of a file."""
        with self.open(name) as file:
            content: bytes = file.read()
        return content

    def open(self, name: str) -> Any:
        """Open a file for reading anywhere in it."""
        with self._naming(name):
            return self._files.open_input_file(f"{self._path}/{name}")

    def locate(self, name: str) -> str:
        """The URI by which other programs find the file."""
        return f"{self._base}/{name}{self._query}"

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder."""
        fs = extra("pyarrow.fs")
        selector = fs.FileSelector(f"{self._path}/{folder}".rstrip("/"), allow_not_found=True)
        return [each.base_name for each in self._files.get_file_info(selector)]

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Let a file that is not there be named by its URI."""
        try:
            yield
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.locate(name)) from error
