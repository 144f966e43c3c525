"""The number that `subscribe_many` and `unsubscribe_many` answer is judged: some changes, as many, must explain all."""

from __future__ import annotations

from typing import Any

import pytest

import ctrie
from stress.explorer.dpor import reduced
from stress.explorer.scenario import Scenario
from tests.tries.experiment import TrieExperiment
from tests.tries.trie_copy import load_copy

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(ctrie.twin != "compiled", reason="the copies are of the interpreted twin"),
]

ROWS = (("a", "x"), ("a.b", "x"), ("b", "x"))
BESIDE: dict[str, tuple[Any, ...]] = {
    "subscribe_many": ("subscribe", ("a.b", "x")),
    "unsubscribe_many": ("subscribe", ("a.b", "x")),
}


def finds(call: str, wrong: int) -> bool:
    """Whether a fault is found where one is answered too many, or too few, if another thread's change counts."""
    experiment = TrieExperiment(load_copy(), Scenario("subscriptions", "empty", (((call, ROWS),), (BESIDE[call],))))
    (many, args), *_ = experiment._bound[0]

    def told(*rows: Any) -> int:
        number: int = many(*rows)
        return number + wrong if 0 < number < len(rows) else number

    experiment._bound[0] = [(told, args)]
    return any(finding is not None for finding in reduced(experiment))


@pytest.mark.parametrize("call", BESIDE)
def test_a_right_number_is_right(call: str) -> None:
    assert not finds(call, 0)


@pytest.mark.parametrize("call", BESIDE)
@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_wrong_one_is_found(call: str, wrong: int) -> None:
    assert finds(call, wrong)
