"""Each test here ends with `check()` of the tries that `support.made` has made for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.subtrie.support import MADE


@pytest.fixture(autouse=True)
def checked_at_the_end() -> Iterator[None]:
    MADE.clear()
    yield
    while MADE:
        MADE.pop().check()
