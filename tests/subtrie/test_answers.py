"""What questions answer beyond `test_machine.py`: the objects, merged deliveries, filters against filters, the instant of
an answer, and what a question does not look at.
"""

from __future__ import annotations

import copy
import gc
import json
import pickle
import random
import weakref
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest

from ctrie import drain
from subtrie import AMQP, MQTT, NATS, Delivery, Dialect, Subscription, SubscriptionTrie, TopicError
from tests.subtrie.support import (
    DIALECTS,
    OWN_DIALECTS,
    Subscriber,
    either_layout,
    filled,
    is_valid,
    made,
    subscription_twin,
    twin_trie,
)

# ------------------------------------------------------------------------------------------------------------- objects


def some() -> list[Any]:
    """Subscriptions and deliveries."""
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("$share/g/a/+", "ann", qos=2)
    trie.subscribe("a/+", "bob", tags=["x"])
    return [*sorted(trie.entries("a/b")), *sorted(trie.deliveries("a/b"), key=lambda one: one.subscriber)]


def test_answers_go_into_a_set_a_pickle_and_a_copy() -> None:
    found = some()
    assert found == some()
    assert len(set(found)) == len(found) == 4
    assert copy.deepcopy(found) == found
    for protocol in range(6):
        again = pickle.loads(pickle.dumps(found, protocol))
        assert again == found
        assert [one.words for one in again[2:]] == [("b",), ("b",)]
    assert [repr(one) for one in found[2:]] == [
        "Delivery(subscriber='ann', options={'qos': 2}, group='g', filter='$share/g/a/+')",
        "Delivery(subscriber='bob', options={'tags': ['x']}, group=None, filter='a/+')",
    ]
    assert json.loads(json.dumps(found[1].as_dict())) == {
        "filter": "a/+",
        "subscriber": "bob",
        "options": {"tags": ["x"]},
    }


def test_answers_cannot_be_changed() -> None:
    for one in [*some(), *copy.deepcopy(some())]:
        with pytest.raises(TypeError):
            one.options["qos"] = 1
        for name in ("subscriber", "options", "filter", *(["group", "words"] if type(one) is Delivery else [])):
            with pytest.raises(AttributeError):
                setattr(one, name, None)


def test_a_delivery_is_made_by_hand_as_it_is_answered() -> None:
    trie = made(NATS, rows=[("a.*.>", "ann", {"queue": "g", "weight": 2})])
    (found,) = trie.deliveries("a.b.c.d")
    by_hand = Delivery("a.*.>", "ann", {"queue": "g", "weight": 2}, "g", ("b", ("c", "d")))
    assert (by_hand, hash(by_hand), by_hand.filter, by_hand.words) == (found, hash(found), found.filter, found.words)
    # `words` belongs to the message: what says which subscription delivers leaves it out.
    assert Delivery("a.*", 1, words=("x",)) == Delivery("a.*", 1)
    assert Delivery("a.*", 1).words == ()
    assert "words" not in repr(found)
    options = {"queue": "g", "weight": 2}
    assert found.as_dict() == {"filter": "a.*.>", "subscriber": "ann", "options": options, "group": "g"}
    with pytest.raises(TypeError, match="must be a tuple, not str"):
        Delivery("a.*", 1, words="b")  # type: ignore[arg-type]
    for kind, wrong in product((Delivery, Subscription), (b"a.b", 5, None, ("a", "b"))):
        with pytest.raises(TypeError, match="must be a str"):
            kind(wrong, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Subscription, Delivery])
def test_what_is_not_made_by_a_call_has_no_content_and_says_so(kind: Any) -> None:
    """In the compiled twin, reading one of these once ended the process."""

    class Own(Subscription[str]):
        def __init__(self) -> None:
            pass

    for one in (kind.__new__(kind), Own()):
        for read in (lambda one: one.subscriber, lambda one: one.options, lambda one: one.filter, repr, hash):
            with pytest.raises((TypeError, AttributeError)):
                read(one)


def test_a_delivery_outlives_its_subscription_and_keeps_none_but_its_subscriber() -> None:
    trie = SubscriptionTrie()
    ann, bob = Subscriber("ann"), Subscriber("bob")
    trie.subscribe("a.long-word-of-a-filter.*", ann, qos=1)
    trie.subscribe("a.long-word-of-a-filter.b", bob)
    (kept,) = (one for one in trie.deliveries("a.long-word-of-a-filter.b") if one.subscriber is ann)
    gone = weakref.ref(bob)
    trie.clear()
    del trie, bob
    gc.collect()
    drain()
    assert gone() is None
    assert (kept.filter, kept.subscriber, dict(kept.options)) == ("a.long-word-of-a-filter.*", ann, {"qos": 1})


# ------------------------------------------------------------------------------------------------------------- merging


def test_the_best_by_any_option_and_what_has_none() -> None:
    trie = made(
        MQTT,
        rows=[
            ("a/+", "ann", {"qos": 1, "subscription_identifier": 5, "rank": -1}),
            ("#", "ann", {"qos": 2, "subscription_identifier": 3, "rank": None}),
            ("a/b", "ann"),
            ("$share/g/a/b", "ann", {"qos": 2}),
        ],
    )
    for by, filter in (("qos", "#"), ("subscription_identifier", "a/+"), ("rank", "a/+")):
        for found in (trie.deliveries("a/b", merge="best", by=by), trie.entries("a/b", merge="best", by=by)):
            assert sorted(one.filter for one in found) == sorted([filter, "$share/g/a/b"])


def test_what_cannot_be_merged() -> None:
    trie = made(NATS, rows=[("a", 1, {"qos": "high"}), ("*", 1, {"qos": 2})])
    with pytest.raises(TypeError, match=r"merge='best' cannot tell the greater of qos=.* and qos=.*"):
        trie.deliveries("a", merge="best")
    assert len(trie.deliveries("a", merge="best", by="rank")) == 1
    asks: list[Callable[..., Any]] = [
        trie.deliveries,
        trie.entries,
        lambda topic, **rule: trie.deliveries_many([topic], **rule),
        lambda topic, **rule: trie.deliveries_of(topic, 1, **rule),
    ]
    for ask in asks:  # refused before the topic, which is none
        with pytest.raises(ValueError, match="merge must be one of 'all', 'one', 'best', not 'max'"):
            ask("", merge="max")
        with pytest.raises(TypeError, match="by is the name of an option, a str, not 5"):
            ask("", merge="best", by=5)


# -------------------------------------------------------------------------------------------- filters against filters


def overlapped(trie: Any, filter: str) -> list[str]:
    found = list(trie.overlapping(filter))
    assert len({(one.filter, one.subscriber) for one in found}) == len(found), "a subscription twice"
    return sorted({one.filter for one in found})


def expect_overlaps(trie: SubscriptionTrie, filters: list[str]) -> None:
    split = trie.dialect.split_filter
    here = [one.filter for one in trie]
    for filter in filters:
        wanted = sorted(other for other in here if trie.dialect.overlaps(split(other), split(filter)))
        assert overlapped(trie, filter) == wanted, filter
    trie.check()


@pytest.mark.parametrize("dialect", [*DIALECTS, *OWN_DIALECTS], ids=lambda dialect: dialect.name)
@either_layout
def test_all_short_filters_overlap_as_the_dialect_says(dialect: Dialect, exact: bool) -> None:
    words = ["a", "", "$s", dialect.one_word, *([dialect.many_words] if dialect.many_words else [])]
    pairs = [dialect.join((one, two)) for one in words for two in words]
    filters = sorted({"", *words, *pairs, *(dialect.join((pair, "a")) for pair in pairs)})
    filters = [text for text in filters if is_valid(dialect.split_filter, text)]
    expect_overlaps(filled(*filters, dialect=dialect, exact=exact), filters)


@pytest.mark.parametrize("dialect", [AMQP, NATS], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("size", [31, 61, 62, 63])
def test_long_filters_overlap_as_the_dialect_says(dialect: Dialect, size: int) -> None:
    """Up to the most words for which a set of positions has bits, and beyond."""
    draw = random.Random(size)
    words = ["a", "b", dialect.one_word, dialect.many_words or ""]
    texts = [dialect.join(draw.choices(words, [20, 1, 3, 1], k=size)) for _ in range(12)]
    texts += [dialect.join(("a",) * (size - 1) + (word,)) for word in words] + words
    filters = sorted({text for text in texts if is_valid(dialect.split_filter, text)})
    expect_overlaps(filled(*filters, dialect=dialect), filters[::3])


def test_hostile_filters_overlap_in_a_moment() -> None:
    """With backtracking this would take for ever."""
    filters = ["#." * 15 + "b", "#.a." * 15 + "#", "*." * 30 + "#", "#." * 100 + "#"]
    trie = filled(*filters)
    for filter in filters:
        assert overlapped(trie, filter) == sorted(filters)
    assert overlapped(trie, ".".join("a" * 14)) == sorted(filters[3:])


# --------------------------------------------------------------------------------------- of which instant, and of what

QUESTIONS: dict[str, Callable[[SubscriptionTrie], Any]] = {
    "overlapping": lambda trie: trie.overlapping("a.b"),
    "match_iter": lambda trie: trie.match_iter("a.b"),
    "entries": lambda trie: trie.entries("a.b"),
    "subscriptions": lambda trie: trie.subscriptions(),
    "diff": lambda trie: trie.diff(SubscriptionTrie()),
    "topics": lambda trie: trie.topics(),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_an_answer_is_of_the_instant_of_the_call(ask: Callable[[SubscriptionTrie], Any]) -> None:
    trie = made(rows=[(filter, subscriber) for filter, subscriber in (("a.b", "ann"), ("*.b", "bob"))])
    expected = sorted(map(str, ask(trie.snapshot())))
    asked, begun = ask(trie), ask(trie)
    first = next(begun)
    trie.clear()
    trie.subscribe("#", "carl")
    assert sorted(map(str, asked)) == sorted(map(str, [first, *begun])) == expected


@either_layout
def test_nobody_is_compared_before_the_exact_ones_are_handed_over(exact: bool) -> None:
    compared = []

    class Alike:
        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return self is other

    trie: Any = made(exact=exact)
    trie.subscribe("a.b", first := Alike())
    trie.subscribe("a.*", second := Alike())
    trie.subscribe("#", first)
    asked = trie.match_iter("a.b")
    assert next(asked) is first
    assert compared == []
    assert list(asked) == [second]
    assert compared


def watched(exact: bool) -> tuple[SubscriptionTrie, list[str]]:
    """A trie whose dialect has to be asked about every topic, and the topics that it was asked about."""
    asked: list[str] = []

    class Watched(Dialect):
        def split_topic(self, text: str) -> tuple[str, ...]:
            asked.append(text)
            return super().split_topic(text)

    # The compiled twin splits topics itself, except for a dialect that forbids so many characters.
    dialect = Watched("watched", ".", one_word="*", many_words="#", forbidden='\0!"§$%&/()=?', max_bytes=255)
    return filled("a.b", "a.c", "b", dialect=dialect, exact=exact), asked


@either_layout
def test_match_iter_does_not_validate_a_topic_again_that_was_asked_for_by_name(exact: bool) -> None:
    trie, asked = watched(exact)
    trie.subscribe("a.*", "wild")
    found = trie.match_iter("a.b")
    assert next(found) == "a.b"
    assert asked == []
    assert list(found) == ["wild"]
    asked.clear()
    assert list(trie.match_iter("a.d")) == ["wild"]
    assert asked == ["a.d"]
    with pytest.raises(TopicError):
        trie.match_iter("a" * 300)
    trie.check()


@pytest.mark.compiled
def test_an_exact_trie_does_not_validate_a_topic_again_where_nothing_else_can_match() -> None:
    trie, asked = watched(True)
    assert (trie.match("a.b"), trie.has_match("b"), trie.match_many(["a.c"])) == (("a.b",), True, [("a.c",)])
    assert asked == []
    assert trie.match("a.d") == ()
    assert asked == ["a.d"]
    trie.subscribe("*.b", "wild")
    assert sorted(trie.match("a.b")) == ["a.b", "wild"]
    assert trie.has_match("a.b"), "one is enough, whoever else there is"
    assert asked == ["a.d", "a.b"]
    trie.unsubscribe("*.b", "wild")
    assert trie.match("a.b") == ("a.b",)
    assert asked == ["a.d", "a.b"]
    trie.check()


def accesses(twin: Any, ask: Callable[[], object]) -> int:
    seen: list[int] = []
    twin.interfere(ask, seen.append)
    return len(seen)


@pytest.mark.once  # a copy of the interpreted source, in one thread, whatever twin the tests run
class TestWhatIsNotLookedAt:
    def test_what_cannot_overlap(self) -> None:
        """The other words of a level cost nothing if the filter names one word."""
        twin = subscription_twin()
        few, many = twin_trie(twin), twin_trie(twin)
        words = ["a", "s1", "s2", "s3", "deep1", "deep2", "t1", "t2"]
        for word in words[:2]:
            few.subscribe(f"{word}.b", word)
        for word, last in product(words, repeat=2):
            many.subscribe(f"{word}.b", word)
            many.subscribe(f"b.{word}.{last}", word)
        made = [accesses(twin, partial(overlapped, trie, "a.*")) for trie in (few, many)]
        assert made[1] <= made[0] + 2
        many.check()

    @either_layout
    def test_wildcards_before_the_exact_ones_are_handed_over(self, exact: bool) -> None:
        """However many filters with wildcards there are, and whatever is subscribed to them."""
        twin = subscription_twin()
        few, many = twin_trie(twin, exact=exact), twin_trie(twin, exact=exact)
        for trie, n in product((few, many), range(3)):
            trie.subscribe("a.b", n)
        few.subscribe("a.c", "part the words, as the wildcards do")
        for depth in range(100):
            many.subscribe("#." * depth + "*", depth)
            many.subscribe("#." * depth + "b", depth)

        def three_of(trie: Any) -> list[Any]:
            asked = trie.match_iter("a.b")
            return sorted(next(asked) for _ in range(3))

        assert three_of(few) == three_of(many) == [0, 1, 2]
        made = [accesses(twin, partial(three_of, trie)) for trie in (few, many)]
        assert made[1] - made[0] < 10
        assert accesses(twin, lambda: list(many.match_iter("a.b"))) > 5 * made[1]
        many.check()

    def test_the_words_of_a_topic_that_is_found_by_its_text(self) -> None:
        twin = subscription_twin()
        trie = twin_trie(twin, exact=True)
        topics = ["a.b", ".".join("a" * 100)]
        for topic in topics:
            trie.subscribe(topic, topic)
        made = [accesses(twin, partial(trie.match, topic)) for topic in topics]
        assert made[0] == made[1]
        trie.check()

    def test_other_subscribers_than_the_one_whose_filters_are_asked_for(self) -> None:
        twin = subscription_twin()
        made = []
        for others in (0, 60):
            trie = twin_trie(twin, index=True)
            trie.subscribe("a.b", "x")
            for n in range(others):
                trie.subscribe("a.b", n)
                trie.subscribe("c", n)
            made.append(accesses(twin, partial(trie.filters, "x")))
            trie.check()
        assert made[1] <= made[0] + 12, "more than a few I-nodes more"
