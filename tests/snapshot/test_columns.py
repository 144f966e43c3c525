"""Columns and back: any trie becomes columns that describe it, and these become an equal trie, in both twins."""

from __future__ import annotations

import gc
import json
import random
import threading
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot import columns, text_columns
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError
from subtrie import columns as plain

Row = tuple[str, Any, dict[str, Any]]

WORDS = st.sampled_from(["", "a", "b", "bb", "é", "日本", "😀", "a-b", "a!", "longer than seven", "x" * 40])


def filters(dialect: Dialect) -> st.SearchStrategy[str]:
    """Filters of a dialect, including shared ones."""
    words = WORDS if dialect.empty_words else WORDS.filter(bool)
    words = words.filter(lambda word: not set(word) & set(dialect.forbidden))
    middle = st.lists(words | st.just(dialect.one_word), min_size=1, max_size=4)
    ends = st.sampled_from([(), (dialect.many_words,)])
    plain = st.builds(lambda some, end: dialect.join((*some, *end)), middle, ends)
    if dialect.zero_words:
        plain |= st.just("")
    plain = plain.filter(lambda text: dialect.zero_words or text != "")
    if dialect.share_prefix is None:
        return plain
    shared = plain.filter(lambda text: not text.startswith("$"))
    return plain | st.builds(lambda group, text: f"$share/{group}/{text}", st.sampled_from(["g", "gé"]), shared)


def options(dialect: Dialect) -> st.SearchStrategy[dict[str, Any]]:
    values: dict[str, st.SearchStrategy[Any]] = {
        "qos": st.integers(-(2**70), 2**70) | st.booleans() | st.none(),
        "note": st.text(st.characters(codec="utf-8"), max_size=9) | st.none(),
        "tags": st.lists(st.integers(0, 3), max_size=2),
    }
    if dialect.queue_groups:
        values["queue"] = st.sampled_from(["q", "grüppe"])
    if dialect.name == "MQTT":
        values["qos"] = st.integers(0, 2)
    return st.just({}) | st.fixed_dictionaries({}, optional=values)


@st.composite
def sets(draw: st.DrawFn) -> tuple[Dialect, list[Row]]:
    dialect = draw(st.sampled_from([AMQP, MQTT, NATS]))
    subscribers: st.SearchStrategy[Any] = draw(
        st.sampled_from([st.sampled_from(["alice", "é", "", "7"]), st.integers(-(2**70), 2**70) | st.integers(0, 2)])
    )
    row = st.tuples(filters(dialect), subscribers, options(dialect))
    rows = draw(st.lists(row, max_size=20, unique_by=lambda row: (row[0], row[1], row[2].get("queue"))))
    return dialect, rows


def trie_of(dialect: Dialect, rows: list[Row], **arguments: Any) -> SubscriptionTrie:
    trie = SubscriptionTrie(dialect, **arguments)
    trie.subscribe_many(rows)
    trie.check()
    return trie


def held_by(trie: SubscriptionTrie) -> list[Row]:
    trie.check()
    held = [(held.filter, held.subscriber, dict(held.options)) for held in trie.subscriptions()]
    return sorted(held, key=lambda row: (row[0], str(row[1]), str(row[2].get("queue"))))


def text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


class TestEveryTrie:
    @given(sets(), st.booleans())
    def test_becomes_columns_that_say_what_it_holds(self, given: tuple[Dialect, list[Row]], exact: bool) -> None:
        dialect, rows = given
        table = snapshot.to_arrow(trie_of(dialect, rows, exact=exact))
        table.validate(full=True)
        assert table.schema == columns.schema()
        exported = table.to_pylist(maps_as_pydicts="strict")
        assert len(exported) == len(rows)
        found = {(row["filter"], row["subscriber"], row["group"]): row for row in exported}
        for filter, subscriber, held in rows:
            words = dialect.split_filter(filter)
            group = held.get("queue") if dialect.queue_groups else dialect.unshare(words)[0]
            row = found[filter, str(subscriber), group]
            assert row["words"] == list(words)
            assert row["depth"] == len(words)
            assert row["wildcards"] == sum(map(dialect.is_wild, words))
            assert row["options"] == {name: text(value) for name, value in held.items()}
            assert row["dialect"] == dialect.name

    @given(sets(), st.booleans())
    def test_comes_back_from_a_file(
        self, tmp_path_factory: pytest.TempPathFactory, given: tuple[Dialect, list[Row]], exact: bool
    ) -> None:
        trie = trie_of(*given, exact=exact)
        path = tmp_path_factory.mktemp("set") / "set.parquet"
        snapshot.write(trie, path)
        loaded = snapshot.load(path)
        assert loaded.dialect == trie.dialect
        assert held_by(loaded) == held_by(trie)

    @given(sets(), st.booleans(), st.randoms(use_true_random=False))
    def test_comes_back_from_columns_in_any_order_as_texts(
        self, given: tuple[Dialect, list[Row]], exact: bool, chance: Any
    ) -> None:
        dialect, rows = given
        table = snapshot.to_arrow(trie_of(dialect, rows))
        order = list(range(len(table)))
        chance.shuffle(order)
        built = snapshot.from_arrow(table.take(pa.array(order, pa.int64())), dialect, exact=exact)
        kept = {name for name, allowed in dialect.options if allowed is not str}
        texts = [
            (filter, str(key), {name: value if name in kept else text(value) for name, value in held.items()})
            for filter, key, held in rows
        ]
        assert held_by(built) == sorted(texts, key=lambda row: (row[0], row[1], str(row[2].get("queue"))))

    def test_with_weakly_held_subscribers_has_those_alive(self) -> None:
        class Client:
            pass

        alice, bob = Client(), Client()
        trie = SubscriptionTrie(weak=True)
        trie.subscribe_many([("a", alice), ("a", bob, {"qos": 1}), ("b", bob)])
        names = {id(alice): "alice", id(bob): "bob"}
        assert len(snapshot.to_arrow(trie, key=lambda client: names[id(client)])) == 3
        del alice
        gc.collect()
        assert (
            sorted(snapshot.to_arrow(trie, key=lambda client: names[id(client)])["subscriber"].to_pylist())
            == ["bob"] * 2
        )
        trie.check()

    def test_with_many_subscribers_of_one_filter_ends_its_batches_in_the_middle(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(columns, "BATCH_ROWS", 100)
        rows: list[Row] = [("$share/g/a" if number % 2 else "a", f"s{number}", {}) for number in range(1000)]
        table = snapshot.to_arrow(trie_of(MQTT, rows))
        assert {len(batch) for batch in table.to_batches()} == {100}
        assert sorted(table["subscriber"].to_pylist()) == sorted(f"s{number}" for number in range(1000))


class TestChanges:
    def test_have_the_options_of_both_sides(self) -> None:
        trie = trie_of(NATS, [("a", "s", {"qos": 1}), ("b", "s", {"queue": "q"})])
        before = trie.snapshot()
        trie.subscribe("a", "s", qos=2)
        trie.unsubscribe("b", "s", queue="q")
        trie.subscribe("c", "s")
        table = snapshot.diff_to_arrow(trie, before)
        table.validate(full=True)
        wanted = ["filter", "group", "options", "old_options", "new_options", "change"]
        rows = [tuple(row.values()) for row in table.select(wanted).to_pylist(maps_as_pydicts="strict")]
        assert sorted(rows) == [
            ("a", None, {"qos": "2"}, {"qos": "1"}, {"qos": "2"}, "updated"),
            ("b", "q", {"queue": "q"}, {"queue": "q"}, None, "removed"),
            ("c", None, {}, None, {}, "added"),
        ]
        trie.check()

    def test_with_long_texts_are_in_several_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(columns, "BATCH_TEXT", 100)
        trie = trie_of(MQTT, [(f"long/{'x' * 30}/{n}", f"s{n}", {"n": n, "m": "é"}) for n in range(20)])
        table = snapshot.diff_to_arrow(trie, SubscriptionTrie(MQTT))
        assert {len(batch) for batch in table.to_batches()} == {3, 2}
        assert sorted(table["subscriber"].to_pylist()) == sorted(f"s{n}" for n in range(20))

    def test_that_no_column_holds_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(columns, "MOST_TEXT", 100)
        trie = trie_of(AMQP, [("a", "s", {"n": "x" * 101})])
        with pytest.raises(ValueError, match="more than 2 GiB"):
            snapshot.diff_to_arrow(trie, SubscriptionTrie(AMQP))

    @given(sets())
    def test_of_every_trie_have_the_columns_of_its_set(self, given: tuple[Dialect, list[Row]]) -> None:
        trie = trie_of(*given)
        difference = snapshot.diff_to_arrow(trie, SubscriptionTrie(trie.dialect))
        difference.validate(full=True)
        own = ["snapshot_id", "taken_at"]
        found = difference.drop_columns([*own, "old_options", "new_options", "change"])
        whole = snapshot.to_arrow(trie).drop_columns(own)
        assert found.schema == whole.schema
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, whole.to_pylist()))

    def test_of_nothing_are_no_rows(self) -> None:
        trie = trie_of(AMQP, [("a", "s", {})])
        assert len(snapshot.diff_to_arrow(trie, trie.snapshot())) == 0


class TestReader:
    def test_is_of_the_instant_of_the_call(self) -> None:
        trie = trie_of(AMQP, [("a", "s", {})])
        reader = snapshot.to_reader(trie)
        trie.clear()
        assert reader.schema == columns.schema()
        assert reader.read_all()["filter"].to_pylist() == ["a"]

    def test_is_read_through_the_stream_that_other_libraries_read(self) -> None:
        reader = snapshot.to_reader(trie_of(AMQP, [("a", "s", {"qos": 1})]))
        assert pa.RecordBatchReader.from_stream(reader).read_all()["subscriber"].to_pylist() == ["s"]

    def test_raises_what_is_wrong_with_a_subscriber(self) -> None:
        with pytest.raises(TypeError, match="key= function"):
            snapshot.to_reader(trie_of(AMQP, [("a", (1, 2), {})])).read_all()

    def test_of_columns_that_an_error_left_half_filled_goes_no_further(self) -> None:
        rows = plain.walk(trie_of(AMQP, [("a", (1, 2), {}), ("b", (3, 4), {})]))
        with pytest.raises(TypeError, match="has no text"):
            rows.fill(10, 1000)
        for again in (lambda: rows.fill(10, 1000), rows.taken):
            with pytest.raises(RuntimeError, match="half filled"):
                again()

    @pytest.mark.freethreaded
    def test_is_filled_by_one_thread_at_a_time(self) -> None:
        rows = plain.walk(trie_of(AMQP, [(f"a.{number}", "s", {}) for number in range(20_000)]))
        barrier, filled = threading.Barrier(4), []

        def fill() -> None:
            barrier.wait()
            for _ in range(200):
                try:
                    rows.fill(20_000, 1 << 30)
                    columns = rows.taken()
                except RuntimeError:
                    continue
                filled.append(columns.rows)

        threads = [threading.Thread(target=fill) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(filled) == 20_000


class TestFromArrow:
    TABLE = pa.table({"filter": ["a.*", "b"], "subscriber": ["alice", "bob"]})

    @pytest.fixture(params=["table", "batch", "reader", "stream"])
    def data(self, request: pytest.FixtureRequest) -> Any:
        class Stream:
            def __arrow_c_stream__(self, requested_schema: object = None) -> object:
                return TestFromArrow.TABLE.__arrow_c_stream__(requested_schema)

        (batch,) = self.TABLE.to_batches()
        return {"table": self.TABLE, "batch": batch, "reader": self.TABLE.to_reader(), "stream": Stream()}[
            request.param
        ]

    def test_takes_whatever_has_rows(self, data: Any) -> None:
        built = snapshot.from_arrow(data, AMQP)
        assert held_by(built) == [("a.*", "alice", {}), ("b", "bob", {})]

    @pytest.mark.parametrize("numbered", [False, True])
    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
    def test_takes_text_of_any_type(self, kind: pa.DataType, numbered: bool) -> None:
        def column(texts: list[str | None]) -> pa.Array:
            if not numbered:
                return pa.array(texts, kind)
            encoded = pa.array(texts).dictionary_encode()
            return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(kind))

        columns = {**self.TABLE.to_pydict(), "group": ["q", None], "dialect": ["NATS", "NATS"]}
        table = pa.table({name: column(values) for name, values in columns.items()})
        pairs = pa.StructArray.from_arrays([column(["n", "m", "m"]), column(["1", None, "2"])], names=["key", "value"])
        for options in (
            pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), pairs),
            pa.MapArray.from_arrays(pa.array([0, 2, 3], pa.int32()), *pairs.flatten()),
        ):
            found = held_by(snapshot.from_arrow(table.append_column("options", options)))
            assert found == [("a.*", "alice", {"n": "1", "m": None, "queue": "q"}), ("b", "bob", {"m": "2"})]

    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
    def test_counts_text_of_any_type_as_it_is_written_out(self, kind: pa.DataType) -> None:
        texts = pa.array(["a", "twelve or more bytes", "é"], kind)
        numbers = pa.array([1, 0, 1, None, 2], pa.int32())
        pairs = pa.StructArray.from_arrays([texts, texts], names=["key", "value"])
        for column, bytes_in in (
            (texts, 23),
            (texts[1:], 22),
            (texts[:0], 0),
            (pa.DictionaryArray.from_arrays(numbers, texts), 43),
            (pa.MapArray.from_arrays(pa.array([0, 1, 3], pa.int32()), texts, texts)[1:], 44),
            (pa.LargeListArray.from_arrays(pa.array([0, 1, 3]), pairs), 46),
        ):
            assert text_columns.text_in(pa.record_batch({"filter": column})) == bytes_in

    def test_numbers_are_no_options(self) -> None:
        for options in (
            pa.array([[("n", 1)], []], pa.map_(pa.string(), pa.int32())),
            pa.array([[1], []], pa.list_(pa.int32())),
        ):
            with pytest.raises(ValueError, match="options"):
                snapshot.from_arrow(self.TABLE.append_column("options", options), AMQP)

    @pytest.mark.parametrize(
        "kind",
        [
            pa.map_(pa.string(), pa.string()),
            pa.map_(pa.large_string(), pa.large_string()),
            pa.list_(pa.struct({"key": pa.string(), "value": pa.string()})),
        ],
    )
    def test_takes_options_as_maps_or_lists_of_pairs_and_nulls_among_them(self, kind: pa.DataType) -> None:
        pairs: Any = [("qos", "1"), ("n", None)]
        if pa.types.is_list(kind):
            pairs = [{"key": name, "value": value} for name, value in pairs]
        for rows in ([pairs, []], [None, pairs], [pairs, pairs][:2]):
            table = self.TABLE.append_column("options", pa.array(rows, kind))
            found = [options for _, _, options in held_by(snapshot.from_arrow(table, AMQP))]
            assert found == [dict([("qos", "1"), ("n", None)]) if row else {} for row in rows]

    def test_reads_options_as_they_are_however_alike(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(text_columns, "BATCH_ROWS", 7)
        chance = random.Random(9)
        kinds: list[list[tuple[str, str | None]]] = [
            [],
            [("a", "1")],
            [("a", "2")],
            [("a", "1"), ("b", "1")],
            [("b", "1"), ("a", "1")],
            [("a", None)],
            [("a", ""), ("b", None)],
            [(f"n{number}", str(number)) for number in range(20)],
            [(f"n{number}", str(number % 19)) for number in range(20)],
        ]
        rows: list[Any] = [chance.choice([*kinds, None]) for _ in range(100)]
        column = pa.array([None, *rows], pa.map_(pa.string(), pa.string()))[1:]
        table = pa.table({"filter": [str(n) for n in range(100)], "subscriber": ["s"] * 100, "options": column})
        found = {int(filter): options for filter, _, options in held_by(snapshot.from_arrow(table, AMQP))}
        assert found == {number: dict(row or ()) for number, row in enumerate(rows)}

    @pytest.mark.parametrize(
        ("pairs", "problem"),
        [
            ([{"key": "x", "value": "1"}, {"key": None, "value": "2"}], "row 2: an option has no name"),
            ([None], "row 2: an option has no name"),
            ([{"key": "x", "value": "1"}] * 2, "row 2: an option occurs twice among"),
            ([{"key": "qos", "value": "{"}], "row 2: option 'qos' is not JSON"),
        ],
    )
    def test_names_the_row_whose_options_are_none(self, pairs: Any, problem: str) -> None:
        kind = pa.list_(pa.struct({"key": pa.string(), "value": pa.string()}))
        fine = [{"key": "y", "value": "3"}]
        table = pa.table(
            {
                "filter": ["a", "b", "c", "d"],
                "subscriber": ["s"] * 4,
                "options": pa.array([fine, fine, pairs, pairs], kind),
            }
        )
        with pytest.raises(ValueError, match=problem):
            snapshot.from_arrow(table, MQTT)

    @pytest.mark.parametrize("column", ["filter", "subscriber", "options", "group", "dialect"])
    def test_a_null_behind_a_number_is_a_null(self, column: str) -> None:
        """A column of numbers of texts has no nulls of its own if one of the texts is null."""
        numbered = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["AMQP", None]))
        table = {"filter": pa.array(["a", "b"]), "subscriber": pa.array(["s", "s"]), column: numbered}
        if column == "options":
            table[column] = pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["m", "n"]), numbered)
            found = {filter: options for filter, _, options in held_by(snapshot.from_arrow(pa.table(table), AMQP))}
            assert found == {"a": {"m": "AMQP"}, "b": {"n": None}}
        elif column == "dialect":
            with pytest.raises(ValueError, match="row 1: it is of the dialect None"):
                snapshot.from_arrow(pa.table(table), AMQP)
        elif column == "group":
            with pytest.raises(ValueError, match="row 0: it is in the group 'AMQP'"):
                snapshot.from_arrow(pa.table(table), AMQP)
        else:
            with pytest.raises(ValueError, match=f"row 1: {column} is null"):
                snapshot.from_arrow(pa.table(table), AMQP)

    @pytest.mark.parametrize("column", ["filter", "subscriber", "options"])
    @pytest.mark.parametrize("ends", [(0, -5, 3), (0, 3, 1), (1, 0, 3), (0, 2**31 - 1, 2), (1, -(2**31), 2)])
    @pytest.mark.parametrize("text", [b"abc", b"a\xff\xfe"])
    def test_refuses_columns_that_point_anywhere(self, column: str, ends: tuple[int, ...], text: bytes) -> None:
        """Arrow itself does not look at them when it reads a stream."""
        lying = pa.StringArray.from_buffers(2, pa.py_buffer(array("i", ends).tobytes()), pa.py_buffer(text))
        table = {"filter": pa.array(["a", "b"]), "subscriber": pa.array(["s", "s"]), column: lying}
        if column == "options":
            names = pa.array(["m", "n"])
            of_texts = pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), names, lying)
            table[column] = of_texts
        with pytest.raises(ValueError, match=f"column '{column}' is damaged"):
            snapshot.from_arrow(pa.table(table), AMQP)

    def test_takes_slices(self) -> None:
        rows = [(f"a.{number}", f"s{number}", {"n": str(number)} if number % 3 else {}) for number in range(10)]
        table = snapshot.to_arrow(trie_of(AMQP, rows))
        for start in range(10):
            some = table[start : start + 3]
            wanted = sorted(zip(some["filter"].to_pylist(), some["options"].to_pylist(), strict=True))
            found = [(filter, list(options.items())) for filter, _, options in held_by(snapshot.from_arrow(some))]
            assert found == wanted

    def test_finds_the_dialect_in_its_column(self) -> None:
        table = self.TABLE.append_column("dialect", pa.array(["NATS"] * 2))
        assert snapshot.from_arrow(table).dialect == NATS
        with pytest.raises(ValueError, match="row 0: it is of the dialect 'NATS', not 'AMQP'"):
            snapshot.from_arrow(table, AMQP)
        with pytest.raises(ValueError, match="give dialect="):
            snapshot.from_arrow(self.TABLE)
        with pytest.raises(ValueError, match="row 0: 'NITS' is not one of the dialects AMQP, MQTT, NATS"):
            snapshot.from_arrow(self.TABLE.append_column("dialect", pa.array(["NITS"] * 2)))

    def test_of_no_rows_needs_a_dialect(self) -> None:
        assert held_by(snapshot.from_arrow(self.TABLE[:0], MQTT)) == []
        with pytest.raises(ValueError, match=r"no rows.*give dialect="):
            snapshot.from_arrow(self.TABLE[:0])

    def test_lets_subscriptions_share_options_and_change_alone(self) -> None:
        table = pa.table(
            {
                "filter": ["a", "b", "c", "d"],
                "subscriber": ["s"] * 4,
                "options": pa.array([[("x", "1")]] * 3 + [[]], pa.map_(pa.string(), pa.string())),
                "group": ["q", None, "r", "r"],
            }
        )
        trie = snapshot.from_arrow(table, NATS)
        trie.subscribe("b", "s", x="2")
        assert held_by(trie) == [
            ("a", "s", {"x": "1", "queue": "q"}),
            ("b", "s", {"x": "2"}),
            ("c", "s", {"x": "1", "queue": "r"}),
            ("d", "s", {"queue": "r"}),
        ]
        trie.check()

    def test_puts_the_members_of_a_queue_group_in_it(self) -> None:
        table = self.TABLE.append_column("group", pa.array(["q", None]))
        built = snapshot.from_arrow(table, NATS)
        assert held_by(built) == [("a.*", "alice", {"queue": "q"}), ("b", "bob", {})]
        assert built.stats()["groups"] == 1

    def test_refuses_a_group_that_the_filter_does_not_name(self) -> None:
        table = pa.table({"filter": ["$share/g/a", "b"], "subscriber": ["s", "s"], "group": ["g", "g"]})
        with pytest.raises(ValueError, match="row 1: it is in the group 'g', and its filter or options name None"):
            snapshot.from_arrow(table, MQTT)

    @pytest.mark.parametrize("exact", [False, True])
    def test_names_the_row_that_is_wrong_and_what(self, exact: bool) -> None:
        names = [f"a.{number}" for number in range(100)]
        for place, bad, problem in [(70, "a\0", "row 70: forbidden character"), (99, "", "row 99: ")]:
            table = pa.table({"filter": [*names[:place], bad, *names[place + 1 :]], "subscriber": ["s"] * 100})
            if bad:
                with pytest.raises(TopicError, match=problem):
                    snapshot.from_arrow(table, AMQP, exact=exact)
            else:
                with pytest.raises(TopicError, match=problem):
                    snapshot.from_arrow(table, MQTT, exact=exact)
        table = pa.table({"filter": [*names, "a.3"], "subscriber": ["s"] * 101})
        with pytest.raises(ValueError, match=r"row 100: subscriber 's' is on 'a\.3' already"):
            snapshot.from_arrow(table, AMQP, exact=exact)
        table = pa.table({"filter": ["a", "a", "b"], "subscriber": ["s", "s", "s"]})
        with pytest.raises(ValueError, match="row 1: subscriber 's' is on 'a' already"):
            snapshot.from_arrow(table, AMQP, exact=exact)

    @pytest.mark.parametrize(
        ("column", "values", "problem"),
        [
            ("filter", [None, "b"], "row 0: filter is null"),
            ("subscriber", ["alice", None], "row 1: subscriber is null"),
            ("filter", [1, 2], "column 'filter' must hold text, not int64"),
            ("subscriber", [b"a", b"b"], "column 'subscriber' must hold text, not binary"),
            ("options", ["qos=1", ""], "column 'options' must hold maps of text to text, not string"),
        ],
    )
    def test_refuses_columns_of_other_things(self, column: str, values: list[Any], problem: str) -> None:
        table = pa.table({**{name: self.TABLE[name] for name in self.TABLE.column_names}, column: values})
        with pytest.raises(ValueError, match=problem):
            snapshot.from_arrow(table, AMQP)

    def test_refuses_tables_without_a_column_that_it_needs_and_what_is_no_table(self) -> None:
        with pytest.raises(ValueError, match="there is no column 'subscriber', only"):
            snapshot.from_arrow(self.TABLE.select(["filter"]), AMQP)
        with pytest.raises(TypeError, match=r"the data must be an Arrow table, .* not list"):
            snapshot.from_arrow([("a", "s")], AMQP)

    def test_in_no_order_at_all(self) -> None:
        rows: list[Row] = [(f"{number % 7}.{number % 11}.{number}", f"s{number % 13}", {}) for number in range(1000)]
        building = plain.build(AMQP)
        building.add([row[0] for row in rows], [row[1] for row in rows], [None] * len(rows))
        assert held_by(building.finished()) == held_by(trie_of(AMQP, rows))

    @given(sets())
    def test_from_below_has_the_shape_that_one_by_one_has(self, given: tuple[Dialect, list[Row]]) -> None:
        dialect, rows = given
        rows.sort(key=lambda row: row[0].split(dialect.separator))
        building = plain.build(dialect)
        building.add([row[0] for row in rows], [row[1] for row in rows], [row[2] or None for row in rows])
        built, wanted = building.finished(), trie_of(dialect, rows)
        assert held_by(built) == held_by(wanted)
        assert built.stats() == wanted.stats() | {"retries": 0}


class TestLoadOfWhatOthersMade:
    @pytest.fixture
    def rows(self) -> list[Row]:
        return [(f"a.{number}.#", f"s{number}", {"n": str(number)} if number % 2 else {}) for number in range(20)]

    def test_a_folder_of_files(self, tmp_path: Path, rows: list[Row]) -> None:
        table = snapshot.to_arrow(trie_of(AMQP, rows)).replace_schema_metadata(None)
        folder = tmp_path / "out"
        folder.mkdir()
        pq.write_table(table[:5], folder / "part-0.parquet")
        pq.write_table(table[5:], folder / "part-1.parquet")
        (folder / "_SUCCESS").touch()
        (folder / ".part-0.parquet.crc").touch()
        assert held_by(snapshot.load(folder)) == sorted(rows)

    def test_a_file_with_all_our_columns_but_no_metadata(self, tmp_path: Path, rows: list[Row]) -> None:
        path = tmp_path / "set.parquet"
        pq.write_table(snapshot.to_arrow(trie_of(AMQP, rows)), path)
        assert held_by(snapshot.load(path)) == sorted(rows)
        assert held_by(snapshot.load(path, dialect=AMQP)) == sorted(rows)

    def test_not_with_another_dialect(self, tmp_path: Path, rows: list[Row]) -> None:
        snapshot.write(trie_of(AMQP, rows), tmp_path / "set.parquet")
        with pytest.raises(ValueError, match="its dialect is AMQP, not the NATS that was given"):
            snapshot.load(tmp_path / "set.parquet", dialect=NATS)

    def test_an_empty_folder_says_so(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="no Parquet files in the folder"):
            snapshot.load(tmp_path)


class TestPlaces:
    def test_are_uris_too(self, tmp_path: Path) -> None:
        trie = trie_of(AMQP, [("a", "s", {"qos": 1})])
        uri = (tmp_path / "set of ü.parquet").as_uri()
        snapshot.write(trie, uri)
        assert [path.name for path in tmp_path.iterdir()] == ["set of ü.parquet"]
        assert held_by(snapshot.load(uri)) == held_by(trie)

    def test_that_are_folders_are_refused_by_name(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError, match=r"a folder; name a file in it, such as subscriptions\.parquet"):
            snapshot.write(SubscriptionTrie(), tmp_path)

    def test_that_nobody_knows_are_refused(self) -> None:
        with pytest.raises(ValueError, match="nowhere://x/y: "):
            snapshot.write(SubscriptionTrie(), "nowhere://x/y")

    def test_without_room_are_left_as_they_were(self, tmp_path: Path) -> None:
        full = Path("/dev/full")
        if not full.exists():
            pytest.skip("there is no /dev/full")
        path = tmp_path / "set.parquet"
        snapshot.write(trie_of(AMQP, [("a", "s", {})]), path)
        from snapshot import paths

        place = paths.location_of(path)

        class Full:
            """A file system whose disk is full."""

            def __getattr__(self, name: str) -> Any:
                return getattr(place.files, name)

            def open_output_stream(self, unfinished: str) -> Any:
                place.files.open_output_stream(unfinished).close()
                return place.files.open_output_stream("/dev/full", buffer_size=0)

        def fill() -> Iterator[None]:
            with paths.replaced_whole(paths.Location(Full(), place.path, place.name)) as stream:
                stream.write(b"x" * 100_000)
                yield

        with pytest.raises(OSError, match="No space left"):
            next(fill())
        assert list(tmp_path.iterdir()) == [path]
        assert len(snapshot.load(path)) == 1
