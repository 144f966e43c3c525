"""Private copies of the interpreted packages: imported from their sources once more, on slots of their own, and
optionally with changes in the source. The twin that the process runs, and the modules that it has imported, stay as
they are.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType
from typing import Final, NamedTuple
from unittest import mock

PACKAGES: Final = ("ctrie", "subtrie")


class StaleChange(ValueError):
    """A change whose text does not occur exactly once: the source has changed, so the change must follow it."""


class Change(NamedTuple):
    """A change of the source: `text`, which occurs once in `module`, is replaced by `replacement`."""

    name: str
    module: str
    text: str
    replacement: str

    def put_into(self, source: str) -> str:
        """The source with the change applied."""
        occurrences = source.count(self.text)
        if occurrences != 1:
            raise StaleChange(f"{self.name}: {self.text!r} occurs {occurrences} times in {self.module}")
        return source.replace(self.text, self.replacement)


def import_privately(
    names: Sequence[str], instead: Mapping[str, ModuleType] = MappingProxyType({}), changes: Sequence[Change] = ()
) -> dict[str, ModuleType]:
    """Import the modules of these `names`, and the modules of their packages that they import, from their sources, with
    `changes` applied, and with modules of the same names replaced by those in `instead`. Returns all of them by name;
    `sys.modules` is left unchanged.

    Raises:
        StaleChange: a change does not fit its source.
    """
    packages = {name.partition(".")[0] for name in names}
    finder = _SourceFinder(packages, changes)
    for package in packages:
        _folder(package)  # looked up before the finder is installed, which needs it
    with _without(packages):
        sys.modules.update(instead)
        with mock.patch.object(sys, "meta_path", [finder, *sys.meta_path]):
            for name in names:
                importlib.import_module(name)
        modules = {name: module for name, module in sys.modules.items() if _belongs(name, packages)}
    for change in changes:
        if change.module not in modules:
            raise StaleChange(f"{change.name}: {change.module} was not imported")
    return modules


def interpreted_twin() -> ModuleType:
    """A replacement for `ctrie._build_choice` that always imports the interpreted twin."""
    twin = ModuleType("ctrie._build_choice")
    vars(twin).update(choose=lambda package: None, confirm=lambda running: None)
    return twin


@contextmanager
def _without(packages: Collection[str]) -> Iterator[None]:
    kept = {name: module for name, module in sys.modules.items() if _belongs(name, packages)}
    for name in kept:
        del sys.modules[name]
    try:
        yield
    finally:
        for name in [name for name in sys.modules if _belongs(name, packages)]:
            del sys.modules[name]
        sys.modules.update(kept)


def _belongs(name: str, packages: Collection[str]) -> bool:
    return name.partition(".")[0] in packages


class _SourceFinder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds and loads the .py files of the packages' modules, with the changes applied, never an extension beside
    one."""

    def __init__(self, packages: Collection[str], changes: Sequence[Change]) -> None:
        self._packages, self._changes = packages, changes

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not _belongs(name, self._packages) or not (source := source_of(name)).exists():
            return None
        return importlib.util.spec_from_file_location(name, source, loader=self)

    def is_package(self, name: str) -> bool:
        return source_of(name).name == "__init__.py"

    def get_source(self, name: str) -> str:
        source = source_of(name).read_text(encoding="utf-8")
        for change in self._changes:
            if change.module == name:
                source = change.put_into(source)
        return source

    def get_code(self, name: str) -> CodeType:
        return _compiled(self.get_source(name), str(source_of(name)))


@functools.cache
def _compiled(source: str, path: str) -> CodeType:
    code: CodeType = compile(source, path, "exec", dont_inherit=True)
    return code


def source_of(name: str) -> Path:
    """The file that holds the source of one of our modules."""
    path = _folder(name.partition(".")[0]).parent.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the source of {package} is not here")
    return Path(spec.origin).parent
