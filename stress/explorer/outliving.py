"""What outlives an execution, and how it becomes again what it was: a function for each kind of state, which knows what
that is now. Variables of the program's modules, attributes of its classes, and what hangs on them are copied before the
first execution (`Snapshot`): code that has no steps yet changes them unseen. All else is copied before the first step
that changes it (`Undo`).
"""

from __future__ import annotations

import builtins
import gc
import os
import sys
import sysconfig
import threading
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from io import BytesIO, StringIO
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

from stress.answers import space_of
from stress.explorer.containers import CONTAINERS, fill_again, is_a, is_namespace, items_of
from stress.explorer.filling import is_empty
from stress.explorer.held import held, parts_of
from stress.explorer.kinds import ATOMS, LOCKS, QUIET, Kind, is_of_c, kind_of
from stress.explorer.policy import Refused, Treatment, module_of, standard_module, treatment_of_file
from stress.explorer.present import Present
from stress.explorer.slots import MAIN, Seam

__all__ = ["CONTENT", "OF_C", "Snapshot", "Undo", "is_free", "kept", "names_again", "place_again", "state_of_library"]

Back = Callable[[], object]
OF_C: Final = (Kind.FOREIGN, Kind.ITERATOR, Kind.GENERATOR)
"""Kinds of objects whose state is in C."""
CONTENT: Final[Any] = CellType.cell_contents
"""The place of what a variable of a function holds."""
_INSTALLED: Final = tuple({os.path.join(sysconfig.get_path(each), "") for each in ("purelib", "platlib", "stdlib")})
"""Where the program's own modules do not lie, nor do those that are frozen."""
_MOST: Final = 200_000
"""Containers and objects that are copied."""
_MOST_OF_LIBRARY: Final = 50_000
_MISSING: Final = object()
_TESTING: Final = frozenset({"pytest", "_pytest", "pluggy", "hypothesis", "pytest_timeout", "xdist", "execnet"})
"""Packages whose objects do not belong to the program: a module of tests can name all of pytest's session, which is
changed by the test that runs, and by nothing else."""


class Snapshot:
    """The state of the program's own modules, classes, and what they hold, and of what the `roots` lead to. `put_back`
    restores it.
    """

    def __init__(self, roots: Iterable[Any] = ()) -> None:
        self._seen: dict[int, Any] = {}
        own = list(_own_modules())
        # What `catch_warnings` puts back is what another thread has put there.
        self._backs: list[Back] = [names_again(vars(module)) for module in (builtins, warnings, *own)]
        waiting: list[Any] = [*roots, *(value for module in (warnings, *own) for value in vars(module).values())]
        while waiting and len(self._seen) < _MOST:
            each = waiting.pop()
            kind = kind_of(type(each))
            if id(each) not in self._seen and kind is not Kind.MODULE and _is_own(each):
                self._seen[id(each)] = each
                self._backs += _states_of(each, kind)
                if kind is Kind.TYPE:
                    waiting += [*vars(each).values(), *each.__mro__, type(each)]
                elif kind is not Kind.ITERATOR:  # what lies in one is its own
                    waiting += [part for part, _ in parts_of(each, kind)]
        self.is_whole = not waiting
        """Whether all is in it."""

    def has(self, each: Any) -> bool:
        """Whether something was there before."""
        return id(each) in self._seen

    def forget(self) -> None:
        """Keep nothing of it any more."""
        self._backs.clear()
        self._seen.clear()

    def put_back(self) -> None:
        """Restore what has been changed."""
        for back in self._backs:
            back()


def _own_modules() -> Iterator[ModuleType]:
    for module in list(sys.modules.values()):
        if type(module) is ModuleType and _is_own_module(module):
            yield module


def _is_own_module(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    return module is not None and (
        module is sys.modules.get("__main__") or (isinstance(file, str) and _is_own_file(file))
    )


def _is_own_file(file: str) -> bool:
    return not file.startswith(_INSTALLED) and treatment_of_file(file) is Treatment.EXPLORED


def _is_own(each: Any) -> bool:
    """Whether something belongs to the program, or to what it uses, and not to the code that tests it."""
    of = type(each)
    if is_a(each, type):
        return not is_of_c(each) and _is_own_module(sys.modules.get(module_of(each)))
    if of is FunctionType:
        return _is_own_file(each.__code__.co_filename)
    return module_of(of).partition(".")[0] not in _TESTING and not (is_a(each, dict) and is_namespace(each))


def _states_of(each: Any, kind: Kind) -> Iterator[Back]:
    """What makes an object again what it is now."""
    of = type(each)
    if kind is Kind.TYPE:
        yield class_again(each)
    elif kind is Kind.CONTAINER:
        yield items_again(each)
    elif of in LOCKS and is_free(each):
        yield partial(_free, each)
    elif of is CellType:
        yield place_again(CONTENT, each)
    elif kind in OF_C and (back := state_again(each)) is not None:
        yield back
    if of is FunctionType:
        yield from (names_again(names) for names in (vars(each), each.__kwdefaults__) if names is not None)
    elif kind is not QUIET and (not is_of_c(of) or of is SimpleNamespace or is_a(each, BaseException)):
        own = [vars(base).values() for base in of.__mro__ if not is_of_c(base)]
        slots = [slot for values in own for slot in values if type(slot) is MemberDescriptorType]
        yield from (place_again(slot, each) for slot in slots)
        if type(space := space_of(each)) is dict:
            yield names_again(space)


def names_again(names: dict[Any, Any]) -> Back:
    """For variables, or attributes of an object. Modules that are imported meanwhile stay."""
    before = dict(names)

    def back() -> None:
        if list(names) == list(before) and all(map(is_, names.values(), before.values())):
            return
        for name in [name for name in names if name not in before and not isinstance(names[name], ModuleType)]:
            del names[name]
        for name, value in before.items():
            if names.get(name, _MISSING) is not value:
                names[name] = value

    return back


def class_again(cls: type) -> Back:
    """For the attributes of a class."""
    before = dict(vars(cls))

    def back() -> None:
        for name in [name for name in vars(cls) if name not in before]:
            type.__delattr__(cls, name)
        for name, value in before.items():
            if vars(cls).get(name, _MISSING) is not value:
                type.__setattr__(cls, name, value)

    return back


def items_again(container: Any) -> Back:
    """For a list, dictionary, set or deque."""
    before = items_of(container)

    def back() -> None:
        now = items_of(container)
        values = (now.values(), before.values()) if isinstance(before, dict) else ((), ())
        if len(now) != len(before) or not all(map(is_, now, before)) or not all(map(is_, *values)):
            fill_again(container, before)

    return back


def place_of(of: type, name: str) -> Any:
    """What keeps an attribute outside an object's dictionary: a slot, or the like, such as the code of a function."""
    found = next((vars(base)[name] for base in of.__mro__ if name in vars(base)), None)
    return found if type(found) in (MemberDescriptorType, GetSetDescriptorType) else None


def place_again(place: Any, owner: Any) -> Back:
    """For what `place_of` gives, and for variables of closures."""
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


def state_again(of_c: Any) -> Back | None:
    """For an object of C; None if there is no way."""
    for base in (bytearray, array):
        if is_a(of_c, base):
            return partial(base.__setitem__, of_c, slice(None), base.__getitem__(of_c, slice(None)))
    if is_a(of_c, Random) and not is_a(of_c, SystemRandom):
        return partial(Random.setstate, of_c, Random.getstate(of_c))
    if type(of_c) in (StringIO, BytesIO) and not of_c.closed:
        return partial(of_c.__setstate__, of_c.__getstate__())
    return None


def environment_again() -> Back:
    """For the environment variables of the process."""
    kept: dict[Any, Any] = os.environ._data  # type: ignore[attr-defined]  # looked at after each execution
    before, texts = dict(kept), dict(os.environ)

    def back() -> None:
        if kept != before:
            for name in [name for name in os.environ if name not in texts]:
                del os.environ[name]
            os.environ.update(texts)

    return back


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


def state_of_library(codes: Iterable[CodeType]) -> dict[int, Any]:
    """What modules of the standard library keep for themselves, by identity: caches and the like, which fill on first
    use. It is what their variables lead to, of those modules whose code these are. It ends at other modules, and at
    objects of the program's classes.
    """
    names = {name for each in codes if (name := standard_module(each.co_filename))}
    waiting: list[Any] = [vars(sys.modules[name]) for name in names if name in sys.modules]
    found: dict[int, Any] = {id(each): each for each in waiting}
    while waiting and len(found) < _MOST_OF_LIBRARY:
        holder = waiting.pop()
        for each in gc.get_referents(holder):
            if id(each) not in found and _is_of(names, each) and _leads_on(holder, each):
                found[id(each)] = each
                waiting.append(each)
    return found


def _leads_on(holder: Any, each: Any) -> bool:
    """A tuple holds what the program has given, but for the closure of a function."""
    return type(each) is not tuple or type(holder) is FunctionType


def _is_of(names: set[str], each: Any) -> bool:
    of = type(each)
    if of is FunctionType:
        return each.__module__ in names
    if of in _LEAVES_OF_LIBRARY or is_namespace(each):
        return False
    return module_of(each) in names if is_a(each, type) else is_of_c(of) or module_of(of) in names


_LEAVES_OF_LIBRARY: Final = ATOMS - {type, FunctionType} | {ModuleType, CodeType}


class Undo:
    """Knows what has been changed, and puts it back. Call `note` for every object that the factory makes."""

    def __init__(self, seam: Seam) -> None:
        self._seam = seam
        self.listens = False
        """Whether the object's code runs, and not only the explorer's."""
        self._undo: list[tuple[Any, Callable[[], object]]] = []
        """What was changed, and how to put it back."""
        self._saved: dict[Any, Any] = {}
        """What is to be put back, or needs not be: what was made meanwhile, of which nothing is kept here. If it ends,
        only what is made later can have its identity."""
        self.now = Present()
        self._when_gone = self._is_gone
        self.lost: dict[str, str] = {}
        """The objects of C that outlive an execution with what it has changed, and where it has."""
        self.used: dict[str, str] = {}
        """Those of which it is not known whether they are changed."""
        self._of_all: set[int] = set()
        """The parts that all objects of the factory have in common, and others that are older than an execution."""
        self._environment = environment_again()
        self._given: dict[int, ref[Any]] = {}
        """What the factory has given."""

    def refuse_older(self, made: Any) -> None:
        """Refuse an object that the factory has given before, if it does not always give the same: nobody can tell in
        which state that was at first.
        """
        if id(made) in self._of_all:
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
                if self._outlives(each):  # as one of a pool does that the factory has taken
                    self._of_all.add(id(each))

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
        scheduler = self._seam.scheduler
        return MAIN if scheduler is None else scheduler.identity()

    def put_back(self) -> None:
        """Put back what has been changed and outlives an execution."""
        while self._undo:
            self._undo.pop()[1]()
        self._environment()
        self._saved.clear()

    def leave(self, left: Mapping[int, Any]) -> None:
        """Put back what has been changed, but leave these objects as they are, by identity. Random numbers begin again,
        since they are no cache."""
        self._undo = [(owner, back) for owner, back in self._undo if id(owner) not in left or is_a(owner, Random)]
        self.put_back()

    def _save(self, of: Any, again: Callable[[Any], Callable[[], object]], *what: str, owner: Any = None) -> None:
        """Something is about to be changed, of which `what` tells a part: `again` knows how to put it back."""
        key = (id(of), *what) if what else id(of)
        if self.listens and key not in self._saved:
            self._saved[key] = of
            self._undo.append((of if owner is None else owner, again(of)))

    def _save_attribute(self, owner: Any, name: str, kind: Kind) -> None:
        if not self.listens or self._is_new(owner) or self._is_made(owner):
            return
        place = None if kind is Kind.TYPE else place_of(type(owner), name)
        if kind is Kind.TYPE:
            self._save(owner, class_again, "its attributes")
        elif place is not None:
            self._save(owner, partial(place_again, place), name)
        elif (space := space_of(owner)) is not None:
            self._save(space, names_again, owner=owner)

    def _is_new(self, owner: Any) -> bool:
        """Whether the factory has made it for this execution."""
        return id(owner) in self.now.lying and id(owner) not in self._of_all

    def _is_made(self, owner: Any) -> bool:
        """Whether an object was made meanwhile. Nothing that lives longer leads to it; an answer may, and needs it."""
        key = (id(owner), "made")
        if key in self._saved:
            return True
        if (id(type(owner)), "called") not in self._saved or not is_empty(owner) or self._outlives(owner):
            return False
        self._saved[key] = None
        return True

    def _outlives(self, owner: Any) -> bool:
        """Whether an object is known to be older than the execution."""
        return id(owner) in self._of_all

    def _save_items(self, container: Any) -> None:
        made = self.now.touched.get(id(container))
        if not self._is_new(container) and not (made is not None and made[3]):
            self._save(container, items_again)

    def _save_reachable(self, given: Any, *, is_changed: bool = False) -> None:
        if is_a(given, CONTAINERS):
            self._save_items(given)
        elif kind_of(type(given)) in OF_C:
            self._save_state(given, is_changed=is_changed)

    def _save_state(self, of_c: Any, *, is_changed: bool) -> None:
        """An object of C is about to be used, or surely to be changed. What outlives an execution is put back if there
        is a way.
        """
        if not self.listens or id(of_c) in self._saved or not self._outlives(of_c):
            return
        if next(filter(is_of_c, type(of_c).__mro__)) is object:
            return  # what it holds is put back
        self._saved[id(of_c)] = of_c
        back = state_again(of_c)
        if back is not None:
            self._undo.append((of_c, back))
        else:
            told = f"a {type(of_c).__name__} outlives an execution, and nothing can put it back"
            is_lost = is_changed and type(of_c) is not count  # the next number is a new one, as it was before
            (self.lost if is_lost else self.used).setdefault(told, _place())

    def _cache_again(self, cache: Any) -> Callable[[], None]:
        """For a cache: removes the answers that it gets meanwhile. One that had some cannot lose the others alone."""
        size, where = cache.cache_info().currsize, _place()

        def back() -> None:
            if not size:
                cache.cache_clear()
            elif cache.cache_info().currsize != size:
                name = getattr(cache, "__qualname__", "")
                self.lost.setdefault(f"the cache of {name}, which had answers before, gets others", where)

        return back


def kept(each: Any, forget: Callable[[Any], object]) -> Any:
    """What is remembered of an object, so that no other one has its identity: a weak reference, since something may
    happen at its end, or the object itself. `forget` is called with the reference when it is gone.
    """
    return ref(each, forget) if type(each).__weakrefoffset__ else each


_REFERENCES: Final = 4
"""Those of the table, of a list of all, of a variable, and of a call."""
_HERE: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


def _place() -> str:
    """The line of the program that runs."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
