"""Specifications: a sequential object, as a function from a state and a call to the next state and the answer.

A specification needs ten lines (`docs/stress.md`): a start state and `step`. All else is optional, and adds speed or
clarity: what else an operation may do (`outcomes`), what makes the checker quick (`locality`), and how things are told
(`wording`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from stress.locality import Locality
from stress.terms import EVERYTHING, WAITS, Element, Excerpt, SpecError, State
from stress.wording import Wording

__all__ = ["EVERYTHING", "WAITS", "Element", "Excerpt", "Spec", "SpecError", "State"]


class Spec(Wording, Locality):
    """A sequential object. Subclass it, give `initial` and `step`. States that are immutable and hashable are quickest.
    Lists, dictionaries, sets and dataclasses may be used, too, and `step` may change them: it gets copies.

    >>> class Counter(Spec):
    ...     initial = 0
    ...     read_only = frozenset({"value"})
    ...     def step(self, state, op, args):
    ...         match op:
    ...             case "increment":
    ...                 return state + 1, state + 1
    ...             case "value":
    ...                 return state, state
    >>> Counter().step(4, "increment", ())
    (5, 5)
    """

    initial: State = None

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        """The state after `op(*args)` in `state`, and its answer; `WAITS` if it cannot take effect there and the caller
        has to wait. An exception as an answer is a `Raised`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what {op!r} does: define step()")
