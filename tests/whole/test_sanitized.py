"""What `make races` runs: no test in which threads, or the tasks of an event loop, meet is left out since its file is new."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import starts_threads

pytestmark = pytest.mark.once

TESTS = Path(__file__).parent.parent


def members_of(name: str) -> Iterator[tuple[str, object]]:
    module = importlib.import_module(name)
    kinds = [each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == name]
    for holder in (module, *kinds):
        yield from ((each, test) for each, test in vars(holder).items() if each.startswith("test_"))


def test_those_with_an_event_loop_are_found_in_every_file() -> None:
    found = 0
    for path in sorted((TESTS / "subtrie").glob("test_*.py")):
        for name, test in members_of(f"tests.subtrie.{path.stem}"):
            if inspect.iscoroutinefunction(inspect.unwrap(test)):  # type: ignore[arg-type]
                assert starts_threads(test), (path.name, name)
                found += 1
    assert found > 40
