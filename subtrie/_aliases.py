"""This distribution's `stress` and `snapshot` under names that nobody else has: `subtrie.stress`, `subtrie.snapshot`.

Where Python finds ours by their own names (`subtrie._ours`), an alias is the same package with the same modules, so
that either name will do. Otherwise ours are loaded from their files under the names of the aliases, and the imports in
them are read as such names. Somebody else's modules are left alone.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

from subtrie._ours import FOLDER, NAMES, ROOT, is_ours, somebody_elses

__all__ = ["reach"]


def reach(alias: str) -> None:
    """Let the module `alias`, which is being imported, be our package of that name."""
    name = alias.rpartition(".")[2]
    if not any(isinstance(finder, _Aliases) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Aliases())
    if not somebody_elses(name):
        sys.modules[alias] = importlib.import_module(name)
        return
    package = sys.modules[alias]
    first = Path(ROOT, name, "__init__.py")
    if not is_ours(name, str(first)):  # another distribution has written over it
        first = Path(FOLDER, f"_first_of_{name}.py")
    if not first.is_file():
        raise ImportError(f"another distribution has written over {Path(ROOT, name)}: install subtrie again")
    package.__path__ = [str(Path(ROOT, name))]
    package.__package__ = alias
    loader = _Renaming(alias, str(first))
    spec = spec_from_file_location(alias, first, loader=loader, submodule_search_locations=[str(Path(ROOT, name))])
    package.__spec__, package.__file__, package.__loader__ = spec, str(first), loader
    loader.exec_module(package)


class _Aliases(MetaPathFinder):
    """Finds the modules of the aliases."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        room, _, rest = fullname.removeprefix("subtrie.").partition(".")
        if room not in NAMES or not rest or not fullname.startswith("subtrie."):
            return None
        alias = sys.modules.get(f"subtrie.{room}")
        if alias is not None and alias is sys.modules.get(room):
            if rest == "__main__":  # which is run, and not imported
                return PathFinder.find_spec(fullname, path)
            return _of_the_same(fullname, f"{room}.{rest}")
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Renaming(fullname, spec.loader.path)
        return spec


def _of_the_same(fullname: str, name: str) -> ModuleSpec | None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
    return spec_from_loader(fullname, _Same(module), is_package=hasattr(module, "__path__"))


class _Same(Loader):
    """Gives a module that has been imported by its other name."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


class _Renaming(SourceFileLoader):
    """Loads a module of ours in which the common names stand for ours."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = _Renamed().visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _renamed(name: str) -> str:
    return f"subtrie.{name}" if name.partition(".")[0] in NAMES else name


class _Renamed(ast.NodeTransformer):
    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.module and not node.level:
            node.module = _renamed(node.module)
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST:
        for alias in node.names:
            if alias.name in NAMES:
                alias.asname = alias.asname or alias.name
            alias.name = _renamed(alias.name)
        return node
