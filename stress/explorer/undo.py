"""What calls change of that which outlives an execution, and how it is put back.

What the factory makes for an execution ends with it, and so does what calls make. All else keeps its state of before:
the first change of an attribute, an item or a variable notes what was there. Environment variables are compared.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from random import Random
from typing import Any, Final
from weakref import ref

from stress.answers import space_of
from stress.explorer.containers import CONTAINERS, is_a
from stress.explorer.filling import is_empty
from stress.explorer.held import held
from stress.explorer.kinds import Kind, is_of_c, kind_of
from stress.explorer.outliving import (
    OF_C,
    class_again,
    environment_again,
    items_again,
    names_again,
    place_again,
    place_of,
    state_again,
)
from stress.explorer.policy import Refused
from stress.explorer.present import Present
from stress.explorer.slots import MAIN, Seam

__all__ = ["MAIN", "Undo", "kept"]


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
            if type(each) is ref or sys.getrefcount(each) > _REFERENCES:
                continue
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
