"""Compiled methods tell what parameters they have, and they are those that the source gives them."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Iterator
from typing import Any

import pytest

import ctrie
import subtrie
from tests.schedule import load_twin

pytestmark = pytest.mark.compiled

WITHOUT = {"Ctrie.pop"}
"""Its default is an object of which nobody else knows the name; `inspect.signature(dict.pop)` fails, too."""


def methods() -> Iterator[Any]:
    """The class, its name among the modules, and a public method of it."""
    for kind in (ctrie.Ctrie, ctrie.CtrieSet, subtrie.SubscriptionTrie):
        for name, method in vars(kind).items():
            if callable(method) and not name.startswith("_") and f"{kind.__name__}.{name}" not in WITHOUT:
                yield pytest.param(kind, name, id=f"{kind.__name__}.{name}")


def parameters(function: Any) -> list[str]:
    """All but the first, which is the object, without the types."""
    _, *others = inspect.signature(function).parameters.values()
    return [f"{each.kind.description} {each.replace(annotation=each.empty)}" for each in others]


@pytest.mark.parametrize(("kind", "name"), list(methods()))
def test_a_compiled_method_has_the_parameters_of_the_source(kind: type, name: str) -> None:
    source = load_twin(None, ("ctrie", "subtrie")).modules[kind.__module__.partition(".")[0]]
    interpreted = getattr(getattr(source, kind.__name__), name)

    assert parameters(getattr(kind, name)) == parameters(interpreted)


def test_help_shows_them() -> None:
    shown = pydoc.plain(pydoc.render_doc(subtrie.SubscriptionTrie.subscribe))

    assert "subscribe(self, /, filter, subscriber, **options)" in shown
    assert "    Put `subscriber` on `filter`" in shown
    assert "$self" not in shown
