"""What the checker asks of a specification: in which states an operation may leave the object.

A specification says what happens by `step` alone. `successors` is optional: for operations with several possible
outcomes, or with none (a lock that is taken cannot be acquired).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from types import NoneType
from typing import Any, Final

from stress.alike import fits
from stress.history import Call, Raised, freeze, show
from stress.terms import WAITS, SpecError, State

__all__ = ["Outcomes"]


class Outcomes:
    """The outcomes of operations, by default those that `step` gives."""

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        """As `Spec.step`."""
        raise NotImplementedError

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        """Every state in which `op(*args)`, taken in `state`, may leave the object if it answers `result`.
        Empty: impossible.
        """
        try:
            found = self.step(state, op, args)
        except (NotImplementedError, SpecError):
            raise
        except Exception as error:
            call = f"{type(self).__name__}.step({show(state)}, {op!r}, {show(args)})"
            raise SpecError(f"{call} raises {type(error).__name__}: {error}") from error
        try:
            after, answer = found
        except (TypeError, ValueError):
            if found is WAITS:
                return ()
            raise SpecError(f"{_step(self, state, op, args)} is a state and an answer, not {found!r}") from None
        if fits(result, answer) or _fits_frozen(self, state, (op, args), result, answer):
            return (after,)
        return ()

    def steps_like(self, base: type[Outcomes]) -> bool:
        """Whether this object behaves like one of class `base`, so that knowledge about that class applies to it."""
        mine = type(self)
        return mine.step is base.step and mine.successors is base.successors


_FROZEN: Final = frozenset({NoneType, bool, int, str, bytes, Raised, frozenset})
"""Types of answers that are compared directly."""


def _step(spec: Outcomes, state: Any, op: str, args: tuple[Any, ...]) -> str:
    """A step, in the words of a message."""
    return f"what {type(spec).__name__}.step({show(state)}, {op!r}, {show(args)}) returns"


def _fits_frozen(spec: Outcomes, state: Any, call: Call, result: Hashable, answer: Any) -> bool:
    """Whether the answer of a step fits in the form of a recorded one: a list and a tuple of the same items are one
    answer.
    """
    if type(answer) in _FROZEN:
        return False
    try:
        return fits(result, freeze(answer))
    except TypeError:
        raise SpecError(
            f"{_step(spec, state, *call)} has an answer of type {type(answer).__name__}, which may change: "
            "let it be an immutable copy"
        ) from None
