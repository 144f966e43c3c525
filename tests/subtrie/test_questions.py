"""The answers of a SubscriptionTrie beyond `match`: filters against filters, exact matches first, merged entries,
literal filters; and many subscriptions at once.

Each specification is one line over all subscriptions, with the dialect's own rules.
"""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from subtrie import AMQP, MQTT, NATS, Dialect, Subscription, SubscriptionTrie, TopicError
from subtrie._trie.draws import seed
from tests.subtrie.lots import check_fair
from tests.subtrie.support import is_valid, subscription_twin
from tests.subtrie.test_model import filters_of, topics_of
from tests.threads import meanwhile, run_together

LAX = replace(MQTT, name="lax MQTT", many_last=False, share_prefix=None)
DIALECTS = [
    AMQP,
    MQTT,
    NATS,
    LAX,
    replace(LAX, name="one or more", many_min=1),
    replace(LAX, name="no words too", zero_words=True),
    replace(LAX, name="one or more, no words too", many_min=1, zero_words=True),
    Dialect("long wildcards", separator="/", one_word="one", many_words="many"),
    Dialect("flat", separator=":", one_word="?", many_words=None, empty_words=False, max_words=3),
]
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
either_layout = pytest.mark.parametrize("exact", [False, True], ids=["by words", "exact"])


def texts(dialect: Dialect) -> st.SearchStrategy[str]:
    word = st.sampled_from(["a", "b", "", "$s", "$t", dialect.one_word, dialect.many_words or dialect.one_word])
    return st.lists(word, max_size=5).map(dialect.join).filter(partial(is_valid, dialect.split_filter))


def filled(dialect: Dialect, filters: list[str], exact: bool = False) -> SubscriptionTrie:
    trie = SubscriptionTrie(dialect, exact=exact)
    for n, filter in enumerate(filters):
        trie.subscribe(filter, n % 3, n=n)
    return trie


def overlapped(trie: Any, filter: str) -> list[str]:
    found = list(trie.overlapping(filter))
    assert len({(one.filter, one.subscriber) for one in found}) == len(found), "a subscription twice"
    return sorted({one.filter for one in found})


def expected_overlaps(dialect: Dialect, filters: list[str], filter: str) -> list[str]:
    words = dialect.split_filter(filter)
    return sorted({other for other in filters if dialect.overlaps(dialect.split_filter(other), words)})


class TestSubscription:
    def test_goes_into_a_set_a_pickle_and_a_copy(self) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a.*", "ann", tags=["x"])
        trie.subscribe("a.b", "ann")
        found = list(trie.entries("a.b"))
        assert set(found) == set(trie.subscriptions())
        assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == found
        with pytest.raises(TypeError):
            copy.deepcopy(found[0]).options["qos"] = 1  # type: ignore[index]
        trie.check()


class TestOverlapping:
    @given(dialect=st.sampled_from(DIALECTS), data=st.data())
    def test_any_filters(self, dialect: Dialect, data: st.DataObject) -> None:
        filters = data.draw(st.lists(texts(dialect), max_size=10))
        trie = filled(dialect, filters, data.draw(st.booleans()))
        for filter in data.draw(st.lists(texts(dialect), min_size=1, max_size=4)):
            assert overlapped(trie, filter) == expected_overlaps(dialect, filters, filter), filter
        trie.check()

    @every_dialect
    @either_layout
    def test_all_short_filters_against_each_other(self, dialect: Dialect, exact: bool) -> None:
        words = ["a", "", "$s", dialect.one_word, *([dialect.many_words] if dialect.many_words else [])]
        pairs = [dialect.join((one, two)) for one in words for two in words]
        filters = [text for text in ["", *words, *pairs, *(dialect.join((pair, "a")) for pair in pairs)]]
        filters = sorted({text for text in filters if is_valid(dialect.split_filter, text)})
        trie = filled(dialect, filters, exact)
        for filter in filters:
            assert overlapped(trie, filter) == expected_overlaps(dialect, filters, filter), filter
        trie.check()

    @pytest.mark.parametrize("dialect", [AMQP, NATS], ids=lambda dialect: dialect.name)
    @pytest.mark.parametrize("size", [31, 61, 62, 63])
    def test_long_filters(self, dialect: Dialect, size: int) -> None:
        """Up to the most words for which a set of positions has bits, and beyond."""
        draw = Random(size)
        words = ["a", "b", dialect.one_word, *([dialect.many_words] if dialect.many_words else [])]
        drawn = [dialect.join(draw.choices(words, [20, 1, 3, 1], k=size)) for _ in range(12)]
        ends = [dialect.join(("a",) * (size - 1) + (word,)) for word in words] + words
        filters = sorted({text for text in drawn + ends if is_valid(dialect.split_filter, text)})
        trie = filled(dialect, filters)
        for filter in filters[::3]:
            assert overlapped(trie, filter) == expected_overlaps(dialect, filters, filter), filter
        trie.check()

    def test_all_that_a_subscription_says_comes_along(self) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a.*", "ann", qos=1)
        assert list(trie.overlapping("#.b")) == [Subscription("a.*", "ann", {"qos": 1})]
        trie.check()

    @either_layout
    def test_nobody_is_looked_for_before_the_exact_ones_are_handed_over(self, exact: bool) -> None:
        compared = []

        class Alike:
            def __hash__(self) -> int:
                return 1

            def __eq__(self, other: object) -> bool:
                compared.append(other)
                return self is other

        trie: Any = SubscriptionTrie(exact=exact)
        trie.subscribe("a.b", first := Alike())
        trie.subscribe("a.*", second := Alike())
        trie.subscribe("#", first)
        asked = trie.match_iter("a.b")
        assert next(asked) is first
        assert compared == []
        assert list(asked) == [second]
        assert compared
        assert list(asked) == []
        trie.check()

    @either_layout
    def test_after_a_change_or_none_it_is_what_the_trie_has(self, exact: bool) -> None:
        trie: Any = SubscriptionTrie(exact=exact)
        asked = []
        for n in range(4):
            trie.subscribe("a.b", n)
            trie.subscribe(f"{'#.' * n}b", n)
            asked += [trie.match_iter("a.b") for _ in range(3)]
            assert sorted(trie.match_iter("a.b")) == sorted(trie.match_iter("a.b")) == [*range(n + 1)]
        trie.clear()
        assert list(trie.match_iter("a.b")) == []
        assert [sorted(one) for one in asked] == [[*range(n // 3 + 1)] for n in range(12)]
        trie.check()

    def test_it_is_of_the_instant_of_the_call(self) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a.*", "ann")
        found = trie.overlapping("a.b")
        trie.clear()
        trie.subscribe("a.b", "bob")
        assert [one.subscriber for one in found] == ["ann"]
        trie.check()

    @pytest.mark.once
    def test_what_cannot_overlap_is_not_looked_at(self) -> None:
        """The other words of a level cost nothing if the filter names one word."""
        twin = subscription_twin()
        few, many = (twin.modules["subtrie"].SubscriptionTrie() for _ in range(2))
        words = ["a", "s1", "s2", "s3", "deep1", "deep2", "t1", "t2"]
        for word in words[:2]:
            few.subscribe(f"{word}.b", word)
        for word in words:
            for last in words:
                many.subscribe(f"{word}.b", word)
                many.subscribe(f"b.{word}.{last}", word)
        accesses = [
            len(accesses_of(twin, lambda trie=trie: overlapped(trie, "a.*")))
            for trie in (few, many)  # type: ignore[misc]
        ]
        assert accesses[1] <= accesses[0] + 2
        few.check()
        many.check()

    def test_hostile_filters(self) -> None:
        """With backtracking this would take for ever."""
        filters = ["#." * 15 + "b", "#.a." * 15 + "#", "*." * 30 + "#", "#." * 100 + "#"]
        trie = filled(AMQP, filters)
        for filter in filters:
            assert overlapped(trie, filter) == sorted(filters)
        assert overlapped(trie, ".".join("a" * 14)) == sorted(filters[3:])
        trie.check()


def accesses_of(twin: Any, ask: Any) -> list[int]:
    seen: list[int] = []
    twin.interfere(ask, seen.append)
    return seen


class TestExactMatchesFirst:
    @given(dialect=st.sampled_from([AMQP, MQTT, NATS]), exact=st.booleans(), data=st.data())
    @example(dialect=AMQP, exact=False, data=None)
    @example(dialect=AMQP, exact=True, data=None)
    def test_the_same_subscribers_as_match(self, dialect: Dialect, exact: bool, data: Any) -> None:
        filters = ["", ".", "a.*", "#"] if data is None else data.draw(st.lists(filters_of(dialect), max_size=10))
        trie = filled(dialect, filters, exact)
        for topic in ["", "."] if data is None else data.draw(st.lists(topics_of(dialect), min_size=1, max_size=4)):
            found = list(trie.match_iter(topic))
            assert sorted(found) == sorted(trie.match(topic))
            named = {one.subscriber for one in trie.entries(topic) if is_exact(dialect, one.filter, topic)}
            assert set(found[: len(named)]) == named, "not the exact ones first"
        trie.check()

    @either_layout
    def test_a_topic_that_looks_like_a_filter(self, exact: bool) -> None:
        trie = filled(AMQP, ["a.*", "a.b", "a.#"], exact)
        assert sorted(trie.match_iter("a.*")) == [0, 2]
        with pytest.raises(TopicError):
            filled(MQTT, ["a/+"], exact).match_iter("a/+")
        trie.check()

    @pytest.mark.parametrize("topic", ["a b", "", "a..b", "a" * 5_000])
    @either_layout
    def test_a_bad_topic_is_refused_at_the_call(self, topic: str, exact: bool) -> None:
        trie = filled(NATS, ["a", ">"], exact)
        with pytest.raises(TopicError):
            trie.match_iter(topic)
        trie.check()

    @either_layout
    def test_a_dialect_that_splits_otherwise_is_asked(self, exact: bool) -> None:
        class Folding(Dialect):
            def split_filter(self, text: str) -> tuple[str, ...]:
                return super().split_filter(text.lower())

            def split_topic(self, text: str) -> tuple[str, ...]:
                return super().split_topic(text.lower())

        trie = SubscriptionTrie(Folding("folding", separator=".", one_word="*", many_words="#"), exact=exact)
        for filter in ("A.b", "A.*", "#.B"):
            trie.subscribe(filter, filter)
        assert sorted(trie.match("a.B")) == ["#.B", "A.*", "A.b"]
        assert sorted(trie.match_iter("a.B")) == ["#.B", "A.*", "A.b"]
        assert sorted(one.subscriber for one in trie.deliveries("a.B")) == ["#.B", "A.*", "A.b"]
        assert [sorted(found) for found in trie.match_many(["a.B"] * 20)] == [["#.B", "A.*", "A.b"]] * 20
        assert trie.has_match("X.B")
        trie.check()

    @either_layout
    def test_a_topic_that_was_asked_for_by_name_is_not_validated_again(self, exact: bool) -> None:
        refused: list[str] = []

        class Watched(Dialect):
            def split_topic(self, text: str) -> tuple[str, ...]:
                refused.append(text)
                return super().split_topic(text)

        watched = Watched("watched", separator=".", one_word="*", many_words="#", max_bytes=255)
        trie = SubscriptionTrie(watched, exact=exact)
        trie.subscribe("a.b", "ann")
        trie.subscribe("a.*", "bob")
        found = trie.match_iter("a.b")
        assert next(found) == "ann"
        assert refused == []
        assert list(found) == ["bob"]
        refused.clear()
        assert list(trie.match_iter("a.c")) == ["bob"]
        assert refused == ["a.c"]
        with pytest.raises(TopicError):
            trie.match_iter("a" * 300)
        assert refused[-1] == "a" * 300
        trie.check()

    @pytest.mark.once
    @either_layout
    def test_no_wildcard_is_looked_at_before_the_exact_ones_are_handed_over(self, exact: bool) -> None:
        """However many filters with wildcards there are, and whatever is subscribed to them."""
        twin = subscription_twin()
        few, many = (twin.modules["subtrie"].SubscriptionTrie(exact=exact) for _ in range(2))
        for n in range(3):
            few.subscribe("a.b", n)
            many.subscribe("a.b", n)
        few.subscribe("a.c", "part the words, as the wildcards do")
        for depth in range(100):
            many.subscribe("#." * depth + "*", depth)
            many.subscribe("#." * depth + "b", depth)

        def three_of(trie: Any) -> list[Any]:
            asked = trie.match_iter("a.b")
            return sorted(next(asked) for _ in range(3))

        for trie in (few, many):
            assert three_of(trie) == [0, 1, 2]
        accesses = [len(accesses_of(twin, partial(three_of, trie))) for trie in (few, many)]
        assert accesses[1] - accesses[0] < 10
        assert len(accesses_of(twin, lambda: list(many.match_iter("a.b")))) > 5 * accesses[1]
        few.check()
        many.check()

    @settings(max_examples=40)
    @given(
        st.lists(st.sampled_from(["a.b", "a.*", "#", "*.b", "a.#", "#.b", "#.a.#", "*.*.#"]), max_size=20), st.data()
    )
    def test_whatever_is_found_at_once_or_later_the_exact_ones_come_first(self, filters: list[str], data: Any) -> None:
        """Few or many subscribers, and equal ones."""
        trie: Any = SubscriptionTrie(AMQP, exact=data.draw(st.booleans()))
        for filter in filters:
            first, number = data.draw(st.integers(0, 20)), data.draw(st.sampled_from([1, 1, 1, 2, 9, 30]))
            for subscriber in range(first, first + number):
                trie.subscribe(filter, subscriber)
        own = {one.subscriber for one in trie.subscriptions(filter="a.b")}
        for _ in range(2):
            found = list(trie.match_iter("a.b"))
            assert set(found[: len(own)]) == own
            assert sorted(found) == sorted(trie.match("a.b"))
        trie.check()

    def test_it_is_of_the_instant_of_the_call(self) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a.b", "ann")
        trie.subscribe("*.b", "bob")
        found = trie.match_iter("a.b")
        assert next(found) == "ann"
        trie.clear()
        trie.subscribe("#", "carl")
        assert list(found) == ["bob"]
        trie.check()


def is_exact(dialect: Dialect, filter: str, topic: str) -> bool:
    return filter == topic and not any(map(dialect.is_wild, dialect.split_filter(filter)))


class TestMergedEntries:
    def trie(self) -> SubscriptionTrie:
        trie = SubscriptionTrie()
        trie.subscribe("a.b", "ann", qos=1)
        trie.subscribe("a.*", "ann", qos=2)
        trie.subscribe("#", "ann")
        trie.subscribe("*.b", "bob")
        trie.subscribe("b", "bob", qos=2)
        return trie

    def test_all(self) -> None:
        trie = self.trie()
        found = list(trie.entries("a.b", merge="all"))
        assert sorted(found, key=repr) == sorted(trie.entries("a.b"), key=repr)
        assert len(found) == 4
        trie.check()

    def test_one(self) -> None:
        trie = self.trie()
        found = list(trie.entries("a.b", merge="one"))
        assert sorted(one.subscriber for one in found) == ["ann", "bob"]
        assert all(one in list(trie.entries("a.b")) for one in found)
        trie.check()

    def test_best(self) -> None:
        trie = self.trie()
        found = sorted(trie.entries("a.b", merge="best"))
        assert found == [Subscription("*.b", "bob"), Subscription("a.*", "ann", {"qos": 2})]
        trie.check()

    def test_equal_subscribers_are_one_and_such_as_only_share_a_hash_are_not(self) -> None:
        class Odd:
            def __init__(self, name: str) -> None:
                self.name = name

            def __hash__(self) -> int:
                return 1

            def __eq__(self, other: object) -> bool:
                return isinstance(other, Odd) and self.name == other.name

        trie = SubscriptionTrie()
        for filter in ("a", "#"):
            for name in ("x", "y"):
                trie.subscribe(filter, Odd(name))
        assert sorted(one.subscriber.name for one in trie.entries("a", merge="one")) == ["x", "y"]
        trie.check()

    def test_another_rule_is_refused_at_the_call(self) -> None:
        trie = self.trie()
        with pytest.raises(ValueError, match="merge must be one of 'all', 'one', 'best', not 'first'"):
            trie.entries("a.b", merge="first")  # type: ignore[arg-type]
        trie.check()


@given(dialect=st.sampled_from([AMQP, MQTT, NATS]), data=st.data())
def test_topics_lists_the_literal_filters(dialect: Dialect, data: st.DataObject) -> None:
    filters = data.draw(st.lists(filters_of(dialect), max_size=12))
    trie = filled(dialect, filters)
    literal = {text for text in filters if not any(map(dialect.is_wild, dialect.split_filter(text)))}
    assert sorted(trie.topics()) == sorted(literal)
    for topic in trie.topics():
        assert trie.has_match(topic)
    trie.check()


# ---------------------------------------------------------------------------------------------------------------- bulk


class TestTopicsThatComeAgain:
    """`match_many` may answer them at once, but never differently from `match`."""

    @pytest.mark.parametrize("kind", [list, tuple])
    @pytest.mark.parametrize("apart", [1, 100, 1_000])
    def test_get_the_same_answer(self, kind: Any, apart: int) -> None:
        trie = filled(AMQP, ["#.1", "*.2", "a.*", "a.7"])
        topics = [f"a.{n % apart}" for n in range(3_000)]
        assert trie.match_many(kind(topics)) == [trie.match(topic) for topic in topics]
        trie.check()

    def test_of_what_is_made_one_by_one_each_is_asked_for_when_it_comes(self) -> None:
        trie = SubscriptionTrie()

        def topics() -> Iterator[str]:
            yield "a"
            trie.subscribe("a", 1)
            yield "a"
            trie.unsubscribe("a", 1)
            yield "a"

        assert trie.match_many(topics()) == [(), (1,), ()]
        trie.check()

    @pytest.mark.parametrize("cache", [0, 8])
    def test_draw_a_member_each(self, cache: int) -> None:
        trie = SubscriptionTrie(NATS, cache=cache)
        for n in range(3):
            trie.subscribe("a", n, queue="g")
        seed(1)
        check_fair(Counter(who for (who,) in trie.match_many(["a"] * 300)), dict.fromkeys(range(3), 1), 1)
        trie.check()

    def test_one_topic_is_not_taken_for_its_letters(self) -> None:
        with pytest.raises(TypeError, match="several topics"):
            SubscriptionTrie().match_many("ab")

    def test_a_bad_one_is_refused_wherever_it_is(self) -> None:
        trie = filled(NATS, ["a"])
        with pytest.raises(TopicError, match="b c"):
            trie.match_many(["a", "a", "b c"])

    def test_texts_of_other_types_are_asked_for_each_time(self) -> None:
        class Text(str):
            def __eq__(self, other: object) -> bool:
                raise AssertionError("nobody compares them")

            __hash__ = str.__hash__

        trie = filled(AMQP, ["a"])
        assert trie.match_many([Text("a"), Text("a"), "a"]) == [trie.match("a")] * 3


class TestMany:
    def test_subscribe_and_unsubscribe(self) -> None:
        trie = SubscriptionTrie()
        assert trie.subscribe_many([("a", 1), ("b.*", 2, {"qos": 1}), ("a", 1)]) == 2
        assert sorted(trie.subscriptions()) == [Subscription("a", 1), Subscription("b.*", 2, {"qos": 1})]
        assert trie.unsubscribe_many([("a", 1), ("a", 1), ("b.*", 2, {"whatever": 1}), ("c", 3)]) == 2
        assert not trie
        trie.check()

    def test_what_a_trie_lists_goes_into_another(self) -> None:
        trie, other = filled(AMQP, ["a", "a.*", "#", ""]), SubscriptionTrie()
        assert other.subscribe_many(trie.subscriptions()) == 4
        assert list(trie.diff(other)) == []
        assert other.unsubscribe_many(trie.subscriptions()) == 4
        assert trie.unsubscribe_many(trie.subscriptions()) == 4
        assert not trie
        assert not other
        trie.check()
        other.check()

    @pytest.mark.parametrize(
        ("bad", "error"),
        [
            (("a..b", "x"), TopicError),
            (("a", []), TypeError),
            ((1, "x"), TypeError),
            (("a",), ValueError),
            ("ab", ValueError),
            (("a", "x", {}, "more"), ValueError),
            (("a", "x", None), TypeError),
            (("a", "x", {1: "x"}), TypeError),
            (("a", "x", [("qos", 1)]), TypeError),
        ],
    )
    @pytest.mark.parametrize("name", ["subscribe_many", "unsubscribe_many"])
    def test_one_bad_item_leaves_all_as_it_was(self, name: str, bad: Any, error: type[Exception]) -> None:
        trie = SubscriptionTrie(NATS)
        trie.subscribe("a", "there")
        with pytest.raises(error):
            getattr(trie, name)([("a", "there"), ("new", "x"), bad, ("newer", "x")])
        assert list(trie.subscriptions()) == [Subscription("a", "there")]
        trie.check()

    def test_an_iterator_that_raises_leaves_all_as_it_was(self) -> None:
        def some() -> Iterator[tuple[str, int]]:
            yield "a", 1
            raise OSError("unreadable")

        trie = SubscriptionTrie()
        with pytest.raises(OSError, match="unreadable"):
            trie.subscribe_many(some())
        assert not trie
        trie.check()

    def test_a_snapshot_refuses(self) -> None:
        trie = SubscriptionTrie().snapshot()
        for change in (trie.subscribe_many, trie.unsubscribe_many):
            with pytest.raises(TypeError, match="read-only"):
                change([])
        trie.check()

    def test_options_belong_to_the_trie(self) -> None:
        trie, options = SubscriptionTrie(), {"qos": 1}
        trie.subscribe_many([("a", 1, options)])
        options["qos"] = 2
        assert [dict(one.options) for one in trie.subscriptions()] == [{"qos": 1}]
        trie.check()

    def test_others_see_any_part_of_it_and_all_else_throughout(self) -> None:
        trie = SubscriptionTrie()
        others = {f"a.{n}" for n in range(0, 400, 10)} | {"b.c", "b.d"}
        for filter in others:
            trie.subscribe(filter, "y")
        filters = {f"a.{n}" for n in range(40)} | {f"b.c.{n}" for n in range(40)} | {"a", "b"}
        many = [(filter, "x") for filter in filters]

        def come_and_go() -> None:
            for _ in range(30):
                assert trie.subscribe_many(many) == len(many)
                assert trie.unsubscribe_many(many) == len(many)

        def look() -> None:
            seen = {(one.filter, one.subscriber) for one in trie.subscriptions()}
            assert {(filter, "y") for filter in others} <= seen
            assert {filter for filter, subscriber in seen if subscriber == "x"} <= filters

        with meanwhile(look):
            run_together([come_and_go])
        assert {(one.filter, one.subscriber) for one in trie} == {(filter, "y") for filter in others}
        trie.check()


@pytest.mark.parametrize("words", [64, 8_000])
def test_a_topic_of_many_words_is_matched_in_a_moment(words: int) -> None:
    """Each word of such a filter once cost a look at each word of the topic: 18 seconds for 8,000."""
    patient = replace(AMQP, max_words=10_000, max_wildcards=10_000, max_bytes=1_000_000)
    trie = filled(patient, [".".join(["#", "a"] * (words // 2)), ".".join(["#", "b"] * (words // 2))])
    assert trie.match(".".join(["a"] * words)) == (0,)
    trie.check()
