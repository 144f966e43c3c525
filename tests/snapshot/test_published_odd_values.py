"""Subscriptions with values that a column does not express: they are stored with tagged texts, or alone set aside."""

from __future__ import annotations

import datetime
import decimal
import logging
import operator
import random
import uuid
from collections import OrderedDict
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot import storing
from snapshot.published import composer, open_directory
from snapshot.storing import Kinds, Storing, options_of, subscriber_of
from snapshot.texts import option_text
from subtrie import MQTT, NATS, SubscriptionTrie, TopicStore
from subtrie.tagged import tagged, untagged
from tests.odd_values import Mute, MuteNumber, Name, Number, Raises, cyclic
from tests.snapshot.test_published import held_by

pytestmark = pytest.mark.once  # values are written by code that no compiler has seen

ODD: list[Any] = [
    *(None, True, 5, -1, 2**63, 2**64, -(2**63) - 1, 10**6000, 0.5, float("inf"), "x", "~x", "", "\ud800"),
    *("\ud83d\ude00", "😀", [1, (2,)], {"a": 1}, {1: 2}, {"~tuple": [1]}, {"a": {"~x": 1}}, (1, 2), (), {1, "a"}),
    *(
        frozenset([(1,)]),
        b"\0\xff",
        decimal.Decimal("1.50"),
        uuid.UUID(int=7),
        datetime.date(2026, 1, 1),
        {"\ud800": 1},
    ),
    *(datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)),  # noqa: DTZ001
]


class Connection:
    def __repr__(self) -> str:
        raise RuntimeError("not even this")


HOPELESS: list[Callable[[], Any]] = [
    object,
    Connection,
    cyclic,
    lambda: [object()],
    lambda: {"a": Connection()},
    lambda: len,
]


class TestForms:
    @pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
    def test_come_back_with_their_types(self, value: Any) -> None:
        back = untagged(tagged(value))
        assert back == value
        assert type(back) is type(value)
        tagged(value).encode()

    def test_of_nan_is_nan(self) -> None:
        assert str(untagged(tagged(float("nan")))) == "nan"

    @pytest.mark.parametrize("make", HOPELESS)
    def test_of_others_are_errors(self, make: Callable[[], Any]) -> None:
        with pytest.raises((TypeError, ValueError)):
            tagged(make())

    @pytest.mark.parametrize(
        "text", ["", "{", '{"~what": 1}', '{"~int": 5}', '{"~bytes": "x"}', '{"~dict": 1}', "[" * 9999]
    )
    def test_of_damaged_texts_are_errors(self, text: str) -> None:
        with pytest.raises(ValueError):  # noqa: PT011 (the messages are those of many parsers)
            untagged(text)

    @given(
        st.lists(
            st.tuples(st.sampled_from(ODD), st.dictionaries(st.text() | st.just("n"), st.sampled_from(ODD))), max_size=4
        )
    )
    def test_of_rows_come_back_together(self, rows: list[tuple[Any, dict[str, Any]]]) -> None:
        storing = Storing(Kinds(), tags=True)
        rows = [(subscriber, options) for subscriber, options in rows if getattr(subscriber, "__hash__", None)]
        stored = [(storing.subscriber(subscriber), storing.options(options)) for subscriber, options in rows]
        kinds = storing.kinds()
        for (subscriber, options), (text, values) in zip(rows, stored, strict=True):
            texts = {name: option_text(name, value) for name, value in values.items()}
            assert options_of(texts.keys(), texts.values(), kinds.json_options, tags=True) == options
            assert subscriber_of(text, integers=kinds.integers is True, tags=True) == subscriber


def shown(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with a NaN that equals itself."""
    return {name: "NaN" if value != value else (type(value), value) for name, value in options.items()}  # noqa: PLR0124


def poisoned(where: Path, subscriber: Any, options: dict[str, Any], **arguments: Any) -> snapshot.Publisher:
    """A set in which one subscription among 102 is odd; it comes with the second version."""
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("ok/1", "good", tag="5")
    publisher = snapshot.Publisher(trie, where, **arguments)
    publisher.publish()
    follower = snapshot.follow(where)
    trie.subscribe("odd", subscriber, **options)
    trie.subscribe_many((f"later/{number}", f"c{number}") for number in range(100))
    publisher.publish()
    follower.poll()
    expected = held_by(trie)
    for place in [place for place in expected if place[0] == "odd" and publisher.refused]:
        del expected[place]
    for copy in (follower.trie, snapshot.restore(where)):
        assert {place: shown(options) for place, options in held_by(copy).items()} == {
            place: shown(options) for place, options in expected.items()
        }
    return publisher


class TestOneOddValue:
    @pytest.mark.parametrize("value", [*ODD, float("nan")], ids=lambda value: type(value).__name__)
    def test_is_stored_where_it_has_a_form(self, tmp_path: Path, value: Any) -> None:
        publisher = poisoned(tmp_path / "option", "evil", {"tag": value})
        assert publisher.refused == ()
        if value is not None and getattr(value, "__hash__", None) and value == value:
            assert poisoned(tmp_path / "subscriber", value, {}).refused == ()
        # The next publisher reads it, and writes nothing anew.
        with snapshot.take_over(tmp_path / "option")[1] as again:
            assert again.publish() == 2

    @pytest.mark.parametrize("make", HOPELESS)
    def test_is_set_aside_where_it_has_none(
        self, tmp_path: Path, make: Callable[[], Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        publisher = poisoned(tmp_path, "evil", {"tag": make()})
        (refused,) = publisher.refused
        assert (refused.filter, refused.subscriber) == ("odd", "evil")
        assert "tag" in refused.reason or "nested" in refused.reason
        assert "odd" in caplog.text
        assert "evil" in caplog.text
        assert open_directory(tmp_path).version_at().refused == 1

    def test_that_is_a_subscriber_without_a_key_is_set_aside(self, tmp_path: Path) -> None:
        (refused,) = poisoned(tmp_path, Connection(), {}).refused
        assert "key= function" in refused.reason

    @pytest.mark.parametrize("value", [5, b"x", object()])
    def test_is_an_error_if_strict(self, tmp_path: Path, value: Any) -> None:
        with pytest.raises(TypeError, match="'tag'"):
            poisoned(tmp_path, "evil", {"tag": value}, strict=True)
        assert len(snapshot.restore(tmp_path)) == 1

    def test_does_not_stop_a_publisher_that_works_by_itself(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("odd", object())
        with snapshot.Publisher(trie, tmp_path, every=0.01) as publisher:
            trie.subscribe("a", "alice")
        assert held_by(snapshot.restore(tmp_path)) == {("a", "alice", None): {}}
        assert len(publisher.refused) == 1

    def test_may_come_and_go(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.WARNING)
        trie = SubscriptionTrie(NATS)
        trie.subscribe("a", "alice", queue="q", n=1)
        publisher = snapshot.Publisher(trie, tmp_path)
        publisher.publish()
        follower = snapshot.follow(tmp_path)

        def published(refused: int, subscriptions: int) -> None:
            publisher.publish()
            follower.poll()
            assert len(publisher.refused) == refused
            assert held_by(follower.trie) == held_by(snapshot.restore(tmp_path))
            assert len(follower.trie) == subscriptions
            feeds = [version.feed for version in snapshot.versions(tmp_path) if version.feed is not None]
            assert sum(feed.rows == 0 for feed in feeds) == 0

        trie.subscribe("a", "alice", queue="q", n=object())
        published(1, 0)
        trie.subscribe("a", "alice", queue="q", n=object())
        published(1, 0)
        trie.subscribe("a", "alice", queue="r", n=2)
        published(1, 1)
        trie.subscribe("a", "alice", queue="q", n=(1, 2))
        published(0, 2)
        trie.subscribe("a", "alice", queue="q", n=object())
        published(1, 1)
        trie.unsubscribe("a", "alice", queue="q")
        published(0, 1)
        assert caplog.text.count("set aside") == 2

    def test_is_set_aside_by_the_next_publisher_too(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("odd", "evil", n=object())
        trie.subscribe("a", "alice", n=1)
        for number in range(40):
            with snapshot.Publisher(trie, tmp_path, keep=2) as publisher:
                publisher.publish()
                trie.subscribe("a", f"s{number}", n=(number,))
                publisher.publish()
                assert len(publisher.refused) == 1
        assert len(snapshot.restore(tmp_path)) == len(trie) - 1


ALIKE: list[tuple[Any, Any]] = [
    *(
        (1, True),
        (True, 1),
        (1, 1.0),
        (0.0, -0.0),
        ([1], [True]),
        ({"a": 1}, {"a": 1.0}),
        ((1,), (True,)),
        ({1}, {True}),
    ),
    *((decimal.Decimal("1.0"), decimal.Decimal("1.00")), (2**70, float(2**70)), (1, decimal.Decimal(1))),
    (
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    ),
]
"""Pairs of equal values that can be told apart."""


class TestEqualValues:
    @pytest.mark.parametrize(("old", "new"), ALIKE, ids=repr)
    def test_of_other_types_are_published_as_changes(self, tmp_path: Path, old: Any, new: Any) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "s", n=old)
        publisher = snapshot.Publisher(trie, tmp_path)
        publisher.publish()
        follower, late = snapshot.follow(tmp_path), snapshot.follow(tmp_path)
        trie.subscribe("a", "s", n=new)
        assert publisher.publish() == 2
        follower.poll()
        late.resynchronise()
        for copy in (snapshot.restore(tmp_path), follower.trie, late.trie):
            ((options,),) = [held_by(copy).values()]
            assert repr(options["n"]) == repr(new)
        assert publisher.publish() == 2

    @pytest.mark.parametrize("value", [Number.ONE, Name("x"), OrderedDict(a=1), 0.0, -0.0, [1.5], {1: (2,)}, None])
    def test_of_types_that_are_not_stored_are_no_changes(self, tmp_path: Path, value: Any) -> None:
        """A broker that is started again with the same subscriptions publishes nothing."""
        for _ in range(2):
            trie = SubscriptionTrie()
            trie.subscribe("a", "s", n=value)
            with snapshot.Publisher(trie, tmp_path) as publisher:
                assert publisher.publish() == 1
                trie.subscribe("a", "s", n=deepcopy(value))
                assert publisher.publish() == 1


class TestColumns:
    def test_keep_their_types_from_one_full_instant_to_the_next(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So a feed names each subscriber as the full instants before and after it do."""
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 2)
        trie = SubscriptionTrie()
        trie.subscribe("a", 1, n=1)
        publisher = snapshot.Publisher(trie, tmp_path)
        publisher.publish()
        follower = snapshot.follow(tmp_path)
        for number in range(9):
            trie.subscribe("b", f"s{number}", n="text")
            if number == 4:
                trie.unsubscribe("a", 1)
            publisher.publish()
            follower.poll()
            assert held_by(follower.trie) == held_by(snapshot.restore(tmp_path)) == held_by(trie)
        published = snapshot.versions(tmp_path)
        assert {version.integers for version in published} == {True}
        assert {version.json_options for version in published} == {("n",)}
        assert sum(version.full is not None for version in published) > 2


class TestNames:
    """Each manifest lists the options that have columns, so a client that makes up names must not make it long."""

    @pytest.mark.parametrize("full", [True, False])
    @pytest.mark.parametrize("names", [["n" * 17_000_000], [f"{number}{'é' * 700}" for number in range(6000)]], ids=len)
    def test_that_fit_into_no_manifest_stop_nobody(self, tmp_path: Path, names: list[str], full: bool) -> None:
        trie = SubscriptionTrie()
        publisher = snapshot.Publisher(trie, tmp_path)
        if not full:
            publisher.publish()
        trie.subscribe("evil", "s", **dict.fromkeys(names, 1))
        trie.subscribe("a", "s", **{names[0]: "x"})
        publisher.publish()
        assert publisher.refused == ()
        assert snapshot.restore(tmp_path) == trie

    @pytest.mark.parametrize("seed", range(4))
    def test_that_are_too_many_come_back(self, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 3)
        monkeypatch.setattr(storing, "MOST_NAMES", 5)
        chance = random.Random(seed)
        trie = SubscriptionTrie()
        publisher = snapshot.Publisher(trie, tmp_path)
        publisher.publish()
        follower = snapshot.follow(tmp_path)
        for step in range(30):
            for _ in range(6):
                numbers = [chance.randrange(12 if step % 10 < 7 else 4) for _ in range(2)]
                options: dict[str, Any] = {f"n{each}": each if each % 2 else str(each) for each in numbers}
                place = chance.choice("abcdef"), "s"
                trie.unsubscribe(*place)
                if chance.random() < 0.7:
                    trie.subscribe(*place, **options)
            publisher.publish()
            follower.poll()
            assert held_by(follower.trie) == held_by(snapshot.restore(tmp_path)) == held_by(trie)
        assert max(len(each.json_options + each.string_options) for each in snapshot.versions(tmp_path)) == 5


class TestKeys:
    def test_that_two_have_set_the_later_one_aside_until_the_other_leaves(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", ("x", 1))
        publisher = snapshot.Publisher(trie, tmp_path, key=lambda one: str(one[1]))
        publisher.publish()
        trie.subscribe_many([("b", ("y", 1)), ("c", ("y", 1)), ("d", ("z", 2))])
        publisher.publish()
        assert {one.filter for one in publisher.refused} == {"b", "c"}
        assert "both have the key '1'" in publisher.refused[0].reason
        assert set(held_by(snapshot.restore(tmp_path))) == {("a", "1", None), ("d", "2", None)}
        trie.unsubscribe("c", ("y", 1))
        trie.unsubscribe("a", ("x", 1))
        publisher.publish()
        assert publisher.refused == ()
        assert set(held_by(snapshot.restore(tmp_path))) == {("b", "1", None), ("d", "2", None)}
        trie.unsubscribe("b", ("y", 1))
        trie.subscribe("e", ("w", 1))
        publisher.publish()
        assert set(held_by(snapshot.restore(tmp_path))) == {("e", "1", None), ("d", "2", None)}

    @pytest.mark.parametrize("first", [True, False])
    def test_that_cannot_be_made_set_aside_their_subscribers(self, tmp_path: Path, first: bool) -> None:
        def key(one: Any) -> Any:
            return {"fails": 1 // 0} if one == ("fails",) else one[0]

        trie = SubscriptionTrie()
        publisher = snapshot.Publisher(trie, tmp_path, key=key)
        if not first:
            publisher.publish()
        trie.subscribe_many([("a", ("x",)), ("b", ("fails",)), ("c", (5,)), ("d", ("\ud800",))])
        publisher.publish()
        assert {one.filter for one in publisher.refused} == {"b", "c", "d"}
        assert set(held_by(snapshot.restore(tmp_path))) == {("a", "x", None)}
        with snapshot.Publisher(trie, tmp_path, key=key) as again:
            trie.subscribe("e", ("y",))
            again.publish()
            assert {one.filter for one in again.refused} == {"b", "c", "d"}
            trie.unsubscribe("b", ("fails",))
            again.publish()
        assert set(held_by(snapshot.restore(tmp_path))) == {("a", "x", None), ("e", "y", None)}

    def test_are_free_again_after_an_option_that_could_not_be_stored(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        publisher = snapshot.Publisher(trie, tmp_path, key=lambda one: str(one[1]))
        publisher.publish()
        trie.subscribe("a", ("x", 1), n=object())
        publisher.publish()
        trie.unsubscribe("a", ("x", 1))
        trie.subscribe("b", ("y", 1))
        publisher.publish()
        assert set(held_by(snapshot.restore(tmp_path))) == {("b", "1", None)}


class TestAnything:
    @pytest.mark.parametrize("seed", range(12))
    def test_that_is_published_equals_what_can_be(
        self, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 4)
        chance = random.Random(seed)
        print("seed", seed)
        values = [*ODD, object(), cyclic(), 1, 2, "1", "2"]
        subscribers = [*(value for value in ODD if getattr(value, "__hash__", None)), 1, 2, "1", "2", object()]
        trie = SubscriptionTrie(NATS if seed % 2 else MQTT)
        publisher = snapshot.Publisher(trie, tmp_path)
        publisher.publish()
        follower = snapshot.follow(tmp_path)
        for _ in range(25):
            for _ in range(chance.randrange(6)):
                place = chance.choice("abc"), chance.choice(subscribers)
                queue = {"queue": chance.choice("qr")} if seed % 2 else {}
                if chance.random() < 0.3:
                    trie.unsubscribe(*place, **queue)
                else:
                    names = [*"xyz", "~x", "\ud800"]
                    options = {chance.choice(names): chance.choice(values) for _ in range(chance.randrange(3))}
                    trie.subscribe(*place, **options, **queue)
            publisher.publish()
            follower.poll()
            refused = {(one.filter, one.subscriber, one.options.get("queue")) for one in publisher.refused}
            expected = {place: options for place, options in held_by(trie).items() if place not in refused}
            assert held_by(follower.trie) == expected
            assert held_by(snapshot.restore(tmp_path)) == expected
            if chance.random() < 0.2:
                publisher = snapshot.Publisher(trie, tmp_path)
                publisher.publish()


EQUAL: list[Any] = [
    *(Number.ONE, Name("x"), Name("\ud800"), OrderedDict(a=1), [Number.ONE]),
    *(Mute("x"), Mute("\ud800"), MuteNumber(5), MuteNumber(2**70)),
]
"""Values that come back as equal ones without a type of their own."""


class Elements(list[int]):
    """It compares as an array does: element by element."""

    def __eq__(self, other: object) -> Any:
        return Elements(map(operator.eq, self, [other] if isinstance(other, int) else other))  # type: ignore[call-overload]

    __hash__ = None  # type: ignore[assignment]


NOWHERE: list[Any] = [*(make() for make in HOPELESS), Raises(5), [Raises(5)], bytearray(b"x"), 1j, ..., Elements([5])]


class TestStorable:
    """What `check_storable` takes is what a publisher publishes, whatever else is in the columns."""

    @pytest.mark.parametrize("seed", range(20))
    def test_sets_nothing_aside_and_refuses_what_would_be(self, tmp_path: Path, seed: int) -> None:
        chance = random.Random(seed)
        checked, trie = SubscriptionTrie(MQTT), SubscriptionTrie(MQTT)
        refused = set()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            for number in range(60):
                values = [chance.choice(chance.choice([ODD, EQUAL, NOWHERE, [1, "x"]])) for _ in range(2)]
                subscriber = values[1] if getattr(values[1], "__hash__", None) and chance.random() < 0.5 else "s"
                if isinstance(subscriber, Raises | tuple) or subscriber is NOWHERE[0]:
                    subscriber = "s"
                row = (f"a/{number}", subscriber, {chance.choice(["m", "n"]): values[0]})
                trie.subscribe_many([row])
                try:
                    snapshot.check_storable(*row[1:])
                    checked.subscribe_many([row])
                except (TypeError, ValueError):
                    refused.add(row[0])
                if chance.random() < 0.2:
                    publisher.publish()
            publisher.publish()
            assert {one.filter for one in publisher.refused} == refused
            restored = {
                filter: shown(options) for (filter, _, _), options in held_by(snapshot.restore(tmp_path)).items()
            }
        assert restored.keys() == {f"a/{number}" for number in range(60)} - refused
        for held in checked.subscriptions():
            for name, value in held.options.items():
                found = restored[held.filter][name]
                if any(value is each for each in EQUAL):
                    assert found[1] == value
                else:
                    assert found == shown({"x": value})["x"]

    @pytest.mark.parametrize("full", [True, False])
    @pytest.mark.parametrize(
        ("filter", "subscriber", "options"),
        [
            ("a", Mute("s"), {}),
            (Mute("a"), "s", {"queue": Mute("q")}),
            ("a", MuteNumber(5), {Mute("n"): 1}),
            ("a", "s", {Mute("~n"): Mute("x"), Mute("m"): (1,)}),
        ],
        ids=["subscriber", "filter and queue", "numbers", "options"],
    )
    def test_texts_of_subclasses_are_their_texts(
        self, tmp_path: Path, filter: str, subscriber: Any, options: dict[str, Any], full: bool
    ) -> None:
        trie = SubscriptionTrie(NATS)
        publisher = snapshot.Publisher(trie, tmp_path)
        if not full:
            publisher.publish()
        trie.subscribe_many([(filter, subscriber, options), ("b", "s", {"n": "x", "m": "y"})])
        publisher.publish()
        assert publisher.refused == ()
        restored = snapshot.restore(tmp_path)
        assert len(restored) == 2
        held = next(each for each in restored.subscriptions() if each.filter == "a")
        assert held.subscriber == subscriber
        assert held.options == options

    def test_one_topic_that_is_odd_stops_no_other(self, tmp_path: Path) -> None:
        store: TopicStore[Any] = TopicStore(MQTT)
        values = [*ODD, *EQUAL, *NOWHERE]
        chance = random.Random(3)
        with snapshot.Publisher(store, tmp_path) as publisher:
            for step in range(4):
                for number in chance.sample(range(len(values)), len(values)):
                    store[f"a/{number}"] = values[number]
                store["step"] = step
                publisher.publish()
            refused = {one.filter for one in publisher.refused}
        assert refused == {f"a/{len(ODD) + len(EQUAL) + number}" for number in range(len(NOWHERE))}
        restored = snapshot.restore(tmp_path, kind=TopicStore)
        assert restored["step"] == 3
        for number, value in enumerate(ODD):
            assert shown({"x": restored[f"a/{number}"]}) == shown({"x": value})
