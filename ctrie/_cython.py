"""A replacement for the `cython` module if Cython is not installed, with the four names that our sources use."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

compiled = False


def cast(kind: Any, value: Any) -> Any:
    """Return `value`, which is of this type."""
    return value


def critical_section(_: object) -> Any:
    """Return a context manager; interpreted code has no such section."""
    return nullcontext()


def binding(_: bool) -> Callable[[Any], Any]:
    """Return a decorator that changes nothing: interpreted methods are Python functions anyway."""
    return lambda method: method
