"""Which code is the packages', whatever the folder is called that they lie in: a callback of the collector's, for
instance, runs between any two lines."""

from __future__ import annotations

import os
from types import CodeType

import ctrie
import subtrie

_FOLDERS = tuple(os.path.join(each.__path__[0], "") for each in (ctrie, subtrie))


def is_own(code: CodeType) -> bool:
    """Whether code is of `ctrie` or `subtrie`."""
    return code.co_filename.startswith(_FOLDERS)
