"""Specifications: a sequential object, as a function from a state and a call to the next state and the answer.

A specification needs ten lines (`docs/stress.md`): a start state and `step`. The other methods are optional. Each adds
speed or clarity:

* `is_read_only` lets the checker take an operation at the first moment where it fits and never reconsider it;
* `elements`, `footprint` and `restrict` let it split a history into parts that share nothing (Herlihy and
  Wing's locality);
* `project` lets it refute a history by one element alone;
* `shows`, `brings` and `content` let it refute an answer that shows something that was not in the object by then;
* `glance` proposes a narrower object or a small refutation, where a search for either is hopeless;
* `successors` is for operations with several possible outcomes, or with none (a lock that is taken cannot be
  acquired);
* `meetings` and `meet` are for operations that take effect at once, and wait for one another;
* `normalise` reduces a raw answer to the part that counts; `complaint` refuses calls in files that the object does not
  have.

How events of other tools' histories become operations is in `formats/readers.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, ClassVar, Final, NamedTuple

from stress.alike import fits
from stress.history import Call, Operation, Raised, freeze, show

__all__ = [
    "EVERYTHING",
    "WAITS",
    "ByKey",
    "Element",
    "Excerpt",
    "FrozenMap",
    "PerKey",
    "Spec",
    "SpecError",
    "State",
    "arity",
    "without_order",
]

State = Any
"""A state of the object. The checker deals with hashable ones only (`frozen_states`)."""
Element = Hashable


class _Everything(Enum):
    EVERYTHING = "everything"


EVERYTHING: Final = _Everything.EVERYTHING
"""The footprint of an operation that may read or change any part of the object."""

Footprint = Collection[Element] | _Everything


class _Waits(Enum):
    WAITS = "waits"


WAITS: Final[Any] = _Waits.WAITS
"""The result of `step` for an operation that cannot take effect yet, and waits until it can: a `get` from an empty
queue, a `put` into a full one.
"""


class SpecError(ValueError):
    """A specification that contradicts itself, or cannot be used. The message names the specification and the call."""


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

    name: ClassVar[str] = ""
    initial: State = None
    read_only: ClassVar[frozenset[str]] = frozenset()
    """Operations that never change any state, whatever they answer."""
    vocabulary: ClassVar[frozenset[str]] = frozenset()
    """The operations that exist. Empty: not declared, so a reader of files accepts every name."""

    parameters: ClassVar[Mapping[str, str]] = {}
    """The parameters of operations, written as in Python: ``{"pop": "key, default=None"}``. An operation that is not
    named here accepts any arguments.
    """

    meetings: ClassVar[Sequence[tuple[str, ...]]] = ()
    """The operations that may take effect together, while all of them run: ``[("put", "take")]``. See `meet`."""

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        """The state after `op(*args)` in `state`, and its answer; `WAITS` if it cannot take effect there and the caller
        has to wait. An exception as an answer is a `Raised`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what {op!r} does: define step()")

    def meet(self, state: Any, calls: tuple[Call, ...]) -> tuple[State, tuple[Hashable, ...]]:
        """The state after some calls that take effect together in `state`, and the answer to each; `WAITS` if these do
        not meet there.

        `calls` are pairs of a name and arguments, in the order of their entry in `meetings`. Calls of the same name
        come in every order. What a call does without a partner is up to `step`, which mostly answers `WAITS`. An
        object with meetings is judged as a whole: `footprint`, `project`, `shows` and `glance` are not asked.

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

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        """Whether `op(*args)`, if it answers `result`, can change *no* state at all.

        It is not enough that it leaves the present state unchanged: a blind write of the value that is already there is
        not a read. For `UNSEEN` it must hold for every answer.
        """
        return op in self.read_only

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

    def project(self, operation: Operation, element: Element, universe: Collection[Element]) -> Operation | None:
        """What `operation` says about `element` alone, as an operation of this same spec; None: nothing.

        Whenever the operation is legal in a state, its projection must be legal in that state restricted to
        `element`.
        """
        return None

    def shows(self, operation: Operation) -> Iterable[Hashable]:
        """The content of the object that the answer shows: values, members, or pairs of key and value that were there
        when `operation` took effect, or that it brought.

        Whenever the operation takes a state to another one with this answer, all of it must be in the `content` of the
        first state or in what the operation `brings`.
        """
        return ()

    def brings(self, operation: Operation) -> Collection[Hashable] | _Everything:
        """What `operation` may bring into the object: everything that is in the `content` of a state after it, but not
        before it. `EVERYTHING`: unknown.
        """
        return EVERYTHING

    def content(self, state: Any) -> Collection[Hashable]:
        """The content of the object in `state`, in the terms of `shows` and `brings`."""
        return ()

    def glance(self, operations: Sequence[Operation], start: Any) -> Spec | Excerpt | None:
        """What can be told without a search, where a search is hopeless. Either a narrower object, which allows nothing
        that this one does not and is quick to search; or an excerpt that may have no linearization.
        """
        return None

    def steps_like(self, base: type[Spec]) -> bool:
        """Whether this object behaves like one of class `base`, so that knowledge about that class applies to it."""
        mine = type(self)
        return mine.step is base.step and mine.successors is base.successors

    def normalise(self, op: str, result: Any) -> Hashable:
        """The part of a raw answer that counts, as an immutable value (`match`, for example, may answer in any
        order)."""
        return freeze(result)

    def describe(self, state: Any) -> str:
        """`state` as a reader of reports sees it."""
        return show(state)

    def options(self) -> dict[str, Any]:
        """The arguments that make an equal specification, for the header of a file."""
        return {"initial": self.initial}

    def refusal(self, state: Any, operation: Operation) -> str:
        """Why `operation` cannot take effect in `state`, in a few words."""
        here = self.describe(state)
        try:
            found = self.step(state, operation.op, operation.args)
        except NotImplementedError:
            return f"is not possible in state {here}"
        if found is WAITS:
            return f"would wait in state {here}, and answered {show(operation.result)}"
        _, answer = found
        return f"would answer {show(answer)} in state {here}, and answered {show(operation.result)}"

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


_FROZEN: Final = frozenset({NoneType, bool, int, str, bytes, Raised, frozenset})
"""Types of answers that are compared directly."""


def _step(spec: Spec, state: Any, op: str, args: tuple[Any, ...]) -> str:
    """A step, in the words of a message."""
    return f"what {type(spec).__name__}.step({show(state)}, {op!r}, {show(args)}) returns"


def _fits_frozen(spec: Spec, state: Any, call: Call, result: Hashable, answer: Any) -> bool:
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


class Excerpt(NamedTuple):
    """What the operations of a history say about some elements alone, as operations of the same spec. It has a
    linearization whenever the history has one.
    """

    elements: Collection[Element]
    operations: Sequence[Operation]


@cache
def arity(parameters: str | None) -> tuple[int, float]:
    """The least and the greatest number of arguments. None: the parameters are not known."""
    if parameters is None:
        return 0, float("inf")
    names = parameters.split(", ") if parameters else []
    return sum("=" not in name for name in names), len(names)


def without_order(found: Sequence[Hashable]) -> Hashable:
    """The part that counts of an answer in any order: the set of its items. If an item occurs twice, the whole answer
    in its order, which no state gives.

    >>> without_order(["b", "a"]) == without_order(["a", "b"]), without_order(["a", "a"])
    (True, ('a', 'a'))
    """
    return frozenset(found) if len(set(found)) == len(found) else tuple(found)


class FrozenMap(dict[Hashable, Any]):
    """An immutable, hashable dict for states: `put` and `without` make changed copies. It is meant for small maps."""

    __slots__ = ("_hash",)

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            self._hash: int = hash(frozenset(self.items()))
            return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMap, (dict(self),)  # without the hash: another process may hash strings differently

    def put(self, key: Hashable, value: Hashable) -> FrozenMap:
        """This map with `key` mapped to `value`."""
        changed = FrozenMap(self)
        changed[key] = value
        return changed

    def without(self, key: Hashable) -> FrozenMap:
        """This map without `key`, which may be absent."""
        return FrozenMap((other, value) for other, value in self.items() if other != key)

    def only(self, keys: Collection[Hashable]) -> FrozenMap:
        """The part of this map whose keys are in `keys`."""
        return FrozenMap((key, value) for key, value in self.items() if key in keys)


class ByKey(Spec):
    """A specification whose states are `FrozenMap`, and whose elements are the keys. The first argument of an operation
    is the key that it is about, if it is about one.
    """

    def elements(self, operation: Operation) -> Iterable[Element]:
        """The key."""
        return operation.args[:1]

    def elements_of(self, state: FrozenMap) -> Iterable[Element]:
        """The keys that are there."""
        return state.keys()

    def footprint(self, operation: Operation, universe: Collection[Element]) -> Footprint:
        """The key; else everything."""
        return tuple(self.elements(operation)) or EVERYTHING

    def restrict(self, state: FrozenMap, elements: Collection[Element]) -> State:
        """What some keys have."""
        return state.only(elements)

    def content(self, state: FrozenMap) -> Collection[Hashable]:
        """Pairs of key and value."""
        return state.items()


class PerKey(ByKey):
    """Many independent objects of one kind. The first argument of every operation selects the object."""

    def __init__(self, inner: Spec) -> None:
        self.inner = inner
        self.initial: FrozenMap = FrozenMap()
        self.meetings = inner.meetings  # type: ignore[misc]

    def successors(self, state: FrozenMap, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        """The successors for the object of that key."""
        key, *rest = args
        here = state.get(key, self.inner.initial)
        return [state.put(key, after) for after in self.inner.successors(here, op, tuple(rest), result)]

    def meeting(self, state: FrozenMap, calls: tuple[Call, ...], results: tuple[Hashable, ...]) -> Iterable[State]:
        """The states after a meeting at the object of one key."""
        key = calls[0][1][0]
        if any(args[0] != key for _, args in calls):
            return []
        inner = tuple((op, args[1:]) for op, args in calls)
        here = state.get(key, self.inner.initial)
        return [state.put(key, after) for after in self.inner.meeting(here, inner, results)]

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        """As for the object of that key."""
        return self.inner.is_read_only(op, args[1:], result)

    def refusal(self, state: FrozenMap, operation: Operation) -> str:
        """The refusal by the object of that key."""
        key, *rest = operation.args
        return self.inner.refusal(state.get(key, self.inner.initial), operation._replace(args=tuple(rest)))

    def normalise(self, op: str, result: Any) -> Hashable:
        """As for one object."""
        return self.inner.normalise(op, result)
