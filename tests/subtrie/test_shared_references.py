"""References to objects that all threads share: which operations count none, and the tool that counts them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

import ctrie
from benchmarks import shared_references
from benchmarks.shared_references import CALLS, Shared, counted

needs_callgrind = pytest.mark.skipif(
    getattr(sys, "_is_gil_enabled", lambda: True)()
    or ctrie.twin != "compiled"
    or shutil.which("valgrind") is None
    or "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="needs a free-threaded interpreter, the compiled twin and valgrind, which cannot run a sanitizer's process",
)

PROFILE = """\
version: 1
fn=(7) reader
+3 4
cfn=(9) _Py_DecRefShared
calls=5 0
+1 40
cfn=(8) other
calls=70 0
+1 40
fn=(8)
cfn=(9)
calls=600 0
"""


def test_every_operation_runs() -> None:
    shared = Shared()
    for name, (call, arguments) in shared_references._operations(shared).items():
        assert len(arguments) > CALLS, name
        call(*arguments[0])
    for structure in (shared.map, shared.set, shared.store, shared.trie, shared.fields, shared.routes):
        structure.check()


def test_drops_are_read_from_a_profile(tmp_path: Path) -> None:
    part = Path(tmp_path, "counts.1")
    part.write_text(PROFILE)
    assert shared_references._drops(part) == 605


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no operation is called 'fly'; there are: Ctrie: m\\[k\\], "):
        counted(["fly"])


READS = ["Ctrie: m[k]", "Ctrie: get", "Ctrie: in", "CtrieSet: in", "SubscriptionTrie: match"]
OTHERS = ["TopicStore: store[topic]", "FieldMatcher: match_all", "RoutingMatcher: match"]
CHANGES = ["Ctrie: m[k] = v, present", "SubscriptionTrie: subscribe", "SubscriptionTrie: unsubscribe"]


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    """References counted a call, by operation; in one run, since most of it is for building what is asked."""
    return counted([*READS, *OTHERS, *CHANGES])


@needs_callgrind
def test_reading_counts_no_reference_but_those_returned(found: dict[str, float]) -> None:
    # The interpreter itself may drop one in a thousand calls.
    assert {name: found[name] for name in READS if found[name] > 0.05} == {}


@needs_callgrind
def test_a_store_counts_the_branch_and_the_pair_and_a_field_matcher_two(found: dict[str, float]) -> None:
    # The interpreter itself may drop some in a thousand calls.
    assert found["TopicStore: store[topic]"] <= 3.05
    assert found["FieldMatcher: match_all"] <= 2.05
    assert found["RoutingMatcher: match"] <= 2.05


# Free-threaded 3.13 never frees the classes that it meets, and so counts no references to them; 3.14 does.
def test_no_match_asks_what_something_is_by_a_global_of_its_module() -> None:
    folders = ("subtrie/_trie/match", "subtrie/_trie/queries", "subtrie/fields")
    sources = [path for folder in folders for path in Path(folder).glob("*.py") if path.with_suffix(".pxd").exists()]
    asked = {
        (path, name)
        for path in sources
        for name in re.findall(r"\btype\(\w+\) (?:is|in|is not|not in) ([A-Z]\w+)", path.read_text("utf-8"))
    }
    assert (Path("subtrie/fields/search.py"), "Elements") in asked
    when_made = {(Path("subtrie/fields/routing.py"), "Dialect")}
    counted = [
        (path, name)
        for path, name in asked - when_made
        if not re.search(rf"^[^#\n]*\b{name}\b", path.with_suffix(".pxd").read_text("utf-8"), re.MULTILINE)
    ]
    assert counted == []


@needs_callgrind
def test_changes_count_no_reference_near_the_root(found: dict[str, float]) -> None:
    changes = {name: found[name] for name in CHANGES}
    assert all(drops < 25 for drops in changes.values()), changes  # from the root on, it would be more than forty
