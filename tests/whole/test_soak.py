"""The soak finds what is wrong, and a short one finds nothing."""

from __future__ import annotations

import pytest

from tests.soak import Shared, Worker, soak


@pytest.mark.slow
def test_a_short_soak() -> None:
    said: list[str] = []
    assert soak(20_000, 2, 1, said.append) == []
    assert "verified operations" in said[-1]


@pytest.mark.parametrize("fault", ["lost", "other"])
def test_a_wrong_answer_is_seen(fault: str) -> None:
    shared = Shared(1)
    worker = Worker(shared, 0, 1)
    worker.go(100)
    key = next(iter(worker.values))
    if fault == "lost":
        del shared.ctrie[key]
    else:
        shared.ctrie[key] = -1
    with pytest.raises(AssertionError, match="worker 0, operation"):
        worker.go(2_000)
