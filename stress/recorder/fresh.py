"""Fresh objects: every batch of a campaign needs one in the state in which its specification starts.

Two mistakes spoil that. A factory may give the same object again: it is refused. And calls may change what outlives
the object: a variable of a module that the first call fills, an attribute of a class. What happens only once in a
process has only one chance to go wrong, so a campaign that finds nothing says nothing about it (`Outliving`). `reset`,
which puts such things back before each object is made, mends both.
"""

from __future__ import annotations

import gc
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final

from stress.answers import space_of
from stress.recorder.workload import made_anew
from stress.source import is_installed, is_ours, is_standard, module_of


class Refused(ValueError):
    """What is to be run cannot be judged; the message says why."""


class Fresh:
    """Makes the objects of a campaign, and refuses one that is among the latest.

    Args:
        factory: makes an object.
        reset: puts back what outlives objects; then the same object may come again.
    """

    def __init__(self, factory: Callable[[], Any], reset: Callable[[], object] | None) -> None:
        self._factory, self._reset, self._latest = factory, reset, deque[Any](maxlen=8)

    def __call__(self) -> Any:
        """The next object.

        Raises:
            Refused: the factory gave it a short time ago.
        """
        made = made_anew(self._factory, self._reset)
        if self._reset is None and any(made is each for each in self._latest):
            raise Refused(
                f"the factory gave the same {type(made).__name__} again: it must make a fresh object at each call, or "
                "`reset` must put the old one back into the state in which the specification starts"
            )
        self._latest.append(made)
        return made


class Outliving:
    """What outlives an object: variables of modules, and attributes of the classes in them.

    Only the user's own modules are looked at, and those of the package that the object comes from: what other packages
    remember is their business.
    """

    def __init__(self, factory: Any) -> None:
        roots = [getattr(factory, "func", factory), *filter(callable, getattr(factory, "args", ()))]
        packages = {module_of(root).partition(".")[0] for root in roots}
        modules = [each for name, each in list(sys.modules.items()) if _is_users(name, packages)]
        self._spaces = [*modules, *(root for root in roots if isinstance(root, type))]
        self._values = dict(_places(self._spaces, set()))
        self._changes: list[set[str]] = []
        """What changed during each batch."""

    @property
    def changed(self) -> set[str]:
        """What has changed since the beginning."""
        return set().union(*self._changes)

    @property
    def once(self) -> set[str]:
        """What changed during the first batch, and not since."""
        first, *later = self._changes or [set()]
        return first.difference(*later) if later else set()

    def look(self) -> None:
        """Look again after a batch."""
        if len(self._changes) <= _LOOKS:
            before, self._values = self._values, dict(_places(self._spaces, set()))
            changed = {name for name, value in self._values.items() if before.get(name, _ABSENT) != value}
            self._changes.append(changed)


_ABSENT: Final = object()
_LOOKS: Final = 6
"""The number of batches after which what has changed once counts as changing only once."""
_MOST_ITEMS: Final = 400


def _places(spaces: Iterable[Any], seen: set[int]) -> Iterator[tuple[str, Any]]:
    """The names of what modules and classes hold, each with a value that differs if what is there does."""
    for space in (each for each in spaces if id(each) not in seen):
        seen.add(id(space))
        is_class = isinstance(space, type)
        home = f"{module_of(space)}.{space.__qualname__}" if is_class else space.__name__
        for name, value in list(vars(space).items()):
            if isinstance(value, type) and module_of(value) == (module_of(space) if is_class else home):
                yield from _places([value], seen)
            elif not (name.startswith("_") and name.endswith("_")):  # what Python and `enum` keep there
                yield f"{home}.{name}", _print_of(value)


def _is_users(module: str, packages: set[str]) -> bool:
    """Whether a module is the user's, or of the package that the object comes from."""
    file = _file_of(module)
    if is_ours(file) or module == "builtins":
        return False
    foreign = not file or is_standard(file) or is_installed(file)
    return module.partition(".")[0] in packages or not foreign


def _file_of(module: str) -> str:
    return getattr(sys.modules.get(module), "__file__", None) or ""


def _print_of(value: Any, depth: int = 2) -> Any:
    """A value that differs when another object is there, or the objects in it are others. Of what is ours, such as the
    settings of a run, nothing more is looked at.
    """
    held: Any = value if isinstance(value, _CONTAINERS) else None if isinstance(value, _WHOLES) else space_of(value)
    if not depth or held is None or is_ours(_file_of(module_of(type(value)))):
        return id(value)
    is_dict = isinstance(held, dict)
    parts = list(chain.from_iterable(list(dict.items(held)))) if is_dict else gc.get_referents(held)
    return id(value), len(parts), [_print_of(each, depth - 1 if held is value else 0) for each in parts[:_MOST_ITEMS]]


_WHOLES: Final = (type, types.ModuleType, types.FunctionType)
_CONTAINERS: Final = (dict, list, tuple, set, frozenset, deque)
