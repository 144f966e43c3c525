"""Which objects several threads use, and which places an access of one touches.

* Objects that the factory made are told apart by where they lie; of others, all that one instruction made, or else all
  of one type, are taken as one.
* An attribute or a container is a place only if it is known to change (`Knowledge`). What is known only grows. If it
  grew during an exploration, that begins again.
"""

from __future__ import annotations

import array
import gc
import io
import itertools
import random
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from types import CodeType, ModuleType
from typing import Any, Final

from stress.answers import attributes_of, space_of
from stress.explorer.containers import is_a, items_in
from stress.explorer.held import parts_of
from stress.explorer.kinds import (
    ATOMS,
    LOCKS,
    Kind,
    is_of_c,
    kind_of,
    may_be_called_back,
)
from stress.explorer.outliving import Undo, is_free, kept
from stress.explorer.policy import Refused, program_frame, program_place
from stress.explorer.slots import FOREIGN, MAIN, Attempt, Place, Seam, Several, meet, words_of

__all__ = ["ASKING", "BOUND", "DEEP", "SHALLOW", "WHOLE", "Key", "Knowledge", "NewCode", "Sharing"]

Key = tuple[Any, Any]
"""The name of a place: whose it is, and which attribute; None is for all items."""


class Sharing(Undo):
    """Knows the objects that an execution has met, names the places that its accesses touch, and makes the steps.
    `make_twin` gives the explored primitive for a real lock.
    """

    def __init__(self, seam: Seam, make_twin: Callable[[Any], Any], roots: Iterable[Any]) -> None:
        super().__init__(seam, roots)
        self._make_twin, seam.stands_for = make_twin, self._twin
        self.knowledge = Knowledge()
        self.names = self.knowledge.names
        self._places: dict[Any, Place] = {}
        self._elsewhere: dict[int, Any] = {}
        """Real locks that were met and hang on nothing of the program's: kept, so that no other has the name of one."""

    def note_made(self, site: Any, made: Any) -> None:
        """A container or a function has been made by an instruction."""
        if self._seam.before is None:
            self._changed[id(made)] = ()  # the factory has made it
        elif self._me() != MAIN:
            self._touch(made, f"a {type(made).__name__} made in {site.place}", is_made=True)

    def _touch(self, owner: Any, name: Any, *, is_made: bool = False) -> list[Any]:
        """This thread is the first that touches an object, and may have made it."""
        known = [kept(owner, partial(self.now.touched.pop, id(owner))), name, self._me(), is_made]
        self.now.touched[id(owner)] = known
        return known

    def _whose(self, owner: Any) -> Any:
        """The name of an object that several threads use; None if no other thread than this one has touched it."""
        if id(owner) in self.now.lying:
            return self.now.lying[id(owner)][1]
        if id(owner) not in self.now.touched:
            known = self._touch(owner, "a variable" if type(owner) is types.CellType else f"a {type(owner).__name__}")
        elif (known := self.now.touched[id(owner)])[2] != self._me():
            self.knowledge.learn(self.knowledge.shared, known[1])
        return known[1] if known[1] in self.knowledge.shared else None

    def _twin(self, lock: Any) -> Any:
        """The explored lock that stands for a real one."""
        if self._seam.scheduler is None:
            return lock
        known = self.now.twins.get(id(lock))
        if known is None or known[0] is not lock:
            if (
                self._seam.before is not None
                and type(lock) in LOCKS
                and self._before.states_of(lock)
                and not is_free(lock)
            ):
                raise Refused(
                    "a lock was free, and is held now: by code that was ended, or by a thread of the program's"
                )
            made = self._make_twin(lock)
            lying = self.now.lying.get(id(lock))
            # Its name must be its own: what is known of one lock, of who has waited for it, is not so of another.
            made._name = ("a lock", id(lock) if lying is None else lying[1])
            is_known = lying is not None or self._before.states_of(lock) is not None or id(lock) in self._elsewhere
            if not is_known and self._counts():
                self._elsewhere[id(lock)], self.knowledge.grew = lock, True
            if len(self._elsewhere) > _MOST_ELSEWHERE:
                raise Refused(
                    f"calls make a {type(lock).__qualname__} by a name that the explorer does not know, as in a table: "
                    "let them make it by its name in `threading`"
                )
            known = self.now.twins[id(lock)] = (lock, made)
        return known[1]

    def _keys_of_attribute(self, owner: Any, name: str) -> list[Key]:
        where = self._whose(owner) if name in self.names else None
        keys: list[Key] = [] if where is None else [(where, name)]
        return [*keys, ("a class", name)] if name in self.knowledge.of_classes else keys

    def _keys_of_all(self, owner: Any) -> list[Key]:
        names = [each for each in self.knowledge.names if _has(owner, each)]
        return [key for name in sorted(names) for key in self._keys_of_attribute(owner, name)]

    def _space_of(self, container: Any) -> Any:
        """The object whose attributes a dictionary holds; None if it holds items, or nobody has asked for it."""
        if id(container) not in self.now.spaces:
            return None
        space, owner = self.now.spaces[id(container)]
        return owner if space is container else None

    def _keys_of_items(self, container: Any, changes: bool = False) -> list[Key]:
        space = self._space_of(container)
        if space is not None:
            return [key for name in sorted(self.knowledge.names) for key in self._keys_of_attribute(space, name)]
        where = self._whose(container)
        if where is None:
            if changes:
                self.knowledge.learn(self.knowledge.items, self.now.touched[id(container)][1])
            return []
        if changes:
            self.knowledge.learn(self.knowledge.items, where)
        return [(where, None)] if where in self.knowledge.items else []

    def _keys_of(self, given: tuple[Any, ...], reach: int, changes: bool = False) -> list[Key]:
        """The places that a call in C accesses which reads, or `changes`, what it is given: containers, what iterators
        and views show, and within its `reach` what these hold, or all attributes, too. If it may call something in
        C, that may change all of it.
        """
        keys: dict[Key, None] = {}
        waiting, seen = list(given), set[int]()
        while waiting:
            each = waiting.pop()
            of = type(each)
            if of in ATOMS or id(each) in seen:
                continue
            seen.add(id(each))
            if len(seen) > _MOST_READ:
                raise Refused(f"a call in C may read more than {_MOST_READ:,} objects")
            if (reach < WHOLE or not changes) and may_be_called_back(each):
                self._refuse_waiting(each, ())
                self.now.calls_back = True
                return self._keys_of(given, WHOLE, True)
            kind = kind_of(of)
            if changes:
                self._save(each)
            if kind is Kind.CONTAINER:
                keys.update(dict.fromkeys(self._keys_of_items(each, changes)))
                waiting += items_in(each) if reach else []
            elif issubclass(of, (tuple, frozenset)):
                waiting += items_in(each) if reach else []
            elif kind is Kind.VIEW:
                waiting += gc.get_referents(each)
            elif kind in (Kind.ITERATOR, Kind.GENERATOR):
                if kind is Kind.ITERATOR:
                    self.now.changed = self.now.changed or of is not ASKING
                    if not reach and of not in _ONLY_GIVE:
                        return self._keys_of(given, DEEP, changes)
                    behind = gc.get_referents(each)
                    waiting += [part for one in behind if is_a(one, (tuple, frozenset)) for part in items_in(one)]
                    waiting += behind  # also what `map` and `zip` hold in tuples
                where = self._whose(each)
                if where is not None:  # whoever reads all of it, takes its items
                    keys[where, "next"] = None
                    self.now.calls_back = True
            elif kind is Kind.FOREIGN:
                if self._is_met(each):
                    keys[FOREIGN] = None
                    self.now.calls_back = self.now.calls_back or hasattr(of, "__next__")
            elif of in BOUND and not is_a(each.__self__, (ModuleType, type(None))):
                self._refuse_waiting(each, ())
                waiting.append(each.__self__)  # what calls this method, calls it back
            elif of is partial:
                waiting += [each.func, *each.args]
            if kind is Kind.PLAIN and (reach == WHOLE or is_a(each, types.SimpleNamespace)):
                for name, _ in attributes_of(each) if changes else ():
                    self.knowledge.learn(self.knowledge.names, name)
                keys.update(dict.fromkeys(self._keys_of_all(each)))
            if reach == WHOLE or (reach and is_a(each, types.SimpleNamespace)):
                waiting += [part for part, _ in parts_of(each, kind)]
        return list(keys)

    def _refuse_waiting(self, callee: Any, given: tuple[Any, ...]) -> None:
        """Refuse a method in C of a real lock, which keeps all threads waiting or none, or one that waits for items."""
        of = getattr(callee, "__objclass__", type(getattr(callee, "__self__", None)))
        waits = issubclass(of, SimpleQueue) and callee.__name__ == "get" and False not in given
        if (waits or issubclass(of, LOCKS)) and self._counts():
            raise Refused(
                f"{of.__name__}.{callee.__name__} may keep all threads waiting, or none: let it be a queue.Queue, or a "
                f"lock made by its name in `threading` ({program_place()})"
            )

    def _is_met(self, owner: Any) -> bool:
        """Whether another thread may meet an object of C, or what it shows."""
        if owner is _NUMBERS:
            return False
        if type(owner) in _PROXIES:
            raise Refused("a weak proxy stands for an object that is not seen: let it be a weakref.ref")
        return type(owner) not in _ON_THEIR_OWN or self._whose(owner) is not None

    def _step(self, keys: list[Key], changes: bool, succeeds: Callable[[], bool] | None = None) -> Place | None:
        """Make the step that accesses these places. If it changes something only where it `succeeds`, that is asked
        when it is its turn.
        """
        before, now = self._seam.before, self.now
        changes, now.calls_back = changes or now.calls_back, False
        now.changed = now.changed or changes
        if before is None or not keys:
            return None
        name: Any = keys[0] if len(keys) == 1 else Several(keys)
        if name in self._places:
            place = self._places[name]
        else:
            place = self._places[name] = Place(name, words_of(keys))
        if not changes:
            before(place)
        elif succeeds is None:
            before(place, None, "write")
        else:
            before(Attempt(name, place.what, succeeds), None, "write")
        return place

    def _step_of_c(self, keys: list[Key], changes: bool, succeeds: Callable[[], bool] | None = None) -> Place | None:
        """The same, of a call in C that may call back: it is made again after each of these."""
        place = self._step(keys, changes, succeeds)
        marks = self.now.marks
        if place is not None or marks:
            frame = program_frame()
            marks.pop(id(frame), None)
            if place is not None:
                marks[id(frame)] = frame.f_lasti, place, changes
        return place

    def _use_foreign(self, owner: Any, changes: bool) -> None:
        is_buffer = is_a(owner, _BUFFERS)  # it has a lock of its own, also while it calls a stream in Python
        if any(
            (is_buffer and not is_of_c(type(each))) or (type(each) is _REENTRANT and is_of_c(type(owner)))
            for each in gc.get_referents(owner)
        ):
            raise Refused(
                f"a {type(owner).__name__} is written in C and holds a real lock, which does not tell threads apart "
                "that take turns: use stress.run for it"
            )
        self._step_of_c([FOREIGN] if self._is_met(owner) else [], changes)

    def _is_disturbed(self, begun: int) -> bool:
        """Make the latest step again, if there was one since step `begun` of places that are the program's. Answers
        whether another thread has come in between, so that both together are not one step.
        """
        machine: Any = self._seam.scheduler
        if machine.step == begun:
            return False
        execution, first = machine.execution, machine.step - 1
        name = execution.slots[first]._name
        keys = [key for key in (name if type(name) is Several else [name]) if key != FOREIGN]
        changes = first in execution.wrote
        self._step(keys, changes)
        return any(
            execution.order[at] != machine.identity()
            and (changes or at in execution.wrote)
            and meet(Several(keys), execution.slots[at]._name)
            for at in range(first + 1, machine.step - 1)
        )

    def _counts(self) -> bool:
        """Whether a thread of the scenario runs. If another one does, its step is only counted."""
        before = self._seam.before
        if before is None or not self.listens:
            return False
        scheduler = self._seam.scheduler
        if scheduler is None or scheduler.identity() == MAIN:
            before(_PASSED)
            return False
        return True


SHALLOW, DEEP, WHOLE = range(3)
"""How far a call reaches: what it is given, all that this holds, and attributes of objects, too."""
BOUND: Final = (type(len), type(object().__str__), type(array.array("b").extend))
ASKING: Final = type(iter(int, 1))
"""The iterator that asks a function."""
_REENTRANT: Final = LOCKS[1]
_BUFFERS: Final = (io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.BufferedRWPair)
_PASSED: Final = Place(None, "")
_NUMBERS: Final[Any] = random.random.__self__  # type: ignore[attr-defined]
"""The random numbers of the library's own, which are nobody's state: a call of them is no step."""
_ON_THEIR_OWN: Final = frozenset({bytearray, array.array, io.StringIO, io.BytesIO, random.Random})
"""Types of C whose objects refer to nothing that another object shows. Of others nobody knows: a memoryview does."""
_PROXIES: Final = (weakref.ProxyType, weakref.CallableProxyType)
_MOST_READ: Final = 20_000
_MOST_ELSEWHERE: Final = 20
"""So many real locks may hang on the standard library and the like. If calls make one, there is another each time."""
_GIVING: Final[tuple[Any, ...]] = ([], {}, {}.values(), {}.items(), deque(), (), set(), range(1), range(1 << 70))
_ONLY_GIVE: Final = frozenset({
    *(type(iter(each)) for each in _GIVING), *(type(reversed(each)) for each in _GIVING[:5]), enumerate, zip, reversed,
    itertools.islice, itertools.count, itertools.cycle, itertools.repeat, itertools.compress, itertools.zip_longest,
})  # fmt: skip
"""Iterators that give items as they are. The others may look into them, or give what these hold."""


def _has(owner: Any, name: str) -> bool:
    space = space_of(owner)
    return (space is not None and name in space) or hasattr(type(owner), name)


class NewCode(BaseException):
    """Code without steps was about to run; it is known now."""


@dataclass
class Knowledge:
    """What is known of a program: the `names` of attributes that change, those of classes' attributes, the changing
    `variables` of modules and closures, the containers that change (`items`), the kinds of objects that several threads
    `share`; loops that read the same again and again, those that `end` by themselves and those that go in `circles`;
    and the codes that ran.
    """

    names: set[str] = field(default_factory=set)
    of_classes: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    items: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    ends: set[str] = field(default_factory=set)
    circles: set[str] = field(default_factory=set)
    codes: dict[int, CodeType] = field(default_factory=dict)
    alike: dict[CodeType, int] = field(default_factory=dict)
    grew: bool = False

    def has_grown(self) -> bool:
        """Whether anything was added since the exploration began."""
        return self.grew

    def told(self) -> list[list[str]]:
        """All but the codes, as a token holds it."""
        return [sorted(known) for known in self._sets()]

    def hear(self, told: Sequence[Iterable[str]]) -> None:
        """Add what a token holds."""
        for known, more in zip(self._sets(), told, strict=False):
            known.update(more)

    def _sets(self) -> tuple[set[str], ...]:
        return self.names, self.of_classes, self.variables, self.items, self.shared, self.ends, self.circles

    def learn(self, known: set[Any], new: Any) -> None:
        """Add something to one of the sets."""
        if new not in known:
            known.add(new)
            self.grew = True
