"""How messages of errors show what users gave: in one line of bounded length, however long or deep it is."""

from __future__ import annotations

import reprlib
from typing import Any


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxstring = self.maxother = self.maxlong = 80

    def repr_int(self, x: int, level: int) -> str:
        """To write a number of n digits takes n * n steps, and Python refuses to write a long one."""
        bits = x.bit_length()
        return f"<int of {bits} bits>" if bits > 256 else super().repr_int(x, level)

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, dict):
            return self.repr_dict(x, level)
        try:
            text = repr(x)
        except MemoryError:
            raise  # the base class would hide it
        except Exception:  # noqa: BLE001 (a message must not fail because a user's own type cannot be shown)
            return f"<{type(x).__name__} instance at {id(x):#x}>"
        half = (self.maxother - len("...")) // 2
        return text if len(text) <= self.maxother else f"{text[:half]}...{text[-half:]}"


_SHORT = _Short()
MOST = 200  # characters


def short(thing: Any) -> str:
    """Return how a thing is shown in a message: its representation, cut to `MOST` characters, with few of its items.
    O(1), but for what a user's own type makes of itself.

    >>> short([1, [2, "b"]]), short(10**5000), len(short("a" * 1000))
    ("[1, [2, 'b']]", '<int of 16610 bits>', 80)
    """
    text = _SHORT.repr(thing)
    return text if len(text) <= MOST else f"{text[: MOST - 3]}..."
