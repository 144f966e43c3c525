"""Objects that are not ours, as the manual shows them, with a few lines of glue: right ones pass, wrong ones do not."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stress import Verdict

pytestmark = [pytest.mark.slow, pytest.mark.once]  # Python that is the same everywhere

PAGE = (Path(__file__).parents[2] / "docs" / "stress" / "other-objects.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
QUEUE, SIMPLE_QUEUE, SEQLOCK, TREIBER, LRU, CACHETOOLS = BLOCKS

Shown = Callable[[str], Any]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    """Imports a block of the manual as a module of its own."""
    names: list[str] = []

    def load(block: str) -> Any:
        name = f"shown_{len(names)}_{tmp_path.name}"
        path = tmp_path / f"{name}.py"
        path.write_text(block, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        names.append(name)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in names:
        del sys.modules[name]


def test_the_queue_of_the_standard_library_is_right(shown: Shown) -> None:
    outcome = shown(QUEUE).outcome

    assert outcome, outcome.report()


def test_the_simple_queue_of_the_standard_library_is_right(shown: Shown) -> None:
    outcome = shown(SIMPLE_QUEUE).outcome

    assert outcome, outcome.report()
    assert outcome.overlap > 0


def test_a_seqlock_is_right_if_readers_look_again(shown: Shown) -> None:
    module = shown(SEQLOCK)

    assert module.right, module.right.report()
    assert module.wrong.verdict is Verdict.ILLEGAL
    assert "read() -> (0, 2)" in module.wrong.report()


def test_a_treiber_stack_is_right_unless_it_recycles_its_nodes(shown: Shown) -> None:
    module = shown(TREIBER)

    assert module.right, module.right.report()
    assert module.wrong.verdict is Verdict.ILLEGAL


def test_a_cache_under_a_lock_is_right(shown: Shown) -> None:
    outcome = shown(LRU).outcome

    assert outcome, outcome.report()


def test_a_cache_without_one_is_wrong(shown: Shown) -> None:
    pytest.importorskip("cachetools")
    outcome = shown(CACHETOOLS).outcome

    assert outcome.verdict is Verdict.ILLEGAL
    assert "raised KeyError" in outcome.report() or "mutated during iteration" in outcome.report()


@pytest.mark.parametrize("block", BLOCKS, ids=["queue", "simple queue", "seqlock", "treiber", "lru", "cachetools"])
def test_the_glue_is_at_most_twenty_lines(block: str) -> None:
    """Everything counts except the imports, the specification, and the object where it is not imported."""
    theirs = {"Seqlock", "Hasty", "Node", "Treiber", "Recycling", "LRU"}
    glue = [each for each in ast.parse(block).body
            if not isinstance(each, (ast.Import, ast.ImportFrom)) and getattr(each, "name", "") not in theirs]  # fmt: skip

    assert sum((each.end_lineno or 0) - each.lineno + 1 for each in glue) <= 20
