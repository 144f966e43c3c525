"""Subscription sets as Parquet files: what comes back from them, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot import columns, parquet
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError

Held = tuple[str, Any, dict[str, Any]]


def trie_of(*subscriptions: Held, dialect: Dialect = AMQP) -> SubscriptionTrie:
    trie = SubscriptionTrie(dialect)
    for filter, subscriber, options in subscriptions:
        trie.subscribe(filter, subscriber, **options)
    trie.check()
    return trie


def held_by(trie: SubscriptionTrie) -> dict[tuple[str, Any], dict[str, Any]]:
    return {(held.filter, held.subscriber): dict(held.options) for held in trie.subscriptions()}


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

    def test_is_not_begun_for_what_is_no_subscription_trie(self, path: Path) -> None:
        source: Any = {"a": "alice"}
        with pytest.raises(TypeError, match="a SubscriptionTrie or a snapshot of one is wanted, not dict"):
            snapshot.write(source, path)
        assert not list(path.parent.iterdir())


class TestWhatCannotBeRebuilt:
    @pytest.mark.parametrize("value", [(1, 2), object(), {1: 2}, {"a"}, float("nan")])
    def test_an_option_without_an_equal_in_json(self, path: Path, value: object) -> None:
        with pytest.raises(TypeError, match=r"option 'x' .* JSON has no equal of it: .*'alice'"):
            snapshot.write(trie_of(("a", "alice", {"x": value})), path)

    def test_an_option_that_is_a_string_here_and_a_number_there(self, path: Path) -> None:
        with pytest.raises(TypeError, match="option 'x' is a string in one subscription and not in another") as error:
            snapshot.write(trie_of(("a", "alice", {"x": 1}), ("b", "bob", {"x": "1"})), path)
        assert "alice" in str(error.value)
        assert "bob" in str(error.value)

    def test_subscribers_of_which_some_are_strings_and_some_numbers(self, path: Path) -> None:
        with pytest.raises(TypeError, match="the subscriber is a string in one subscription and not in another"):
            snapshot.write(trie_of(("a", "alice", {}), ("b", 7, {})), path)


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
        [b"", b"[]", b"{}", b'{"format": 99}', b'{"format": 1}', b'{"format": 1, "dialect": {"x": 1}}'],
    )
    def test_refuses_a_recipe_that_it_cannot_read(self, path: Path, recipe: bytes) -> None:
        rewrite(path, lambda table: table, recipe)
        with pytest.raises(ValueError, match=r"set\.parquet cannot be read by this version"):
            snapshot.load(path)

    def test_validates_every_filter(self, path: Path) -> None:
        def spoil(table: pa.Table) -> pa.Table:
            return table.set_column(0, "filter", pa.array(["a\0b"]))

        rewrite(path, spoil)
        with pytest.raises(TopicError, match=r"character 1 of 'a\\x00b'"):
            snapshot.load(path)

    def test_says_which_file_is_missing(self, path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"set\.parquet"):
            snapshot.load(path)


def rewrite(path: Path, change: Any, recipe: bytes | None = None) -> None:
    """Write a set of one subscription, then change its columns and its recipe behind the library's back."""
    snapshot.write(trie_of(("a", "alice", {})), path)
    kept = pq.ParquetFile(path).metadata.metadata[parquet.METADATA_KEY]
    assert json.loads(kept)["format"] == 1
    table = change(pq.read_table(path))
    pq.write_table(table.replace_schema_metadata({parquet.METADATA_KEY: kept if recipe is None else recipe}), path)
