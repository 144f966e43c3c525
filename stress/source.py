"""Source files and their digests, so that a replay can tell whether the code has changed."""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

PACKAGE: Final = __name__.removesuffix(".source")
"""The name of this package: `stress`, or that of its alias."""
_STANDARD: Final = sysconfig.get_path("stdlib") + os.sep
_OURS: Final = (
    str(Path(__file__).parent) + os.sep,
    *(str(Path(_STANDARD, name)) for name in ("threading.py", "multiprocessing")),
    "<frozen runpy",
)
_INSTALLED: Final = ("site-packages", "dist-packages")
_LARGEST: Final = 4_000_000


def digests(*written: Any) -> tuple[tuple[str, str], ...]:
    """The source files of classes and functions, each with a digest. Those of the standard library are left out."""
    files = dict.fromkeys(file for each in written for file in _files(each))
    return tuple((short_path(file), digest_of(file)) for file in files)


def _files(written: Any) -> Iterable[str]:
    classes = written.__mro__[:-1] if isinstance(written, type) else [getattr(written, "func", written)]
    for each in classes:
        try:
            file = inspect.getsourcefile(each)
        except (TypeError, OSError):  # compiled, or made by `exec`
            continue
        if file is not None and not file.startswith((_STANDARD, "<")) and Path(file).is_file():
            yield file


def module_of(written: Any) -> str:
    """The name of the module of a class or function; empty if it does not say. A class may have any `__module__`."""
    name = getattr(written, "__module__", None)
    return name if isinstance(name, str) else ""


def is_ours(file: str) -> bool:
    """Whether a file belongs to the code that runs the threads, and not to the code that they run."""
    return file.startswith(_OURS)


def is_standard(file: str) -> bool:
    """Whether a file is of the interpreter or of the standard library. Packages may be installed in a folder of it."""
    return file.startswith((_STANDARD, "<frozen")) and not is_installed(file)


def is_installed(file: str) -> bool:
    """Whether a file is of an installed package."""
    return any(each in file for each in _INSTALLED)


def short_path(file: str) -> str:
    """The path of a file, relative to the current directory if it is below it."""
    path = Path(file).resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


@functools.lru_cache(maxsize=256)
def digest_of(file: str) -> str:
    """A digest of a file's content; empty if the file is missing or too large for source code."""
    path = Path(file)
    if not path.is_file() or path.stat().st_size > _LARGEST:
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def changed(code: Any) -> list[str]:
    """A few words for each of the files from `digests` that is no longer the same."""
    told = []
    for each in code if isinstance(code, (tuple, list)) else ():
        if not (isinstance(each, (tuple, list)) and len(each) == 2 and all(isinstance(part, str) for part in each)):
            continue
        file, digest = each
        now = digest_of(file) if file.endswith(".py") else ""
        if now != digest:
            told.append(f"{file} has changed since" if now else f"{file} is not here")
    return told
