"""The explorer on the compiled twin.

Some tests run everywhere. The others need what `make explored` builds: the explorer finds every fault that was put in,
repeats schedules exactly, and finds nothing wrong in the modules as they are.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from stress.explorer.scenario import Scenario
from tests.tries.mutants.catalogue import MUTANTS
from tests.tries.mutants.rebuilt import REBUILT, Rebuilt, can_be_built, trouble_of
from tests.tries.mutants.rebuilt import explored as explored_anew
from tests.tries.twins import Token, decode, encode

pytestmark = pytest.mark.once

ROOT: Final = Path(__file__).parents[2]
MODULES: Final = ROOT / "build" / "explored" / "lib"
WITHOUT_A_MUTANT: Final = {
    # If one of these is lost, less is remembered, and no answer shows it.
    "subtrie/_trie/match/answer_cache.py: compare_and_set_at(cache.stripes, stripe, None, table)",
    "subtrie/_trie/match/answer_cache.py: compare_and_set_at(table.buckets, spare, load_at(table.buckets, spare), topic)",
    "subtrie/_trie/match/answer_cache.py: compare_and_set_at(table.buckets, bucket, load_at(table.buckets, bucket), remembered)",
    "subtrie/_trie/match/answer_cache.py: compare_and_set_at(cache.stripes, stripe, table, None)",
    # A statistic.
    "subtrie/_trie/changeable.py: retries.compare_and_set(counted, counted + number)",
    # The name of a snapshot. The first reader draws it.
    "subtrie/_trie/trie.py: self._name.compare_and_set(None, os.urandom(16).hex())",
    # No answer shows whether a factory runs twice; tests/ctrie/test_callbacks.py counts the calls.
    "ctrie/_ctrie.py: compare_and_set(self._creations, None, empty_root())",
    # How many topics a store takes before it counts them: it decides when to look, and no answer.
    "subtrie/_trie/topic_store.py: room.compare_and_set(left, left + more)",
    "subtrie/_trie/topic_store.py: room.compare_and_set(left, max(len(there), _FEWEST))",
    "subtrie/_trie/topic_store.py: room.compare_and_set(room.load(), self.max_topics)",
    # How far the store's clock is ahead of the system's; tests/subtrie/test_topic_store_limits.py sets clocks back.
    "subtrie/_trie/topic_store.py: ahead.compare_and_set(lead, at - running)",
    # A single reference, replaced as a whole.
    "subtrie/baselines/filtering.py: self._state.compare_and_set(state, _State(subscribers, widest))",
}
CALL: Final = re.compile(r"[\w.]*\bcompare_and_set(?:_at)?\((?:[^()]|\([^()]*(?:\([^()]*\))?[^()]*\))*\)")
SEAM: Final = ("ctrie/_slot.py", "ctrie/_row.py", "ctrie/_portable.py")


def changes_of_slots() -> Iterator[tuple[str, str]]:
    """Every compare-and-set of the sources, with its file."""
    for package in ("ctrie", "subtrie"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if name not in SEAM:
                for line in path.read_text().splitlines():
                    if not line.lstrip().startswith(("#", ">>>", '"', "def ")):
                        yield from ((name, call) for call in CALL.findall(line))


def test_every_compare_and_set_has_a_mutant() -> None:
    edits = [(module.replace(".", "/") + ".py", text) for mutant in MUTANTS for module, text, _ in mutant.edits]
    found = list(changes_of_slots())
    assert len(found) > 25
    missing = {
        f"{name}: {call}" for name, call in found if not any(where == name and call in text for where, text in edits)
    }
    assert missing == WITHOUT_A_MUTANT


@pytest.mark.parametrize("mutant", REBUILT, ids=lambda mutant: mutant.name)
def test_the_text_that_a_mutant_replaces_is_there(mutant: Rebuilt) -> None:
    source = (ROOT / mutant.path).read_text(encoding="utf-8")
    assert mutant.put_into(source) != source


def process(*words: str, twin: str = "compiled", folder: Path = MODULES) -> subprocess.CompletedProcess[str]:
    """Python in a process of a twin, which by default has the modules that can be explored."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "CTRIE_TWIN": twin, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def explored(*words: str) -> subprocess.CompletedProcess[str]:
    return process("-m", "tests.tries", *words)


@pytest.mark.slow("compiles each mutant: minutes, after `make explored`")
@pytest.mark.timeout(1_800)  # a change in a header compiles nearly all modules again
@pytest.mark.skipif(not can_be_built(), reason="make explored has not been run, or there is no valgrind")
@pytest.mark.skipif("STRESS_COMPILED" not in os.environ, reason="only with STRESS_COMPILED=1, as in make stress")
class TestBuilt:
    @pytest.mark.parametrize("mutant", REBUILT, ids=lambda mutant: mutant.name)
    def test_a_mutant_is_caught_and_the_code_as_it_is_is_not_accused(self, mutant: Rebuilt) -> None:
        executions, trouble = trouble_of(mutant)
        assert trouble, f"survived {executions} executions"
        executions, trouble = explored_anew(Scenario(*mutant.shown_by), mutant.ideal)  # the code as it is
        assert not trouble
        assert executions > 10

    def test_both_twins_have_the_same_schedules(self) -> None:
        """Among them those of interleaved traversals, which other compiled modules make in large tries only, and of
        whole texts, whose hashes must be in the table, too."""
        of_twins = ((MODULES, "compiled"), (ROOT, "interpreted"))
        counts = [json.loads(process("-c", COUNT, twin=twin, folder=folder).stdout) for folder, twin in of_twins]
        assert len(counts[0]) > 50
        assert counts[0] == counts[1]

    def test_nothing_is_wrong_in_a_sample_of_the_matrix(self) -> None:
        ran = explored("explore", "--compiled", "--duration", "15", "--seed", "1", "--json")
        told = json.loads(ran.stdout)
        assert ran.returncode == 2, ran.stdout + ran.stderr
        assert told["found"] is None
        assert told["died"] is None
        assert told["executions"] > 500

    def test_a_thread_that_waits_in_python_is_not_taken_for_the_one_that_ran_meanwhile(self) -> None:
        at_once = (("get_or_create", ("same2", 1002)),)
        scenario = Scenario("map", "about to collide", ((("__contains__", ("same2",)),), at_once))
        order = (1,) * 27 + (0,) * 10 + (1,)  # the last step is the Event's, while thread 0 is pinned
        assert explored("replay", encode(Token(scenario, order, compiled=True))).returncode == 0

    def test_under_the_ideal_reclaimer_it_is_the_present_listener_that_is_looked_at(self) -> None:
        scenario = Scenario("subscriptions", "listened to, empty", ((("subscribe", ("a.b", "x")),),) * 2)
        assert not explored_anew(scenario, ideal=True)[1]

    def test_many_changes_by_one_call_are_of_the_same_subscribers(self) -> None:
        many = ("unsubscribe_many", tuple((filter, "x") for filter in ("y2", "a.b", "a.c", "a.y1", "a.y2")))
        executions, trouble = explored_anew(Scenario("subscriptions", "words about to part", ((many,), (many,))))
        assert not trouble
        assert executions > 2

    def test_a_crash_leaves_its_schedule(self) -> None:
        ran = process("-c", CRASH)
        token = decode(ran.stdout.split()[-1].partition("REPLAY=")[2])
        assert token.scenario.target == "map"
        assert len(token.order) >= 3
        assert explored("replay", encode(token)).returncode == 0


COUNT: Final = """
import json
from ctrie import twin
from stress.explorer.strategies import bounded
from tests.tries.scenarios import pairs
from tests.tries.twins import experiment_on, load_twin
explored = load_twin(twin == "compiled")
starts = ("an answer remembered", "exact, texts that meet", "exact, a filter behind the mark about to go")
batches = [each for each in pairs("subscriptions") if each.start.startswith(starts) and "_many(" in str(each)]
print(json.dumps({str(each): sum(1 for _ in bounded(experiment_on(explored, each), 2)) for each in batches}))
"""

CRASH: Final = """
import ctypes
from unittest import mock
from tests.tries.campaign import Plan, explore_matrix
from tests.tries.compiled import CompiledExperiment, load_compiled

load_compiled()

def crash(self, execution):
    ctypes.string_at(0)

with mock.patch.object(CompiledExperiment, "_look", crash):
    print(explore_matrix(Plan(("map",), compiled=True)).crash)
"""
