"""The set as a Python worker of Spark holds it: joined in bounded portions, brought up to date, options as numbers."""

from __future__ import annotations

import datetime
import gc
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import snapshot
from snapshot import held_sets, merging, option_numbers, sets, worker
from snapshot.option_numbers import OptionMap, numbered, renumbered
from snapshot.published import open_directory
from subtrie import AMQP, MQTT, NATS, Dialect, Subscription, SubscriptionTrie
from tests.snapshot.support import published, trie_of

FEED = pa.schema([*held_sets.joined_schema(), ("types", pa.string()), ("_change_type", pa.string())])


def held_of(trie: SubscriptionTrie) -> held_sets.HeldSet:
    held = held_sets.built(snapshot.to_arrow(trie).select(held_sets.JOINED).to_batches(), trie.dialect)
    held.rows.check()
    return held


def joined(messages: pa.RecordBatch, held: held_sets.HeldSet, *more: str, options: Any = ()) -> list[pa.RecordBatch]:
    names = [*messages.schema.names, *held_sets.JOINED, *more]
    job = worker.Job(
        messages.schema.names.index("topic"), None, messages.num_columns, names, "FAILFAST", options=options
    )
    return list(worker.join(iter([messages]), job, held))


def row_of(held: Subscription, **more: str) -> dict[str, Any]:
    return {
        **more,
        "filter": held.filter,
        "subscriber": held.subscriber,
        "options": [(name, str(value)) for name, value in held.options.items()],
    }


def text_bytes(row: dict[str, Any]) -> int:
    options = sum(len(name) + len(text or "") for name, text in row["options"])
    return len(row["filter"]) + len(row["subscriber"]) + options


def test_sets_are_kept_and_built_once() -> None:
    made = []

    def make() -> held_sets.HeldSet:
        made.append(held_of(trie_of(("a", "alice"), ("#", "bob"))))
        return made[-1]

    held_sets._held.clear()
    first = held_sets.held_set("one", make)
    assert held_sets.held_set("one", make) is first
    assert held_sets.held_set("two", make) is made[1]
    assert held_sets.held_set("one", make) is first
    held_sets.held_set("three", make)
    assert held_sets.kept() == ["one", "three"]
    held_sets._held.clear()


def test_a_daemon_has_a_set_before_it_forks_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    from snapshot import daemon

    published(tmp_path)[1].close()
    sent = sets.PublishedVersion(str(tmp_path), open_directory(tmp_path).version_at().marked())
    made: list[held_sets.HeldSet] = []
    monkeypatch.setattr(daemon, "manager", lambda: made.append(held_sets.held_set(sent, pytest.fail)))
    monkeypatch.setenv("SUBTRIE_SET", str(tmp_path))
    daemon.main()
    gc.unfreeze()
    assert [held.end for held in made] == [3]
    pytest.importorskip("obstore", reason="needs the extra `s3`")
    monkeypatch.setenv("SUBTRIE_SET", "s3://bucket/x")
    with pytest.raises(ValueError, match=r"SUBTRIE_SET must be a path.* s3://bucket/x"):
        daemon.main()


class TestPortions:
    def test_have_so_many_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worker, "BATCH_ROWS", 4)
        monkeypatch.setattr(worker, "FIRST_TOPICS", 4)
        held = held_of(trie_of(*(("a", f"s{n}") for n in range(3)), ("b", "s"), *(("d", f"s{n}") for n in range(10))))
        portions = list(worker._Matcher(held.rows, "FAILFAST").matches(["a", None, "b", "c", "d", "d"]))
        assert [positions.tolist() for positions, _ in portions] == [[0, 0, 0, 2], [4] * 10 + [5] * 10]
        assert len(portions[0][1]) == 4
        batches = joined(pa.record_batch({"topic": ["d"]}), held)
        assert [batch.num_rows for batch in batches] == [4, 4, 2]
        assert {name for batch in batches for name in batch["subscriber"].to_pylist()} == {f"s{n}" for n in range(10)}

    def test_have_so_many_bytes_or_one_message(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worker, "PORTION_BYTES", 1000)
        held = held_of(trie_of(*(("#", f"s{number}") for number in range(20))))
        batches = joined(pa.record_batch({"topic": ["a", "b"], "body": ["x" * 190, "y" * 390]}), held)
        assert max(sum(map(len, batch["body"].to_pylist())) for batch in batches) <= 1000
        assert max(batch.num_rows for batch in batches) > 1
        found = [(row["topic"], row["body"][0], row["subscriber"]) for batch in batches for row in batch.to_pylist()]
        assert sorted(found) == sorted((topic, body, f"s{n}") for topic, body in ("ax", "by") for n in range(20))
        few = held_of(trie_of(("#", "alice"), ("a", "bob")))
        batches = joined(pa.record_batch({"topic": ["a", "b"], "body": [["x" * 2000], ["y"]]}), few)
        assert [batch["topic"].to_pylist() for batch in batches] == [["a"], ["a"], ["b"]]

    @pytest.mark.parametrize(
        "trie",
        [
            trie_of(*(("#", f"{number}{'s' * 200}") for number in range(8))),
            trie_of(*((f"{number}{'f' * 200}.#", "alice") for number in range(8)), ("#", "alice")),
            trie_of(*(("#", f"s{number}") for number in range(8)), note="x" * 200, none=None),
        ],
        ids=["subscribers", "filters", "options"],
    )
    def test_count_the_texts_of_the_subscriptions(
        self, monkeypatch: pytest.MonkeyPatch, trie: SubscriptionTrie
    ) -> None:
        monkeypatch.setattr(worker, "PORTION_BYTES", 500)
        held = held_of(trie)
        assert held.sizes.sum() == sum(text_bytes(row) for part in held.parts for row in part.rows.to_pylist())
        topics = [f"{number}{'f' * 200}.a" for number in range(8)]
        batches = joined(pa.record_batch({"topic": topics}), held)
        assert all(sum(map(text_bytes, batch.to_pylist())) <= 500 or batch.num_rows == 1 for batch in batches)
        assert sum(batch.num_rows for batch in batches) == sum(len(list(trie.entries(topic))) for topic in topics)


class TestChanges:
    @pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
    def test_bring_a_set_up_to_date_and_leave_the_old_one_alone(
        self, monkeypatch: pytest.MonkeyPatch, dialect: Dialect
    ) -> None:
        chance = random.Random(11)
        trie = SubscriptionTrie(dialect)
        held, versions, feeds = held_of(trie), [], []
        for _ in range(40):
            before = trie.snapshot()
            for _ in range(chance.randrange(30)):
                self.change(trie, chance)
            feed = self.feed_of(trie.snapshot(), before)
            held = held_sets.advanced(held, [feed])
            versions.append((held, trie.snapshot()))
            feeds.append(feed)
        topics = [dialect.join(chance.choices("abc", k=chance.randrange(1, 4))) for _ in range(50)]
        for then, snapshot_then in versions:
            batches = joined(pa.record_batch({"topic": topics}), then)
            found = sorted(repr(sorted(row.items())) for batch in batches for row in batch.to_pylist())
            wanted = [row_of(one, topic=topic) for topic in topics for one in snapshot_then.entries(topic)]
            assert found == sorted(repr(sorted(row.items())) for row in wanted)
            then.rows.check()
        assert len(held.parts) <= held_sets.MOST_PARTS
        self.check_history(versions, feeds, topics)
        net = self.feed_of(trie.snapshot(), versions[0][1]).to_pylist()
        for most in (merging.MOST, 0):  # bytes of text at a time: each subscription apart
            monkeypatch.setattr(merging, "MOST", most)
            found = sorted(map(repr, merging.net(feeds[1:], dialect.queue_groups).to_pylist()))
            assert found == sorted(map(repr, net)), most
            assert merging.net([FEED.empty_table()], dialect.queue_groups).num_rows == 0
        trie.check()

    def check_history(self, versions: list[Any], feeds: list[pa.Table], topics: list[str]) -> None:
        """A set of many versions has, at each time, what the version of that time has."""
        begin, (first, _) = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), versions[20]
        times = [begin + datetime.timedelta(seconds=10 * number) for number in range(20)]
        history = held_sets.with_history(first, feeds[21:], times)
        stamps = [times[number % 20] + datetime.timedelta(seconds=number % 10) for number in range(50)]
        messages = pa.record_batch({"topic": topics, "time": pa.array([*stamps[:-1], None], pa.timestamp("us", "UTC"))})
        job = worker.Job(0, None, 1, ["topic", *held_sets.JOINED], "FAILFAST", None, 1)
        found = [row for batch in worker.join([messages], job, history) for row in batch.to_pylist()]
        wanted = [
            row_of(one, topic=topic)
            for number, topic in enumerate(topics)
            for one in (versions[20 + number % 20][1].entries(topic) if number < 49 else ())
        ]
        assert sorted(map(repr, map(sorted, map(dict.items, found)))) == sorted(
            map(repr, map(sorted, map(dict.items, wanted)))
        )
        early = messages.set_column(
            1, "time", pa.array([begin - datetime.timedelta(1)] * 50, pa.timestamp("us", "UTC"))
        )
        with pytest.raises(snapshot.NotPublishedError, match=r"a message is of 2025-12-31.*, and the oldest version"):
            list(worker.join([early], job, history))

    def change(self, trie: SubscriptionTrie, chance: random.Random) -> None:
        dialect = trie.dialect
        filter = dialect.join(chance.choices([*"abc", dialect.one_word], k=chance.randrange(1, 4)))
        if dialect is MQTT and chance.random() < 0.3:
            filter = f"$share/g/{filter}"
        queue = {"queue": "g"} if dialect is NATS and chance.random() < 0.3 else {}
        if chance.random() < 0.6:
            trie.subscribe(filter, f"s{chance.randrange(5)}", qos=chance.randrange(3), **queue)
        else:
            trie.unsubscribe(filter, f"s{chance.randrange(5)}", **queue)

    def feed_of(self, newer: SubscriptionTrie, older: SubscriptionTrie) -> pa.Table:
        """The rows of a change in a published directory, deletes first."""
        now, before = (
            {(one.filter, one.subscriber, one.options.get("queue")): one for one in trie.subscriptions()}
            for trie in (newer, older)
        )
        rows = [row_of(before[name], _change_type="delete") for name in before.keys() - now.keys()]
        rows += [row_of(now[name], _change_type="insert") for name in now.keys() - before.keys()]
        for name in now.keys() & before.keys():
            if dict(now[name].options) != dict(before[name].options):
                rows += [row_of(before[name], _change_type="update_preimage")]
                rows += [row_of(now[name], _change_type="update_postimage")]
        return pa.Table.from_pylist(rows, FEED)


QOS: OptionMap = (("qos", "1"),)
NULL: OptionMap = (("no_local", None), ("qos", "1"))
MANY: list[OptionMap] = [(("id", str(number)),) for number in range(2_000)]
LONG: OptionMap = (("note", "n" * option_numbers.LONGEST),)
MOST = option_numbers.MOST
NUMBERED: list[tuple[list[OptionMap | None], list[OptionMap], list[int | None], tuple[OptionMap, ...]]] = [
    ([QOS, (), NULL, QOS], [NULL], [1, 2, 0, 1], (NULL, QOS, ())),  # numbers follow what is known
    ([*MANY], [], [*range(MOST), *[None] * (2_000 - MOST)], tuple(MANY[:MOST])),  # of many, the first have numbers
    ([LONG, QOS], [], [None, 0], (QOS,)),  # long ones have none
    ([QOS, None], [], [None, None], ()),  # nor have those of a column with nulls
    ([], [], [], ()),
]


def test_options_have_numbers_or_stay_what_they_are() -> None:
    for rows, known, wanted, options in NUMBERED:
        column = pa.array([None if each is None else list(each) for each in rows], pa.map_(pa.string(), pa.string()))
        numbers, table = numbered(column, known)
        assert (numbers.to_pylist(), tuple(table)) == (wanted, options)
    assert renumbered([QOS, (), NULL], [NULL, QOS]).to_pylist() == [1, None, 0]  # a plan may know others
    held = held_of(trie_of(("a", "alice", {"qos": 1}), ("a", "bob", {"qos": 2})))
    (batch,) = joined(pa.record_batch({"topic": ["a"]}), held, held_sets.NUMBER, options=(QOS,))
    found = {row["subscriber"]: (row["options"], row[held_sets.NUMBER]) for row in batch.to_pylist()}
    assert found == {"alice": (None, 0), "bob": ([("qos", "2")], None)}
