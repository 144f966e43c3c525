"""The files of a published directory, read only if their bytes are those that the manifest names.

A file also unpacks to no more text than its manifest says, so whoever reads it knows what memory that takes.
"""

from __future__ import annotations

import hashlib
import io
import os

from snapshot.parquet import require_text
from snapshot.published.errors import DamagedError
from snapshot.published.manifest import DataFile
from snapshot.published.store import Files


def read_whole(store: Files, file: DataFile) -> io.BytesIO:
    """The bytes of a file.

    :raises DamagedError: they are not those that were written
    :raises FileNotFoundError: there is no such file
    """
    content = store.read(file.path, file.bytes)
    if len(content) != file.bytes or hashlib.sha256(content).hexdigest() != file.sha256:
        raise _damaged(store, file)
    found = io.BytesIO(content)
    _require_promised(store, file, found)
    return found


def require_whole(store: Files, file: DataFile) -> None:
    """Require the same of a file that is too large to be kept in memory.

    :raises DamagedError: its bytes are not those that were written
    :raises FileNotFoundError: there is no such file
    """
    require_bytes(store, file)
    with store.open(file.path) as content:
        _require_promised(store, file, content)


def require_bytes(store: Files, file: DataFile) -> None:
    """Require that a file has the bytes that were written, whatever they unpack to.

    :raises DamagedError: it has others
    :raises FileNotFoundError: there is no such file
    """
    with store.open(file.path) as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(0)
        digest = hashlib.file_digest(content, "sha256").hexdigest() if size == file.bytes else ""
    if digest != file.sha256:
        raise _damaged(store, file)


def _require_promised(store: Files, file: DataFile, content: io.BufferedIOBase) -> None:
    if file.text is None:  # format 1
        return
    try:
        require_text(content, file.text)
    except ValueError as error:
        raise DamagedError(f"{store.locate(file.path)}: {error}") from error
    content.seek(0)


def _damaged(store: Files, file: DataFile) -> DamagedError:
    return DamagedError(
        f"{store.locate(file.path)} is damaged: it has other bytes than the {file.bytes} that were written; restore it "
        "from a copy, or restore an older version"
    )
