"""Subscription sets as Parquet files: what is loaded from them, and what they refuse."""

from __future__ import annotations

import fcntl
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot import columns, parquet
from snapshot.dialect_fields import fields_of
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError
from tests.snapshot import killed_writer
from tests.snapshot.support import held_by, trie_of

Held = tuple[str, Any, dict[str, Any]]


def reloaded(trie: SubscriptionTrie, path: Path, **arguments: Any) -> SubscriptionTrie:
    snapshot.write(trie, path, **arguments)
    loaded = snapshot.load(path)
    loaded.check()
    return loaded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "set.parquet"


class TestRoundTrip:
    @pytest.mark.parametrize(
        "trie",
        [
            trie_of(),
            trie_of(("a.*", "alice", {}), ("a.*", "bob", {}), ("", "alice", {})),
            trie_of(("a", "alice", {"qos": 1, "note": "1", "none": None}), ("b", "bob", {"none": "n"})),
            trie_of(("a", 7, {"durable": True, "rate": 0.5, "tags": {"x": [1, "2"]}}), ("b", -7, {})),
            trie_of(("+/a/#", "alice", {}), dialect=MQTT),
            trie_of(("a.>", "alice", {}), dialect=NATS),
            trie_of(("a-?", "alice", {}), dialect=Dialect("own", "-", "?", None, forbidden="\0\t")),
        ],
    )
    def test_gives_an_equal_trie(self, trie: SubscriptionTrie, path: Path) -> None:
        loaded = reloaded(trie, path)
        assert loaded.dialect == trie.dialect
        assert held_by(loaded) == held_by(trie)

    @given(
        st.dictionaries(
            st.tuples(st.sampled_from(["a", "a.*", "#", "a.b.c"]), st.integers(0, 5).map(str)),
            st.dictionaries(
                st.sampled_from(["x", "y"]), st.none() | st.integers() | st.booleans() | st.lists(st.text())
            ),
        )
    )
    def test_gives_an_equal_trie_of_any_set(
        self, tmp_path_factory: pytest.TempPathFactory, subscriptions: dict[tuple[str, str], dict[str, Any]]
    ) -> None:
        trie = trie_of(*((filter, subscriber, options) for (filter, subscriber), options in subscriptions.items()))
        loaded = reloaded(trie, tmp_path_factory.mktemp("any") / "set.parquet")
        assert held_by(loaded) == subscriptions

    def test_keeps_options_named_as_the_parameters_of_subscribe(self, path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe_many([("a", "s", {"filter": "x", "subscriber": 1, "self": None})])
        assert held_by(reloaded(trie, path)) == {("a", "s"): {"filter": "x", "subscriber": 1, "self": None}}

    def test_gives_a_trie_that_can_be_written_to(self, path: Path) -> None:
        loaded = reloaded(trie_of(("a", "alice", {})), path)
        assert loaded.subscribe("b", "bob")
        assert loaded.unsubscribe("a", "alice")
        loaded.check()

    def test_keeps_the_keys_where_there_is_a_key_function(self, path: Path) -> None:
        loaded = reloaded(trie_of(("a", ("connection", 5), {})), path, key=lambda subscriber: str(subscriber[1]))
        assert held_by(loaded) == {("a", "5"): {}}

    def test_is_the_same_in_many_batches(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(columns, "BATCH_ROWS", 4)
        trie = trie_of(*((f"a.{number}", f"s{number}", {"n": number}) for number in range(10)))
        assert held_by(reloaded(trie, path)) == held_by(trie)
        assert pq.ParquetFile(path).metadata.num_row_groups == 3

    def test_is_the_same_where_long_texts_make_batches_short(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(columns, "BATCH_TEXT", 100)
        trie = trie_of(*((f"a.{number}", f"s{number}", {"note": "x" * 100}) for number in range(10)))
        assert held_by(reloaded(trie, path)) == held_by(trie)
        assert pq.ParquetFile(path).metadata.num_row_groups == 10


class TestFile:
    def test_has_the_columns_of_every_export_and_no_others(self, path: Path) -> None:
        trie = trie_of(("a", "alice", {"qos": 1}))
        snapshot.write(trie, path)
        assert pq.read_schema(path).equals(columns.schema())
        volatile = ["snapshot_id", "taken_at"]
        assert pq.read_table(path).drop_columns(volatile).equals(snapshot.to_arrow(trie).drop_columns(volatile))

    def test_is_replaced_whole(self, path: Path) -> None:
        snapshot.write(trie_of(("a", "alice", {})), path)
        assert held_by(reloaded(trie_of(("b", "bob", {})), path)) == {("b", "bob"): {}}
        assert list(path.parent.iterdir()) == [path]

    def test_is_left_alone_by_a_write_that_fails(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(columns, "BATCH_ROWS", 1)
        snapshot.write(trie_of(("a", "alice", {})), path)
        with pytest.raises(ValueError, match="both have the key 'same'"):
            snapshot.write(trie_of(("b", "bob", {}), ("c", "carol", {})), path, key=lambda subscriber: "same")
        assert held_by(snapshot.load(path)) == {("a", "alice"): {}}
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize("folder", ["", ".", "/"])
    def test_needs_a_name(self, folder: str) -> None:
        with pytest.raises(IsADirectoryError):
            snapshot.write(SubscriptionTrie(), folder)

    def test_is_not_begun_for_what_is_no_subscription_trie(self, path: Path) -> None:
        source: Any = {"a": "alice"}
        with pytest.raises(TypeError, match="the source must be a SubscriptionTrie or a snapshot of one, not dict"):
            snapshot.write(source, path)
        assert not list(path.parent.iterdir())


class TestKills:
    @pytest.mark.slow
    @pytest.mark.once
    def test_leave_the_file_before_or_the_new_one(self, path: Path) -> None:
        for point in ("batch-2", "flush", "move", "moved"):
            before = trie_of(("old", "alice", {}))
            snapshot.write(before, path)
            killed = subprocess.run(
                [sys.executable, "-m", "tests.snapshot.killed_writer", path, point],
                cwd=Path(__file__).parents[2],
                capture_output=True,
                text=True,
                check=False,
            )
            assert (killed.returncode, killed.stdout, killed.stderr) == (-9, "", ""), point
            assert len(snapshot.load(path)) == (killed_writer.ROWS if point == "moved" else 1), point
            others = [other.name for other in path.parent.iterdir() if other != path]
            assert all(name.startswith(f".{path.name}.") for name in others), "what Spark would read"
            assert len(others) == (point != "moved"), "what the write before had left"
        snapshot.write(before, path)
        assert list(path.parent.iterdir()) == [path]

    def test_of_others_are_told_from_what_is_being_written(self, path: Path) -> None:
        other = path.with_name(f".{path.name}.{'0' * 32}")
        beside = path.with_name(f".{path.name}.{'0' * 31}")
        for each in (other, beside):
            each.touch()
        with other.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            snapshot.write(trie_of(("a", "alice", {})), path)
            assert other.exists()
        snapshot.write(trie_of(("a", "alice", {})), path)
        assert sorted(path.parent.iterdir()) == sorted([path, beside])


class TestFilesThatAreReplaced:
    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
    def test_keep_their_mode(self, path: Path, mode: int) -> None:
        path.touch()
        path.chmod(mode)
        snapshot.write(trie_of(("a", "alice", {})), path)
        assert path.stat().st_mode & 0o777 == mode
        assert len(snapshot.load(path)) == 1

    @pytest.mark.parametrize("is_there", [True, False])
    def test_keep_the_link_to_them(self, path: Path, is_there: bool) -> None:
        (path.parent / "elsewhere").mkdir()
        target = path.parent / "elsewhere" / "set"
        if is_there:
            target.touch(0o600)
        path.symlink_to(target)
        snapshot.write(trie_of(("a", "alice", {})), path)
        assert path.is_symlink()
        assert len(snapshot.load(target)) == 1
        assert list(target.parent.iterdir()) == [target]
        assert not is_there or target.stat().st_mode & 0o777 == 0o600

    def test_have_names_of_texts(self, path: Path) -> None:
        for call in (snapshot.load, lambda path: snapshot.write(trie_of(("a", "alice", {})), path)):
            with pytest.raises(ValueError, match="cannot be encoded as UTF-8"):
                call(path.with_name("\udcff"))


class TestValuesOfOtherTypes:
    @pytest.mark.parametrize(
        "value", [(1, 2), {1: 2}, {"a"}, b"x", "\ud800", 10**5000], ids=lambda value: type(value).__name__
    )
    def test_of_an_option_come_back(self, path: Path, value: object) -> None:
        trie = trie_of(("a", "alice", {"x": value}), ("b", "bob", {"x": 1, "~y": "z"}))
        snapshot.write(trie, path)
        assert snapshot.load(path) == trie

    def test_that_have_no_form_are_refused(self, path: Path) -> None:
        with pytest.raises(TypeError, match=r"option 'x' cannot be stored: object has no form as text, in .*'alice'"):
            snapshot.write(trie_of(("a", "alice", {"x": object()})), path)
        assert not path.exists()

    def test_stand_under_one_name(self, path: Path) -> None:
        trie = trie_of(("a", "alice", {"x": 1}), ("b", "bob", {"x": "1"}))
        snapshot.write(trie, path)
        loaded = snapshot.load(path)
        assert loaded == trie
        assert {type(held.options["x"]) for held in loaded.subscriptions()} == {int, str}
        shown = {row["subscriber"]: dict(row["options"]) for row in pq.read_table(path).to_pylist()}
        assert {name: options["x"] for name, options in shown.items()} == {"alice": "1", "bob": "1"}, (
            "readable for others"
        )

    def test_of_subscribers_come_back(self, path: Path) -> None:
        trie = trie_of(("a", "alice", {}), ("b", 7, {}), ("b", "7", {}), ("b", ("x", 7), {}), ("b", "~7", {}))
        snapshot.write(trie, path)
        assert snapshot.load(path) == trie
        assert len(set(pq.read_table(path)["subscriber"].to_pylist())) == 5

    def test_cost_other_files_nothing(self, path: Path) -> None:
        snapshot.write(trie_of(("a", "alice", {"x": 1})), path)
        assert json.loads(pq.read_metadata(path).metadata[parquet.METADATA_KEY])["format"] == 3


class TestLoad:
    def test_refuses_a_file_of_others(self, path: Path) -> None:
        pq.write_table(pa.table({"filter": ["a"]}), path)
        with pytest.raises(ValueError, match=r"set\.parquet is not a subscription set written by snapshot\.write"):
            snapshot.load(path)

    def test_refuses_a_file_with_other_columns(self, path: Path) -> None:
        rewrite(path, lambda table: table.drop_columns(["words"]))
        with pytest.raises(ValueError, match=r"set\.parquet is not a subscription set written by snapshot\.write"):
            snapshot.load(path)

    @pytest.mark.parametrize(
        "recipe",
        [b"", b"[]", b"{}", b"\xff", b'{"format": 99}', b'{"format": 3}', b"[" * 100_000],
        ids=lambda recipe: repr(recipe[:20]),
    )
    def test_refuses_a_recipe_that_it_cannot_read(self, path: Path, recipe: bytes) -> None:
        rewrite(path, lambda table: table, recipe)
        with pytest.raises(ValueError, match=r"set\.parquet is not .*, or not by this version of it.*: no metadata"):
            snapshot.load(path)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("dialect", None),
            ("integer_subscribers", "yes"),
            ("json_options", "qos"),
            ("json_options", [[1]]),
            ("rows", "1"),
        ],
    )
    def test_refuses_a_recipe_with_a_field_of_another_type(self, path: Path, field: str, value: object) -> None:
        rewrite(path, lambda table: table, changed={field: value})
        with pytest.raises(ValueError, match=rf"set\.parquet .* no metadata of format 3 or 4: .*{field} must not be"):
            snapshot.load(path)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("max_words", 5.5),
            ("reserved_prefix", 5),
            ("forbidden", [[1]]),
            ("separator", None),
            ("many_last", "no"),
            ("unheard_of", 1),
        ],
    )
    def test_refuses_a_dialect_with_a_field_of_another_type(self, path: Path, field: str, value: object) -> None:
        rewrite(path, lambda table: table, changed={"dialect": {**fields_of(AMQP), field: value}})
        with pytest.raises(ValueError, match=rf"set\.parquet .* no metadata of format 3 or 4: .*{field}"):
            snapshot.load(path)

    @pytest.mark.parametrize(
        ("column", "value", "problem"),
        [
            ("filter", None, "row 0: filter is null"),
            ("subscriber", None, "row 0: subscriber is null"),
            ("options", None, "row 0: options are null"),
            ("options", [("x", "1"), ("x", "2")], r"row 0: an option occurs twice among \['x', 'x'\]"),
            ("options", [("qos", "1 2")], "row 0: option 'qos' is not JSON"),
            ("options", [("qos", "[" * 100_000)], "row 0: option 'qos' is not JSON"),
            ("dialect", "NATS", "row 0: it is of the dialect 'NATS', not 'AMQP'"),
            ("dialect", None, "row 0: it is of the dialect None, not 'AMQP'"),
        ],
    )
    def test_refuses_a_row_that_stands_for_no_subscription(
        self, path: Path, column: str, value: object, problem: str
    ) -> None:
        rewrite(path, replacing(column, value), changed={"json_options": ["qos"]})
        with pytest.raises(ValueError, match=rf"set\.parquet .*: {problem}"):
            snapshot.load(path)

    @pytest.mark.parametrize(
        ("subscriber", "problem"), [(None, "row 0: subscriber is null"), ("alice", "row 0: invalid literal.*'alice'")]
    )
    def test_refuses_a_subscriber_that_is_no_integer_where_all_were(
        self, path: Path, subscriber: str | None, problem: str
    ) -> None:
        rewrite(path, replacing("subscriber", subscriber), changed={"integer_subscribers": True})
        with pytest.raises(ValueError, match=rf"set\.parquet .*: {problem}"):
            snapshot.load(path)

    def test_refuses_a_queue_group_whose_name_is_no_string(self, path: Path) -> None:
        changed = {"dialect": fields_of(NATS), "json_options": ["queue"]}
        queue, dialect = replacing("options", [("queue", "1")]), replacing("dialect", "NATS")
        rewrite(path, lambda table: dialect(queue(table)), changed=changed)
        with pytest.raises(ValueError, match=r"set\.parquet .*: row 0: a name of a queue group must be a str, not int"):
            snapshot.load(path)

    def test_validates_every_filter(self, path: Path) -> None:
        rewrite(path, replacing("filter", "a\0b"))
        with pytest.raises(TopicError, match=r"character 1 of 'a\\x00b'"):
            snapshot.load(path)

    def test_says_which_file_is_missing(self, path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"set\.parquet"):
            snapshot.load(path)


class TestDamage:
    """A damaged file gives the set that was written, or an error."""

    @pytest.mark.parametrize(
        ("rows", "problem"),
        [(0, "0 subscriptions, where 1 were written"), (2, "row 1: subscriber 'alice' is on 'a' already")],
    )
    def test_of_missing_or_doubled_rows_is_noticed(self, path: Path, rows: int, problem: str) -> None:
        rewrite(path, lambda table: pa.concat_tables([table[:0], *[table] * rows]))
        with pytest.raises(ValueError, match=rf"set\.parquet .*: {problem}"):
            snapshot.load(path)

    @pytest.mark.parametrize(
        ("column", "value"), [("filter", "b"), ("subscriber", "bob"), ("options", [("note", None)])]
    )
    def test_of_a_row_is_noticed(self, path: Path, column: str, value: object) -> None:
        rewrite(path, replacing(column, value))
        with pytest.raises(ValueError, match=r"set\.parquet .*: other subscriptions than were written"):
            snapshot.load(path)

    @pytest.mark.parametrize("changed", [{"dialect": fields_of(AMQP) | {"max_words": 9}}, {"json_options": ["x"]}])
    def test_of_the_recipe_is_noticed(self, path: Path, changed: dict[str, Any]) -> None:
        rewrite(path, lambda table: table, changed=changed)
        with pytest.raises(ValueError, match=r"set\.parquet .*: other subscriptions than were written"):
            snapshot.load(path)

    def test_of_a_page_is_noticed_by_other_readers_that_ask_for_it(self, path: Path) -> None:
        snapshot.write(trie_of(("a", "alice", {})), path)
        column = pq.ParquetFile(path).metadata.row_group(0).column(0)
        flip(path, 8 * (column.dictionary_page_offset + column.total_compressed_size - 1))
        with pytest.raises(OSError, match="CRC checksum verification failed"):
            pq.read_table(path, page_checksum_verification=True)

    def test_of_any_bit_of_the_metadata_is_noticed(self, path: Path) -> None:
        snapshot.write(trie_of(("a", 7, {"qos": 1})), path)
        whole = path.read_bytes()
        marks = (parquet.METADATA_KEY, parquet.DIGEST_KEY)
        near = {at for mark in marks for at in range(whole.index(mark) - 8, whole.index(mark) + len(mark) + 4)}
        for bit in (8 * byte + number for byte in sorted(near) for number in range(8)):
            flip(path, bit)
            loaded = loaded_or_refused(path)
            assert loaded is None or held_by(loaded) == {("a", 7): {"qos": 1}}, f"bit {bit}"
            path.write_bytes(whole)

    @pytest.mark.parametrize("seed", range(10))
    def test_of_any_bit_is_noticed_or_does_no_harm(self, path: Path, seed: int) -> None:
        trie = trie_of(*((f"a.{number}", f"s{number}", {"qos": number % 3, "note": "x"}) for number in range(50)))
        snapshot.write(trie, path)
        chance, bits = random.Random(seed), 8 * path.stat().st_size
        for bit in chance.choices(range(bits), k=40):
            flip(path, bit)
            loaded = loaded_or_refused(path)
            if loaded is not None:
                assert (loaded.dialect, held_by(loaded)) == (trie.dialect, held_by(trie)), f"bit {bit}"
            flip(path, bit)


def loaded_or_refused(path: Path) -> SubscriptionTrie | None:
    try:
        return snapshot.load(path)
    except ValueError:
        return None


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def replacing(column: str, value: object) -> Any:
    """A function that replaces a column of a table of one row."""

    def replace(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(column)
        return table.set_column(place, table.schema.field(column), pa.array([value], table.schema.field(column).type))

    return replace


def rewrite(path: Path, change: Any, recipe: bytes | None = None, *, changed: dict[str, Any] | None = None) -> None:
    """Write a set of one subscription, then change its columns and its recipe without the library."""
    snapshot.write(trie_of(("a", "alice", {})), path)
    kept = dict(pq.ParquetFile(path).metadata.metadata)
    fields = json.loads(kept[parquet.METADATA_KEY])
    assert fields["format"] == 3
    if recipe is not None or changed is not None:
        kept[parquet.METADATA_KEY] = json.dumps(fields | (changed or {})).encode() if recipe is None else recipe
    table = change(pq.read_table(path))
    pq.write_table(table.replace_schema_metadata(kept), path)
