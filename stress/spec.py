"""Specifications: a sequential object, as a function from a state and a call to the next state and the answer.

A specification needs ten lines (`docs/stress.md`): a start state and `step`. All else is optional:

* what else an operation may do: `successors`, for several possible outcomes, or none (a lock that is taken cannot be
  acquired);
* what makes the checker quick. Each such answer must be true: `spec_check` tries them.
  `is_read_only` lets the checker take an operation at the first moment where it fits and never reconsider it.
  `elements`, `footprint` and `restrict` let it split a history into parts that share nothing (Herlihy and Wing's
  locality).
  `glance` proposes a narrower object or a small refutation, where a search for either is hopeless;
* how operations, answers and states stand in files and in reports. (How events of other tools' histories become
  operations is in `formats/events.py`.)
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, ClassVar, Final, Literal, NamedTuple

from stress.alike import fits
from stress.history import Operation, Raised, freeze, show

State = Any
"""A state of the object. The checker deals with hashable ones only (`frozen_states`)."""
Element = Hashable


class _Special(Enum):
    EVERYTHING = "everything"
    WAITS = "waits"


Everything = Literal[_Special.EVERYTHING]
"""The type of `EVERYTHING`."""
EVERYTHING: Final = _Special.EVERYTHING
"""The footprint of an operation that may read or change any part of the object."""
WAITS: Final[Any] = _Special.WAITS
"""The result of `step` for an operation that cannot take effect yet, and waits until it can: a `get` from an empty
queue, a `put` into a full one.
"""
Footprint = Collection[Element] | Everything


class SpecError(ValueError):
    """A specification that contradicts itself, or cannot be used. The message names the specification and the call."""


class Excerpt(NamedTuple):
    """What the operations of a history say about some elements alone, as operations of the same spec. It has a
    linearization whenever the history has one.
    """

    elements: Collection[Element]
    operations: Sequence[Operation]


def without_order(found: Collection[Hashable]) -> Hashable:
    """The part that counts of an answer in any order: the set of its items. If an item occurs twice, the whole answer
    in its order, which no state gives.

    >>> without_order(["b", "a"]) == without_order(["a", "b"]), without_order(["a", "a"])
    (True, ('a', 'a'))
    """
    return frozenset(found) if len(set(found)) == len(found) else tuple(found)


_FROZEN: Final = frozenset({NoneType, bool, int, str, bytes, Raised, frozenset})
"""Types of answers that are compared directly."""


class Spec:
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
    """The state of a fresh object."""
    read_only: ClassVar[frozenset[str]] = frozenset()
    """Operations that never change any state, whatever they answer."""
    unchanged: ClassVar[Mapping[str, object]] = {}
    """Operations that change no state if they answer so: ``{"add": False, "pop": Raised}``. `Raised` stands for any
    exception.
    """
    unordered: ClassVar[frozenset[str]] = frozenset()
    """Operations that answer with items in any order."""
    name: ClassVar[str] = ""
    _refused_where: ClassVar[str] = "in state {}"
    """Where an operation is refused, as a report says it."""
    vocabulary: ClassVar[frozenset[str]] = frozenset()
    """The operations that exist. Empty: not declared, so a reader of files accepts every name."""
    parameters: ClassVar[Mapping[str, str]] = {}
    """The parameters of operations, written as in Python: ``{"pop": "key, default=None"}``. An operation that is not
    named here accepts any arguments.
    """

    # What an operation does.

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        """The state after `op(*args)` in `state`, and its answer; `WAITS` if it cannot take effect there and the caller
        has to wait. An exception as an answer is a `Raised`.
        """
        known = f"it has {', '.join(sorted(self.vocabulary))}" if self.vocabulary else "define step()"
        raise NotImplementedError(f"{type(self).__name__} does not say what {op!r} does: {known}")

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        """Every state in which `op(*args)`, taken in `state`, may leave the object if it answers `result`.
        Empty: impossible.
        """
        try:
            found = self.step(state, op, args)
        except (NotImplementedError, SpecError):
            raise
        except Exception as error:
            raise SpecError(f"{_called(self, state, op, args)} raises {type(error).__name__}: {error}") from error
        try:
            after, answer = found
        except (TypeError, ValueError):
            if found is WAITS:
                return ()
            raise SpecError(
                f"what {_called(self, state, op, args)} returns is a state and an answer, not {found!r}"
            ) from None
        if fits(result, answer):
            return (after,)
        if type(answer) in _FROZEN:
            return ()
        try:  # a list and a tuple of the same items are one answer
            return (after,) if fits(result, freeze(answer)) else ()
        except TypeError:
            raise SpecError(
                f"what {_called(self, state, op, args)} returns has an answer of type {type(answer).__name__}, which "
                "may change: let it be an immutable copy"
            ) from None

    def steps_like(self, base: type[Spec]) -> bool:
        """Whether this object behaves like one of class `base`, so that knowledge about that class applies to it."""
        mine = type(self)
        return mine.step is base.step and mine.successors is base.successors

    # What makes the checker quick.

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        """Whether `op(*args)`, if it answers `result`, can change *no* state at all.

        It is not enough that it leaves the present state unchanged: a blind write of the value that is already there is
        not a read. For `UNSEEN` it must hold for every answer.
        """
        if op not in self.unchanged:
            return op in self.read_only
        failure = self.unchanged[op]
        return isinstance(result, Raised) if failure is Raised else result is failure

    def elements(self, operation: Operation) -> Iterable[Element]:
        """The elements of the object (keys, members) that `operation` names."""
        return ()

    def elements_of(self, state: Any) -> Iterable[Element]:
        """The elements that are present in `state`."""
        return ()

    def footprint(self, operation: Operation, universe: Collection[Element]) -> Footprint:
        """Which of the elements in `universe` the answer or the effect of `operation` may depend on or
        change.
        """
        return EVERYTHING

    def restrict(self, state: Any, elements: Collection[Element]) -> State:
        """`state` without everything outside `elements`; it may also be returned whole."""
        return state

    def glance(self, operations: Sequence[Operation], start: Any) -> Spec | Excerpt | None:
        """What can be told without a search, where a search is hopeless. Either a narrower object, which allows nothing
        that this one does not and is quick to search; or an excerpt that may have no linearization.
        """
        return None

    # How it stands in files and in reports.

    def normalise(self, op: str, result: Any) -> Hashable:
        """The part of a raw answer that counts, as an immutable value: of an `unordered` one, the set of its items."""
        frozen = freeze(result)
        is_listed = op in self.unordered and isinstance(frozen, (tuple, frozenset))
        return without_order(frozen) if is_listed else frozen  # type: ignore[arg-type]

    def describe(self, state: Any) -> str:
        """`state` as a reader of reports sees it."""
        return show(state)

    def options(self) -> dict[str, Any]:
        """The arguments that make an equal specification, for the header of a file."""
        return {"initial": self.initial}

    def refusal(self, state: Any, operation: Operation) -> str:
        """Why `operation` cannot take effect in `state`, in a few words."""
        here = self._refused_where.format(self.describe(state))
        try:
            found = self.step(state, operation.op, operation.args)
        except NotImplementedError:
            return f"is not possible {here}"
        would = "wait" if found is WAITS else f"answer {show(found[1])}"
        return f"would {would} {here}, and answered {show(operation.result)}"

    def complaint(self, operation: Operation) -> str | None:
        """The fault of an operation in a file, if this object has no such operation. `step` and the other methods need
        not handle it.

        >>> from stress import Register
        >>> Register().complaint(Operation(0, 0, 1, 2, "cas", (3,), True))
        'the call is cas(old, new), not cas(3)'
        """
        op, args = operation.op, operation.args
        if self.vocabulary and op not in self.vocabulary:
            return f"{self.name} has no operation {op}: it has {', '.join(sorted(self.vocabulary))}"
        least, most = arity(self.parameters.get(op))
        if least <= len(args) <= most:
            return None
        return f"the call is {op}({self.parameters[op]}), not {op}({', '.join(map(show, args))})"


def _called(spec: Spec, state: Any, op: str, args: tuple[Any, ...]) -> str:
    """A step, in the words of a message."""
    return f"{type(spec).__name__}.step({show(state)}, {op!r}, {show(args)})"


@cache
def arity(parameters: str | None) -> tuple[int, float]:
    """The least and the greatest number of arguments. None: the parameters are not known."""
    if parameters is None:
        return 0, float("inf")
    names = parameters.split(", ") if parameters else []
    return sum("=" not in name for name in names), len(names)
