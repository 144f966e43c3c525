"""The same class, but threads make some of its calls one at a time: under its lock, or one of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def one_at_a_time(made: Any, *names: str) -> type:
    class Locked(made):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            if not hasattr(self, "lock"):
                self.lock = threading.Lock()

    for name in names:
        setattr(Locked, name, _locked(getattr(made, name)))
    return Locked


def _locked(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any) -> Any:
        with self.lock:
            return method(self, *args)

    return call
