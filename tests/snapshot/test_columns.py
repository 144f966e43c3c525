"""Columns: any trie becomes columns that describe it, and these become an equal trie again, from a table or a file."""

from __future__ import annotations

import contextlib
import datetime
import gc
import itertools
import json
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
from snapshot.texts import SubscriberKeys
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicStore
from subtrie import columns as plain
from subtrie.fields import Equals, FieldMatcher, Prefix, Within, from_pattern
from tests.scripts import run_script
from tests.snapshot.support import filled, trie_of
from tests.threads import run_together

Row = tuple[str, Any, dict[str, Any]]
WORDS = st.sampled_from(["", "a", "b", "bb", "é", "日本", "😀", "a-b", "a!", "longer than seven", "x" * 40])
PLAIN = Dialect("plain", separator="-", one_word="?", many_words=None)
OWN = ["snapshot_id", "taken_at"]


def filters(dialect: Dialect) -> st.SearchStrategy[str]:
    """Filters of a dialect, including shared ones."""
    words = WORDS if dialect.empty_words else WORDS.filter(bool)
    words = words.filter(lambda word: not set(word) & {*dialect.forbidden, dialect.separator})
    middle = st.lists(words | st.just(dialect.one_word), min_size=1, max_size=4)
    ends = st.sampled_from([(), (dialect.many_words,)] if dialect.many_words else [()])
    found = st.builds(lambda some, end: dialect.join((*some, *end)), middle, ends)
    if dialect.zero_words:
        found |= st.just("")
    found = found.filter(lambda text: dialect.zero_words or text != "")
    if dialect.share_prefix is None:
        return found
    shared = found.filter(lambda text: not text.startswith("$"))
    return found | st.builds(lambda group, text: f"$share/{group}/{text}", st.sampled_from(["g", "gé"]), shared)


def options(dialect: Dialect) -> st.SearchStrategy[dict[str, Any]]:
    values: dict[str, st.SearchStrategy[Any]] = {
        "qos": st.integers(0, 2) if dialect is MQTT else st.integers(-(2**70), 2**70) | st.booleans() | st.none(),
        "note": st.text(st.characters(codec="utf-8"), max_size=9) | st.none(),
        "tags": st.lists(st.integers(0, 3), max_size=2),
    }
    if dialect.queue_groups:
        values["queue"] = st.sampled_from(["q", "grüppe"])
    return st.just({}) | st.fixed_dictionaries({}, optional=values)


@st.composite
def sets(draw: st.DrawFn) -> tuple[SubscriptionTrie, list[Row]]:
    """A trie, and what it holds."""
    dialect = draw(st.sampled_from([AMQP, MQTT, NATS, PLAIN]))
    numbers = st.integers(-(2**70), 2**70) | st.integers(0, 2)
    subscribers: st.SearchStrategy[Any] = draw(st.sampled_from([st.sampled_from(["alice", "é", "", "7"]), numbers]))
    row = st.tuples(filters(dialect), subscribers, options(dialect))
    rows = draw(st.lists(row, max_size=20, unique_by=lambda row: (row[0], row[1], row[2].get("queue"))))
    trie = SubscriptionTrie(dialect, exact=draw(st.booleans()))
    trie.subscribe_many(rows)
    trie.check()
    return trie, rows


def held_by(trie: SubscriptionTrie) -> list[Row]:
    trie.check()
    held = [(held.filter, held.subscriber, dict(held.options)) for held in trie.subscriptions()]
    return sorted(held, key=lambda row: (row[0], str(row[1]), str(row[2].get("queue"))))


def text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def rows_of(table: pa.Table, *names: str) -> list[dict[str, Any]]:
    table.validate(full=True)
    found: list[dict[str, Any]] = (table.select(names) if names else table).to_pylist(maps_as_pydicts="strict")
    return found


class TestAnySet:
    @given(sets())
    def test_becomes_columns_that_say_what_it_holds(self, given: tuple[SubscriptionTrie, list[Row]]) -> None:
        """Also as changes of an empty set."""
        trie, rows = given
        dialect, table = trie.dialect, snapshot.to_arrow(trie)
        assert table.schema == columns.export_schema()
        empty = trie.fork()
        empty.clear()
        changes = snapshot.diff_to_arrow(trie, empty)
        both = changes.drop_columns([*OWN, "old_options", "new_options", "change"]), table.drop_columns(OWN)
        assert sorted(map(str, rows_of(both[0]))) == sorted(map(str, rows_of(both[1])))
        assert len(table) == len(rows)
        found = {(row["filter"], row["subscriber"], row["group"]): row for row in rows_of(table)}
        for filter, subscriber, held in rows:
            words = dialect.split_filter(filter)
            group = held.get("queue") if dialect.queue_groups else dialect.unshare(words)[0]
            row = found[filter, str(subscriber), group]
            wilds = sum(map(dialect.is_wild, words))
            assert [row[name] for name in ("words", "depth", "wildcards")] == [list(words), len(words), wilds]
            assert (row["options"], row["dialect"]) == ({n: text(value) for n, value in held.items()}, dialect.name)

    @given(sets())
    def test_comes_back_from_a_file(
        self, tmp_path_factory: pytest.TempPathFactory, given: tuple[SubscriptionTrie, list[Row]]
    ) -> None:
        path = tmp_path_factory.mktemp("set") / "set.parquet"
        snapshot.write(given[0], path)
        loaded = snapshot.load(path)
        assert loaded.dialect == given[0].dialect
        assert held_by(loaded) == held_by(given[0])
        assert loaded.subscribe("new", "x")

    @given(sets(), st.booleans(), st.randoms(use_true_random=False))
    def test_comes_back_from_columns_in_any_order_as_texts(
        self, given: tuple[SubscriptionTrie, list[Row]], exact: bool, chance: Any
    ) -> None:
        trie, rows = given
        table = snapshot.to_arrow(trie)
        order = list(range(len(table)))
        chance.shuffle(order)
        built = snapshot.from_arrow(table.take(pa.array(order, pa.int64())), trie.dialect, exact=exact)
        kept = {name for name, allowed in trie.dialect.options if allowed is not str}
        texts = [
            (filter, str(key), {name: value if name in kept else text(value) for name, value in held.items()})
            for filter, key, held in rows
        ]
        assert held_by(built) == sorted(texts, key=lambda row: (row[0], row[1], str(row[2].get("queue"))))

    @given(sets())
    def test_built_from_below_has_the_shape_that_one_by_one_has(
        self, given: tuple[SubscriptionTrie, list[Row]]
    ) -> None:
        trie, rows = given
        for order in (rows, sorted(rows, key=lambda row: row[0].split(trie.dialect.separator))):
            columns = [row[0] for row in order], [row[1] for row in order], [row[2] or None for row in order]
            built = plain.loaded(trie.dialect, *columns)
            assert held_by(built) == held_by(trie)
        one_by_one = SubscriptionTrie(trie.dialect)
        one_by_one.subscribe_many(order)
        assert built.stats() == one_by_one.stats() | {"retries": 0}

    @pytest.mark.parametrize("dialect", [MQTT, NATS], ids=lambda dialect: dialect.name)
    def test_keeps_exclusions(self, dialect: Dialect, tmp_path: Path) -> None:
        trie = SubscriptionTrie(dialect)
        first, second = (dialect.join(("a", word)) for word in ("b", "c"))
        trie.subscribe(dialect.join(("a", str(dialect.many_words))), "ann", but=(first, second))
        trie.subscribe(dialect.join(("a", dialect.one_word)), "bob", but=(first,), weight=2)
        snapshot.write(trie, tmp_path / "one.parquet")
        for again in (snapshot.from_arrow(snapshot.to_arrow(trie)), snapshot.load(tmp_path / "one.parquet")):
            assert again == trie
            assert again.match(first) == ()
            again.check()

    def test_of_topics_tells_topic_value_and_time(self) -> None:
        table = snapshot.to_arrow(filled())
        rows = {row["filter"]: row["options"] for row in rows_of(table)}
        told = {name: (rows[name]["type"], rows[name]["value"]) for name in ("a/9", "a/16", "a/20", "a/24", "a/32")}
        assert list(told.values()) == [
            ("text", "x"),
            ("json", '{"a": 1}'),
            ("tagged", '{"~tuple": [1, 2]}'),
            ("hex", "00ff"),
            ("utf8", "utf8"),
        ]
        assert rows["a/0"]["stored_at"] == "1700000000.1234567"
        assert set(table["dialect"].to_pylist()) == {"MQTT topics"}


class TestExport:
    def test_is_of_one_instant_which_all_rows_name(self) -> None:
        trie = trie_of(("a", "alice"), ("b", "bob"))
        before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(milliseconds=1)
        taken = trie.snapshot()
        first, reader = snapshot.to_arrow(taken), snapshot.to_reader(trie)
        trie.clear()
        assert first.equals(snapshot.to_arrow(taken.snapshot()))
        (name,), (time,) = (set(first[column].to_pylist()) for column in OWN)
        assert before <= time <= datetime.datetime.now(datetime.UTC)
        again = pa.RecordBatchReader.from_stream(reader).read_all()  # as other libraries read it
        assert again.schema == columns.export_schema()
        assert again["filter"].to_pylist() == first["filter"].to_pylist()
        assert name not in again["snapshot_id"].to_pylist()
        assert len(snapshot.to_arrow(trie)) == 0

    def test_is_the_same_in_pandas_where_options_are_dictionaries(self) -> None:
        options = {"note": "x", "qos": 1, "durable": True, "none": None, "tags": ["a"], "peer": 1j}
        frame = snapshot.to_pandas(trie_of(("a.*", "alice", options)))
        assert list(frame.columns) == snapshot.to_arrow(SubscriptionTrie()).column_names
        told = {"note": "x", "qos": "1", "durable": "true", "none": None, "tags": '["a"]', "peer": "1j"}
        assert frame["options"].tolist() == [told]

    def test_asks_for_the_key_of_each_subscriber_once_and_for_those_alive(self) -> None:
        class Client:
            pass

        alice, bob = Client(), Client()
        trie = SubscriptionTrie(weak=True)
        trie.subscribe_many([("a", alice), ("a", bob, {"qos": 1}), ("b", bob)])
        names = {id(alice): "alice", id(bob): "bob"}
        assert len(snapshot.to_arrow(trie, key=lambda client: names.pop(id(client)))) == 3
        del alice
        gc.collect()
        assert snapshot.to_arrow(trie, key=lambda client: "bob")["subscriber"].to_pylist() == ["bob"] * 2
        trie.check()

    @pytest.mark.parametrize(
        ("row", "key", "error", "says"),
        [
            (("a", ("connection", 5)), None, TypeError, r"\('connection', 5\).* key= function"),
            (("b", "7"), None, ValueError, r"(7 and '7'|'7' and 7) both have the key '7'"),
            (("b", "8"), str.encode, TypeError, "the key of subscriber .* must be a string, not bytes"),
            (("b", "ali\udcff"), None, ValueError, r"key of subscriber 'ali\\udcff' cannot be encoded .* character 3"),
            (("b", 8, {"n": "\udcff"}), None, ValueError, r"option 'n' cannot be encoded .* character 0 of '\\udcff'"),
        ],
    )
    def test_refuses_what_has_no_text(self, row: Any, key: Any, error: type[Exception], says: str) -> None:
        trie = trie_of(("a", 7), row)
        keyed = None if key is None else lambda subscriber: key(str(subscriber))
        calls: list[Callable[[], Any]] = [
            lambda: snapshot.to_arrow(trie, key=keyed),
            lambda: snapshot.to_reader(trie, key=keyed).read_all(),
            lambda: snapshot.diff_to_arrow(trie, SubscriptionTrie(), key=keyed),
        ]
        for call in calls:
            with pytest.raises(error, match=says):
                call()

    @pytest.mark.parametrize("source", [{}, None, Ctrie(), [("a", "alice")]], ids=lambda source: type(source).__name__)
    def test_refuses_what_is_no_subscription_trie(self, source: Any, tmp_path: Path) -> None:
        wanted = f"the source must be a SubscriptionTrie or a snapshot of one, not {type(source).__name__}"
        exports: list[Callable[[Any], object]] = [
            *(snapshot.to_arrow, snapshot.to_reader, snapshot.to_pandas),
            lambda source: snapshot.write(source, tmp_path / "x"),
            lambda source: snapshot.diff_to_arrow(source, SubscriptionTrie()),
            lambda source: snapshot.diff_to_arrow(SubscriptionTrie(), source),
        ]
        for export in exports:
            with pytest.raises(TypeError, match=wanted):
                export(source)
        assert not list(tmp_path.iterdir())

    def test_of_columns_that_an_error_left_half_filled_goes_no_further(self) -> None:
        rows = plain.walk(trie_of(("a", (1, 2)), ("b", (3, 4))), SubscriberKeys())
        with pytest.raises(TypeError, match="neither a string nor an integer"):
            rows.fill(10, 1000)
        for again in (lambda: rows.fill(10, 1000), rows.taken):
            with pytest.raises(RuntimeError, match="half filled"):
                again()

    @pytest.mark.freethreaded
    def test_is_filled_by_one_thread_at_a_time(self) -> None:
        rows, taken = plain.walk(trie_of(*((f"a.{n}", "s") for n in range(20_000))), SubscriberKeys()), list[int]()

        def fill() -> None:
            for _ in range(200):
                with contextlib.suppress(RuntimeError):
                    rows.fill(20_000, 1 << 30)
                    taken.append(rows.taken().rows)

        run_together([fill] * 4)
        assert sum(taken) == 20_000


LONG = ("f" * 100, "s" * 100, "x" * 100)
BATCHES: list[tuple[str, int, list[tuple[Any, ...]], list[int]]] = [
    ("BATCH_ROWS", 4, [(f"a.{number}", f"s{number}", {"n": number}) for number in range(10)], [4, 4, 2]),
    ("BATCH_ROWS", 100, [("$share/g/a" if number % 2 else "a", f"s{number}") for number in range(1000)], [100] * 10),
    ("BATCH_TEXT", 100, [(f"{LONG[0]}{number}", "s") for number in range(2)], [1, 1]),
    ("BATCH_TEXT", 100, [("f", f"{LONG[1]}{number}") for number in range(2)], [1, 1]),
    ("BATCH_TEXT", 100, [("f", f"s{number}", {"o": LONG[2]}) for number in range(2)], [1, 1]),
    ("BATCH_TEXT", 100, [(f"long/{'x' * 30}/{n}", f"s{n}", {"n": n, "m": "é"}) for n in range(8)], [3, 3, 2]),
]


@pytest.mark.parametrize(("limit", "most", "rows", "sizes"), BATCHES)
def test_batches_are_bounded_in_rows_and_text(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int, rows: list[tuple[Any, ...]], sizes: list[int]
) -> None:
    monkeypatch.setattr(columns, limit, most)
    trie = trie_of(*rows, dialect=MQTT)
    for table in (snapshot.to_arrow(trie), snapshot.diff_to_arrow(trie, SubscriptionTrie(MQTT))):
        assert [batch.num_rows for batch in table.to_batches()] == sizes
        assert sorted(zip(*(table[name].to_pylist() for name in ("filter", "subscriber")), strict=True)) == sorted(
            row[:2] for row in rows
        )
    items = itertools.count()
    assert len(next(columns.in_batches(items))) == columns.BATCH_ROWS == next(items), "no more are taken than it holds"


def test_changes_have_the_options_of_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    trie = trie_of(("a", "s", {"qos": 1}), ("b", "s", {"queue": "q"}), ("d", "s"), dialect=NATS)
    before = trie.snapshot()
    assert len(snapshot.diff_to_arrow(trie, before)) == 0
    trie.subscribe("a", "s", qos=2)
    trie.unsubscribe("b", "s", queue="q")
    trie.subscribe("c", "s")
    trie.unsubscribe("d", "s")
    trie.subscribe("d", "s")
    store: Any = TopicStore(MQTT, {"a": 1})  # as `to_arrow` takes one
    earlier = store.snapshot()
    store["b"] = 2
    assert rows_of(snapshot.diff_to_arrow(store, earlier), "filter", "change") == [{"filter": "b", "change": "added"}]
    names = ("filter", "group", "options", "old_options", "new_options", "change")
    rows = [tuple(row.values()) for row in rows_of(snapshot.diff_to_arrow(trie, before), *names)]
    assert sorted(rows) == [
        ("a", None, {"qos": "2"}, {"qos": "1"}, {"qos": "2"}, "updated"),
        ("b", "q", {"queue": "q"}, {"queue": "q"}, None, "removed"),
        ("c", None, {}, None, {}, "added"),
    ]
    monkeypatch.setattr(columns, "MOST_TEXT", 100)
    trie.subscribe("a", "s", n="x" * 101)
    with pytest.raises(ValueError, match="more than 2 GiB"):
        snapshot.diff_to_arrow(trie, before)
    with pytest.raises(ValueError, match="different dialects have no difference: MQTT, NATS"):
        snapshot.diff_to_arrow(SubscriptionTrie(MQTT), trie)
    trie.check()


def test_subscriptions_by_fields_have_a_row_each_or_are_refused() -> None:
    matcher = FieldMatcher[Any]()
    for number in range(100):
        matcher.subscribe([Equals("a.b", number), Within("c", 0, number)], number, qos=number % 3)
    matcher.subscribe(from_pattern({"n\udfff": ["\ud800", "\xe9"]}), 200)
    matcher.subscribe(from_pattern({"n": [{"suffix": "\xe9"}]}), 201)
    taken = matcher.snapshot()
    matcher.clear()
    assert snapshot.fields_to_arrow(matcher).num_rows == 0
    rows = {row["subscriber"]: row for row in rows_of(snapshot.fields_to_arrow(taken))}
    found = {(frozenset(from_pattern(row["pattern"])), int(name)) for name, row in rows.items()}
    assert found == {(one.criteria, one.subscriber) for one in taken}
    assert (rows["4"]["options"], rows["201"]["pattern"]) == ({"qos": "1"}, '{"n": [{"suffix": "\xe9"}]}')
    matcher.subscribe([Prefix("f", b"a")], "ann")
    with pytest.raises(ValueError, match="has no JSON pattern"):
        snapshot.fields_to_arrow(matcher)
    with pytest.raises(TypeError, match="must be a FieldMatcher or a snapshot of one, not dict"):
        snapshot.fields_to_arrow({})  # type: ignore[arg-type]
    taken.check()


def test_extras_are_not_imported_with_snapshot_and_named_if_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import snapshot, sys; print({'pyarrow', 'pandas', 'pyspark', 'numpy'} & set(sys.modules))"
    assert run_script(code) == (0, "set()\n", "")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pyarrow.*pip install 'subtrie\[arrow\]'"):
        snapshot.to_arrow(SubscriptionTrie())
