"""`TopicStore`: the last value of each topic, found by filters: any sequence of changes against a dict, with clocks that
the test moves, and every question about it. Then its edges, and the join with a trie.
"""

from __future__ import annotations

import copy
import gc
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError, TopicStore
from subtrie._trie import topic_store
from subtrie._trie.exclusions import leave_a_topic
from subtrie._trie.queries.joining import FEW
from subtrie._trie.topic_store import _restored
from tests.subtrie.support import DIALECTS, LITERAL_WORDS, MANY, ONE, OWN_DIALECTS, Subscriber, reaches, text_of
from tests.threads import meanwhile, run_together

STORE: Any = TopicStore
MAX_AGE = 60.0


class Clocks:
    """A wall clock that can be set, and one that runs on; the stores have these until `monkeypatch` is undone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.running = 1_700_000_000.0, 50.0
        monkeypatch.setattr(topic_store, "time", lambda: self.wall)
        monkeypatch.setattr(topic_store, "monotonic", lambda: self.running)

    def run(self, seconds: float) -> None:
        self.wall += seconds
        self.running += seconds


@dataclass
class Value:
    value: int
    at: float  # of the wall clock, or 0
    dies: float  # of the one that runs on


class Tried:
    """A store, and what it should hold, also of what has expired. A snapshot is of its instant for ever."""

    def __init__(
        self, store: TopicStore[int], clocks: Clocks, held: dict[str, Value], taken: float | None = None
    ) -> None:
        self.store, self.clocks, self.held, self.taken = store, clocks, held, taken

    def copied(self, store: TopicStore[int], taken: float | None = None) -> Tried:
        return Tried(store, self.clocks, {topic: replace(value) for topic, value in self.held.items()}, taken)

    def there(self) -> dict[str, Value]:
        now = self.clocks.running if self.taken is None else self.taken
        return {topic: value for topic, value in self.held.items() if value.dies > now}

    def ask(self, filter: str, but: tuple[str, ...], topics: list[str]) -> None:
        store, dialect, there = self.store, self.store.dialect, self.there()
        expected = {topic: each.value for topic, each in there.items()}
        assert dict(store.items()) == expected
        assert dict(store.matching(filter)) == {t: v for t, v in expected.items() if reaches(dialect, filter, t)}
        if is_taken(dialect, filter, but):
            found = dict(store.matching(filter, but=but))
            assert found == {t: v for t, v in expected.items() if reaches(dialect, filter, t, but)}
        else:
            with pytest.raises(ValueError, match="take"):
                store.matching(filter, but=but)
        assert sorted(store) == sorted(store.keys()) == sorted(expected)
        assert sorted(store.values()) == sorted(expected.values())
        assert (len(store), bool(store), store == expected) == (len(expected), bool(expected), True)
        entries = {topic: (value, at) for topic, value, at in store.entries()}
        assert {topic: value for topic, (value, _) in entries.items()} == expected
        assert all(abs(at - there[topic].at) < 1e-3 for topic, (_, at) in entries.items() if there[topic].at)
        for topic in topics:
            assert (topic in store) is (topic in expected)
            assert store.get(topic, "none") == expected.get(topic, "none")  # type: ignore[arg-type, call-overload]
            for ask, wanted in (
                (store.__getitem__, expected.get(topic)),
                (store.stored_at, entries.get(topic, (0, 0))[1]),
            ):
                if topic in expected:
                    assert ask(topic) == wanted
                else:
                    with pytest.raises(KeyError):
                        ask(topic)
        store.check()


def is_taken(dialect: Dialect, filter: str, but: tuple[str, ...]) -> bool:
    """Whether these exclusions take something out of a filter, and leave something."""
    words, parts = dialect.split_filter(filter), [dialect.split_filter(part) for part in but]
    return all(dialect.overlaps(words, part) for part in parts) and leave_a_topic(dialect, [words], parts)


class Machine(RuleBasedStateMachine):
    live = Bundle("live")  # can be changed
    frozen = Bundle("frozen")  # snapshots

    @initialize(
        target=live, dialect=st.sampled_from([*DIALECTS, *OWN_DIALECTS]), ages=st.booleans(), limited=st.booleans()
    )
    def begin(self, dialect: Dialect, ages: bool, limited: bool) -> Tried:
        self.patch = pytest.MonkeyPatch()
        self.clocks, self.dialect, self.ages, self.number = Clocks(self.patch), dialect, ages, 0
        self.most = MAX_AGE if limited else float("inf")
        self.right = True  # the wall clock has not been set
        store = TopicStore[int](dialect, max_age=MAX_AGE if limited else None)
        return self.kept(Tried(store, self.clocks, {}))

    def kept(self, it: Tried) -> Tried:
        self.last = it, "a"
        return it

    def stored(self, it: Tried, topic: str, age: float = 0, expires: float = float("inf")) -> int:
        """Note that a value is stored."""
        self.number += 1
        at = self.clocks.wall - age if self.right else 0  # where the clock has been set, only the order counts
        it.held[topic] = Value(self.number, at, self.clocks.running + min(expires, self.most) - age)
        self.last = it, topic
        return self.number

    @rule(it=live, words=LITERAL_WORDS, way=st.sampled_from(["set", "put", "update", "setdefault"]))
    def store(self, it: Tried, words: list[str], way: str) -> None:
        self.clocks.run(0.37)
        topic = text_of(self.dialect, words)
        if way == "setdefault" and (found := it.there().get(topic)) is not None:
            assert it.store.setdefault(topic, -1) == found.value
            return
        number = self.stored(it, topic)
        if way == "set":
            it.store[topic] = number
        elif way == "update":
            it.store.update({topic: number})
        else:
            assert getattr(it.store, way)(topic, number) in (None, number)

    @rule(it=live, words=LITERAL_WORDS, age=st.sampled_from([0, 7, 40]), expires=st.sampled_from([None, 20, 90]))
    def put(self, it: Tried, words: list[str], age: float, expires: float | None) -> None:
        self.clocks.run(0.37)
        topic = text_of(self.dialect, words)
        if self.ages and self.right:
            number = self.stored(it, topic, age, expires or float("inf"))
            it.store.put(topic, number, self.clocks.wall - age, expires=expires)

    @rule(it=live, words=LITERAL_WORDS, way=st.sampled_from(["pop", "del", "pop it"]), at=st.integers(0, 1_000))
    def remove(self, it: Tried, words: list[str], way: str, at: int) -> None:
        there = it.there()
        topic = sorted(it.held)[at % len(it.held)] if it.held and at % 3 else text_of(self.dialect, words)
        self.last = it, topic
        if way == "pop it" and there:
            topic, value = it.store.popitem()
            assert there[topic].value == value
        elif topic in there and way == "del":
            del it.store[topic]
        elif topic in there:
            assert it.store.pop(topic) == there[topic].value
        else:
            with pytest.raises(KeyError):
                it.store.pop(topic)
        it.held.pop(topic, None)

    @rule(seconds=st.sampled_from([0.13, 13, 31, 71]))
    def time_goes_by(self, seconds: float) -> None:
        if self.ages:
            self.clocks.run(seconds)

    @rule(step=st.sampled_from([-1e9, -3_600, 3_600, 1e9]))
    def the_clock_is_set(self, step: float) -> None:
        if self.ages and self.number % 4 == 3:
            self.clocks.wall += step
            self.right = False

    @rule(it=live, way=st.sampled_from(["clear", "expire", "expire"]))
    def many_go(self, it: Tried, way: str) -> None:
        before = it.store.approximate_len()
        gone = getattr(it.store, way)()
        it.held = it.there() if way == "expire" else {}
        assert gone == (before - len(it.held) if way == "expire" else None)
        assert it.store.approximate_len() == len(it.held)

    @rule(target=frozen, it=live | frozen)
    def snapshot(self, it: Tried) -> Tried:
        return self.kept(it.copied(it.store.snapshot(), self.clocks.running if it.taken is None else it.taken))

    @rule(target=live, it=live | frozen, way=st.sampled_from(["fork", "copy", "pickle"]))
    def fork(self, it: Tried, way: str) -> Tried:
        store = it.store.fork()
        if way == "copy":
            store = copy.copy(store)
        elif way == "pickle" and self.right:  # elsewhere the wall clock tells the ages
            store = pickle.loads(pickle.dumps(store))
        other = it.copied(store)
        other.held = other.there() if way == "pickle" and self.right else other.held
        return self.kept(other)

    @rule(newer=live | frozen, older=live | frozen)
    def compare(self, newer: Tried, older: Tried) -> None:
        if not self.ages:  # writers remove what has expired when they like
            now, then = newer.held, older.held
            changed = {topic for topic in now.keys() | then.keys() if now.get(topic) != then.get(topic)}
            found = {topic: (old, new) for topic, old, new in newer.store.diff(older.store, absent=0)}
            assert found == {t: tuple(side[t].value if t in side else 0 for side in (then, now)) for t in changed}
            rows = {(old or new)[0]: (old and old[1], new and new[1]) for old, new in newer.store.changes(older.store)}  # type: ignore[index]
            others = {
                topic: both for topic, both in rows.items() if both[0] != both[1]
            }  # a pickle has entries of its own
            assert others == {t: (v[0] or None, v[1] or None) for t, v in found.items()}
            assert (newer.store == older.store) is (not changed)

    @invariant()
    def all_questions_have_their_answers(self) -> None:
        if getattr(self, "last", None) is not None:
            it, topic = self.last
            first, *rest = self.dialect.split_topic(topic) or ("",)
            near = [
                [MANY],
                [first, ONE, MANY],
                [ONE, *rest],
                [first, MANY],
                [MANY, *rest],
                [first, MANY, *rest[1:]],
                [ONE],
            ]
            filter, but = (text_of(self.dialect, near[n % len(near)]) for n in (self.number, self.number // 3))
            it.ask(filter, (but,), [topic, *sorted(it.held)[:3]])

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.patch.undo()


@pytest.mark.hypothesis  # else the parts that ask for more examples leave it out
def test_any_changes_and_all_questions() -> None:
    most = 3 * settings().max_examples  # there are many dialects
    run_state_machine_as_test(Machine, settings=settings(stateful_step_count=20, max_examples=most))


# --------------------------------------------------------------------------------------------------------------- edges


def matching(store: TopicStore[Any], filter: str) -> dict[str, Any]:
    return {topic: value for topic, value in store.items() if reaches(store.dialect, filter, topic)}


def test_thousands_of_topics_are_all_found_and_all_go() -> None:
    chosen = random.Random(4)
    store = TopicStore(MQTT, {"/".join(chosen.choices("abcdefgh", k=chosen.randrange(1, 6))): n for n in range(3_000)})
    for filter in ("a", "a/#", "+/b", "#", "c/+/d/#", "$share/g/a/+"):
        assert dict(store.matching(filter)) == matching(store, filter)
    store.check()
    for topic in list(store):
        del store[topic]
    assert list(store.matching("#")) == []
    store.check()


@pytest.mark.parametrize("word", ["w", "ä", "語"])
@pytest.mark.parametrize("rules", [{}, {"separator": "·"}, {"one_word": "⊕"}, {"many_min": 1}], ids=str)
def test_topics_of_any_length_are_found(rules: dict[str, Any], word: str) -> None:
    """Those of up to some words of ASCII characters are looked up in place."""
    dialect = replace(AMQP, max_bytes=4_000, max_words=600, **rules)
    topics = [dialect.join([word] * size) for size in (0, 1, 2, 3, 62, 63, 64, 65, 66, 127, 128, 129, 400)]
    store: TopicStore[int] = TopicStore(dialect)
    for number, topic in enumerate(topics):
        assert topic not in store
        store[topic] = number
    assert [store[topic] for topic in topics] == [*range(len(topics))]
    assert [store.get(topic + "x") for topic in topics] == [None] * len(topics)
    many = str(dialect.many_words)
    for filter in (many, dialect.one_word, dialect.join([many, word]), dialect.join([word, many])):
        assert dict(store.matching(filter)) == matching(store, filter)
    del store[topics[-1]]
    assert [topic in store for topic in topics] == [True] * (len(topics) - 1) + [False]
    store.check()


@pytest.mark.parametrize(
    ("dialect", "topic", "offence"),
    [
        (MQTT, "a/+", "wildcard '[+]' in a topic at character 2"),
        (MQTT, "a+", "wildcard '[+]' inside a word at character 1"),
        (MQTT, "", "empty topic"),
        (NATS, "a..b", "empty word at character 2"),
        (AMQP, "a\0", "forbidden character"),
        (AMQP, "\ud800", "lone surrogate"),
        (AMQP, "x" * 256, "longer than 255 bytes"),
        (AMQP, 5, "a topic must be a str, not int"),
    ],
)
def test_what_is_no_topic_changes_nothing(dialect: Dialect, topic: Any, offence: str) -> None:
    store: Any = TopicStore(dialect, {"a": 1})
    set_it, put_it = lambda topic: store.__setitem__(topic, 2), partial(store.put, value=2)
    calls = (store.__getitem__, store.get, store.pop, store.setdefault, store.stored_at, set_it, put_it)
    for call in (*calls, lambda topic: store.update({"b": 1, topic: 2})):
        with pytest.raises((TopicError, TypeError), match=offence):
            call(topic)
    assert topic not in store
    assert store.items() == [("a", 1)]
    store.check()


BAD_ROWS: list[Any] = [("a",), ("a", 1), ("a", 1, 1.0, 2)]


def test_what_else_is_refused() -> None:
    store: Any = TopicStore(MQTT, {"a": 1})
    cut: Any = store.snapshot()
    read_only, once = "read-only", "initialised once"
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: store.matching("a/#/b"), TopicError, "not the last word"),
        (lambda: store.matching("#", but="a"), TypeError, "but takes a tuple of filters"),
        (lambda: store.matching("#", but=("a/#/b",)), TopicError, "not the last word"),
        (lambda: TopicStore("AMQP"), TypeError, "dialect must be"),  # type: ignore[arg-type]
        (lambda: store.__init__(MQTT), TypeError, once),
        (lambda: store.put("b", 1, expires=0), ValueError, "expires must be more than 0 seconds"),
        (lambda: store.put("b", 1, expires=float("nan")), ValueError, "expires must be more than 0 seconds"),
        *((partial(store.put, "b", 1, at), ValueError, f"stored_at must be a time, not {at}") for at in map(float, ("inf", "nan"))),
        (lambda: TopicStore(AMQP).diff(store), ValueError, "same dialect"),
        (lambda: store.joined(store), TypeError, r"joined\(\) takes a SubscriptionTrie, not TopicStore"),
        (lambda: store.joined(SubscriptionTrie(AMQP)), ValueError, "same dialect: MQTT, not AMQP"),
        (lambda: store.joined(SubscriptionTrie(MQTT), merge="some"), ValueError, "merge"),
        *((change, TypeError, read_only) for change in (cut.clear, cut.popitem, cut.expire, lambda: cut.pop("a"))),
        *((change, TypeError, read_only) for change in (lambda: cut.update({"b": 1}), lambda: cut.put("b", 1))),
        (pickle.loads(pickle.dumps(cut)).clear, TypeError, read_only),
        *((partial(_restored, STORE, MQTT, [row], False, (None, None, None)), ValueError, "to unpack")
          for row in BAD_ROWS),
        (lambda: TopicStore(MQTT).popitem(), KeyError, "the store is empty"),
    ]  # fmt: skip
    for call, error, text in wrong:
        with pytest.raises(error, match=text):
            call()
    assert store.items() == cut.items() == [("a", 1)]


@pytest.mark.parametrize(
    "limits", [{"max_age": 0}, {"max_age": -1.5}, {"max_age": float("nan")}, {"max_topics": 0}], ids=str
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="max_"):
        TopicStore(MQTT, **limits)
    for wrong in ("1", True, [1.5]):
        with pytest.raises(TypeError, match="max_"):
            STORE(MQTT, **dict.fromkeys(limits, wrong))


def test_equals_a_mapping_of_the_same_topics_as_mappings_do() -> None:
    store = TopicStore(MQTT, {"a/b": 1, "c": 2})
    assert {"c": 2, "a/b": 1} == store.snapshot()
    assert store == MappingProxyType({"c": 2, "a/b": 1})
    assert TopicStore() == {}
    for other in (
        {"c": 2},
        {"a/b": 1, "c": 3},
        {"a/b": 1, "c": 2, "d": 4},
        TopicStore(AMQP, store),
        None,
        ["a/b", "c"],
    ):
        assert store != other
    assert (repr(store), repr(store.snapshot())) == ("<TopicStore: MQTT>", "<TopicStore: MQTT, read-only>")
    assert store.snapshot().snapshot() == store


def test_threads_lose_nothing_and_see_one_instant() -> None:
    """Each writer moves along a ring of topics: it stores message n and then removes n - 1. So a question finds at
    most two messages of a writer, and two only in a row."""
    store: TopicStore = TopicStore(MQTT)
    writers, rounds = 3, 300

    def write(me: int) -> None:
        for n in range(rounds):
            store[f"w{me}/{n % 7}/x"] = n
            if n:
                store.pop(f"w{me}/{(n - 1) % 7}/x")

    def look() -> None:
        for me in range(writers):
            values = sorted(value for _, value in store.matching(f"w{me}/+/x"))
            assert len(values) < 2 or values == [values[0], values[0] + 1]

    with meanwhile(look):
        run_together([partial(write, me) for me in range(writers)])
    assert sorted(store.items()) == [(f"w{me}/{(rounds - 1) % 7}/x", rounds - 1) for me in range(writers)]
    store.check()


# ---------------------------------------------------------------------------------------------------------- the join
# `test_machine.py` joins a store of a few topics with each trie.


@pytest.mark.parametrize("few", [True, False], ids=["the store is asked for each filter", "the store is walked"])
def test_each_topic_that_is_wanted_is_joined_and_no_other(few: bool) -> None:
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("#", "ann", qos=0)
    trie.subscribe("site/+", "ann", qos=2, but=("site/3",))
    trie.subscribe_many([("$share/g/site/#", member, {"qos": 1}) for member in ("ann", "bob")])
    trie.subscribe_many([(f"x/{number}", "ann") for number in range(0 if few else FEW)])
    store = TopicStore(MQTT, {"site/1": "x", "site/3": "y", "$site/1": "z"}, max_age=60)
    store.put("old", "too old", 1_000)
    found = {topic: (value, list(deliveries)) for topic, value, deliveries in store.joined(trie, merge="best")}
    assert {topic: value for topic, (value, _) in found.items()} == {"site/1": "x", "site/3": "y"}
    for topic, word, qos in (("site/1", "1", 2), ("site/3", "3", 0)):
        told = {(one.subscriber, one.group): (one.options["qos"], one.words) for one in found[topic][1]}
        alone = ("1",) if qos else (("site", "3"),)
        assert told == {("ann", None): (qos, alone), **{(who, "g"): (1, ((word,),)) for who in ("ann", "bob")}}


def test_both_sides_of_a_join_are_of_one_instant_each_the_trie_first() -> None:
    """What is stored or subscribed later does not count. What is stored between the two instants does, so whoever was
    subscribed before misses nothing."""
    store = TopicStore(MQTT, {"a": 1})

    class Between(SubscriptionTrie):
        def snapshot(self) -> Any:
            taken = super().snapshot()
            store["between"] = 2
            self.subscribe("#", "too late")
            return taken

    trie = Between(MQTT)
    trie.subscribe("#", "ann")
    joined = store.joined(trie)
    store["later"] = 3
    trie.clear()
    found = [(topic, [one.subscriber for one in deliveries]) for topic, _, deliveries in joined]
    assert sorted(found) == [("a", ["ann"]), ("between", ["ann"])]


def test_a_join_keeps_no_weak_subscriber() -> None:
    store, trie = TopicStore(MQTT, {"a": 1, "b": 2}), SubscriptionTrie(MQTT, weak=True)
    stays, goes = Subscriber("stays"), Subscriber("goes")
    for who in (stays, goes):
        trie.subscribe("#", who)
    joined = store.joined(trie)
    del goes, who
    gc.collect()
    assert [[one.subscriber.name for one in deliveries] for _, _, deliveries in joined] == [["stays"]] * 2
