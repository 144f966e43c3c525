"""The caller of an object's methods, as user's code: it looks a method up when it calls it, and both are steps if they
touch what threads share. So an object may replace its methods, and a method may be written in C.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType
from typing import Any, Final

from stress.explorer.instrumentation import with_steps

__all__ = ["CALLER", "CALLING", "caller_of"]

CALLER: Final = "<a caller>"
"""Where callers say that their code lies."""
CALLING: Final[dict[int, CodeType]] = {}
"""The codes of callers, by identity. They have steps."""


@cache
def caller_of(op: str) -> Callable[..., Any]:
    """A function that calls the method `op` of its first argument with the others."""
    names: dict[str, Any] = {"__name__": "a caller"}
    exec(compile(f"def call(made, *args): return made.{op}(*args)", CALLER, "exec"), names)
    function: FunctionType = names["call"]
    function.__code__ = with_steps(function.__code__, frozenset(), CALLING)
    return function
