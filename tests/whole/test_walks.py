"""The map of the code says what calls really pass: it is made by running them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.once
def test_the_page_shows_the_ways_that_calls_take() -> None:
    pytest.importorskip("pyarrow")
    script = "from docs.walks import PAGE, page_with, table; text = PAGE.read_text(); print(page_with(table(), text), end='')"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "CTRIE_TWIN": "interpreted", "PYTHONHASHSEED": "0"},  # hashes that meet would lengthen a way
        capture_output=True,
        text=True,
        check=True,
    )
    kept = (ROOT / "docs" / "design.md").read_text()
    assert done.stdout == kept, "run `PYTHONHASHSEED=0 CTRIE_TWIN=interpreted python -m docs.walks`"
