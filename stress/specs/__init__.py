"""The specifications that come with the package, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stress.spec import Spec
from stress.specs.buffers import Queue, Stack
from stress.specs.collections import Counter, Set
from stress.specs.map import Map
from stress.specs.registers import KeyValue, MultiRegister, Mutex, Register
from stress.specs.subscriptions import Subscriptions

__all__ = [
    "SPECS",
    "Counter",
    "KeyValue",
    "Map",
    "MultiRegister",
    "Mutex",
    "Queue",
    "Register",
    "Set",
    "Stack",
    "Subscriptions",
]

SPECS: Final[dict[str, Callable[..., Spec]]] = {
    spec.name: spec
    for spec in (Register, KeyValue, Mutex, MultiRegister, Map, Subscriptions, Set, Queue, Stack, Counter)
}
SPECS["cas-register"] = Register  # its name in other tools
