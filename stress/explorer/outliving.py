"""What outlives an execution, and how it becomes again what it was: a function for each kind of state, which knows what
that is now. Variables of the program's modules, attributes of its classes, and what hangs on them are copied before the
first execution (`Snapshot`). After each, those become again what they were that a step has changed (`Undo`), and all of
them before an exploration begins again: code that has no steps yet changes them unseen. What hangs elsewhere, as on the
standard library, is copied before the first step of the program's that changes it. What the library keeps for itself,
such as caches, stays as the first execution has left it. An explored lock, made anew for each execution, stands
for a real one that was made before.
"""

from __future__ import annotations

import builtins
import os
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from operator import is_
from random import Random, SystemRandom
from types import (
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, Final
from weakref import ref

from stress.answers import attributes_of, space_of
from stress.explorer.containers import fill_again, is_a, is_namespace, items_of
from stress.explorer.held import held, parts_of
from stress.explorer.kinds import LOCKS, QUIET, Kind, is_of_c, kind_of
from stress.explorer.policy import (
    INSTALLED,
    STANDARD,
    Refused,
    Treatment,
    module_of,
    program_frame,
    program_place,
    standard_module,
    treatment_of,
    treatment_of_file,
)
from stress.explorer.slots import MAIN, Seam

__all__ = ["OF_C", "Present", "Snapshot", "Undo", "is_free", "kept"]

Back = Callable[[], object]
OF_C: Final = (Kind.FOREIGN, Kind.ITERATOR, Kind.GENERATOR)
"""Kinds of objects whose state is in C."""
_OF_C: Final = (*OF_C, Kind.CACHE)
_UNKNOWN_AGE: Final = (*_OF_C, QUIET, Kind.LOCK, Kind.LOCAL, Kind.MODULE, Kind.SUPER, Kind.VIEW)
"""Kinds of objects that are put back only if the copy has them."""
_PLACES: Final[dict[type, Any]] = {
    CellType: CellType.cell_contents,
    FunctionType: FunctionType.__defaults__,
    BaseException: vars(BaseException)["args"],
}
"""What keeps something of an object outside the dictionary of its attributes, but for slots."""
_MOST: Final = 200_000
"""Containers and objects that are copied."""
_MISSING: Final = object()
_TESTING: Final = frozenset({"pytest", "_pytest", "pluggy", "hypothesis", "pytest_timeout", "xdist", "execnet"})
"""Packages whose objects do not belong to the program: a module of tests can name all of pytest's session, which is
changed by the test that runs, and by nothing else."""


class Snapshot:
    """The state of the program's own modules, classes, and what they hold, and of what the `roots` lead to. `put_back`
    restores it.
    """

    def __init__(self, roots: Iterable[Any] = ()) -> None:
        self._known: dict[int, tuple[Any, tuple[Back, ...]]] = {}
        self._modules: dict[int, ModuleType] = {}
        self._codes = 0
        self._sizes: dict[int, int] = {}
        self.is_whole = True
        """Whether all is in it."""
        self._known[id(os.environ)] = os.environ, (names_again(os.environ),)
        # What `catch_warnings` puts back is what another thread has put there.
        self._add([builtins, warnings, *filter(_is_own_module, _modules())])
        self._walk([*roots, random.random.__self__])  # type: ignore[attr-defined]

    def include(self, codes: dict[int, CodeType]) -> None:
        """Also the state of the installed packages whose code runs."""
        if len(codes) == self._codes:
            return
        self._codes = len(codes)
        files = {each.co_filename for each in codes.values()}
        packages = {_package(each) for each in _modules() if getattr(each, "__file__", None) in files}
        self._add([each for each in _modules() if _package(each) in packages and _has_steps(each)])

    def _add(self, modules: list[ModuleType]) -> None:
        new = [each for each in modules if id(each) not in self._modules]
        self._modules.update((id(each), each) for each in new)
        for names in map(vars, new):
            self._known[id(names)] = names, (names_again(names),)
        self._walk([value for each in new if each is not builtins for value in vars(each).values()])

    def _walk(self, waiting: list[Any]) -> None:
        known = self._known
        while waiting and len(known) < _MOST:
            each = waiting.pop()
            kind = kind_of(type(each))
            if id(each) not in known and kind is not Kind.MODULE and self._belongs(each):
                known[id(each)] = each, tuple(_states_of(each, kind))
                if kind is Kind.CACHE:
                    self._sizes[id(each)] = each.cache_info().currsize
                if kind is Kind.TYPE:
                    waiting += [*vars(each).values(), *each.__mro__, type(each)]
                elif kind is not Kind.ITERATOR:  # what lies in one is its own
                    waiting += [part for part, _ in parts_of(each, kind)]
        self.is_whole = self.is_whole and not waiting

    def _belongs(self, each: Any) -> bool:
        """Whether something belongs to the program, or to what it uses, and not to the code that tests it."""
        of = type(each)
        if is_a(each, type):
            module = sys.modules.get(module_of(each))
            return not is_of_c(each) and (module is None or id(module) in self._modules)
        if of is FunctionType:
            return treatment_of(each.__code__) is Treatment.EXPLORED
        if is_namespace(each):  # the variables of a module have their own place
            return dict.get(each, "__name__") not in sys.modules
        return module_of(of).partition(".")[0] not in _TESTING

    def states_of(self, each: Any) -> tuple[Back, ...] | None:
        """What makes an object again what it was; None if it was not there before."""
        return self._known[id(each)][1] if id(each) in self._known else None

    def has_grown(self, cache: Any) -> bool:
        """Whether a cache that nothing puts back has other answers than before."""
        return bool(cache.cache_info().currsize != self._sizes.get(id(cache), 0) > 0)

    def put_back(self) -> None:
        """Restore what has been changed."""
        for _, backs in self._known.values():
            for back in backs:
                back()

    def forget(self) -> None:
        """Keep nothing of it any more."""
        self._known.clear()


def _modules() -> Iterator[ModuleType]:
    return (each for each in list(sys.modules.values()) if type(each) is ModuleType)


def _package(module: ModuleType) -> str:
    return module.__name__.partition(".")[0]


def _is_own_module(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return module.__name__ == "__main__" or (
        isinstance(file, str) and not file.startswith((STANDARD, *INSTALLED)) and _has_steps(module)
    )


def _has_steps(module: ModuleType) -> bool:
    """Whether a module has code with steps, and does not belong to the standard library."""
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and not standard_module(file) and treatment_of_file(file) is Treatment.EXPLORED


def _states_of(each: Any, kind: Kind) -> Iterator[Back]:
    """What makes an object again what it is now."""
    of = type(each)
    if kind is Kind.TYPE:
        yield names_again(each)
    elif kind is Kind.CONTAINER:
        yield items_again(each)
    elif of in LOCKS and is_free(each):
        yield partial(_free, each)
    elif is_a(each, Random) and not is_a(each, SystemRandom):
        yield partial(Random.setstate, each, Random.getstate(each))
    elif kind is Kind.CACHE and not each.cache_info().currsize:
        yield each.cache_clear  # one that has answers cannot lose the others alone
    yield from (place_again(place, each) for base, place in _PLACES.items() if is_a(each, base))
    if of is FunctionType:
        yield from (names_again(names) for names in (vars(each), each.__kwdefaults__) if names is not None)
    elif of is partial or (
        kind is not QUIET and (not is_of_c(of) or of is SimpleNamespace or is_a(each, BaseException))
    ):
        own = [vars(base).values() for base in of.__mro__ if not is_of_c(base)]
        slots = [slot for values in own for slot in values if type(slot) is MemberDescriptorType]
        yield from (place_again(slot, each) for slot in slots)
        if type(space := space_of(each)) is dict:
            yield names_again(space)


def names_again(of: Any) -> Back:
    """For variables, of the process, too, or attributes of an object or a class. Modules that are imported meanwhile
    stay.
    """
    is_class = is_a(of, type)
    names: Any = vars(of) if is_class else of
    put = partial(type.__setattr__, of) if is_class else names.__setitem__
    take = partial(type.__delattr__, of) if is_class else names.__delitem__
    before = dict(names)

    def back() -> None:
        for name in [name for name in names if name not in before]:
            if is_class or not isinstance(names[name], ModuleType):
                take(name)
        for name, value in before.items():
            if not _is_same(names.get(name, _MISSING), value):
                put(name, value)

    return back


def _is_same(one: Any, other: Any) -> bool:
    """Whether two are the same, or equal texts: a variable of the process is another text each time."""
    return one is other or (type(one) is type(other) is str and one == other)


def items_again(container: Any) -> Back:
    """For a list, dictionary, set or deque."""
    before = items_of(container)

    def back() -> None:
        now = items_of(container)
        values = (now.values(), before.values()) if isinstance(before, dict) else ((), ())
        if len(now) != len(before) or not all(map(is_, now, before)) or not all(map(is_, *values)):
            fill_again(container, before)

    return back


def place_again(place: Any, owner: Any) -> Back:
    """For what a descriptor keeps of an object: a slot, or what a variable of a function holds."""
    before = _got(place, owner)

    def back() -> None:
        if _got(place, owner) is not before:
            with suppress(AttributeError, TypeError, ValueError):
                place.__delete__(owner) if before is _MISSING else place.__set__(owner, before)

    return back


def _got(place: Any, owner: Any) -> Any:
    try:
        return place.__get__(owner)
    except (AttributeError, ValueError):
        return _MISSING


def is_free(lock: Any) -> bool:
    """Whether a lock is free, or a reentrant one is not this thread's."""
    return not (lock.locked() if type(lock) is LOCKS[0] else lock._is_owned())


def _free(lock: Any) -> None:
    """Free a lock again: code without steps has taken it, and was ended. While others run, nobody knows whose it is."""
    alone = threading.current_thread()
    while not is_free(lock) and (
        type(lock) is not LOCKS[0]
        or all(
            each is alone or each.name.startswith(("explored-", "explorer-", "stress-", *_TESTING))
            for each in threading.enumerate()
        )
    ):
        lock.release()


class Undo:
    """Knows what has been changed, and puts it back. Call `note` for every object that the factory makes."""

    def __init__(self, seam: Seam, roots: Iterable[Any]) -> None:
        self._seam = seam
        self.listens = False
        """Whether the object's code runs, and not only the explorer's."""
        self._before = Snapshot(roots)
        self._changed: dict[Any, tuple[Back, ...]] = {}
        """What makes that again what it was which has been changed."""
        self.now = Present()
        self._when_gone = self._is_gone
        self.lost: dict[str, str] = {}
        """The objects of C that outlive an execution with what it has changed, and where it has."""
        self.used: dict[str, str] = {}
        """Those of which it is not known whether they are changed."""
        self._grown = ""
        """A cache that keeps what calls have made."""
        self._given: dict[int, ref[Any]] = {}
        """What the factory has given."""

    def refuse_older(self, made: Any) -> None:
        """Refuse an object that the factory has given before, and that nothing puts back: nobody can tell in which
        state that was at first.
        """
        if self._before.states_of(made) is not None:
            return
        if id(made) in self._given and self._given[id(made)]() is made:
            raise Refused("the factory gives an object again that it has given before, with what calls have changed")
        if type(made).__weakrefoffset__:
            self._given[id(made)] = ref(made)

    def note(self, made: Any) -> None:
        """Record the places in a fresh object."""
        for each, where in held(made):
            if id(each) not in self.now.lying:
                self.now.lying[id(each)] = kept(each, self._when_gone), where
        for lock, twin in self.now.twins.values():
            if id(lock) in self.now.lying:
                twin._name = self.now.lying[id(lock)][1]

    def _is_gone(self, gone: Any) -> None:
        """A part of what the factory made is no more: another object may have its identity now."""
        for key in [key for key, (each, _) in self.now.lying.items() if each is gone]:
            del self.now.lying[key]

    def kept_alive(self) -> str:
        """What the explorer alone keeps alive with something whose end shows; empty if there is nothing. Lists and the
        like have no weak references.
        """
        for each in [
            *(each for each, _ in self.now.lying.values()),
            *(known[0] for known in self.now.touched.values()),
        ]:
            if type(each) is ref or sys.getrefcount(each) > _REFERENCES or kind_of(type(each)) is Kind.ITERATOR:
                continue  # what an iterator takes its items from has another end
            for part, _ in held(each):
                if hasattr(type(part), "__del__"):
                    return f"a {type(each).__name__} with a {type(part).__name__} is let go of, and lives on here"
        return ""

    def _me(self) -> int:
        return MAIN if self._seam.scheduler is None else self._seam.scheduler.identity()

    def put_back(self) -> None:
        """Put back what has been changed and outlives an execution."""
        for backs in self._changed.values():
            for back in backs:
                back()
        self._changed.clear()

    def _save(self, owner: Any, *, is_changed: bool = False) -> None:
        """Something is about to be changed; an object of C may only be used, if it is not told that it `is_changed`.
        What outlives an execution is put back if there is a way.
        """
        _, owner = self.now.spaces.get(id(owner), (None, owner))
        owner = vars(owner) if is_a(owner, ModuleType) else owner
        if not self.listens or id(owner) in self._changed:
            return
        backs = self._before.states_of(owner)
        if backs is None and (backs := self._states_of_older(owner)) is None:
            return
        self._changed[id(owner)] = backs
        if kind_of(type(owner)) is Kind.CACHE and self._before.has_grown(owner):
            self._grown = getattr(owner, "__qualname__", "")
        if not backs and kind_of(type(owner)) in _OF_C:
            told = f"a {type(owner).__name__} outlives an execution, and nothing can put it back"
            is_lost = is_changed and type(owner) is not count  # the next number is a new one, as it was before
            (self.lost if is_lost else self.used).setdefault(told, program_place())

    def _save_place(self, owner: Any, name: str) -> None:
        """An attribute is about to be changed: some lie outside the dictionary of attributes, such as the name of a
        function.
        """
        self._save(owner)
        if self._changed.get(id(owner)) and (id(owner), name) not in self._changed:
            place = next((vars(base)[name] for base in type(owner).__mro__ if name in vars(base)), None)
            if type(place) in (GetSetDescriptorType, MemberDescriptorType):
                self._changed[id(owner), name] = (place_again(place, owner),)

    def _states_of_older(self, owner: Any) -> tuple[Back, ...] | None:
        """What makes something again what it is now that the copy does not have, as it hangs on what is not the
        program's; None if it is surely of this execution, or the standard library changes it.
        """
        kind, made = kind_of(type(owner)), self.now.touched.get(id(owner))
        if id(owner) in self.now.lying or (made is not None and made[3]):
            return None
        if kind in _UNKNOWN_AGE and type(owner) is not CellType:
            return None
        if standard_module(program_frame().f_code.co_filename):
            return None
        if kind is Kind.PLAIN and type(owner) is not FunctionType and next(attributes_of(owner), None) is None:
            return ()  # it is new, and is being filled
        if self._grown and not is_a(owner, type):  # perhaps it is one of those answers
            self.lost.setdefault(f"the cache of {self._grown}, which had answers before, keeps others", program_place())
        is_of_module = is_namespace(owner) or (is_a(owner, dict) and dict.__contains__(owner, "__name__"))
        return (names_again(owner),) if is_of_module else tuple(_states_of(owner, kind))


def kept(each: Any, forget: Callable[[Any], object]) -> Any:
    """What is remembered of an object, so that no other one has its identity: a weak reference, since something may
    happen at its end, or the object itself. `forget` is called with the reference when it is gone.
    """
    return ref(each, forget) if type(each).__weakrefoffset__ else each


_REFERENCES: Final = 4
"""Those of the table, of a list of all, of a variable, and of a call."""


@dataclass(slots=True)
class Present:
    """One execution, or calls that are made one after another."""

    lying: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """Where the parts of the objects lie that the factory made."""
    touched: dict[int, list[Any]] = field(default_factory=dict)
    """Other objects, each with its name, the thread that touched it first, and whether that made it."""
    spaces: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """The dictionaries that hold attributes, with their objects."""
    twins: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """Real locks that were made before, each with the explored one that stands for it."""
    marks: dict[int, tuple[int, Any, bool]] = field(default_factory=dict)
    """The steps of instructions that run and may call back, each by the identity of its frame. That may have ended:
    another one passes the site of an instruction first."""
    calls_back: bool = False
    """Whether the present instruction may call a method in C that changes something, or takes items."""
    turns: int = 0
    """How often loops have begun again since that was looked at."""
    spins_at: tuple[int, int] = (MAIN, MAIN)
    """The step and the thread when it was looked at."""
    changed: bool = False
    """Whether anything was changed since then, also what no other thread sees."""
    stood: set[Any] = field(default_factory=set)
    """Where generators and coroutines have stood that were suspended."""
    rounds: int = 0
    """How often it was looked at since then, with no step in between."""
