"""How events of other tools' histories become operations of a specification.

A specification says what an object does. How a tool writes down the calls of such an object is a matter of its format:
one reader is for all kinds of objects, with a word about those that are written in a way of their own, and another for
transactions.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from stress.history import UNSEEN
from stress.spec import Spec, arity
from stress.specs.map import VALUELESS, Map
from stress.specs.registers import KeyValue, MultiRegister, Register

Read = tuple[str, tuple[Hashable, ...], Hashable]
"""Operation, arguments and result."""
_SILENT: Final[dict[type[Spec], frozenset[str]]] = {
    Register: frozenset({"write"}),
    KeyValue: frozenset({"put", "append"}),
}
"""Operations that answer nothing, whatever their completion says."""


class Reader:
    """Reads the events of a specification."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.names_keys = isinstance(spec, (KeyValue, Map))
        """Whether the `:key` of an event is the first argument of an operation. If not, it names a separate object."""

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

        A vector is a list of arguments, unless the operation takes only one.
        """
        if (
            key is UNSEEN and self.names_keys and f in VALUELESS
        ):  # [key nil] asks for a key, and comes back as [key value]
            is_pair = isinstance(invoked, tuple) and bool(invoked)
            if (is_pair or isinstance(self.spec, KeyValue)) and isinstance(completed, tuple) and len(completed) == 2:
                completed = completed[1]
            key, invoked = (invoked[0], None) if is_pair else (key, invoked)
        given = () if key is UNSEEN else (key,)
        return f, (*given, *self._arguments(f, invoked, len(given))), self._answer(f, invoked, completed)

    def known(self, op: str, result: Hashable) -> Hashable:
        """The answer that an EDN history gives for an operation. A read of nil says nothing: in such histories it means
        that the answer is unknown. But a map answers nil if nothing is there.
        """
        return UNSEEN if result is None and op in self.spec.read_only and not isinstance(self.spec, Map) else result

    def _answer(self, f: str, invoked: Any, completed: Any) -> Any:
        """The answer in a completion. One that only repeats the arguments says nothing, unless it is that of a
        compare-and-set: it is done.
        """
        if completed is UNSEEN:
            return UNSEEN
        if any(isinstance(self.spec, kind) and f in silent for kind, silent in _SILENT.items()):
            return None
        if isinstance(self.spec, Register):
            return (f == "cas" and not isinstance(completed, bool)) or completed
        repeats = f not in self.spec.read_only and invoked is not None and _are_same(completed, invoked)
        return UNSEEN if repeats else self.spec.normalise(f, completed)

    def _arguments(self, f: str, invoked: Any, given: int) -> tuple[Hashable, ...]:
        """The arguments in the value of an invocation, after `given` other arguments. nil counts as an argument only
        where one is wanted, and a vector as a single argument where only one is possible.
        """
        least, most = arity(self.spec.parameters.get(f))
        if invoked is UNSEEN or most == given or (invoked is None and least <= given):
            return ()
        return invoked if isinstance(invoked, tuple) and most != given + 1 else (invoked,)


class MultiRegisterReader(Reader):
    """Reads the events of `MultiRegister`."""

    def knows(self, f: str) -> bool:
        """As `Reader.knows`."""
        return f == "txn" or f in _KINDS

    def known(self, op: str, result: Hashable) -> Hashable:
        """As `Reader.known`."""
        return tuple(UNSEEN if value is None else value for value in result) if isinstance(result, tuple) else result

    def read_event(self, f: str, invoked: Any, completed: Any, key: Any = UNSEEN) -> Read:
        """As `Reader.read_event`."""
        steps = _transaction(f, invoked if completed in (UNSEEN, None) else completed)
        plain = tuple(("read", key) if kind == "read" else (kind, key, *value) for kind, key, *value in steps)
        seen = tuple(value[0] if value else UNSEEN for kind, _, *value in steps if kind == "read")
        return "txn", plain, UNSEEN if completed is UNSEEN else seen


def reader_of(spec: Spec) -> Reader:
    """The reader for a specification."""
    return (MultiRegisterReader if isinstance(spec, MultiRegister) else Reader)(spec)


_KINDS: Final = {"r": "read", "read": "read", "w": "write", "write": "write"}


def _transaction(f: str, value: Any) -> list[tuple[Any, ...]]:
    """The steps of a transaction such as ``[[:r 0 nil] [:w 1 2]]``, or of a read or write of registers."""
    if f in _KINDS:
        pairs = value if isinstance(value, frozenset) else [value]
        value = tuple((f, *pair) if isinstance(pair, tuple) else pair for pair in pairs)
    elif not isinstance(value, tuple):
        raise ValueError(f"a transaction is a vector of [:read key value] and [:write key value], not {value!r}")
    elif value and not isinstance(value[0], tuple):
        value = (value,)
    for step in value:
        is_step = isinstance(step, tuple) and len(step) in (2, 3) and str(step[0]) in _KINDS
        if not is_step or (_KINDS[str(step[0])] == "write" and len(step) != 3):
            raise ValueError(
                f"{step!r} is no step of a transaction: it must be [:read key value] or [:write key value]"
            )
    return [(_KINDS[str(step[0])], *step[1:]) for step in value]


def _are_same(one: Any, other: Any) -> bool:
    """Whether two values have the same type and value: True is not 1."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_are_same, one, other))
    return type(one) is type(other) and bool(one == other)
