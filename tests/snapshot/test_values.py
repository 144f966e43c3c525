"""Values of options, subscribers and topics: each comes back with its type by every way, or is alone set aside."""

from __future__ import annotations

import random
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot import sets, topics
from snapshot.published import open_directory
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicStore
from subtrie.tagged import tagged, untagged
from tests.odd_values import Mute, MuteNumber, Name
from tests.snapshot.support import filled, trie_of
from tests.snapshot.values import ALIKE, EQUAL, HOPELESS, NOWHERE, ODD, SUBSCRIBERS, Connection, earlier, held
from tests.snapshot.world import content
from tests.subtrie.test_topic_store import Clocks

pytestmark = pytest.mark.once  # values are written by code that no compiler has seen

OWN = Dialect("own topics", ":", "?", "*", share_prefix="shared", options=(("qos", range(3)),))
"""Its name says nothing of whether there are subscriptions or a store's topics."""


def test_a_value_without_a_form_and_a_damaged_text_are_errors() -> None:
    for value in HOPELESS:
        with pytest.raises((TypeError, ValueError)):
            tagged(value)
    for text in ["", "{", '{"~what": 1}', '{"~int": 5}', '{"~bytes": "x"}', '{"~dict": 1}', "[" * 9999]:
        with pytest.raises(ValueError):  # noqa: PT011 (the messages are those of many parsers)
            untagged(text)


class Ways:
    """A file, and a directory with a follower: the ways on which a set or a store comes back."""

    def __init__(self, source: Any, where: Path, **arguments: Any) -> None:
        self.source, self.where = source, where
        self.publisher = snapshot.Publisher(source, where / "published", **arguments)
        self.publisher.publish()
        self.follower = snapshot.follow(where / "published")

    def copies(self) -> list[Any]:
        """What comes back on each way, without what cannot be stored. A file takes all or nothing."""
        self.publisher.publish()
        self.follower.poll()
        copies: list[Any] = [self.follower.trie, snapshot.restore(self.where / "published")]
        if not self.publisher.refused:
            snapshot.write(self.source, self.where / "file.parquet")
            copies.append(snapshot.load(self.where / "file.parquet"))
        return copies


@pytest.mark.parametrize("number", range(len(ODD) + 1))
def test_an_odd_value_is_stored_beside_ordinary_ones(tmp_path: Path, number: int) -> None:
    value = [*ODD, float("nan")][number]
    trie = trie_of(("ok/1", "good", {"tag": "5", "number": 1}), dialect=OWN)
    ways = Ways(trie, tmp_path)
    trie.subscribe("odd", "evil", tag=value, number=value)
    if any(value is each for each in SUBSCRIBERS):
        trie.subscribe("odd", value)
    trie.subscribe_many((f"later/{number}", f"c{number}") for number in range(100))
    for copy in ways.copies():
        assert held(copy) == held(trie)
        assert copy.dialect == OWN
    assert ways.publisher.refused == ()
    with snapshot.take_over(tmp_path / "published")[1] as again:  # it reads the value, and writes nothing anew
        assert again.publish() == 2


def test_what_an_earlier_version_of_this_package_wrote_comes_back(tmp_path: Path) -> None:
    """And is continued, and rewritten in the present format."""
    with zipfile.ZipFile(Path(__file__).parents[1] / "data" / "published-3.zip") as packed:
        packed.extractall(tmp_path)
    for dialect in (MQTT, NATS):
        where, right, trie = tmp_path / dialect.name, [SubscriptionTrie(dialect)], SubscriptionTrie(dialect)
        earlier(trie, lambda trie=trie, right=right: right.append(trie.fork()))
        for number in (1, 2, 3):
            assert held(snapshot.restore(where, at=number)) == held(right[number])
        rows = snapshot.changes(where, 0, net=False).read_all()
        assert (rows["types"].null_count, rows.num_rows > len(trie)) == (0, True)
        follower, (taken, publisher) = snapshot.follow(where), snapshot.take_over(where)
        taken.subscribe("new", "s", n=(2,))
        taken.unsubscribe_many([one for one in taken.subscriptions() if one.filter in ("a1", "s", "b")])
        assert publisher.publish() == 5
        assert follower.poll() == 5
        for copy in (follower.trie, snapshot.restore(where)):
            assert held(copy) == held(taken)
        (part,) = sets._built(open_directory(where), open_directory(where).version_at()).parts  # as Spark's workers
        assert {name for row in part.rows["options"].to_pylist() for name, _ in row} >= {"n", "m" * 300, "~n"}
        assert part.rows.num_rows == len(taken)
        with pytest.raises(ValueError, match="of an earlier format"):
            snapshot.to_delta(where)
        assert snapshot.compact(where) == snapshot.to_delta(where) == 5
        assert held(snapshot.restore(where)) == held(taken)
    assert held(snapshot.load(tmp_path / "set.parquet")) == held(snapshot.restore(tmp_path / "MQTT", at=3))
    assert held(snapshot.load(tmp_path / "plain.parquet")) == held(trie_of(("a/+", "alice", {"qos": 1}), dialect=MQTT))
    assert snapshot.compact(tmp_path / "topics") == 1  # which has a full instant of an earlier format
    assert (
        open_directory(tmp_path / "topics").parts(snapshot.versions(tmp_path / "topics")[0]).full.json_options,
        content(snapshot.restore(tmp_path / "topics")),
    ) == (None, content(filled()))


@pytest.mark.parametrize("number", range(len(HOPELESS)))
def test_a_value_without_a_form_is_set_aside_and_logged(
    tmp_path: Path, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    trie = trie_of(("a", "alice"), ("b", "evil", {"tag": 1}), dialect=MQTT)
    ways = Ways(trie, tmp_path)
    trie.subscribe("b", "evil", tag=HOPELESS[number])
    trie.subscribe("c", Connection())
    trie.subscribe("d", "dave")
    for _ in range(2):
        for copy in ways.copies():
            assert held(copy).keys() == held(trie_of(("a", "alice"), ("d", "dave"))).keys()
    reasons = {one.filter: (one.subscriber, one.reason) for one in ways.publisher.refused}
    assert reasons.keys() == {"b", "c"}
    assert reasons["b"][0] == "evil"
    assert "tag" in reasons["b"][1] or "nested" in reasons["b"][1]
    assert "key= function" in reasons["c"][1]
    assert open_directory(tmp_path / "published").version_at().refused == 2
    assert caplog.text.count("set aside") == 2, "once each"
    trie.subscribe("b", "evil", tag=2)
    trie.unsubscribe_many([one for one in trie.subscriptions() if one.filter == "c"])
    assert [held(copy) for copy in ways.copies()] == [held(trie)] * 3


@pytest.mark.parametrize("number", range(len(ALIKE)))
def test_equal_values_of_other_types_are_changes(tmp_path: Path, number: int) -> None:
    trie = SubscriptionTrie()
    ways = Ways(trie, tmp_path)
    for value in ALIKE[number]:
        trie.subscribe("a", "s", n=value)
        before = ways.publisher.version
        for copy in ways.copies():
            assert repr([one.options["n"] for one in copy.subscriptions()]) == repr([value])
        assert before != ways.publisher.version == ways.publisher.publish()


@pytest.mark.parametrize("value", [*EQUAL[:2], EQUAL[3], 0.0, -0.0, [1.5], {1: (2,)}, None], ids=str)
def test_types_that_are_not_stored_are_no_changes(tmp_path: Path, value: Any) -> None:
    """A broker that is started again with the same subscriptions publishes nothing."""
    for _ in range(2):
        trie = trie_of(("a", "s", {"n": value}))
        with snapshot.Publisher(trie, tmp_path) as publisher:
            assert publisher.publish() == 1
            trie.subscribe("a", "s", n=deepcopy(value))
            assert publisher.publish() == 1


@pytest.mark.parametrize("of_topics", [False, True])
def test_check_storable_takes_what_a_publisher_takes(tmp_path: Path, of_topics: bool) -> None:
    """Whatever else is in the columns; of a set, and of a topic store."""
    values, chance, refused = [*NOWHERE, *ODD, [10**6000], *EQUAL], random.Random(7), set[str]()
    source: Any = TopicStore[Any](MQTT) if of_topics else SubscriptionTrie(MQTT)
    ways = Ways(source, tmp_path)
    for number in chance.sample(range(len(values)), len(values)):
        filter, options = f"a/{number}", {"n": values[number], "x": chance.choice([1, "1"])}
        try:
            snapshot.check_storable("s", options)
        except (TypeError, ValueError):
            refused.add(filter)
        if of_topics:
            source[filter] = values[number]
        else:
            source.subscribe_many([(filter, "s", options)])
        if chance.random() < 0.2:
            ways.publisher.publish()
    for copy in ways.copies():
        found = copy if of_topics else {one.filter: one.options["n"] for one in copy.subscriptions()}
        assert len(found) == len(values) - len(NOWHERE)
        for number in range(len(NOWHERE), len(values)):
            back = found[f"a/{number}"]
            assert back == values[number]
            assert number >= len(NOWHERE) + len(ODD) or type(back) is type(values[number])
    assert {one.filter for one in ways.publisher.refused} == refused == {f"a/{n}" for n in range(len(NOWHERE))}


@pytest.mark.parametrize(
    ("filter", "subscriber", "options"),
    [
        ("a", Mute("s"), {}),
        (Mute("a"), "s", {"queue": Mute("q")}),
        ("a", MuteNumber(5), {Mute("n"): 1}),
        ("a", "s", {Mute("~n"): Mute("x"), Mute("m"): (1,)}),
        ("a", Name("s"), {"filter": "x", "subscriber": 1, "self": None}),
    ],
    ids=["subscriber", "filter and queue", "numbers", "options", "names of parameters"],
)
@pytest.mark.parametrize("is_later", [True, False])
def test_texts_of_subclasses_are_their_texts(
    tmp_path: Path, filter: str, subscriber: Any, options: dict[str, Any], is_later: bool
) -> None:
    trie = SubscriptionTrie(NATS)
    rows = [(filter, subscriber, options), ("b", "s", {"n": "x", "m": "y"})]
    trie.subscribe_many(rows[1:] if is_later else rows)
    ways = Ways(trie, tmp_path)
    trie.subscribe_many(rows)
    for copy in ways.copies()[:2]:
        (found,) = (one for one in copy.subscriptions() if one.filter == "a")
        assert (found.subscriber, dict(found.options), len(copy)) == (subscriber, options, 2)


@pytest.mark.parametrize(
    ("names", "is_later"),
    [(["n" * 17_000_000], True), ([f"{number}{'é' * 700}" for number in range(6000)], False)],
    ids=["a long one", "many"],
)
def test_names_that_a_client_makes_up_stop_nobody(tmp_path: Path, names: list[str], is_later: bool) -> None:
    trie = SubscriptionTrie()
    publisher = snapshot.Publisher(trie, tmp_path, strict=True)
    if is_later:
        publisher.publish()
    trie.subscribe("evil", "s", **dict.fromkeys(names, 1))
    trie.subscribe("a", "s", **{names[0]: 2})
    assert publisher.publish() == 1 + is_later
    assert snapshot.restore(tmp_path) == trie


def test_a_dialect_fits_into_a_manifest_or_nothing_is_claimed(tmp_path: Path) -> None:
    long = Dialect("long", ":", "?", "*", options=(("o", ("x" * 17_000_000,)),))
    with pytest.raises(ValueError, match="dialect long does not fit into a manifest"):
        snapshot.Publisher(SubscriptionTrie(long), tmp_path)
    assert snapshot.Publisher(trie_of(("a", "s")), tmp_path).publish() == 1


# ------------------------------------------------------------------------------------------------------- topic stores


@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS, OWN], ids=lambda dialect: dialect.name)
def test_topic_stores_come_back_with_values_and_times(tmp_path: Path, dialect: Dialect) -> None:
    """Also topics that would be no filters: the first word of a topic is no sign of a shared subscription."""
    store, prefix = filled(dialect), str(dialect.share_prefix or "x")
    ways = Ways(store, tmp_path)
    for words in ([prefix], [prefix, "g"], [prefix, "g", "a"], [prefix, "g", prefix, "h", "a"]):
        store[dialect.separator.join(words)] = words
    replica, topic = ways.follower.trie, dialect.separator.join(("a", "3"))
    for step in range(3):
        assert [content(copy) for copy in ways.copies()] == [content(store)] * 3
        store[topic] = store[topic]  # the same value, at another time
        del store[dialect.separator.join(("a", str(step)))]
    assert ways.follower.trie is replica
    assert {type(copy) for copy in ways.copies()} == {TopicStore}
    taken, publisher = snapshot.take_over(tmp_path / "published")
    assert (content(taken), taken.dialect) == (content(store), dialect)
    assert publisher.publish() == ways.publisher.version
    alone = filled(dialect)
    snapshot.write(alone, tmp_path / "alone.parquet")
    loaded = snapshot.load(tmp_path / "alone.parquet", kind=TopicStore)
    assert content(loaded) == content(alone)
    assert snapshot.to_arrow(alone).num_rows == len(alone)
    assert not {id(alone), id(loaded)} & topics._mirrors.keys(), "a second trie"
    empty: TopicStore[Any] = TopicStore(dialect)
    assert [type(copy) for copy in Ways(empty, tmp_path / "empty").copies()] == [TopicStore] * 3


class TestLimits:
    """How old values get and how many there are is part of what is stored."""

    @pytest.mark.parametrize(("max_age", "max_topics"), [(None, 5), (60, None), (0.5e6, 10**12), (float("inf"), None)])
    def test_come_back(self, tmp_path: Path, max_age: float | None, max_topics: int | None) -> None:
        store: TopicStore[Any] = TopicStore(MQTT, max_age=max_age, max_topics=max_topics)
        ways = Ways(store, tmp_path)
        store["a"] = 1
        copies = ways.copies()[1:]
        for copy in (*copies, snapshot.take_over(tmp_path / "published")[0]):
            assert (copy.max_age, copy.max_topics) == (None if max_age == float("inf") else max_age, max_topics)

    def test_do_not_make_a_follower_or_a_restored_store_differ(self, tmp_path: Path) -> None:
        """Both have all that was published, though either has limits of its own."""
        store: TopicStore[Any] = TopicStore(MQTT, max_topics=9)
        ways = Ways(store, tmp_path)
        for step in range(20):
            store.update((f"a/{number}", step) for number in range(step, 3 * step, step % 3 + 1))
            store.pop(f"a/{step}", None)
            assert content(ways.copies()[0]) == content(store)

    def test_what_a_restored_store_let_go_is_gone_from_the_next_version(self, tmp_path: Path) -> None:
        """By age, which went on while nobody had the store, and by number, if a new one has fewer."""
        store: TopicStore[Any] = TopicStore(MQTT, max_age=1e12)
        for number in range(20):
            store.put(f"a/{number}", number, float(number))
        snapshot.Publisher(store, tmp_path).publish()
        for limits, most in ({"max_topics": 8}, 10), ({"max_age": 60}, 0), ({}, 0):
            named: dict[str, Any] = limits
            fewer, publisher = snapshot.take_over(tmp_path, into=TopicStore(MQTT, **named))
            publisher.publish()
            restored = snapshot.restore(tmp_path, kind=TopicStore)
            assert content(restored) == content(fewer)
            assert (restored.max_age, restored.max_topics) == (named.get("max_age"), named.get("max_topics"))
            assert len(fewer) <= most

    @pytest.mark.parametrize("max_age", [None, 3600])
    def test_of_age_hold_wherever_a_value_comes_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_age: float | None
    ) -> None:
        clocks, store = Clocks(monkeypatch), TopicStore[Any](MQTT, {"stays": 1}, max_age=max_age)
        ways = Ways(store, tmp_path)
        store.put("a", 1, expires=60)
        store.put("b", b"2", expires=600)
        copies = [*ways.copies(), snapshot.take_over(tmp_path / "published")[0]]
        for seconds, there in (59, ["a", "b", "stays"]), (2, ["b", "stays"]), (3600, [] if max_age else ["stays"]):
            clocks.run(seconds)
            assert [sorted(copy) for copy in [store, *copies]] == [there] * 5
