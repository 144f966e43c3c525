"""References to objects in users' code: `module:attribute`, or `file.py:attribute`."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from stress.formats.jsonl import encode
from stress.frozen_states import class_of, thawed, with_frozen_states
from stress.source import module_of, short_path
from stress.spec import Spec


def name_of(thing: Any) -> str:
    """The name by which a class or function can be found again; empty if there is none. For a specification of this
    package, its own name.

    >>> from stress import Counter
    >>> name_of(Counter())
    'counter'
    """
    if isinstance(thing, Spec):
        return thing.name or name_of(type(thing))
    module, name = module_of(thing), getattr(thing, "__qualname__", "")
    if not module or not name or "<" in name:
        return ""
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        return f"{short_path(file)}:{name}" if file else ""
    return f"{module}:{name}"


def is_as_made(spec: Spec) -> bool:
    """Whether the class of a specification makes an equal one without arguments."""
    try:
        return vars(with_frozen_states(class_of(spec)())) == vars(spec)
    except Exception:  # noqa: BLE001 - it needs arguments
        return False


def found_at(reference: str) -> Any:
    """The object that `module:attribute` or `file.py:attribute` refers to; the module is imported, the file is run.

    Raises:
        ValueError: there is no such object; the message says what was looked for.
    """
    place, _, names = reference.rpartition(":")
    if not place or not names:
        raise ValueError(f"{reference!r} is no module:attribute")
    try:
        found: Any = _run(place) if place.endswith(".py") else import_module(place)
        for name in names.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{reference}: {error}") from error
    except (Exception, SystemExit) as error:  # a script may end itself when it is imported
        raise ValueError(f"{reference}: {type(error).__name__}: {error}") from error
    return found


def _run(file: str) -> Any:
    path = Path(file).resolve()
    name = f"stress file {path}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise FileNotFoundError(f"there is no file {file}")
        module = sys.modules[name] = module_from_spec(spec)
        sys.path.insert(0, str(path.parent))
        spec.loader.exec_module(module)
    return sys.modules[name]


def spec_at(reference: str, options: Mapping[str, Any]) -> Spec:
    """The specification that a reference stands for: a class of one, an instance, or an object with one as its `spec`.
    `options` may name another start state, as `initial`.

    Raises:
        ValueError: there is no such specification.

    >>> from types import SimpleNamespace
    >>> from stress import Counter, Register
    >>> sys.modules["mine"] = SimpleNamespace(CALLS=[SimpleNamespace(spec=Counter()), Register])
    >>> type(spec_at("mine:CALLS", {})).__name__
    'Counter'
    """
    found = found_at(reference)
    if isinstance(found, (list, tuple)) and found:
        found = found[0]
    found = getattr(found, "spec", found)
    if isinstance(found, type) and issubclass(found, Spec):
        try:
            found = found()
        except TypeError as error:
            raise ValueError(
                f"{reference} cannot be made without arguments ({error}): name an instance of it, or a Workload"
            ) from None
    if not isinstance(found, Spec):
        raise ValueError(f"{reference} is no specification, but a {type(found).__name__}")
    if "initial" in options and encode(options["initial"]) != encode(found.initial):
        found.initial = _like(thawed(found.initial), options["initial"])
    return with_frozen_states(found)


def _like(known: Any, given: Any) -> Any:
    """A start state from a file or the command line, where a list is a tuple and a dictionary a set of pairs: of the
    type of the one that is known.
    """
    kind = type(known)
    return kind(given) if kind in (list, dict, set, deque) and isinstance(given, Iterable) else given
