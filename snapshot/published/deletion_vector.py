"""Rows of a file that do not count any more, as a Delta log names them: a roaring bitmap, as text within the log.

The package that makes roaring bitmaps has no build for free-threaded interpreters. Its format is short: for each 65,536
rows a container, which lists rows, or, if they are many, has a bit for each.
"""

from __future__ import annotations

import base64
import string
import struct
from typing import TYPE_CHECKING, Any, Final

from snapshot._extras import extra

if TYPE_CHECKING:
    import numpy as np

    Rows = np.ndarray[Any, Any]

MAGIC: Final = 1681511377
NO_RUNS: Final = 12346
MOST_LISTED: Final = 4096
"""A container with more rows has bits."""

# Python 3.13 has Z85, which Delta wants; before, there is only the other alphabet.
_PYTHON: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase + "!#$%&()*+-;<=>?@^_`{|}~"
_Z85: Final = string.digits + string.ascii_lowercase + string.ascii_uppercase + ".-:+=^!/*?&<>()[]{}@%$#"
_TO_Z85: Final = str.maketrans(_PYTHON, _Z85)


def descriptor(rows: Rows) -> dict[str, Any]:
    """The deletion vector of these rows: numbers in order, at least one, below 2**32."""
    content = struct.pack("<iqI", MAGIC, 1, 0) + roaring(rows)  # one bitmap, of the rows whose upper half is 0
    text = base64.b85encode(content, pad=True).decode().translate(_TO_Z85)
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(content), "cardinality": len(rows)}


def roaring(rows: Rows) -> bytes:
    """The rows as a roaring bitmap, in its portable format."""
    np = extra("numpy")
    keys, starts = np.unique(rows >> 16, return_index=True)
    lows = np.split((rows & 0xFFFF).astype("<u2"), starts[1:])
    containers = [_bits(low) if len(low) > MOST_LISTED else low.tobytes() for low in lows]
    sizes = np.column_stack([keys, [len(low) - 1 for low in lows]]).astype("<u2").tobytes()
    head = struct.pack("<II", NO_RUNS, len(keys)) + sizes
    places = np.cumsum([len(head) + 4 * len(keys), *map(len, containers[:-1])]).astype("<u4").tobytes()
    return b"".join([head, places, *containers])


def _bits(low: Rows) -> bytes:
    np = extra("numpy")
    return bytes(np.packbits(np.isin(np.arange(1 << 16), low), bitorder="little"))
