"""A reader of a file takes no more memory than its different texts take, however often each stands there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.once  # what Arrow unpacks

MEGABYTE = 1_000_000


def one_text_often(rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array(["x" * 60_000]))


LOAD = """
import resource, sys, pyarrow.parquet, snapshot
from subtrie import AMQP
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
snapshot.load(sys.argv[1], dialect=AMQP)
before = peak()
try:
    print(len(snapshot.load(sys.argv[2], dialect=AMQP)), end=" ")
except ValueError as error:
    assert "255" in str(error), error
    print(0, end=" ")
print(peak() - before)
"""


@pytest.mark.parametrize("column", ["filter", "subscriber", "options"])
def test_a_loose_file_takes_what_its_different_texts_take(tmp_path: Path, column: str) -> None:
    """Nothing promises how long its texts are, but one that stands in 10,000 rows is there once."""
    rows = 10_000
    names = pa.array([f"a{number}" for number in range(rows)])
    table = {"filter": names, "subscriber": names}
    texts = one_text_often(rows)
    if column == "options":
        numbers = pa.array(range(rows + 1), pa.int32())
        texts = pa.MapArray.from_arrays(numbers, pa.array(["n"] * rows), pa.array(["x" * 60_000] * rows))
    pq.write_table(pa.table({**table, column: texts}), tmp_path / "bad.parquet", compression="zstd")
    pq.write_table(pa.table({"filter": ["a"], "subscriber": ["s"]}), tmp_path / "good.parquet")
    assert (tmp_path / "bad.parquet").stat().st_size < MEGABYTE
    command = [sys.executable, "-c", LOAD, str(tmp_path / "good.parquet"), str(tmp_path / "bad.parquet")]
    loaded, megabytes = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert loaded == (0 if column == "filter" else rows)
    assert megabytes < 250
