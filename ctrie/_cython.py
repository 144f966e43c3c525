"""Stands in for the `cython` module where Cython is not installed; our sources ask for two names of it."""

from typing import Any

compiled = False


def cast(kind: Any, value: Any) -> Any:
    """Return `value`, which is of that kind."""
    return value
