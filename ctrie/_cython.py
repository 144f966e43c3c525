"""Stands in for the `cython` module where Cython is not installed; our sources ask for three names of it."""

from collections.abc import Callable
from typing import Any

compiled = False


def cast(kind: Any, value: Any) -> Any:
    """Return `value`, which is of that kind."""
    return value


def binding(_: bool) -> Callable[[Any], Any]:
    """Return a decorator that says whether a method is a function of Python's, and here all are."""
    return lambda method: method
