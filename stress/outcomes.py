"""What the checker asks of a specification: in which states an operation, or some that meet, may leave the object.

A specification says what happens by `step` alone. Two more methods are optional: `successors` for operations with
several possible outcomes, or with none (a lock that is taken cannot be acquired); `meetings` and `meet` for operations
that take effect at once, and wait for one another.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from types import NoneType
from typing import Any, ClassVar, Final

from stress.alike import fits
from stress.history import Call, Raised, freeze, show
from stress.terms import WAITS, SpecError, State

__all__ = ["Outcomes"]


class Outcomes:
    """The outcomes of operations, by default those that `step` gives."""

    meetings: ClassVar[Sequence[tuple[str, ...]]] = ()
    """The operations that may take effect together, while all of them run: ``[("put", "take")]``. See `meet`."""

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

    def meet(self, state: Any, calls: tuple[Call, ...]) -> tuple[State, tuple[Hashable, ...]]:
        """The state after some calls that take effect together in `state`, and the answer to each; `WAITS` if these do
        not meet there.

        `calls` are pairs of a name and arguments, in the order of their entry in `meetings`. Calls of the same name
        come in every order. What a call does without a partner is up to `step`, which mostly answers `WAITS`. An
        object with meetings is judged as a whole: `footprint`, `project`, `shows` and `glance` are not asked.

        >>> from stress import Spec
        >>> class Handoff(Spec):
        ...     meetings = [("put", "take")]
        ...     def step(self, state, op, args):
        ...         return WAITS
        ...     def meet(self, state, calls):
        ...         (_, (item,)), _ = calls
        ...         return state, (None, item)
        >>> Handoff().meet(None, (("put", (7,)), ("take", ())))
        (None, (None, 7))
        """
        raise NotImplementedError(f"{type(self).__name__} has meetings: define meet()")

    def meeting(self, state: Any, calls: tuple[Call, ...], results: tuple[Hashable, ...]) -> Iterable[State]:
        """Every state in which these calls, taken together in `state`, may leave the object if they answer `results`:
        for meetings what `successors` is for single calls.
        """
        what = f"{type(self).__name__}.meet({show(state)}, {show(calls)})"
        try:
            found = self.meet(state, calls)
        except (NotImplementedError, SpecError):
            raise
        except Exception as error:
            raise SpecError(f"{what} raises {type(error).__name__}: {error}") from error
        if found is WAITS:
            return ()
        try:
            after, answers = found
            pairs = list(zip(calls, results, answers, strict=True))
        except (TypeError, ValueError):
            raise SpecError(
                f"what {what} returns is a state and a tuple of {len(calls)} answers, or WAITS, not {found!r}"
            ) from None
        fit = all(
            fits(result, answer) or _fits_frozen(self, state, call, result, answer) for call, result, answer in pairs
        )
        return (after,) if fit else ()

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
