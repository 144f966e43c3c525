"""Edges of shared subscriptions, of queue groups, and of exclusions (`but=`): what identifies a group, how filters are
written, when exclusions leave something, and what is refused. `test_shares.py` is about which member is drawn.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError
from subtrie._trie.draws import seed
from subtrie._trie.exclusions import leave_a_topic
from subtrie.dialects import Words
from subtrie.fields import RoutingMatcher
from tests.subtrie.support import DIALECTS, PATHS, Subscriber, is_valid, made, reaches


class TestGroups:
    def test_elsewhere_queue_is_an_option_like_others(self) -> None:
        trie = made(AMQP, rows=[("a", subscriber, {"queue": "q"}) for subscriber in (1, 2)])
        assert sorted(trie.match("a")) == [1, 2]
        with pytest.raises(TypeError, match="AMQP has no queue groups"):
            trie.unsubscribe("a", 1, queue="q")

    def test_a_queue_group_of_another_class_is_the_name_that_it_is(self) -> None:
        class Lying(str):
            def __eq__(self, _: object) -> bool:
                return True

            __hash__ = str.__hash__

        trie = made(
            NATS,
            rows=[
                ("a", subscriber, {"queue": group})
                for subscriber, group in enumerate([Lying("one"), "two", Lying("three")])
            ],
        )
        assert sorted(trie.match("a")) == [0, 1, 2]
        assert trie.unsubscribe("a", 0, queue="one")

    @pytest.mark.parametrize("words", [2, 80])
    def test_a_dialect_of_ones_own_writes_the_filters_of_its_groups(self, words: int) -> None:
        class OfTeams(Dialect):
            """The text of a filter is `group: filter`."""

            def share(self, group: str, filter_words: Words) -> Words:
                return (group, *filter_words)

            def join(self, words: Sequence[str]) -> str:
                return ": ".join(words)

        trie = SubscriptionTrie(OfTeams("teams", separator=".", one_word="*", many_words=">", queue_groups=True))
        trie.subscribe("a.>", "ann", queue="g")
        topic = ".".join(["a", *"b" * (words - 1)])
        (given,), (held,), (own,) = trie.deliveries(topic), trie.entries(topic), trie.deliveries_of(topic, "ann")
        assert given.filter == held.filter == own.filter == "g: a.>"
        assert given.words == own.words == (("b",) * (words - 1),)

    @pytest.mark.parametrize("settings", [{}, {"exact": True}, {"weak": True}], ids=str)
    def test_each_way_tells_the_filter_of_a_group_on_a_long_topic(self, settings: dict[str, Any]) -> None:
        trie, one, two = SubscriptionTrie(MQTT, **settings), Subscriber(), Subscriber()
        trie.subscribe("$share/güteklasse/a/#", one)
        trie.subscribe("a/#", two)
        topic, wanted = "a" + "/b" * 80, {("$share/güteklasse/a/#", one), ("a/#", two)}
        for found in (trie.deliveries(topic), trie.deliveries_many([topic])[0]):
            assert {(each.filter, each.subscriber) for each in found} == wanted
            assert {each.words for each in found} == {(("b",) * 80,)}
        assert {(each.filter, each.subscriber) for each in trie.entries(topic)} == wanted
        assert [each.filter for each in trie.deliveries_of(topic, one)] == ["$share/güteklasse/a/#"]

    @pytest.mark.compiled
    def test_their_deliveries_are_no_work_for_the_collector(self) -> None:
        trie = made(MQTT, rows=[("$share/g/a", "ann", {"qos": 1}), ("$share/g/a", "bob")])
        seed(1)
        answers = [trie.deliveries("a") for _ in range(30)]
        assert {one.subscriber for (one,) in answers} == {"ann", "bob"}
        assert not any(map(gc.is_tracked, [*answers, *(one for (one,) in answers)]))


# ---------------------------------------------------------------------------------------------------------- exclusions


def share_a_topic(dialect: Dialect, filters: list[str], but: list[str]) -> bool:
    """Whether some topic is matched by all filters and no exclusion: of few words, which suffice."""
    words = {word for text in (*filters, *but) for word in dialect.split_filter(text) if not dialect.is_wild(word)}
    letters = [*sorted(words), "other", f"{dialect.reserved_prefix or ''}other"]
    longest = max(len(dialect.split_filter(text)) for text in (*filters, *but)) + 1
    topics = (dialect.join(words) for size in range(longest + 1) for words in product(letters, repeat=size))
    return any(
        all(reaches(dialect, text, topic, but) for text in filters)
        for topic in topics
        if is_valid(dialect.split_topic, topic)
    )


class TestExclusions:
    @pytest.mark.parametrize("dialect", [*DIALECTS, PATHS], ids=lambda dialect: dialect.name)
    def test_whether_filters_leave_a_topic(self, dialect: Dialect) -> None:
        """Against all topics of few words, for random filters of up to three."""
        draw = random.Random(dialect.name)
        words = ["a", f"{dialect.reserved_prefix or ''}s", dialect.one_word, dialect.many_words or ""]
        texts = [dialect.join(some) for size in (1, 2, 3) for some in product(words, repeat=size)]
        texts = [text for text in texts if is_valid(dialect.split_filter, text)]
        for _ in range(400):
            filters, but = draw.sample(texts, draw.randint(1, 2)), draw.sample(texts, draw.randint(0, 2))
            split = [dialect.split_filter(text) for text in filters]
            found = leave_a_topic(dialect, split, [dialect.split_filter(text) for text in but])
            assert found is share_a_topic(dialect, filters, but), (filters, but)

    BAD: tuple[tuple[Any, type[Exception], str], ...] = (
        ("a/b", TypeError, "takes a tuple of filters, not 'a/b'"),
        (5, TypeError, "takes a tuple of filters, not 5"),
        ({"a/b"}, TypeError, "takes a tuple of filters"),
        ((5,), TypeError, "a filter must be a str, not int"),
        (("a/#/b",), TopicError, "'#' is not the last word at character 2"),
        (("",), TopicError, "empty filter"),
        (("$share/g/a/b",), ValueError, "'\\$share/g/a/b' names a group"),
        (("b/#",), ValueError, "the exclusion 'b/#' takes nothing out of 'a/#'"),
        (("$SYS/#",), ValueError, "takes nothing out"),
        (("a/#",), ValueError, "take out all of 'a/#'"),
        (("a", "a/+/#"), ValueError, "take out all"),
        (tuple(f"a/{n}" for n in range(65)), ValueError, "at most 64 exclusions, not 65"),
    )

    @pytest.mark.parametrize(("but", "error", "text"), BAD, ids=lambda value: str(value)[:30])
    def test_what_is_refused_changes_nothing(self, but: Any, error: type[Exception], text: str) -> None:
        for held in (True, False):  # an empty trie is filled in another way
            trie = SubscriptionTrie(MQTT, index=not held)
            if held:
                trie.subscribe("a/#", "ann", but=("a/x",))
            before = trie.snapshot()
            with pytest.raises(error, match=text):
                trie.subscribe("a/#", "ann", but=but)
            with pytest.raises(error, match=text):
                trie.subscribe_many([("b", 1), ("a/#", "ann", {"but": but})])
            assert trie == before
            trie.check()

    def test_a_filter_without_wildcards_has_nothing_to_take_out_and_fields_have_none(self) -> None:
        with pytest.raises(ValueError, match="take out all of 'a/b'"):
            SubscriptionTrie(MQTT).subscribe("a/b", 1, but=("a/+",))
        with pytest.raises(ValueError, match="has no exclusions"):
            RoutingMatcher(MQTT).subscribe("a/#", [], 1, but=("a/b",))

    def test_64_are_taken_and_texts_are_kept_once(self) -> None:
        trie = made(MQTT, rows=[("a/#", 1, {"but": tuple(f"a/{n}" for n in range(64))})])
        assert [n for n in range(70) if trie.has_match(f"a/{n}")] == [*range(64, 70)]
        for but, kept in ((["a/b", "a/c", "a/b"], {"but": ("a/b", "a/c")}), ((), {})):
            trie.subscribe("a/#", 1, but=but)
            assert [dict(one.options) for one in trie.subscriptions()] == [kept]

    def test_such_as_take_exponential_time_to_compare_end_soon(self) -> None:
        trie = made(
            replace(AMQP, max_bytes=10_000),
            rows=[("a.#", 1, {"but": tuple("#.b" + ".*" * n + ".c.#" for n in range(40))})],
        )
        assert [one.subscriber for one in trie.overlapping("#.b.#")] == [1]

    def test_on_a_topic_of_64_words_and_more(self) -> None:
        trie = made(replace(AMQP, max_bytes=10_000), rows=[("a.#", 1, {"but": ("#.x.#",)}), ("a.#", 2, {"qos": 1})])
        topic = ".".join(["a"] * 100)
        for asked, found in ((topic, {1, 2}), (f"{topic}.x", {2})):
            assert set(trie.match(asked)) == set(trie.match_iter(asked)) == found
            assert {one.subscriber for one in trie.deliveries(asked)} == found
            assert {one.subscriber for one in trie.entries(asked)} == found
        trie.unsubscribe("a.#", 2)
        assert [trie.has_match(topic), trie.has_match(f"{topic}.x")] == [True, False]

    def test_the_first_of_equal_subscribers_stays_with_those_of_the_last(self) -> None:
        class Name(str):
            __slots__ = ()

        trie, first = SubscriptionTrie(), Name("ann")
        trie.subscribe("a.#", first)
        trie.subscribe("a.#", Name("ann"), but=("a.x",))
        trie.subscribe_many([("a.#", Name("ann"), {"but": ("a.y",)})])
        assert trie.match("a.x")[0] is first
        assert trie.match("a.y") == ()
        trie.check()
