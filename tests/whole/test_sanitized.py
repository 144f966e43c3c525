"""What `make races` runs: no test in which threads, or the tasks of an event loop, meet is left out since its file is new.

And it knows the known race, whichever of its two accesses came first, and what the tests need on another version.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import starts_threads
from tools.sanitized import is_known_race, needs_of

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


TOLD = """\
WARNING: ThreadSanitizer: data race (pid=2)
  Atomic write of size 8 at 0x7f by thread T1:
    #0 {} <null> (answer_cache.so+0x88d4)
    #1 __pyx_f_questions_match <null> (questions.so+0x18c41)
  Previous read of size 8 at 0x7f by thread T2:
    #0 {} <null> (answer_cache.so+0x8bc0)
    #1 __pyx_pw_stats <null> (trie.so+0x1d4ce)
SUMMARY: ThreadSanitizer: data race (answer_cache.so+0x88d4) in {}
"""
COUNTS, RECALL = "__pyx_f_answer_cache_counts", "__pyx_f_answer_cache_recall"


@pytest.mark.parametrize(("first", "second"), [(COUNTS, RECALL), (RECALL, COUNTS)])
def test_the_known_race_is_known_by_either_of_its_accesses(first: str, second: str) -> None:
    assert is_known_race(TOLD.format(first, second, first))


@pytest.mark.parametrize("told", ["", TOLD.format(RECALL, RECALL, RECALL)])
def test_another_race_or_none_is_not_the_known_one(told: str) -> None:
    assert not is_known_race(told)


@pytest.mark.parametrize(("version", "switches_tasks"), [("3.13", False), ("3.14", True)])
def test_what_another_version_needs_is_asked_for_that_version(version: str, switches_tasks: bool) -> None:
    needs = needs_of(version)
    assert any(need.startswith("pytest>=") for need in needs)
    assert any(need.startswith("greenlet") for need in needs) == switches_tasks
    assert not any(";" in need for need in needs)
