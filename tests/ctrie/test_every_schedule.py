"""Operations of tries between threads: some of the explorer's scenarios for each start, under every schedule."""

from __future__ import annotations

import pytest

from tests.every_schedule import explored, scenarios_of
from tests.tries.scenarios import STARTS

pytestmark = pytest.mark.once  # a copy of the interpreted source, in one thread, whatever twin the tests run


@pytest.mark.parametrize("start", STARTS["map"])
def test_operations(start: str) -> None:
    running, stopping = scenarios_of("map", start, 10)
    assert explored(running, stopping) > len(running) + len(stopping)
