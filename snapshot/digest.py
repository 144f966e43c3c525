"""A digest of exported rows, which shows damage anywhere in a file: Parquet's own checksums cover pages only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from snapshot._extras import extra

if TYPE_CHECKING:
    import pyarrow as pa

PARTS, OLD_PARTS = 11, 9
"""How many runs of bytes `_parts` yields for a batch; and without types, which files of earlier versions lack."""


class Digest:
    """A digest of filters, subscribers, options and their types in their order. It does not depend on how they are
    batched."""

    def __init__(self, parts: int = PARTS) -> None:
        self._sums = [hashlib.sha256() for _ in range(parts)]

    def note(self, rows: pa.RecordBatch) -> None:
        """Add rows to the digest."""
        for running, part in zip(self._sums, _parts(rows), strict=True):
            running.update(part)

    def text(self, recipe: bytes) -> bytes:
        """The digest of all rows noted and of the file's recipe."""
        total = hashlib.sha256(recipe)
        for running in self._sums:
            total.update(running.digest())
        return total.hexdigest().encode()


def _parts(rows: pa.RecordBatch) -> Iterator[memoryview]:
    pc = extra("pyarrow.compute")
    options = rows.column("options")
    ends = options.offsets
    held = slice(ends[0].as_py(), ends[-1].as_py())
    yield _integers(pc.subtract(ends[1:], ends[:-1]))
    types = [rows.column("types")] if "types" in rows.schema.names else []
    for texts in (rows.column("filter"), rows.column("subscriber"), options.keys[held], options.items[held], *types):
        yield _integers(pc.fill_null(pc.binary_length(texts), -1))
        yield _text(texts)


def _integers(numbers: pa.Int32Array) -> memoryview:
    return _slice(numbers.buffers()[1], 4 * numbers.offset, 4 * (numbers.offset + len(numbers)))


def _text(texts: pa.StringArray) -> memoryview:
    """All texts, one after another; a null has none."""
    _, offsets, text = texts.buffers()
    ends = _slice(offsets, 4 * texts.offset, 4 * (texts.offset + len(texts) + 1)).cast("i")
    return _slice(text, ends[0], ends[-1]) if len(texts) else memoryview(b"")


def _slice(buffer: pa.Buffer | None, start: int, stop: int) -> memoryview:
    return memoryview(b"" if buffer is None else buffer).cast("B")[start:stop]
