"""Specifications whose states are not hashable: lists, dictionaries, sets, dataclasses, and whatever holds some.

The checker compares states, remembers them and comes back to them. So it deals with *frozen* states: a private copy of
a state, and a key that tells it from others. `with_frozen_states` gives a specification like the user's, whose methods
take and return frozen states. The user's own methods get a fresh copy each time, so a `step` may change it in place.
Where types of answers count (`stress.alike`), states that are hashable are frozen, too, with a key that holds types.

Two dictionaries are one state if they are equal, whatever the order of their items; else every order in which keys came
would be another state. But a step may depend on that order (a cache that drops `next(iter(state))`). So every step from
a state with dictionaries is made twice, once with the items the other way round. If its effect differs, the order
counts from then on, for all specifications of that class.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

from stress.alike import Again, TypesCount, judging, typed_key
from stress.history import Operation, show
from stress.spec import Element, Excerpt, Spec, SpecError, State
from stress.values import fresh

T = TypeVar("T")


class Frozen:
    """A state that is not hashable, as the checker keeps it. Equal ones were made from equal states."""

    __slots__ = ("_hash", "_key", "has_order", "kept", "ordered", "typed")

    def __init__(self, state: Any, ordered: bool, typed: bool = False) -> None:
        self.ordered, self.typed, self._key = ordered, typed, _key(state, ordered, typed)
        self._hash = hash(self._key)
        self.kept = _copied(state)
        """Never changed, and given to nobody but `step`, which copies it."""
        self.has_order = not ordered and _has_order(state)
        """Whether there is another order of the items of its dictionaries."""

    def thaw(self, *, turned: bool = False) -> Any:
        """A copy of the state; `turned`: with the items of its dictionaries the other way round."""
        return _copied(self.kept, turned)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self._key == other._key

    def __repr__(self) -> str:
        return repr(self.kept)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the hash: another process may hash strings differently.
        return Frozen, (self.kept, self.ordered, self.typed)


def thawed(state: Any) -> Any:
    """The state that a frozen one was made from, as a copy; any other state itself."""
    return state.thaw() if type(state) is Frozen else state


# ------------------------------------------------------------------------------------------------ keys and copies


class _Unfit(TypeError):
    """A value that can neither be hashed nor frozen."""


class _Kind(tuple[Any, ...]):
    """The key of a value that is not hashable: its type, and the keys of its parts."""

    __slots__ = ()


def is_hashable(value: Any) -> bool:
    """Whether a value has a hash."""
    try:
        hash(value)
    except Exception:  # noqa: BLE001 - a memory view raises ValueError, and a user's class may raise anything
        return False
    return True


def _key(value: Any, ordered: bool, typed: bool) -> Hashable:
    is_whole = (
        not typed or isinstance(value, type) or not (isinstance(value, (tuple, frozenset)) or is_dataclass(value))
    )
    if is_whole and is_hashable(value):
        return typed_key(value) if typed else value
    if isinstance(value, (list, tuple, deque)):
        found: Any = tuple(value)
        if typed or not is_hashable(found):
            found = tuple([_key(item, ordered, typed) for item in value])
    elif isinstance(value, dict):
        pairs = tuple(value.items())
        if typed or not is_hashable(pairs):
            pairs = tuple([(_key(key, ordered, typed), _key(item, ordered, typed)) for key, item in pairs])
        found = pairs if ordered or isinstance(value, OrderedDict) else frozenset(pairs)
    elif isinstance(value, (set, frozenset)):
        found = frozenset([_key(item, ordered, typed) for item in value])
    elif isinstance(value, bytearray):
        found = bytes(value)
    elif is_dataclass(value):
        found = tuple([_key(getattr(value, each.name), ordered, typed) for each in fields(value)])
    else:
        raise _Unfit(type(value).__name__)
    return _Kind((type(value), found))


def _copied(value: Any, turned: bool = False) -> Any:
    """A copy that shares nothing that can change. `turned`: the items of dictionaries are the other way round."""
    kind = type(value)
    if kind is list and is_hashable(tuple(value)):
        return value[:]
    if kind is dict and not turned and is_hashable(tuple(value.values())):
        return value.copy()
    if is_hashable(value):
        return value
    if isinstance(value, tuple):
        parts = [_copied(item, turned) for item in value]
        return kind.__new__(kind, *parts) if hasattr(value, "_fields") else kind(parts)
    made = copy(value)
    if isinstance(value, dict):
        made.clear()
        items = reversed(value.items()) if turned and not isinstance(value, OrderedDict) else value.items()
        for key, item in items:
            made[key] = _copied(item, turned)
    elif isinstance(value, (list, deque)):
        for at, item in enumerate(value):
            made[at] = _copied(item, turned)
    elif is_dataclass(value):
        for each in fields(value):
            object.__setattr__(made, each.name, _copied(getattr(value, each.name), turned))
    return made


def _has_order(value: Any) -> bool:
    if isinstance(value, dict):
        return (len(value) > 1 and not isinstance(value, OrderedDict)) or any(map(_has_order, value.values()))
    if isinstance(value, (list, tuple, deque)):
        return not is_hashable(tuple(value)) and any(map(_has_order, value))
    return is_dataclass(value) and any(_has_order(getattr(value, each.name)) for each in fields(value))


# ------------------------------------------------------------------------------------------------ specifications


class OrderCounts(Again):
    """A step depends on the order of the items of a dictionary. From now on the order counts."""


def judged(spec: Spec, judge: Callable[[Spec], T], *, typed: bool = False) -> T:
    """What `judge` answers, called with a specification whose states are hashable. It is called again if it finds on
    the way that the order of items counts, or the types of answers. `typed`: they count from the beginning.

    Raises:
        SpecError: the start state is hashable, and a later one is not.
    """
    while True:
        frozen = with_frozen_states(spec, typed)
        try:
            with judging(typed=getattr(frozen, "types_count", False)):
                supervised = getattr(frozen, "supervised", None)  # of `Sequential`
                return judge(frozen) if supervised is None else supervised(partial(judge, frozen))
        except TypesCount:
            typed = True
        except OrderCounts:
            continue
        except TypeError as error:
            if "unhashable type" not in str(error) or isinstance(frozen, _FrozenStates):
                raise
            raise SpecError(
                f"the start state of {type(spec).__name__} is hashable, {show(spec.initial)}, and a later one is not "
                f"({error}): let `initial` be of that type, too"
            ) from error


class _FrozenStates(Spec):
    """Those methods of a specification that deal with states. `with_frozen_states` makes a class of this one and the
    user's, so that `super()` is the user's text.
    """

    types_count = False
    _order_of_items_counts = False
    _has_own_successors = True

    def _frozen(self, state: Any) -> State:
        return frozen_state(self, state, "one of them")

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        """As `Spec.step`, on a copy of the state. A state that is not frozen comes from the user's text, or from
        `Spec`, and such a one goes back.
        """
        given = state.thaw() if type(state) is Frozen else _copied(state)
        found: Any = super().step(given, op, fresh(args))  # which may become a part of the state
        if type(state) is not Frozen or not isinstance(found, tuple) or len(found) != 2:
            return found
        return self._frozen(found[0]), found[1]

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        """As `Spec.successors`."""
        if type(state) is not Frozen:
            return [*map(self._frozen, super().successors(state, op, args, result))]
        given = state.thaw() if self._has_own_successors else state.kept  # the other one only calls `step`
        found = [*map(self._frozen, super().successors(given, op, args, result))]
        if state.has_order and not self._order_of_items_counts:
            turned = super().successors(state.thaw(turned=True), op, args, result)
            if set(found) != {*map(self._frozen, turned)}:
                type(self)._order_of_items_counts = True
                raise OrderCounts
        return found

    def elements_of(self, state: Any) -> Iterable[Element]:
        """As `Spec.elements_of`."""
        return super().elements_of(thawed(state))

    def restrict(self, state: Any, elements: Collection[Element]) -> State:
        """As `Spec.restrict`."""
        return self._frozen(super().restrict(thawed(state), elements))

    def glance(self, operations: Sequence[Operation], start: Any) -> Spec | Excerpt | None:
        """As `Spec.glance`."""
        found = super().glance(operations, thawed(start))
        return with_frozen_states(found) if isinstance(found, Spec) else found

    def describe(self, state: Any) -> str:
        """As `Spec.describe`."""
        return super().describe(thawed(state))

    def refusal(self, state: Any, operation: Operation) -> str:
        """As `Spec.refusal`."""
        return super().refusal(thawed(state), operation)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (class_of(self), vars(self), self.types_count)


def _unpickled(kind: Any, attributes: dict[str, Any], typed: bool = False) -> Spec:
    made = object.__new__(_made_of(kind, typed))
    vars(made).update(attributes)
    return made


@lru_cache(256)
def _made_of(kind: Any, typed: bool) -> type[Spec]:
    """A class of `_FrozenStates` and the user's. It keeps whether the order of items counts. A new one of the same two
    finds that out again. `typed`: types of states count. Then it has no `glance`, since what a glance proposes compares
    answers without their types.
    """
    names: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "initial": None}
    if typed or kind.glance is Spec.glance:
        names["glance"] = Spec.glance  # the search asks whether there is one
    names["_has_own_successors"] = kind.successors is not Spec.successors
    names["types_count"] = typed
    made: type[Spec] = type(kind)(kind.__name__, (_FrozenStates, kind), names)
    return made


def class_of(spec: Spec) -> type[Spec]:
    """The class of a specification as its author wrote it."""
    kind = type(spec)
    return kind.__mro__[2] if issubclass(kind, _FrozenStates) else kind


def with_frozen_states(spec: Spec, typed: bool = False) -> Spec:
    """The specification itself if its start state is hashable; else, or if types of states count (`typed`), one like it
    that deals with frozen states.

    Raises:
        SpecError: the start state can neither be hashed nor frozen.
    """
    initial = spec.initial
    typed = typed or getattr(spec, "types_count", False)
    if type(initial) is Frozen:
        if initial.ordered is getattr(spec, "_order_of_items_counts", False) and initial.typed is typed:
            return spec
    elif is_hashable(initial) and not typed:
        return spec
    if not isinstance(spec, _FrozenStates) or spec.types_count is not typed:
        spec = _unpickled(class_of(spec), vars(spec), typed)
    vars(spec)["initial"] = frozen_state(spec, thawed(initial), "its start state")
    return spec


def frozen_state(spec: Spec, state: Any, what: str) -> State:
    """A state of a specification as the checker keeps it: itself, if it is hashable. `what` names it in a message.

    Raises:
        SpecError: it can neither be hashed nor frozen.
    """
    typed = getattr(spec, "types_count", False)
    if type(state) is Frozen or (is_hashable(state) and not typed):
        return state
    try:
        return Frozen(state, getattr(spec, "_order_of_items_counts", False), typed)
    except (_Unfit, RecursionError) as error:
        told = f"{what} is nested too deep"
        if isinstance(error, _Unfit):
            known = "list, tuple, dict, set, deque or dataclass"
            told = f"{what}, {show(state)}, holds an object of type {error}, which is no {known}"
        raise SpecError(f"the states of {type(spec).__name__} can neither be hashed nor copied: {told}") from None
