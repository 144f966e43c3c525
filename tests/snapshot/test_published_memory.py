"""A reader takes no more memory than a manifest promises, whatever a file is packed into; of a loose file, than its
different texts take."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import snapshot
from snapshot.published import open_directory
from snapshot.published.manifest import manifest_name, sealed
from subtrie import SubscriptionTrie

pytestmark = pytest.mark.once  # what Arrow unpacks

# All in one process, since the most memory that it had counts, and only grows.
RESTORE = """
import resource, sys, pyarrow.parquet, snapshot
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
snapshot.restore(sys.argv[1])  # imports are not what is measured
before = peak()
for bad in sys.argv[2:]:
    try:
        snapshot.restore(bad)
    except snapshot.DamagedError as error:
        print(peak() - before, error)
"""

MEGABYTE = 1_000_000


def one_text(rows: int) -> pa.Array:
    return pa.array(["x" * 200 * MEGABYTE], pa.string())


def one_text_often(rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array(["x" * 60_000]))


def published(where: Path) -> None:
    trie = SubscriptionTrie()
    trie.subscribe("a.b", "s", qos="1")
    with snapshot.Publisher(trie, where) as publisher:
        publisher.publish()
        trie.subscribe("c", "s")
        publisher.publish()


def forge(where: Path, make: Callable[[int], pa.Array], rows: int, column: str, kind: str) -> None:
    """Publish, and put a small file of so much text in the place of one, with all digests as they should be."""
    published(where)
    directory = open_directory(where)
    version = directory.version_at(1 if kind == "full" else 2)
    file = version.full if kind == "full" else version.feed
    assert file is not None
    path = where / file.path
    table = pq.read_table(path).slice(0, 1).take(pa.array([0] * rows))
    place, field = table.schema.get_field_index(column), table.schema.field(column)
    texts = make(rows)
    if column == "options":
        plain = texts.cast(pa.string()) if rows == 1 else pa.array(["x" * 60_000] * rows)
        texts = pa.MapArray.from_arrays(list(range(rows + 1)), pa.array(["n"] * rows), plain)
    elif rows == 1:
        texts = texts.cast(field.type)
    pq.write_table(table.set_column(place, column, texts), path, compression="zstd", store_schema=False)
    content = path.read_bytes()
    assert len(content) < MEGABYTE
    forged = dataclasses.replace(file, bytes=len(content), sha256=hashlib.sha256(content).hexdigest(), rows=rows)
    text, version = sealed(
        dataclasses.replace(version, full=forged) if kind == "full" else dataclasses.replace(version, feed=forged)
    )
    (where / manifest_name(version.version)).write_bytes(text)
    if kind == "full":
        following = directory.get(2)
        assert following is not None
        text, _ = sealed(dataclasses.replace(following, previous=version.digest))
        (where / manifest_name(2)).write_bytes(text)


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    published(tmp_path / "good")
    each = list(
        itertools.product(
            ((one_text, 1), (one_text_often, 4_000)), ("filter", "subscriber", "options"), ("full", "feed")
        )
    )
    bad = [tmp_path / f"{number}" for number in range(len(each))]
    for where, ((make, rows), column, kind) in zip(bad, each, strict=True):
        forge(where, make, rows, column, kind)
    command = [sys.executable, "-c", RESTORE, str(tmp_path / "good"), *map(str, bad)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for case, line in zip(each, said, strict=True):
        megabytes, _, why = line.partition(" ")
        assert int(megabytes) < 100, (case, line)
        assert "more than the" in why, (case, line)


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


def test_what_was_promised_is_read(tmp_path: Path) -> None:
    trie = SubscriptionTrie()
    trie.subscribe_many((f"a.{number}", "s" * 5000, {"note": "n" * 3000}) for number in range(20_000))
    with snapshot.Publisher(trie, tmp_path) as publisher:
        publisher.publish()
    file = open_directory(tmp_path).version_at().full
    assert file is not None
    assert file.text == sum(len(f"a.{number}") for number in range(20_000)) + 20_000 * (5000 + 3000 + len("note"))
    assert snapshot.restore(tmp_path) == trie
