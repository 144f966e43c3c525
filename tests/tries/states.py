"""The state of an execution, as a number. Executions in equal states continue alike, however they got there.

The explored code is deterministic, and threads share nothing but slots. So the next steps of a thread follow from the
answers of its accesses so far: its *past*. The state consists of

* the content of all slots that have been changed;
* the past of every thread, or its answers if it has ended;
* which calls came before which returns.

Two things are forgotten, since otherwise hardly any two executions would reach equal states:

* What a function has read, when it returns. `_PURE` are functions that change nothing but slots: only their answer
  remains.
* What an attempt at a change has seen, if the attempt is repeated. Fields that the next attempt sets before it reads
  them are deleted from the edit here: code that reads one of them nevertheless raises an AttributeError, which is not a
  correct answer.

A node is named by its maker's past, so that it has the same name in equal states, and by how often the maker has
forgotten something, so that no two nodes have the same name.

A state is represented by a hash of 61 bits. Among a million states, two have the same hash with a probability of less
than one in a million; then a fault that shows only after the second one would be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from stress.explorer.slots import LOAD
from tests.tries.trie_copy import TrieCopy

__all__ = ["States"]

_PURE: Final = (
    "_bury", "_rdcss_complete", "clear_root", "fork_root", "freeze_root", "gcas", "gcas_complete", "gcas_read",
    "rdcss_read_root", "rdcss_root", "renewed", "snapshot_root",
)  # fmt: skip
"""Functions of `ctrie._nodes` and `ctrie._edits`: they change nothing but slots, and return a slot, a truth value or
nothing."""

_SET_ANEW: Final = frozenset((
    "bare", "bare_above", "depth", "hash", "inode", "lev", "parent", "parent_hash", "parent_lev", "parent_main",
    "parts", "taken",
))  # fmt: skip
"""Attributes of an edit that every attempt sets before it reads them, or that never change."""
_SET_UNTIL_SETTLED: Final = frozenset(("found", "present"))
"""Attributes that every attempt sets until the change is made."""
_STATISTICS: Final = frozenset(("attempts",))
"""Attributes that no later step depends on."""

_ATOMS: Final = frozenset((type(None), bool, int, float, str))
_MISSING: Final = object()
_UNNAMED: Final = object()

_Answer = Callable[..., Any]


class _Opaque(Exception):
    """A value that is more than its content, such as a snapshot."""


class States:
    """The states of a twin's machine. The twin's functions are followed from its creation on."""

    def __init__(self, twin: TrieCopy) -> None:
        self._machine, self._seam = twin.machine, twin.seam
        self._begin(0)
        nodes = {**vars(twin.nodes), **vars(twin.modules["ctrie._edits"])}
        for name in _PURE:
            _replace(twin, nodes[name], self._forgetful(nodes[name]))
        _replace(twin, nodes["_attempt"], self._repeated(nodes["_attempt"], nodes["RESTART"]))

    @contextmanager
    def followed(self, threads: int) -> Iterator[None]:
        """Follow the execution of this number of threads within the block."""
        self._begin(threads)
        machine = self._machine
        machine.observe, machine.namer = self._observe, self._new_name
        try:
            yield
        finally:
            machine.observe = machine.namer = None

    def _begin(self, threads: int) -> None:
        self._pasts = [hash(("thread", number)) for number in range(threads)]
        self._made = [0] * threads  # names given since the past last changed
        self._forgotten = [0] * threads  # how often
        self._answers: list[Any] = [None] * threads
        self._edits: dict[int, tuple[Any, int, dict[str, Any]]] = {}
        self._names: dict[int, tuple[int, Any]] = {}  # of values that are not slots, by their ids
        self._held = 0

    def key(self) -> int:
        """The state at a decision."""
        machine, execution = self._machine, self._machine.execution
        if not any(execution.logs):
            order = tuple([begun >= 0 for begun in execution.begun])
            return hash((self._held, tuple(self._pasts), machine.enabled, order))
        known = tuple([
            past if machine.enabled >> thread & 1 or execution.begun[thread] != -1 else self._answered(thread)
            for thread, past in enumerate(self._pasts)
        ])  # fmt: skip
        return hash((self._held, known, machine.enabled, execution.precedence()))

    def _answered(self, thread: int) -> Any:
        """Everything known about a thread that has ended."""
        if self._answers[thread] is None:
            try:
                self._answers[thread] = tuple(_content(it) for _, _, it in self._machine.execution.logs[thread])
            except _Opaque:
                self._answers[thread] = self._pasts[thread]
        return self._answers[thread]

    # Names.

    def _new_name(self) -> int:
        me = self._machine.identity()
        self._made[me] += 1
        return hash((self._pasts[me], self._made[me], self._forgotten[me]))

    def _name_of(self, value: Any) -> Any:
        """The name of `value`: an atom names itself, a slot of the start is named by its id, since it is never
        freed."""
        if type(value) in _ATOMS:
            return value
        name = getattr(value, "_name", _UNNAMED)
        if name is None:
            return id(value)
        if name is _UNNAMED:
            known = self._names.get(id(value))
            return _UNNAMED if known is None else known[0]
        return name

    def _name_from(self, value: Any, slot: Any) -> Any:
        """The name of `value`, which was read from `slot`: if it was there from the beginning, it is named by the
        slot."""
        name = self._name_of(value)
        if name is _UNNAMED:
            name = id(value) if slot._name is None else hash(("first", slot._name))
            self._names[id(value)] = name, value
        return name

    def _name_by(self, value: Any) -> Any:
        """The name of `value`, which the running thread puts into a slot."""
        name = self._name_of(value)
        if name is _UNNAMED:
            name = self._new_name()
            self._names[id(value)] = name, value
        return name

    # Changes of the state.

    def _remember(self, me: int, *answer: Any) -> None:
        self._pasts[me] = hash((self._pasts[me], *answer))
        self._made[me] = 0

    def _observe(self, me: int, slot: Any, expected: Any, desired: Any) -> None:
        """As `Machine.observe`. `slot` may not be a slot: an error that ends the call."""
        name = getattr(slot, "_name", _UNNAMED)
        if name is _UNNAMED:
            self._remember(me, "no slot")
            return
        if name is None:
            name = id(slot)
        found = slot._value
        if expected is LOAD:
            self._remember(me, name, self._name_from(found, slot))
        elif found is expected:
            self._held ^= hash((name, self._name_from(found, slot))) ^ hash((name, self._name_by(desired)))
            self._remember(me, name, "changed")
        else:
            self._remember(me, name, "not changed")

    # Forgetting.

    def _forgetful(self, function: _Answer) -> _Answer:
        """`function`, of which only the answer is remembered."""

        def followed(*args: Any) -> Any:
            if self._seam.scheduler is None or self._machine.namer is None:
                return function(*args)
            me = self._machine.identity()
            before = self._pasts[me]
            answer = function(*args)
            name = self._name_of(answer)
            if self._pasts[me] != before and name is not _UNNAMED:
                self._pasts[me] = before
                self._remember(me, function.__name__, name)
            return answer

        return followed

    def _repeated(self, attempt: _Answer, restart: int) -> _Answer:
        """`attempt`; if it is to be repeated, only what it leaves in the edit is remembered."""

        def followed(root: Any, edit: Any) -> Any:
            if self._seam.scheduler is None or self._machine.namer is None:
                return attempt(root, edit)
            me = self._machine.identity()
            if id(edit) not in self._edits:
                self._edits[id(edit)] = edit, self._pasts[me], _attributes(edit)
            outcome = attempt(root, edit)
            if outcome == restart:
                self._forget(me, edit)
            return outcome

        return followed

    def _forget(self, me: int, edit: Any) -> None:
        _, before, given = self._edits[id(edit)]
        left = []
        for name, value in _attributes(edit).items():
            if value is given.get(name, _MISSING) or name in _STATISTICS:
                continue
            if name in _SET_ANEW or (name in _SET_UNTIL_SETTLED and not edit.settled):
                delattr(edit, name)
            else:
                left.append((name, self._left(me, value)))
        self._forgotten[me] += 1
        self._pasts[me] = before
        self._remember(me, "again", *left)

    def _left(self, me: int, value: Any) -> Any:
        """What is known of the value that an attempt has left: its content or, if that may not be all, everything that
        the thread knows.
        """
        try:
            return _content(value)
        except _Opaque:
            attributes = _attributes(value)
            plain = attributes and all(type(each) in _ATOMS for each in attributes.values())
            return (type(value).__name__, *attributes.items()) if plain else self._pasts[me]


def _replace(twin: TrieCopy, function: _Answer, by: _Answer) -> None:
    for module in twin.modules.values():
        for name, value in list(vars(module).items()):
            if value is function:
                vars(module)[name] = by


@cache
def _slots_of(kind: type) -> tuple[str, ...]:
    return tuple(name for base in kind.__mro__ for name in base.__dict__.get("__slots__", ()))


def _attributes(value: Any) -> dict[str, Any]:
    found = {}
    for name in _slots_of(value.__class__):
        attribute = getattr(value, name, _MISSING)
        if attribute is not _MISSING:
            found[name] = attribute
    return found


def _content(value: Any) -> Any:
    """An answer as a plain value.

    Raises:
        _Opaque: it is more than its content.
    """
    kind = type(value)
    if kind in _ATOMS:
        return kind.__name__, value
    if isinstance(value, (list, tuple)):
        return (kind.__name__, *[_content(item) for item in value])
    if isinstance(value, (set, frozenset)):
        return kind.__name__, frozenset(_content(item) for item in value)
    if isinstance(value, dict):
        return (kind.__name__, *[(_content(key), _content(item)) for key, item in value.items()])
    if isinstance(value, BaseException):
        return kind.__name__, str(value)
    raise _Opaque
