"""The exported columns: what each says about a subscription, and what cannot be exported."""

from __future__ import annotations

import datetime
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from ctrie import Ctrie
from snapshot import columns
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie
from tests.snapshot.support import trie_of


def row(trie: SubscriptionTrie, **arguments: Any) -> dict[str, Any]:
    (only,) = snapshot.to_arrow(trie, **arguments).to_pylist(maps_as_pydicts="strict")
    return dict(only)


class TestSchema:
    def test_has_these_columns_and_types(self) -> None:
        assert snapshot.to_arrow(trie_of(("a.*", "alice"))).schema.equals(
            pa.schema(
                {
                    "filter": pa.string(),
                    "words": pa.list_(pa.string()),
                    "depth": pa.int32(),
                    "wildcards": pa.int32(),
                    "subscriber": pa.string(),
                    "options": pa.map_(pa.string(), pa.string()),
                    "dialect": pa.string(),
                    "group": pa.string(),
                    "snapshot_id": pa.string(),
                    "taken_at": pa.timestamp("us", tz="UTC"),
                }
            )
        )

    def test_is_the_same_for_an_empty_set(self) -> None:
        empty = snapshot.to_arrow(SubscriptionTrie())
        assert empty.num_rows == 0
        assert empty.schema == snapshot.to_arrow(trie_of(("a.*", "alice"))).schema

    def test_is_the_same_in_pandas_where_options_are_dictionaries(self) -> None:
        frame = snapshot.to_pandas(trie_of(("a.*", "alice", {"qos": 1})))
        assert list(frame.columns) == snapshot.to_arrow(SubscriptionTrie()).column_names
        assert frame["options"].tolist() == [{"qos": "1"}]


class TestWords:
    @pytest.mark.parametrize(
        ("filter", "words", "wildcards"),
        [
            ("stock", ["stock"], 0),
            ("*.stock.#", ["*", "stock", "#"], 2),
            ("#", ["#"], 1),
            ("a..b", ["a", "", "b"], 0),
            ("*a.b#.**", ["*a", "b#", "**"], 0),
            ("", [], 0),
        ],
    )
    def test_of_amqp_filters(self, filter: str, words: list[str], wildcards: int) -> None:
        exported = row(trie_of((filter, "alice")))
        assert exported["words"] == words
        assert exported["depth"] == len(words)
        assert exported["wildcards"] == wildcards

    @pytest.mark.parametrize(
        ("dialect", "filter", "words", "wildcards"),
        [
            (MQTT, "/a/+/#", ["", "a", "+", "#"], 2),
            (MQTT, "a.*/b", ["a.*", "b"], 0),
            (NATS, "a.*.>", ["a", "*", ">"], 2),
            (Dialect("plain", separator="-", one_word="?", many_words=None), "a-?-#", ["a", "?", "#"], 1),
        ],
    )
    def test_of_other_dialects(self, dialect: Dialect, filter: str, words: list[str], wildcards: int) -> None:
        exported = row(trie_of((filter, "alice"), dialect=dialect))
        assert (exported["words"], exported["wildcards"]) == (words, wildcards)

    @given(st.sets(st.lists(st.sampled_from(["", "a", "bb", "*", "#", "*a"]), max_size=4).map(tuple), min_size=1))
    def test_of_many_filters_at_once(self, filters: set[tuple[str, ...]]) -> None:
        trie = trie_of(*((AMQP.join(words), "alice") for words in filters))
        for exported in snapshot.to_arrow(trie).to_pylist():
            words = AMQP.split_filter(exported["filter"])
            assert exported["words"] == list(words)
            assert exported["depth"] == len(words)
            assert exported["wildcards"] == sum(map(AMQP.is_wild, words))
        trie.check()


class TestSnapshotColumns:
    def test_name_one_snapshot_in_all_rows(self) -> None:
        trie = trie_of(("a", "alice"), ("b", "bob"))
        first, second = snapshot.to_arrow(trie), snapshot.to_arrow(trie)
        assert len(set(first["snapshot_id"].to_pylist())) == 1
        assert set(first["snapshot_id"].to_pylist()) != set(second["snapshot_id"].to_pylist())

    def test_are_the_snapshots_own_in_all_its_exports(self) -> None:
        trie = trie_of(("a", "alice"))
        before = datetime.datetime.now(datetime.UTC)
        taken = trie.snapshot()
        after = datetime.datetime.now(datetime.UTC)
        first, second = snapshot.to_arrow(taken), snapshot.to_arrow(taken.snapshot())
        assert first.equals(second)
        assert before - datetime.timedelta(milliseconds=1) <= first["taken_at"][0].as_py() <= after
        assert snapshot.to_arrow(trie)["snapshot_id"] != first["snapshot_id"]

    def test_tell_when_it_was_taken(self) -> None:
        before = datetime.datetime.now(datetime.UTC)
        taken_at = row(trie_of(("a", "alice")))["taken_at"]
        assert before <= taken_at <= datetime.datetime.now(datetime.UTC)

    def test_a_snapshot_is_exported_as_it_was_taken(self) -> None:
        trie = trie_of(("a", "alice"))
        taken = trie.snapshot()
        trie.subscribe("b", "bob")
        trie.unsubscribe("a", "alice")
        assert row(taken)["filter"] == "a"
        assert row(trie)["filter"] == "b"
        trie.check()


class TestSubscribers:
    def test_strings_and_integers_stand_for_themselves(self) -> None:
        exported = snapshot.to_arrow(trie_of(("a", "alice"), ("b", 7), ("c", -1)))
        assert set(exported["subscriber"].to_pylist()) == {"alice", "7", "-1"}

    def test_other_objects_need_a_key(self) -> None:
        trie = trie_of(("a", ("connection", 5)))
        with pytest.raises(TypeError, match=r"\('connection', 5\).* key= function"):
            snapshot.to_arrow(trie)
        assert row(trie, key=lambda subscriber: f"{subscriber[0]}-{subscriber[1]}")["subscriber"] == "connection-5"

    def test_one_key_for_two_subscribers_is_an_error_that_names_both(self) -> None:
        with pytest.raises(ValueError, match=r"(7 and '7'|'7' and 7) both have the key '7'"):
            snapshot.to_arrow(trie_of(("a", 7), ("b", "7")))

    def test_one_subscriber_on_two_filters_is_asked_for_its_key_once(self) -> None:
        keys = iter(["seven"])
        exported = snapshot.to_arrow(trie_of(("a", 7), ("b", 7)), key=lambda subscriber: next(keys))
        assert exported["subscriber"].to_pylist() == ["seven", "seven"]

    def test_a_key_must_be_a_string(self) -> None:
        with pytest.raises(TypeError, match="the key of subscriber 'alice' must be a string, not bytes"):
            snapshot.to_arrow(trie_of(("a", "alice")), key=lambda subscriber: subscriber.encode())

    def test_a_key_must_be_utf8(self) -> None:
        with pytest.raises(ValueError, match=r"key of subscriber 'ali\\udcff' cannot be encoded .* character 3"):
            snapshot.to_arrow(trie_of(("a", "ali\udcff")))


class TestOptions:
    def test_become_texts(self) -> None:
        options = {"note": "x", "qos": 1, "durable": True, "group": None, "tags": ["a"], "peer": 1j}
        assert row(trie_of(("a", "alice", options)))["options"] == {
            "note": "x",
            "qos": "1",
            "durable": "true",
            "group": None,
            "tags": '["a"]',
            "peer": "1j",
        }

    def test_of_each_subscription_stay_with_it(self) -> None:
        trie = trie_of(("a", "alice"), ("b", "bob", {"qos": 1, "n": 2}), ("c", "carol", {"qos": 0}))
        exported = snapshot.to_arrow(trie).to_pylist(maps_as_pydicts="strict")
        assert {each["filter"]: each["options"] for each in exported} == {
            "a": {},
            "b": {"qos": "1", "n": "2"},
            "c": {"qos": "0"},
        }

    def test_must_be_utf8(self) -> None:
        with pytest.raises(ValueError, match=r"option 'note' cannot be encoded .* character 0 of '\\udcff'"):
            snapshot.to_arrow(trie_of(("a", "alice", {"note": "\udcff"})))


class TestSource:
    @pytest.mark.parametrize("source", [{}, None, Ctrie(), [("a", "alice")]], ids=lambda source: type(source).__name__)
    @pytest.mark.parametrize("export", [snapshot.to_arrow, snapshot.to_pandas])
    def test_must_be_a_subscription_trie(self, export: Callable[[Any], object], source: Any) -> None:
        wanted = f"the source must be a SubscriptionTrie or a snapshot of one, not {type(source).__name__}"
        with pytest.raises(TypeError, match=wanted):
            export(source)


class TestBatches:
    def test_hold_a_bounded_number_of_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(columns, "BATCH_ROWS", 4)
        trie = trie_of(*((f"a.{number}", number, {"n": number}) for number in range(10)))
        exported = snapshot.to_arrow(trie)
        assert [batch.num_rows for batch in exported.to_batches()] == [4, 4, 2]
        assert sorted(exported["filter"].to_pylist()) == sorted(f"a.{number}" for number in range(10))
        assert all(
            each["options"] == {"n": each["subscriber"]} for each in exported.to_pylist(maps_as_pydicts="strict")
        )

    def test_hold_a_bounded_amount_of_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(columns, "BATCH_TEXT", 100)
        trie = trie_of(
            *((f"a.{number}", f"s{number}", {"note": "x" * 40}) for number in range(4)),
            ("b", "t" * 200, {"tags": ["y" * 200]}),
        )
        batches = snapshot.to_arrow(trie).to_batches()
        assert all(sum(map(text_length, batch.to_pylist()[:-1])) < 100 for batch in batches)
        assert 1 < len(batches) < 5
        assert {each["filter"] for batch in batches for each in batch.to_pylist()} == {"a.0", "a.1", "a.2", "a.3", "b"}

    @pytest.mark.parametrize("subscription", [("f" * 100, "s"), ("f", "s" * 100), ("f", "s", {"o": "x" * 100})])
    def test_are_short_for_long_texts_wherever_they_are(
        self, monkeypatch: pytest.MonkeyPatch, subscription: tuple[Any, ...]
    ) -> None:
        monkeypatch.setattr(columns, "BATCH_TEXT", 100)
        filter, subscriber, *options = subscription
        trie = trie_of((f"{filter}1", f"{subscriber}1", *options), (f"{filter}2", f"{subscriber}2", *options))
        assert [batch.num_rows for batch in snapshot.to_arrow(trie).to_batches()] == [1, 1]

    def test_are_filled_from_no_more_items_than_they_hold(self) -> None:
        items = itertools.count()
        assert len(next(columns.in_batches(items))) == columns.BATCH_ROWS
        assert next(items) == columns.BATCH_ROWS


def text_length(row: dict[str, Any]) -> int:
    return len(row["filter"]) + len(row["subscriber"]) + sum(len(name) + len(text) for name, text in row["options"])


class TestExtras:
    def test_importing_snapshot_brings_none_of_them_in(self) -> None:
        code = "import snapshot, sys; print({'pyarrow', 'pandas', 'pyspark', 'numpy'} & set(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "set()"

    def test_a_missing_one_is_an_error_that_says_how_to_get_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(ImportError, match=r"pyarrow.*pip install 'subtrie\[arrow\]'"):
            snapshot.to_arrow(SubscriptionTrie())


@pytest.mark.parametrize("dialect", [MQTT, NATS], ids=lambda dialect: dialect.name)
def test_exclusions_come_back(dialect: Dialect, tmp_path: Path) -> None:
    trie = SubscriptionTrie(dialect)
    first, second = (dialect.join(("a", word)) for word in ("b", "c"))
    trie.subscribe(dialect.join(("a", str(dialect.many_words))), "ann", but=(first, second))
    trie.subscribe(dialect.join(("a", dialect.one_word)), "bob", but=(first,), weight=2)
    snapshot.write(trie, tmp_path / "one.parquet")
    for again in (snapshot.from_arrow(snapshot.to_arrow(trie)), snapshot.load(tmp_path / "one.parquet")):
        assert again == trie
        assert again.match(first) == ()
        again.check()
