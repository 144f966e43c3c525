"""What calls change of that which outlives an execution, and how it is put back.

What the factory makes for an execution ends with it, and so does what calls make. All else keeps its state of before:
the first change of an attribute, an item or a variable notes what was there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CellType
from typing import Any, Final

from stress.explorer.held import held
from stress.explorer.kinds import CONTAINERS, Kind
from stress.explorer.outliving import fill_again, items_of, set_again
from stress.explorer.slots import Seam

__all__ = ["MAIN", "Undo"]

MAIN: Final = -1
"""The identity of whoever runs outside the scenario's threads."""


class Undo:
    """Knows what has been changed, and puts it back. Call `note` for every object that the factory makes."""

    def __init__(self, seam: Seam) -> None:
        self._seam = seam
        self.listens = False
        """Whether the object's code runs, and not only the explorer's."""
        self._undo: list[Callable[[], None]] = []
        self._saved: dict[Any, Any] = {}
        self._lying: dict[int, tuple[Any, Any]] = {}
        """Where the parts of the objects lie that the factory made."""
        self._touched: dict[int, list[Any]] = {}
        """Other objects, each with its name, the thread that touched it first, and whether that one made it."""
        self._of_all: set[int] = set()
        """The parts that all objects of the factory have in common."""

    def note(self, made: Any) -> None:
        """Record the places in a fresh object."""
        for each, where in held(made):
            self._lying.setdefault(id(each), (each, where))

    def _me(self) -> int:
        scheduler = self._seam.scheduler
        return MAIN if scheduler is None else scheduler.identity()

    def put_back(self) -> None:
        """Put back what has been changed and outlives an execution."""
        while self._undo:
            self._undo.pop()()
        self._saved.clear()

    def marks(self) -> dict[Any, Any] | None:
        """The marks of what was made meanwhile; None if something is to be put back."""
        return None if self._undo else self._saved.copy()

    def _save_attribute(self, owner: Any, name: str, kind: Kind) -> None:
        key = (id(owner), name)
        if not self.listens or key in self._saved or (id(owner) in self._lying and id(owner) not in self._of_all):
            return
        if self._is_made(owner):
            return
        self._saved[key] = owner
        space = vars(owner) if kind in (Kind.TYPE, Kind.MODULE) else getattr(owner, "__dict__", None)
        if name == "__dict__" and space is not None:
            self._undo.append(partial(_set_quietly, owner, name, space))
        elif isinstance(owner, type):
            self._undo.append(set_again(owner, name))
        elif space is not None:
            self._save_key(space, name)
        else:
            try:
                old = object.__getattribute__(owner, name)
            except AttributeError:
                return
            self._undo.append(partial(_set_quietly, owner, name, old))

    def _is_made(self, owner: Any) -> bool:
        """Whether an object was made meanwhile. Nothing that lives longer leads to it; an answer may, and needs it."""
        key = (id(owner), "made")
        of = type(owner)
        if key not in self._saved and (id(of), "called") in self._saved and not getattr(owner, "__dict__", True):
            self._saved[key] = owner
        return key in self._saved

    def _save_key(self, names: dict[Any, Any], name: Any) -> None:
        key = (id(names), name, "key")
        if self.listens and key not in self._saved:
            self._saved[key] = names
            if name in names:
                self._undo.append(partial(names.__setitem__, name, names[name]))
            else:
                self._undo.append(partial(names.pop, name, None))

    def _save_cell(self, cell: CellType) -> None:
        if not self.listens or (id(cell), "cell") in self._saved:
            return
        self._saved[id(cell), "cell"] = cell
        try:
            self._undo.append(partial(setattr, cell, "cell_contents", cell.cell_contents))
        except ValueError:
            self._undo.append(partial(_empty, cell))

    def _save_items(self, container: Any) -> None:
        if (
            not self.listens
            or id(container) in self._saved
            or (id(container) in self._lying and id(container) not in self._of_all)
        ):
            return
        if id(container) in self._touched and self._touched[id(container)][3]:
            return
        self._saved[id(container)] = container
        self._undo.append(partial(fill_again, container, items_of(container)))

    def _save_reachable(self, given: Any) -> None:
        if isinstance(given, CONTAINERS):
            self._save_items(given)

    def _save_cache(self, cache: Any) -> None:
        if self.listens and id(cache) not in self._saved:
            self._saved[id(cache)] = cache
            self._undo.append(cache.cache_clear)


def _set_quietly(owner: Any, name: str, value: Any) -> None:
    try:
        object.__setattr__(owner, name, value)
    except (AttributeError, TypeError):
        return


def _empty(cell: CellType) -> None:
    try:
        del cell.cell_contents
    except ValueError:
        return
