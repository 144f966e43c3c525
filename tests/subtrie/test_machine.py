"""Any sequence of changes of a trie, its forks and its copies, and every question about them, against a dict.

The dict leads from (filter, group, number of the subscriber) to the options. What a filter means, `support.splits`
tries word by word. After each change, all questions are asked about the filter that was changed, and about topics near
it. Other tests of this folder ask what such sequences rarely reach: sizes, hostile texts, users' code, threads at once.
"""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from subtrie import AMQP, MQTT, NATS, Delivery, Dialect, Subscription, SubscriptionTrie, TopicStore
from subtrie._trie.exclusions import leave_a_topic
from subtrie.columns import row_numbers
from tests.subtrie.support import (
    MANY,
    ONE,
    OWN_DIALECTS,
    WORDS,
    Ways,
    in_order,
    reaches,
    stands_for,
    text_of,
    topics_near,
)

Options = dict[str, Any]
Place = tuple[str, str | None, int]  # filter, group, number of the subscriber
CROWD = range(4, 16)
MOST = 16  # subscribers


class Someone:
    """A subscriber that can be weakly held. Some of them have the same hash."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return self.number // 3

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Someone) and self.number == other.number


ANYTHING = [None, (), "x", 7, *map(Someone, range(4, MOST))]


class People:
    """The subscribers, by number. The trie may be the only one that has heard of who is weakly held."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.alive: dict[int, Someone] = {}

    def __getitem__(self, number: int) -> Any:
        if self.kind == "weak":
            return self.alive.setdefault(number, Someone(number))
        return number if self.kind == "numbers" else ANYTHING[number]

    def number(self, subscriber: Any) -> int:
        if self.kind == "weak":
            return subscriber.number  # type: ignore[no-any-return]
        return subscriber if self.kind == "numbers" else ANYTHING.index(subscriber)


# ----------------------------------------------------------------------------------------------------------- one trie


class Tried:
    """A trie, and what it should hold."""

    def __init__(self, trie: SubscriptionTrie, people: People, there: dict[Place, Options], exact: bool) -> None:
        self.trie, self.people, self.there, self.exact = trie, people, there, exact
        self.dialect, self.ways = trie.dialect, Ways(trie.dialect)

    def taken(self, trie: SubscriptionTrie) -> Tried:
        return Tried(trie, self.people, dict(self.there), self.exact)

    def options(self, place: Place) -> Options:
        return {**self.there[place], **self.ways.options(place[1])}

    def shown(self, place: Place) -> tuple[Any, ...]:
        """How listings show a subscription."""
        filter, group, number = place
        return self.ways.filter(filter, group), number, tuple(in_order(self.options(place).items()))

    def told(self, one: Any) -> tuple[Any, ...]:
        """The same, of what a question has answered."""
        return one.filter, self.people.number(one.subscriber), tuple(in_order(one.options.items()))

    def are(self, found: Iterable[Any], places: Iterable[Place]) -> bool:
        return in_order(map(self.told, found)) == in_order(map(self.shown, places))

    # Changes. A filter is subscribed to, and left, as its dialect writes groups.

    def subscribe(self, filter: str, group: str | None, number: int, options: Options) -> None:
        place, but = (filter, group, number), options.get("but", ())
        split = self.dialect.split_filter
        if not all(self.dialect.overlaps(split(filter), split(part)) for part in but) or not leave_a_topic(
            self.dialect, [split(filter)], map(split, but)
        ):
            with pytest.raises(ValueError, match="take"):
                self.ways.subscribe(self.trie, filter, group, self.people[number], **options)
            return
        assert self.ways.subscribe(self.trie, filter, group, self.people[number], **options) is (
            place not in self.there
        )
        self.there[place] = options

    def unsubscribe(self, filter: str, group: str | None, number: int) -> None:
        was_there = self.there.pop((filter, group, number), None) is not None
        assert self.ways.unsubscribe(self.trie, filter, group, self.people[number]) is was_there

    def subscribe_many(self, rows: list[tuple[str, str | None, int, Options]]) -> None:
        new = {row[:3] for row in rows} - self.there.keys()
        self.there |= {(filter, group, number): options for filter, group, number, options in rows}
        assert self.trie.subscribe_many(iter(self.rows(rows))) == len(new)

    def unsubscribe_many(self, rows: list[tuple[str, str | None, int, Options]]) -> None:
        gone = {row[:3] for row in rows} & self.there.keys()
        self.there = {place: options for place, options in self.there.items() if place not in gone}
        assert self.trie.unsubscribe_many(self.rows(rows)) == len(gone)

    def rows(self, rows: list[tuple[str, str | None, int, Options]]) -> list[Any]:
        """As tuples of two and of three, and as objects."""
        made: list[Any] = []
        for filter, group, number, options in rows:
            row = self.ways.filter(filter, group), self.people[number], {**options, **self.ways.options(group)}
            made.append(row[:2] if not row[2] else row if number % 2 else Subscription(*row))
        return made

    def unsubscribe_all(self, number: int) -> None:
        gone = [place for place in self.there if place[2] == number]
        assert self.trie.unsubscribe_all(self.people[number]) == len(gone)
        self.forget(number)

    def forget(self, number: int) -> None:
        self.there = {place: options for place, options in self.there.items() if place[2] != number}

    def clear(self) -> None:
        self.trie.clear()
        self.there = {}

    # Questions about topics.

    def ask(self, topics: list[str]) -> None:
        trie = self.trie
        batch, many = trie.match_many(topics), trie.deliveries_many(topics)
        offsets, numbers, everybody = trie.match_columns(topics)
        by_number = batch
        if self.people.kind == "numbers" and self.are_rows():
            ends, held = (memoryview(column).cast("q") for column in row_numbers(trie, topics))
            by_number = [tuple(held[start:end]) for start, end in zip(ends, ends[1:], strict=False)]
        joined = {
            topic: deliveries for topic, _, deliveries in TopicStore(self.dialect, dict.fromkeys(topics)).joined(trie)
        }
        for at, topic in enumerate(topics):
            reached = [
                place
                for place, options in self.there.items()
                if reaches(self.dialect, place[0], topic, options.get("but", ()))
            ]
            teams: dict[Any, list[Place]] = {}
            for place in reached:
                if place[1] is not None:
                    teams.setdefault(self.ways.group(place[0], place[1]), []).append(place)
            columns = [everybody[n] for n in numbers[offsets[at] : offsets[at + 1]]]
            for answer in (trie.match(topic), trie.match_iter(topic), batch[at], columns, by_number[at]):
                self.expect_match(list(map(self.people.number, answer)), reached, teams)
            own = {place[2] for place in reached if place[:2] == (topic, None) and self.is_exact(place)}
            first = [self.people.number(one) for one, _ in zip(trie.match_iter(topic), own, strict=False)]
            assert set(first) == own, "not those of the filter that equals the topic first"
            assert trie.has_match(topic) is bool(reached)
            self.expect_count(trie.count(topic), reached, teams)
            assert self.are(trie.entries(topic), reached)
            assert self.are(joined.get(topic, ()), reached)
            self.expect_deliveries(topic, many[at], reached, teams)

    def is_exact(self, place: Place) -> bool:
        """Whether its filter is a topic, and it gets all messages on it."""
        return "but" not in self.there[place] and not any(
            map(self.dialect.is_wild, self.dialect.split_filter(place[0]))
        )

    def are_rows(self) -> bool:
        """Whether each subscriber is on one filter, and none in a group."""
        return len({number for *_, number in self.there}) == len(self.there) and not any(
            place[1] for place in self.there
        )

    def expect_match(self, found: list[int], reached: list[Place], teams: dict[Any, list[Place]]) -> None:
        plain = {number for _, group, number in reached if group is None}
        assert len(found) == len(set(found)), "a subscriber twice"
        assert plain <= set(found) <= {number for *_, number in reached}
        assert all({number for *_, number in team} & set(found) for team in teams.values()), "a message to nobody"
        self.expect_count(len(found), reached, teams)

    def expect_count(self, count: int, reached: list[Place], teams: dict[Any, list[Place]]) -> None:
        plain = {number for _, group, number in reached if group is None}
        assert len(plain) <= count <= len(plain) + len(teams)

    def expect_deliveries(self, topic: str, of_batch: Any, reached: list[Place], teams: dict[Any, list[Place]]) -> None:
        trie = self.trie
        number = next((place[2] for place in reached if self.people[place[2]] is not None), 1)  # None is no sender
        who = self.people[number]
        others = {group: [one for one in team if one[2] != number] for group, team in teams.items()}
        unless_alone = {group: others[group] or team for group, team in teams.items()}
        present = {group: team for group, team in others.items() if team}
        for found in (of_batch, trie.deliveries(topic), trie.deliveries(topic, key="k")):
            self.expect_each(topic, found, reached, teams)
        for key in (None, "k"):
            self.expect_each(topic, trie.deliveries(topic, sender=who, key=key), reached, unless_alone)
            absent = trie.deliveries(topic, without={who}, key=key)
            self.expect_each(topic, absent, [place for place in reached if place[2] != number], present)
        mine = trie.deliveries_of(topic, who)
        assert self.are(mine, [place for place in reached if place[2] == number])
        assert all(type(one) is Delivery and one.words == stands_for(self.dialect, one.filter, topic) for one in mine)
        for merge in ("one", "best"):
            some = trie.deliveries_many([topic], merge=merge)[0]  # type: ignore[arg-type]
            self.expect_merged(merge, trie.deliveries(topic, merge=merge), reached, len(teams))  # type: ignore[arg-type]
            self.expect_merged(merge, some, reached, len(teams))
            self.expect_merged(merge, [*trie.entries(topic, merge=merge)], reached)  # type: ignore[arg-type]
            mine = trie.deliveries_of(topic, who, merge=merge)  # type: ignore[arg-type]
            self.expect_merged(merge, mine, [place for place in reached if place[2] == number])

    def expect_each(self, topic: str, found: Any, reached: list[Place], teams: dict[Any, list[Place]]) -> None:
        """All that is not in groups, and one of each group."""
        assert self.are([one for one in found if one.group is None], [place for place in reached if place[1] is None])
        members = [(one.group, *self.told(one)) for one in found if one.group is not None]
        assert len(members) == len(teams)
        for team in teams.values():
            able = [(place[1], *self.shown(place)) for place in team]
            assert sum(member in able for member in members) == 1
        assert all(one.words == stands_for(self.dialect, one.filter, topic) for one in found)

    def expect_merged(self, merge: str, found: Any, reached: list[Place], members: int | None = None) -> None:
        own: dict[int, list[Any]] = {}
        for place in reached:
            if place[1] is None:
                own.setdefault(place[2], []).append(self.options(place).get("qos", -1))
        alone = [one for one in found if self.is_in_no_group(one)]
        assert sorted(self.people.number(one.subscriber) for one in alone) == sorted(own)
        assert len(found) - len(alone) == (
            sum(place[1] is not None for place in reached) if members is None else members
        )
        for one in alone:
            qos, theirs = one.options.get("qos", -1), own[self.people.number(one.subscriber)]
            assert qos == max(theirs) if merge == "best" else qos in theirs

    def is_in_no_group(self, one: Any) -> bool:
        return "queue" not in one.options and self.dialect.unshare(self.dialect.split_filter(one.filter))[0] is None

    # Questions about filters and subscribers.

    def list_all(self) -> None:
        trie, dialect = self.trie, self.dialect
        assert self.are(trie.subscriptions(), self.there)
        assert self.are(trie, self.there)
        assert (len(trie), bool(trie)) == (len(self.there), bool(self.there))
        filters = {filter for filter, *_ in self.there}
        assert sorted(trie.topics()) == sorted(
            one for one in filters if not any(map(dialect.is_wild, dialect.split_filter(one)))
        )
        if self.people.kind != "weak":
            assert (trie.approximate_len(), trie.approximate_filters()) == (len(self.there), len(filters))
        assert trie.stats().items() >= self.stats().items()
        trie.check()

    def list_some(self, filter: str, number: int) -> None:
        trie, who, dialect = self.trie, self.people[number], self.dialect
        own = [place for place in self.there if place[2] == number]
        wanted = {number} if who is not None else {place[2] for place in self.there}  # None asks for all subscribers
        assert self.are(trie.subscriptions(subscriber=who), [place for place in self.there if place[2] in wanted])
        assert sorted(trie.filters(who)) == sorted({self.ways.filter(*place[:2]) for place in own})
        for one in (filter, next(iter(self.there), (filter,))[0]):
            plain = [p for p in self.there if p[0] == one and (p[1] is None or dialect.queue_groups)]
            assert self.are(trie.subscriptions(one), plain)
            assert self.are(trie.subscriptions(one, who), [place for place in plain if place[2] in wanted])
            assert ((one, who) in trie) is any(place[2] == number for place in plain)
            groups = {place[1] for place in self.there if place[0] == one and place[1] is not None}
            found = trie.groups(one)
            assert found.keys() == groups
            for group in groups:
                members = [place for place in self.there if place[:2] == (one, group)]
                assert self.are(found[group], members)
                for way in one, self.ways.filter(one, group):
                    assert self.are(trie.members(way, group), members)
                if not dialect.queue_groups:
                    assert trie.groups(self.ways.filter(one, group)).keys() == {group}
                    assert self.are(trie.subscriptions(self.ways.filter(one, group)), members)
            assert trie.members(one, "nobodys") == ()
            assert self.are(trie.overlapping(one), filter_overlaps(dialect, one, self.there))

    def stats(self) -> dict[str, int]:
        filters = {filter for filter, *_ in self.there}
        paths = {self.path(filter) for filter in filters}
        prefixes = {path[:size] for path in paths for size in range(1, len(path) + 1)}
        levels = Counter(prefix[:-1] for prefix in prefixes)
        # Chains are rolled up: a prefix has no branch of its own if nobody is subscribed there and one word follows it.
        branches = [prefix for prefix in prefixes if prefix in paths or levels[prefix] > 1]
        return {
            "filters": len(filters),
            "subscriptions": len(self.there),
            "groups": len({place[:2] for place in self.there if place[1] is not None}),
            "branches": len(branches),
            "depth": max((len(self.dialect.split_filter(filter)) or 1 for filter in filters), default=0),
            "widest_level": max(levels.values(), default=0),
            "widest_fanout": max(Counter(filter for filter, *_ in self.there).values(), default=0),
        }

    def path(self, filter: str) -> tuple[str | None, ...]:
        """The branches that would lead to a filter if no chain were rolled up. None stands for the mark."""
        words = self.dialect.split_filter(filter) or ("",)
        if not self.exact or self.dialect.is_wild(words[0]):
            return words
        return (None, *words) if any(map(self.dialect.is_wild, words)) else (filter,)


def filter_overlaps(dialect: Dialect, filter: str, there: dict[Place, Options]) -> list[Place]:
    split = dialect.split_filter
    return [
        place
        for place, options in there.items()
        if leave_a_topic(dialect, [split(place[0]), split(filter)], map(split, options.get("but", ())))
    ]


# ------------------------------------------------------------------------------------------------------------- machine


class Told:
    """A listener. It accepts only that a filter, or a group, is wanted and no longer wanted in turn."""

    def __init__(self) -> None:
        self.wanted: set[tuple[Any, ...]] = set()
        self.notices = 0

    def __call__(self, *notice: Any) -> None:
        *what, wanted = notice
        assert wanted is (tuple(what) not in self.wanted), "the same twice"
        self.wanted ^= {tuple(what)}
        self.notices += 1


def elsewhere(call: Callable[[], None]) -> None:
    """Call in another thread."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 (raised again below)
            raised.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


GROUPS = st.sampled_from([None, None, "g", "h", "grüße"])
NUMBERS = st.integers(0, 4)
OPTIONS = st.sampled_from([{}, {}, {"qos": 0}, {"qos": 1}, {"qos": 2, "local": True}])
ROWS = st.lists(st.tuples(WORDS, GROUPS, NUMBERS, OPTIONS), max_size=8)
LISTENERS = [None, "on_interest", "on_group_interest"]
SETTINGS: list[dict[str, Any]] = [{}, {"index": True}, {"cache": 4}, {"index": True, "cache": 8}]


class Machine(RuleBasedStateMachine):
    dialects: list[Dialect]
    live = Bundle("live")  # can be changed
    frozen = Bundle("frozen")  # snapshots

    @initialize(target=live, data=st.data(), kind=st.sampled_from(["anything", "numbers", "weak"]), exact=st.booleans())
    def begin(self, data: st.DataObject, kind: str, exact: bool) -> Tried:
        self.dialect = data.draw(st.sampled_from(self.dialects))
        settings = {} if kind == "weak" else data.draw(st.sampled_from(SETTINGS))
        self.listener, self.told = data.draw(st.sampled_from(LISTENERS)), Told()
        heard = {} if self.listener is None else {self.listener: self.told}
        self.people, self.steps = People(kind), 0
        trie = SubscriptionTrie(self.dialect, exact=exact, weak=kind == "weak", **settings, **heard)  # type: ignore[arg-type]
        self.first = Tried(trie, self.people, {}, exact)
        self.all = [self.first]
        self.last = self.first, "a", 0
        return self.first

    def changes(self, it: Tried, words: list[Any], number: int, change: Callable[[str], None]) -> None:
        """Make a change of a filter, every third time in another thread."""
        self.steps += 1
        filter = text_of(self.dialect, words)
        self.last = it, filter, number
        before, size = set(self.told.wanted), self.told.notices
        if self.steps % 3:
            change(filter)
        else:
            elsewhere(lambda: change(filter))
        assert self.told.notices - size == len(before ^ self.told.wanted)

    def group(self, group: str | None) -> str | None:
        return group if self.first.ways.groups else None

    @rule(it=live, words=WORDS, group=GROUPS, number=NUMBERS, options=OPTIONS, but=st.lists(WORDS, max_size=2))
    def subscribe(self, it: Tried, words: Any, group: Any, number: int, options: Options, but: list[Any]) -> None:
        parts = tuple(dict.fromkeys(text_of(self.dialect, [*words[:1], *part]) for part in but))
        options = {**options, "but": parts} if parts else options
        self.changes(it, words, number, lambda filter: it.subscribe(filter, self.group(group), number, options))

    @rule(it=live, words=WORDS, group=GROUPS, number=NUMBERS)
    def unsubscribe(self, it: Tried, words: Any, group: Any, number: int) -> None:
        self.changes(it, words, number, lambda filter: it.unsubscribe(filter, self.group(group), number))

    @rule(it=live, at=st.integers(0, 1_000))
    def unsubscribe_one_who_is_there(self, it: Tried, at: int) -> None:
        if it.there:
            filter, group, number = in_order(it.there)[at % len(it.there)]
            words = [
                {self.dialect.one_word: ONE, self.dialect.many_words: MANY}.get(w, w)
                for w in self.dialect.split_filter(filter)
            ]
            self.changes(it, words, number, lambda _: it.unsubscribe(filter, group, number))

    @rule(it=live, words=WORDS, group=GROUPS, left=st.sampled_from([None, 0, 1, 2]))
    def a_crowd_comes_or_goes(self, it: Tried, words: Any, group: Any, left: int | None) -> None:
        def change(filter: str) -> None:
            for number in CROWD[left:]:
                if left is None:
                    it.subscribe(filter, self.group(group), number, {})
                else:
                    it.unsubscribe(filter, self.group(group), number)

        self.changes(it, words, CROWD[0], change)

    @rule(it=live, rows=ROWS, come=st.booleans())
    def many(self, it: Tried, rows: list[Any], come: bool) -> None:
        made = [
            (text_of(self.dialect, words), self.group(group), number, options) for words, group, number, options in rows
        ]
        change = it.subscribe_many if come else it.unsubscribe_many
        self.changes(it, rows[0][0] if rows else [], rows[0][2] if rows else 0, lambda _: change(made))

    @rule(it=live)
    def all_that_is_there_goes(self, it: Tried) -> None:
        rows = [(*place, options) for place, options in it.there.items()]
        self.changes(it, [], 0, lambda _: it.unsubscribe_many(rows))

    @rule(it=live, number=NUMBERS)
    def unsubscribe_all(self, it: Tried, number: int) -> None:
        self.changes(it, [ONE], number, lambda _: it.unsubscribe_all(number))

    @rule(it=live)
    def clear(self, it: Tried) -> None:
        self.changes(it, [MANY], 0, lambda _: it.clear())

    @rule(number=NUMBERS)
    def one_dies(self, number: int) -> None:
        """Who is only weakly held, and subscribed to many filters at once."""

        def change(_: str) -> None:
            if self.people.alive.pop(number, None) is not None:
                for each in self.all:
                    each.forget(number)

        self.changes(self.last[0], [ONE], number, change)

    @rule(target=frozen, it=live | frozen)
    def snapshot(self, it: Tried) -> Tried:
        return self.kept(it.taken(it.trie.snapshot()))

    @rule(target=live, it=live | frozen, way=st.sampled_from(["fork", "pickle", "rows"]))
    def copied(self, it: Tried, way: str) -> Tried:
        trie = it.trie
        if self.people.kind == "weak":
            return self.kept(it.taken(trie.fork()))
        if way == "rows":
            other = SubscriptionTrie(self.dialect, exact=it.exact)
            assert other.subscribe_many(trie.subscriptions()) == len(it.there)
            return self.kept(it.taken(other))
        return self.kept(it.taken(trie.fork() if way == "fork" else pickle.loads(pickle.dumps(copy.copy(trie.fork())))))

    def kept(self, it: Tried) -> Tried:
        self.all.append(it)
        self.last = it, *self.last[1:]
        return it

    @rule(newer=live | frozen, older=live | frozen)
    def compare(self, newer: Tried, older: Tried) -> None:
        now, then = newer.there, older.there
        expected = [(*newer.shown(on), "added") for on in now.keys() - then.keys()]
        expected += [(*older.shown(on), "removed") for on in then.keys() - now.keys()]
        expected += [(*newer.shown(on), "updated") for on in now.keys() & then.keys() if now[on] != then[on]]
        assert in_order((*newer.told(found), kind) for found, kind in newer.trie.diff(older.trie)) == in_order(expected)
        if self.people.kind != "weak":
            assert (newer.trie == older.trie) is (now == then)

    @invariant()
    def all_questions_have_their_answers(self) -> None:
        if getattr(self, "last", None) is not None:
            it, filter, number = self.last
            it.ask(topics_near(self.dialect, filter))
            it.list_some(filter, number)
            wanted = {place[:2] if self.listener == "on_group_interest" else place[:1] for place in self.first.there}
            assert self.told.wanted == (set() if self.listener is None else wanted)

    def teardown(self) -> None:
        for it in getattr(self, "all", ()):
            it.list_all()


KINDS = {"AMQP": [AMQP], "MQTT": [MQTT], "NATS": [NATS], "others": OWN_DIALECTS}


@pytest.mark.hypothesis  # else the parts that ask for more examples leave it out
@pytest.mark.parametrize("dialects", KINDS.values(), ids=KINDS)
def test_any_changes_and_all_questions(dialects: list[Dialect]) -> None:
    kind = type("Machine", (Machine,), {"dialects": dialects})
    most = 3 * settings().max_examples  # there are many settings
    run_state_machine_as_test(kind, settings=settings(stateful_step_count=20, max_examples=most))
