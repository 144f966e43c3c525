"""`inspect.signature` and `help` of the public names agree with the source and the stubs, on both twins."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import pydoc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ctrie
import subtrie
from tests.scripts import run_script

COMPILED = ("ctrie", "subtrie", "subtrie.fields")
BITMAPS = ("subtrie.baselines.bitmap",) if importlib.util.find_spec("pyroaring") else ()
MODULES = (*COMPILED, *BITMAPS, "stress", "snapshot")
OURS = ("ctrie", "subtrie", "stress", "snapshot")


def is_ours(thing: Any) -> bool:
    """Whether a class, function or method is of these packages."""
    module = getattr(thing, "__module__", None) or getattr(getattr(thing, "__objclass__", None), "__module__", "")
    return str(module).partition(".")[0] in OURS


def public_names(module: str) -> Iterator[tuple[str, Any]]:
    """The classes and functions of ours that a module makes public, and the public methods of these classes. (An alias
    of a type is neither.)"""
    opened = importlib.import_module(module)
    for name in getattr(opened, "__all__", None) or [name for name in vars(opened) if not name.startswith("_")]:
        thing = getattr(opened, name)
        if is_ours(thing) and (inspect.isclass(thing) or inspect.isroutine(thing)):
            yield name, thing
            for part in dir(thing) if inspect.isclass(thing) else ():
                method = inspect.getattr_static(thing, part)
                method = getattr(method, "__func__", method)
                if not part.startswith("_") and callable(method) and is_ours(method):
                    yield f"{name}.{part}", getattr(thing, part)


def is_made_as_pythons_own(kind: Any) -> bool:
    """Whether something is a class that gets its constructor from one of Python's own classes, such as an exception."""
    for each in kind.__mro__ if inspect.isclass(kind) else ():
        if "__init__" in vars(each) or "__new__" in vars(each) or each.__text_signature__:
            return each is not object and not is_ours(each)
    return False


def parameters(thing: Any) -> list[str]:
    """Kinds, names and defaults, without types, and without `self` and `cls`. A compiled class tells of a default that
    is no literal only that there is one. The signature of a class in the interpreted twin is its `__init__`'s, whatever
    its `__new__` takes."""
    own = inspect.getattr_static(thing, "__init__", None) if inspect.isclass(thing) else None
    signature = inspect.signature(own if inspect.isfunction(own) else thing)
    shown = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    if inspect.isclass(thing):
        shown = [each if each.default is each.empty else each.replace(default=...) for each in shown]
    named = [f"{each.kind.description} {each}" for each in shown if each.name not in ("_", "__")]  # of a `__new__`
    return [each for each in named if not each.endswith((" self", " cls"))]


def all_parameters() -> dict[str, list[str]]:
    """Those of the public names of compiled modules."""
    names = [(module, *each) for module in COMPILED for each in public_names(module)]
    return {f"{module}.{name}": parameters(thing) for module, name, thing in names if not is_made_as_pythons_own(thing)}


@pytest.mark.parametrize("module", MODULES)
def test_each_public_name_has_a_signature_and_a_text(module: str) -> None:
    names = list(public_names(module))
    assert names
    for name, thing in names:
        assert inspect.getdoc(thing), name
        assert "." in name or name in pydoc.plain(pydoc.render_doc(thing)), name
        if not is_made_as_pythons_own(thing):
            kinds = [(each.kind.name, each.name) for each in inspect.signature(thing).parameters.values()]
            says = ctrie.twin == "interpreted" or ("VAR_POSITIONAL", "_") not in kinds
            assert says, f"{name} has parameters, and does not say"


@pytest.mark.compiled
def test_the_compiled_twin_has_the_parameters_of_the_source() -> None:
    script = "import json; from tests.whole.test_signatures import all_parameters; print(json.dumps(all_parameters()))"
    status, output, errors = run_script(script, CTRIE_TWIN="interpreted")
    assert status == 0, errors
    sources, mine = json.loads(output), all_parameters()
    assert mine == {name: sources[name] for name in mine}
    shown = pydoc.plain(pydoc.render_doc(subtrie.SubscriptionTrie.subscribe))
    assert "subscribe(self, /, filter, subscriber, **options)" in shown
    assert "    Subscribe `subscriber` to `filter`" in shown
    assert "$self" not in shown


# ---------------------------------------------------------------------------------------------------------------- stubs


# Their default has no public name; they are inherited; they are those of each row of an answer.
UNDECLARED = {"Ctrie.pop", "TopicStore.pop"} | {f"CtrieSet.{name}" for name in ("remove", "pop", "clear", "isdisjoint")}
UNDECLARED |= {f"{name}.as_dict" for name in ("Subscription", "Delivery", "Change")}


def declared(function: ast.FunctionDef) -> list[str]:
    """The parameters of a stub as `inspect` shows those of a function, without types and defaults."""
    scope: dict[str, Any] = {}
    exec(f"from __future__ import annotations\ndef f({ast.unparse(function.args)}): pass", scope)
    return bare(scope["f"])


def bare(thing: Any) -> list[str]:
    shown = inspect.signature(thing).parameters.values()
    return [str(each.replace(annotation=each.empty, default=each.empty)) for each in shown]


@pytest.mark.parametrize("module", COMPILED)
def test_the_stubs_say_the_same(module: str) -> None:
    opened = importlib.import_module(module)
    body = ast.parse(Path(str(opened.__file__)).with_suffix(".pyi").read_text()).body
    names = {name.asname or name.name for node in body if isinstance(node, ast.ImportFrom) for name in node.names}
    names |= {ast.unparse(node.target) for node in body if isinstance(node, ast.AnnAssign)}
    assert set(opened.__all__) - {"twin"} <= names | {getattr(node, "name", "") for node in body}
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name[0] != "_":
            parts = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name[0] != "_"]
            kind = getattr(opened, node.name)
            if (
                node.name in ("SubscriptionTrie", "TopicStore") and ctrie.twin == "compiled"
            ):  # elsewhere `__new__` hides it
                (made,) = [part for part in node.body if getattr(part, "name", "") == "__init__"]
                assert declared(made)[1:] == bare(kind)  # type: ignore[arg-type]
            there = vars(kind)
            for name in {name for name, value in there.items() if name[0] != "_" and callable(value)} | {
                part.name for part in parts
            }:
                overloads = [declared(part) for part in parts if part.name == name]
                thing = getattr(kind, name)
                if callable(thing) and f"{node.name}.{name}" not in UNDECLARED:
                    assert max(overloads, key=len) == bare(thing), name


# -------------------------------------------------------------------------------------------------------------- classes


@pytest.mark.parametrize("kind", [ctrie.Ctrie, ctrie.CtrieSet, subtrie.SubscriptionTrie, subtrie.TopicStore])
def test_who_forgets_an_argument_is_told_of_which_method(kind: type) -> None:
    one, told = kind(), 0
    for name, method in inspect.getmembers(one, callable):
        takes = inspect.signature(method).parameters.values() if name[0] != "_" else ()
        if any(each.default is each.empty and each.kind.description.startswith("positional") for each in takes):
            with pytest.raises(TypeError) as raised:
                method()
            assert name in str(raised.value)
            told += 1
    assert told > 3


@pytest.mark.compiled
@pytest.mark.parametrize("kind", [ctrie.Ctrie, subtrie.SubscriptionTrie])
def test_methods_of_base_classes_are_called_as_its_own(kind: type) -> None:
    """The interpreter calls those of the very class by a shorter way."""
    methods = [each for name, each in inspect.getmembers(kind, inspect.ismethoddescriptor) if not name.startswith("_")]
    assert len(methods) > 10
    assert {each.__objclass__ for each in methods if hasattr(each, "__objclass__")} == {kind}
