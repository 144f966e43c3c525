"""The terms of specifications: states, elements, and the two results that are no state and no answer."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

from stress.history import Operation

__all__ = ["EVERYTHING", "WAITS", "Element", "Everything", "Excerpt", "Footprint", "SpecError", "State"]

State = Any
"""A state of the object. The checker deals with hashable ones only (`frozen_states`)."""
Element = Hashable


class Everything(Enum):
    """The type of `EVERYTHING`."""

    EVERYTHING = "everything"


EVERYTHING: Final = Everything.EVERYTHING
"""The footprint of an operation that may read or change any part of the object."""

Footprint = Collection[Element] | Everything


class _Waits(Enum):
    WAITS = "waits"


WAITS: Final[Any] = _Waits.WAITS
"""The result of `step` for an operation that cannot take effect yet, and waits until it can: a `get` from an empty
queue, a `put` into a full one.
"""


class SpecError(ValueError):
    """A specification that contradicts itself, or cannot be used. The message names the specification and the call."""


class Excerpt(NamedTuple):
    """What the operations of a history say about some elements alone, as operations of the same spec. It has a
    linearization whenever the history has one.
    """

    elements: Collection[Element]
    operations: Sequence[Operation]
