"""Subscription sets as Parquet files: how they are written and replaced, what is loaded, what is refused or damaged."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import snapshot
from snapshot import columns, older, option_maps, parquet, text_columns
from snapshot.dialect_fields import fields_of
from subtrie import AMQP, NATS, SubscriptionTrie, TopicError
from tests.snapshot.support import held_by, trie_of
from tests.snapshot.world import at_step


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "set.parquet"


def written(path: Path, trie: SubscriptionTrie, **arguments: Any) -> SubscriptionTrie:
    """What is loaded again after a trie was written."""
    snapshot.write(trie, path, **arguments)
    loaded = snapshot.load(path)
    loaded.check()
    assert [each for each in path.resolve().parent.iterdir() if not each.is_symlink()] == [path.resolve()]
    return loaded


class TestWrite:
    def test_has_the_columns_of_every_export_and_replaces_what_was_there(self, path: Path) -> None:
        trie = trie_of(("a", "alice", {"qos": 1}))
        for source in (trie_of(("b", "bob")), trie):
            assert written(path, source) == source
        assert pq.read_schema(path).equals(columns.stored_schema())
        assert pq.read_table(path)["types"].to_pylist() == ['{"qos": "json"}']
        volatile = ["snapshot_id", "taken_at"]
        assert (
            pq.read_table(path, columns=columns.schema().names)
            .drop_columns(volatile)
            .equals(snapshot.to_arrow(trie).select(columns.schema().names).drop_columns(volatile))
        )
        assert json.loads(pq.read_metadata(path).metadata[parquet.METADATA_KEY])["format"] == 5

    def test_stores_values_of_other_types_under_one_name_readable_for_others(self, path: Path) -> None:
        rows: list[Any] = [
            ("alice", {"x": 1, "~y": "z"}),
            (7, {"x": "1", "queue": "~q"}),
            ("7", {"x": {1: 2}}),
            (("x", 7), {}),
            ("~7", {}),
        ]
        trie = trie_of(*(("a", *row) for row in rows), dialect=NATS)
        assert written(path, trie) == trie
        shown = pq.read_table(path).to_pylist()
        assert len({row["subscriber"] for row in shown}) == len(rows) == len(snapshot.from_arrow(pq.read_table(path)))
        assert sorted(dict(row["options"]).get("x", "") for row in shown) == ["", "", "1", "1", '{"1": 2}']
        keyed = written(path, trie_of(("a", ("connection", 5))), key=lambda subscriber: str(subscriber[1]))
        assert held_by(keyed) == {("a", "5"): {}}

    @pytest.mark.parametrize(("limit", "most", "groups"), [("BATCH_ROWS", 4, 3), ("BATCH_TEXT", 100, 10)])
    def test_is_the_same_in_many_batches(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, groups: int
    ) -> None:
        for module in (columns, text_columns):
            monkeypatch.setattr(module, limit, most)
        mixed = trie_of(*((f"a.{number}", number, {"n": number}) for number in range(40)), ("b", "s", {"n": "x"}))
        assert written(path, mixed) == mixed
        trie = trie_of(*((f"a.{number}", f"s{number}", {"note": "x" * 100}) for number in range(10)))
        assert written(path, trie) == trie
        assert pq.ParquetFile(path).metadata.num_row_groups == groups
        filters = pq.read_table(path)["filter"].to_pylist()
        assert filters == sorted(filters)

    @pytest.mark.parametrize(
        ("rows", "arguments", "error", "says"),
        [
            ([("b", "bob"), ("c", "carol")], {"key": lambda _: "same"}, ValueError, "both have the key 'same'"),
            (
                [("b", "bob")],
                {"key": lambda name, left=[0]: 1 / left.pop() if left else name},
                ZeroDivisionError,
                "division",
            ),
            ([("a", "alice", {"x": object()})], {}, TypeError, r"'x' cannot be stored: object has no form .*'alice'"),
        ],
    )
    def test_that_fails_leaves_the_file_alone(
        self, path: Path, rows: Any, arguments: Any, error: Any, says: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(columns, "BATCH_ROWS", 1)
        snapshot.write(trie_of(("a", "alice")), path)
        with pytest.raises(error, match=says):
            snapshot.write(trie_of(*rows), path, **arguments)
        assert held_by(snapshot.load(path)) == {("a", "alice"): {}}
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize(
        ("place", "error", "says"),
        [
            *(
                ("", IsADirectoryError, "name a file"),
                (".", IsADirectoryError, "name a file"),
                ("/", IsADirectoryError, ""),
            ),
            ("{}", IsADirectoryError, r"a folder; name a file in it, such as subscriptions\.parquet"),
            ("{}/\udcff", ValueError, "cannot be encoded as UTF-8"),
            ("nowhere://x/y", ValueError, "nowhere://x/y: "),
        ],
    )
    def test_needs_a_name(self, tmp_path: Path, place: str, error: type[Exception], says: str) -> None:
        with pytest.raises(error, match=says or "name"):
            snapshot.write(SubscriptionTrie(), place.format(tmp_path))

    @pytest.mark.parametrize("mode", [None, 0o600, 0o640, 0o666, 0o444])
    def test_keeps_a_link_and_the_mode_of_what_it_replaces(self, path: Path, mode: int | None) -> None:
        """Also at a URI."""
        target = path.parent / "else where ü" / "set"
        target.parent.mkdir()
        if mode is not None:
            target.touch()
            target.chmod(mode)
        path.symlink_to(target)
        snapshot.write(trie_of(("a", "alice")), target.as_uri())
        assert len(written(path, trie_of(("a", "alice"), ("b", "bob")))) == len(snapshot.load(target.as_uri())) == 2
        assert path.is_symlink()
        assert mode is None or target.stat().st_mode & 0o777 == mode


STEPS = {"os": ("open", "fsync", "close"), "pyarrow.parquet:ParquetWriter": ("write_batch",)}
"""Before the last of these the file gets its name."""


def fail() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of a fork of a process with threads
def test_a_kill_or_an_error_leaves_the_file_before_or_the_new_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (columns, text_columns):
        monkeypatch.setattr(module, "BATCH_ROWS", 100)
    old, new = trie_of(("old", "alice")), trie_of(*((f"new.{number}", number) for number in range(150)))
    loaded, number, is_reached = [], 0, True
    while is_reached:
        number += 1
        snapshot.write(old, path)
        if (child := os.fork()) == 0:
            signal.alarm(60)
            try:
                with at_step(number, lambda: os.kill(os.getpid(), signal.SIGKILL), calls=STEPS):
                    snapshot.write(new, path)
            finally:
                os._exit(0)
        is_reached = os.waitpid(child, 0)[1] == signal.SIGKILL
        loaded.append(snapshot.load(path))
        others = [each.name for each in path.parent.iterdir() if each != path]
        assert all(name.startswith(f".{path.name}.") for name in others), "what Spark would read"
        assert len(others) <= 1, "what the write before had left"
        with at_step(number, fail, calls=STEPS), contextlib.suppress(OSError):
            snapshot.write(new, path)
        assert snapshot.load(path) in (old, new)
        assert list(path.parent.iterdir()) == [path]
    assert number > 5
    assert loaded == [old] * (number - 2) + [new] * 2


def test_what_others_write_is_told_from_what_the_killed_left(path: Path) -> None:
    other, beside = (path.with_name(f".{path.name}.{'0' * length}") for length in (32, 31))
    for each in (other, beside):
        each.touch()
    with other.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        snapshot.write(trie_of(("a", "alice")), path)
        assert other.exists()
    snapshot.write(trie_of(("a", "alice")), path)
    assert sorted(path.parent.iterdir()) == sorted([path, beside])


# -------------------------------------------------------------------------------------------------------------- loading


def replacing(column: str, value: object) -> Callable[[pa.Table], pa.Table]:
    """A function that replaces a column of a table of one row."""

    def replace(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(column)
        return table.set_column(place, table.schema.field(column), pa.array([value], table.schema.field(column).type))

    return replace


def times(number: int) -> Callable[[pa.Table], pa.Table]:
    return lambda table: pa.concat_tables([table[:0], *[table] * number])


def queue_group(table: pa.Table) -> pa.Table:
    return replacing("dialect", "NATS")(typed(("queue", "1"), "json")(table))


def typed(pair: tuple[str, str], kind: str) -> Callable[[pa.Table], pa.Table]:
    """A function that replaces the options of a table of one row by one of this type."""
    types = replacing("types", json.dumps({pair[0]: kind}))
    return lambda table: types(replacing("options", [pair])(table))


def without_group(table: pa.Table) -> pa.Table:
    return table.drop_columns(["group"])


NOT_OURS = r"is not .*, or not by this version of it.*: no metadata"
NO_FIELD = r"no metadata of a format up to 5: .*"
OTHERS = "other subscriptions than were written"
DIALECT = fields_of(AMQP)
REFUSED: list[tuple[Any, Any, str]] = [
    # a change of the columns, one of the recipe (a text for all of it), and what is said
    (without_group, None, r"is not a subscription set written by snapshot\.write"),
    *((None, recipe, NOT_OURS) for recipe in (b"", b"[]", b"{}", b"\xff", b'{"format": 99}', b'{"format": 5}')),
    (None, b"[" * 100_000, NOT_OURS),
    (None, {"dialect": None}, NO_FIELD + "dialect must not be"),
    (None, {"integer_subscribers": "yes"}, NO_FIELD + "integer_subscribers must not be"),
    *((None, {"format": 3, "json_options": wrong}, NO_FIELD + "json_options must not be") for wrong in ("qos", [[1]])),
    (None, {"rows": "1"}, NO_FIELD + "rows must not be"),
    (None, {"dialect": {**DIALECT, "max_words": 5.5}}, NO_FIELD + "max_words"),
    (None, {"dialect": {**DIALECT, "reserved_prefix": 5}}, NO_FIELD + "reserved_prefix"),
    (None, {"dialect": {**DIALECT, "forbidden": [[1]]}}, NO_FIELD + "forbidden"),
    (None, {"dialect": {**DIALECT, "separator": None}}, NO_FIELD + "separator"),
    (None, {"dialect": {**DIALECT, "many_last": "no"}}, NO_FIELD + "many_last"),
    (None, {"dialect": {**DIALECT, "unheard_of": 1}}, NO_FIELD + "unheard_of"),
    (replacing("filter", None), None, "row 0: filter is null"),
    (replacing("filter", "a\0b"), None, r"character 1 of 'a\\x00b'"),
    (replacing("subscriber", None), None, "row 0: subscriber is null"),
    (replacing("subscriber", None), {"integer_subscribers": True}, "row 0: subscriber is null"),
    (None, {"integer_subscribers": True}, "row 0: invalid literal.*'alice'"),
    (replacing("options", None), None, "row 0: options are null"),
    (replacing("options", [("x", "1"), ("x", "2")]), None, r"row 0: an option occurs twice among \['x', 'x'\]"),
    (typed(("q", "1 2"), "json"), None, "row 0: option 'q' is not JSON"),
    (typed(("q", "[" * 100_000), "json"), None, "row 0: option 'q' is not JSON"),
    (typed(("q", "[1]"), '{"~what": 1}'), None, "row 0: unknown form"),
    *((replacing("types", text), None, "row 0: ") for text in ("", "[]", '{"q": 1}', "[" * 100_000)),
    (replacing("dialect", "NATS"), None, "row 0: it is of the dialect 'NATS', not 'AMQP'"),
    (replacing("dialect", None), None, "row 0: it is of the dialect None, not 'AMQP'"),
    (
        queue_group,
        {"dialect": fields_of(NATS)},
        "row 0: a name of a queue group must be a str, not int",
    ),
    (times(0), None, OTHERS),
    (times(2), None, "row 1: subscriber 'alice' is on 'a' already"),
    (replacing("filter", "b"), None, OTHERS),
    (replacing("subscriber", "bob"), None, OTHERS),
    (replacing("options", [("note", None)]), None, OTHERS),
    (None, {"dialect": {**DIALECT, "max_words": 9}}, OTHERS),
    (None, {"json_options": ["x"]}, OTHERS),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_was_not_written_here_is_refused(path: Path, number: int) -> None:
    change, recipe, says = REFUSED[number]
    snapshot.write(trie_of(("a", "alice")), path)
    kept = dict(pq.ParquetFile(path).metadata.metadata)
    if recipe is not None:
        fields = json.loads(kept[parquet.METADATA_KEY])
        kept[parquet.METADATA_KEY] = recipe if isinstance(recipe, bytes) else json.dumps(fields | recipe).encode()
    table = pq.read_table(path)
    pq.write_table((table if change is None else change(table)).replace_schema_metadata(kept), path)
    with pytest.raises(TopicError if "x00" in says else ValueError, match=rf"{says}") as raised:
        snapshot.load(path)
    assert "x00" in says or "set.parquet" in str(raised.value)


@pytest.mark.parametrize(
    ("tags", "written", "meant"),
    [
        (True, {"n": "5", "queue": "~g"}, {"n": 5, "queue": "~g"}),
        *((True, {"n": text, "~m": '{"~tuple": []}'}, {"n": text, "m": ()}) for text in ("no JSON", "[" * 100_000)),
        (True, {"~n": "x", "n": "5", "queue": "~g"}, {"n": "x", "queue": "~g"}),
        (True, {"~n": '{"~tuple": [1]}', "n": "[1]"}, {"n": (1,)}),
        (False, {"~n": "x", "n": "5"}, {"~n": "x", "n": 5}),
    ],
)
def test_options_that_an_earlier_version_wrote_are_converted_each_by_itself(
    tags: bool, written: dict[str, str], meant: dict[str, Any]
) -> None:
    """A text may be no JSON, and no tagged one, in a row that only names what was there."""
    rows = pa.record_batch({"options": pa.array([list(written.items())], pa.map_(pa.string(), pa.string()))})
    assert option_maps.options_in(older.current(rows, ["n"], tags=tags), 0, "{}") == [meant]


def test_columns_of_others_need_no_metadata(path: Path) -> None:
    """A file, or a folder of files as Spark writes it."""
    trie = trie_of(*((f"a.{number}.#", f"s{number}", {"n": str(number)} if number % 2 else {}) for number in range(20)))
    table, folder = snapshot.to_arrow(trie), path.parent / "out"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match="no Parquet files in the folder"):
        snapshot.load(folder)
    with pytest.raises(FileNotFoundError, match=r"set\.parquet"):
        snapshot.load(path)
    pq.write_table(pa.table({"filter": ["a"]}), path)
    with pytest.raises(ValueError, match=r"set\.parquet is not a subscription set written by snapshot\.write"):
        snapshot.load(path)
    pq.write_table(table, path)
    pq.write_table(table.replace_schema_metadata(None)[:5], folder / "part-0.parquet")
    pq.write_table(table.replace_schema_metadata(None)[5:], folder / "part-1.parquet")
    for name in ("_SUCCESS", ".part-0.parquet.crc"):
        (folder / name).touch()
    for loaded in (snapshot.load(path), snapshot.load(path, dialect=AMQP), snapshot.load(folder)):
        assert loaded == trie
    snapshot.write(trie, path)
    with pytest.raises(ValueError, match="its dialect is AMQP, not the NATS that was given"):
        snapshot.load(path, dialect=NATS)


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def test_a_flipped_bit_is_noticed_or_does_no_harm(path: Path) -> None:
    """Any bit in and around the marks of the metadata, and some others."""
    trie = trie_of(*((f"a.{number}", f"s{number}", {"qos": number % 3, "note": "x"}) for number in range(50)))
    snapshot.write(trie, path)
    whole, seed = path.read_bytes(), random.randrange(2**32)
    print("seed", seed)
    marks = (parquet.METADATA_KEY, parquet.DIGEST_KEY)
    near = {at for mark in marks for at in range(whole.index(mark) - 8, whole.index(mark) + len(mark) + 4)}
    bits = [8 * byte + number for byte in sorted(near) for number in range(0, 8, 3)]
    for bit in bits + random.Random(seed).choices(range(8 * len(whole)), k=150):
        flip(path, bit)
        try:
            loaded = snapshot.load(path)
        except ValueError:
            pass
        else:
            assert (loaded.dialect, held_by(loaded)) == (trie.dialect, held_by(trie)), f"bit {bit}"
        path.write_bytes(whole)
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    flip(path, 8 * (column.dictionary_page_offset + column.total_compressed_size - 1))
    with pytest.raises(OSError, match="CRC checksum verification failed"):
        pq.read_table(path, page_checksum_verification=True)  # so other readers notice it, too


WRITE = """
import sys, pyarrow, pyarrow.parquet as pq
ROWS, path, column = 10_000, sys.argv[1], sys.argv[2]
names = pyarrow.array([f"a{number}" for number in range(ROWS)])
texts = pyarrow.DictionaryArray.from_arrays(
    pyarrow.repeat(pyarrow.scalar(0, pyarrow.int32()), ROWS), pyarrow.array(["x" * 60_000])
)
if column == "options":
    pairs = pyarrow.array(["n"] * ROWS), pyarrow.array(["x" * 60_000] * ROWS)
    texts = pyarrow.MapArray.from_arrays(pyarrow.array(range(ROWS + 1), pyarrow.int32()), *pairs)
if column == "small":
    names, column = names[:1], "filter"
    texts = names
pq.write_table(pyarrow.table({"filter": names, "subscriber": names, column: texts}), path, compression="zstd")
"""
PEAK = """
import resource, sys, snapshot
from subtrie import AMQP
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
snapshot.load(sys.argv[1], dialect=AMQP)
before = peak()
try:
    loaded = len(snapshot.load(sys.argv[2], dialect=AMQP))
except ValueError as error:
    assert "255" in str(error), error
    loaded = 0
print(loaded, peak() - before)
"""


@pytest.mark.once  # what Arrow unpacks
@pytest.mark.slow("unpacks 600 MB of text")
@pytest.mark.parametrize("column", ["filter", "subscriber", "options"])
def test_a_text_that_stands_in_many_rows_is_in_memory_once(tmp_path: Path, column: str) -> None:
    """Nothing promises how long the texts of others' files are."""
    small, large = str(tmp_path / "small.parquet"), str(tmp_path / "large.parquet")
    for program, *arguments in ((WRITE, small, "small"), (WRITE, large, column)):
        subprocess.run([sys.executable, "-c", program, *arguments], check=True)
    assert os.path.getsize(large) < 1_000_000
    ended = subprocess.run([sys.executable, "-c", PEAK, small, large], capture_output=True, text=True, check=True)
    loaded, megabytes = map(int, ended.stdout.split())
    assert loaded == (0 if column == "filter" else 10_000)
    assert megabytes < 250
