"""Classes in bad faith (`in_bad_faith`): `stress.explore` proves no wrong one, and accuses no right one."""

from __future__ import annotations

import pytest

import ctrie
from stress import Verdict, explore
from tests.stress.in_bad_faith import CASES

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")

REFUSED = {"OfLoop": "an event loop of asyncio runs in the object", "OfContext": "threads share a context"}


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_is_true(name: str) -> None:
    right, factory, spec, threads = CASES[name]
    outcome = explore(factory, spec, threads, seed=1, duration=60)
    if name in REFUSED:
        assert outcome.verdict is Verdict.UNKNOWN
        assert REFUSED[name] in outcome.summary
    else:
        assert outcome.verdict is (Verdict.LINEARIZABLE if right else Verdict.ILLEGAL), outcome.summary


def test_a_method_is_looked_up_when_it_is_called() -> None:
    _, factory, spec, _ = CASES["OfSelfReplacing"]
    assert explore(factory, spec, [[("take",), ("take",)]]).verdict is Verdict.LINEARIZABLE
