"""How events of other tools' histories become operations of a specification.

A specification says what an object does. How a tool writes down the calls of such an object is a matter of its format:
a reader for each kind of object is here, and one for all others.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Final

from stress.history import UNSEEN
from stress.spec import Spec, arity
from stress.specs.map import VALUELESS, Map
from stress.specs.registers import KeyValue, MultiRegister, Mutex, Register

__all__ = ["Reader", "reader_of"]

Read = tuple[str, tuple[Hashable, ...], Hashable]
"""Operation, arguments and result."""


class Reader:
    """Reads the events of any specification."""

    names_keys: ClassVar[bool] = False
    """Whether the `:key` of an event is the first argument of an operation. If not, it names a separate object."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def knows(self, f: str) -> bool:
        """Whether events of that name may describe an operation; `read_event` decides."""
        return not self.spec.vocabulary or f in self.spec.vocabulary

    def read_event(self, f: str, invoked: Any, completed: Any, key: Any = UNSEEN) -> Read:
        """The operation, arguments and result of an event pair of an EDN history.

        Args:
            f: the operation's name.
            invoked: the value of the invocation; `UNSEEN` if it carries none.
            completed: the value of the completion; `UNSEEN` if it never completed or carries none.
            key: the `:key` of the events, if there is one and `names_keys` says that it is an argument.

        By default a vector is a list of arguments, unless the operation takes only one. The completion of an update
        that only repeats the arguments says nothing about the answer.
        """
        given = () if key is UNSEEN else (key,)
        repeats = f not in self.spec.read_only and invoked is not None and _are_same(completed, invoked)
        result = UNSEEN if repeats or completed is UNSEEN else self.spec.normalise(f, completed)
        return f, (*given, *self._arguments(f, invoked, len(given))), result

    def known(self, op: str, result: Hashable) -> Hashable:
        """The answer that an EDN history gives for an operation. A read of nil says nothing: in such histories it means
        that the answer is unknown.
        """
        return UNSEEN if result is None and op in self.spec.read_only else result

    def _arguments(self, f: str, invoked: Any, given: int) -> tuple[Hashable, ...]:
        """The arguments in the value of an invocation, after `given` other arguments. nil counts as an argument only
        where one is wanted, and a vector as a single argument where only one is possible.
        """
        least, most = arity(self.spec.parameters.get(f))
        if invoked is UNSEEN or most == given or (invoked is None and least <= given):
            return ()
        return invoked if isinstance(invoked, tuple) and most != given + 1 else (invoked,)


class RegisterReader(Reader):
    """Reads the events of `Register`."""

    def read_event(self, f: str, invoked: Any, completed: Any, key: Any = UNSEEN) -> Read:
        """As `Reader.read_event`."""
        if f == "read":
            return f, (), completed
        if f == "cas":
            succeeded = completed if isinstance(completed, bool) else True
            return f, _pair(f, invoked), UNSEEN if completed is UNSEEN else succeeded
        return f, () if invoked is UNSEEN else (invoked,), UNSEEN if completed is UNSEEN else None


class KeyValueReader(Reader):
    """Reads the events of `KeyValue`."""

    names_keys = True

    def read_event(self, f: str, invoked: Any, completed: Any, key: Any = UNSEEN) -> Read:
        """As `Reader.read_event`."""
        value = invoked
        if key is UNSEEN:  # the key is part of the value: [key value], or the key alone
            key, value = _pair(f, invoked) if isinstance(invoked, tuple) else (invoked, UNSEEN)
            completed = _pair(f, completed)[1] if isinstance(completed, tuple) else completed
        if f == "get":
            return f, () if key is UNSEEN else (key,), completed
        return f, (key, value) if value is not UNSEEN else (key,), UNSEEN if completed is UNSEEN else None


class MultiRegisterReader(Reader):
    """Reads the events of `MultiRegister`."""

    def knows(self, f: str) -> bool:
        """As `Reader.knows`."""
        return f == "txn" or f in _KINDS

    def known(self, op: str, result: Hashable) -> Hashable:
        """As `Reader.known`."""
        if not isinstance(result, tuple):
            return result
        return tuple(UNSEEN if value is None else value for value in result)

    def read_event(self, f: str, invoked: Any, completed: Any, key: Any = UNSEEN) -> Read:
        """As `Reader.read_event`."""
        steps = _transaction(f, invoked if completed in (UNSEEN, None) else completed)
        plain = tuple(("read", key) if kind == "read" else (kind, key, *value) for kind, key, *value in steps)
        if completed is UNSEEN:
            return "txn", plain, UNSEEN
        return (
            "txn",
            plain,
            tuple(value[0] if value else UNSEEN for kind, _, *value in steps if kind == "read"),
        )


class MutexReader(Reader):
    """Reads the events of `Mutex`."""

    def read_event(self, f: str, invoked: Any, completed: Any, key: Any = UNSEEN) -> Read:
        """As `Reader.read_event`."""
        return f, (), UNSEEN if completed is UNSEEN else None


class MapReader(Reader):
    """Reads the events of `Map`."""

    names_keys = True

    def known(self, op: str, result: Hashable) -> Hashable:
        """As `Reader.known`."""
        return result  # a get answers nil if nothing is there

    def read_event(self, f: str, invoked: Any, completed: Any, key: Any = UNSEEN) -> Read:
        """As `Reader.read_event`."""
        if key is UNSEEN and f in VALUELESS and isinstance(invoked, tuple) and invoked:
            key, invoked = invoked[0], None  # [key nil], which comes back as [key value]
            completed = completed[1] if isinstance(completed, tuple) and len(completed) == 2 else completed
        return super().read_event(f, invoked, completed, key)


_READERS: Final[dict[type[Spec], type[Reader]]] = {
    Register: RegisterReader,
    KeyValue: KeyValueReader,
    MultiRegister: MultiRegisterReader,
    Mutex: MutexReader,
    Map: MapReader,
}


def reader_of(spec: Spec) -> Reader:
    """The reader for a specification."""
    kinds = (_READERS[kind] for kind in type(spec).__mro__ if kind in _READERS)
    return next(kinds, Reader)(spec)


_KINDS = {"r": "read", "read": "read", "w": "write", "write": "write"}


def _transaction(f: str, value: Any) -> list[tuple[Any, ...]]:
    """The steps of a transaction such as ``[[:r 0 nil] [:w 1 2]]``, or of a read or write of registers."""
    if _KINDS.get(f):
        pairs = value if isinstance(value, frozenset) else [_pair(f, value)]
        return [(_KINDS[f], *pair) for pair in pairs]
    if not isinstance(value, tuple):
        raise ValueError(f"a transaction is a vector of [:read key value] and [:write key value], not {value!r}")
    steps = [step if isinstance(step, tuple) else (step,) for step in ((value,) if _is_step(value) else value)]
    for step in steps:
        if not _is_step(step) or (_KINDS[str(step[0])] == "write" and len(step) != 3):
            raise ValueError(
                f"{step!r} is no step of a transaction: it must be [:read key value] or [:write key value]"
            )
    return [(_KINDS[str(step[0])], *step[1:]) for step in steps]


def _is_step(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) in (2, 3)
        and not isinstance(value[0], tuple)
        and str(value[0]) in _KINDS
    )


def _pair(f: str, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError(f"the value of {f} must be a pair, not {value!r}")
    return value[0], value[1]


def _are_same(one: Any, other: Any) -> bool:
    """Whether two values have the same type and value: True is not 1."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_are_same, one, other))
    return type(one) is type(other) and bool(one == other)
