"""How a case is noted: whether its class is right, the class, the specification and the calls of each thread."""

# mypy: ignore-errors

from __future__ import annotations

import threading
from typing import Any

import stress

CASES: dict[str, tuple[bool, Any, Any, Any]] = {}
TWICE: Any = [[("increment",)], [("increment",)]]
PUT_AND_READ: Any = [[("put", 1)], [("read",)]]


class Pair(stress.Spec):
    """Two values that are put together, and read together."""

    initial = (0, 0)

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return ((args[0], args[0]), None) if op == "put" else (state, state)


class Full(stress.Spec):
    """Something that is made when it is first wanted."""

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return None, (1, 2)


class Once(stress.Spec):
    """A value that is taken once."""

    initial = 1

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return (0, state) if op == "take" else (state, state)


def is_right(made: Any) -> Any:
    """The class is right."""
    return _noted(made, True)


def is_wrong(made: Any) -> Any:
    """The class is wrong."""
    return _noted(made, False)


def _noted(made: Any, right: bool) -> Any:
    if hasattr(made, "increment"):
        case = right, made, stress.Counter(), TWICE
    elif hasattr(made, "put"):
        case = right, made, Pair(), PUT_AND_READ
    elif hasattr(made, "get"):
        case = right, made, Full(), [[("get",)], [("get",)]]
    elif hasattr(made, "take"):
        case = right, made, Once(), [[("take",)], [("take",)]]
    else:
        case = right, made, stress.Counter(), TWICE
    CASES[made.__name__] = case
    return made


class Number:
    def __init__(self) -> None:
        self.n = 0


class Locked(Number):
    """Has a lock."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class TwoItems:
    def __init__(self) -> None:
        self.l = [0, 0]

    def put(self, x: int) -> None:
        self.l[0] = x
        self.l[1] = x


class TwoValues:
    def __init__(self) -> None:
        self.d = {"a": 0, "b": 0}

    def put(self, x: int) -> None:
        self.d["a"] = x
        self.d["b"] = x
