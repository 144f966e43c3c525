"""Shares of groups under random traffic: each member that stays gets about what is due to it, whatever else happens.

What is due to a member: of each message that could go to n members, one n-th to each of them. Who gets a message after
a change is drawn by lot, so a share is near what is due, and not just that. No change of Traffic depends on who was
served; those of benchmarks/shares.py all do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from benchmarks.shares import SCHEDULES, Schedule, shares
from stress.tries.source_copy import Change, import_privately, interpreted_twin
from subtrie import MQTT, NATS, SubscriptionTrie
from tests.subtrie.support import reaches

MESSAGES = 16_000
SETTINGS: list[dict[str, Any]] = [{}, {"index": True}, {"cache": 64}, {"exact": True}, {"weak": True}, {"weak": True}]


class Member:
    """A subscriber that can be weakly held, named `name`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


class Traffic:
    """A trie and forks and snapshots of it, members of its group "w", and what each member got and should have got."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.dialect = self.random.choice([MQTT, NATS])
        settings = self.random.choice(SETTINGS)
        words = self.dialect.separator.join
        self.all = words(["jobs", self.dialect.one_word])
        self.topics = [words(["jobs", word]) for word in "xyz"[: self.random.randint(1, 3)]]
        self.filters = [self.all, self.all, words(["jobs", str(self.dialect.many_words)]), *self.topics]
        self.tries = [SubscriptionTrie[Member](self.dialect, **settings)]
        self.there: list[set[tuple[str, str]]] = [set()]  # (filter, name) in each trie
        self.got: Counter[str] = Counter()
        self.due: dict[str, float] = {}
        self.sent = 0
        self.stay = [Member(f"stays {n}") for n in range(self.random.randint(1, 5))]
        self.flap = [Member(f"flaps {n}") for n in range(self.random.randint(1, 12))]
        self.on: dict[str, str] = {}  # those of them that are there, and their filters
        for who in self.stay:
            self.join(self.all, who)

    def arguments(self, filter: str) -> tuple[str, dict[str, Any]]:
        return (filter, {"queue": "w"}) if self.dialect is NATS else (f"$share/w/{filter}", {})

    def join(self, filter: str, who: Member) -> None:
        text, options = self.arguments(filter)
        assert self.tries[0].subscribe(text, who, **options)
        self.there[0].add((filter, who.name))

    def leave(self, filter: str, who: Member) -> None:
        text, options = self.arguments(filter)
        assert self.tries[0].unsubscribe(text, who, **options)
        self.there[0].discard((filter, who.name))

    # What may come and go.

    def one_flaps(self) -> None:
        self.toggle(self.random.choice(self.flap), self.random.choice(self.filters))

    def toggle(self, who: Member, filter: str) -> None:
        if who.name in self.on:
            self.leave(self.on.pop(who.name), who)
        else:
            self.on[who.name] = filter
            self.join(filter, who)

    def many_flap(self) -> None:
        for _ in range(self.random.randint(1, 12)):
            self.one_flaps()

    def one_that_stays_comes_again(self) -> None:
        who = self.random.choice(self.stay)
        self.leave(self.all, who)
        self.join(self.all, who)

    def one_dies(self) -> None:
        """One that is weakly held goes without a word. Another one takes its place."""
        number = self.random.randrange(len(self.flap))
        who = self.flap[number]
        if not self.tries[0].weak:
            return self.toggle(who, self.all)
        self.flap[number] = Member(f"{who.name}'")
        self.on.pop(who.name, None)
        for there in self.there:
            there.difference_update([one for one in there if one[1] == who.name])
        return None

    def a_fork_or_a_snapshot(self) -> None:
        if len(self.tries) > 3:
            number = self.random.randrange(1, len(self.tries))
            del self.tries[number], self.there[number]
        else:
            self.tries.append(self.random.choice([self.tries[0].fork, self.tries[0].snapshot])())
            self.there.append(set(self.there[0]))

    def as_many_as_the_messages_say(self) -> None:
        for number, who in enumerate(self.flap):
            if (who.name in self.on) is not (number < self.sent % 5):
                self.toggle(who, self.all)

    def send(self, topic: str, number: int) -> None:
        reached: dict[str, list[str]] = {}
        for filter, who in self.there[number]:
            if reaches(self.dialect, filter, topic):
                reached.setdefault("" if self.dialect is NATS else filter, []).append(who)
        for names in reached.values():
            for name in names:
                self.due[name] = self.due.get(name, 0) + 1 / len(names)
        self.got.update(one.name for one in self.tries[number].match(topic))
        self.sent += 1

    def run(self) -> None:
        every: list[Callable[[], None]] = [
            self.one_flaps,
            self.many_flap,
            self.one_that_stays_comes_again,
            self.one_dies,
            self.a_fork_or_a_snapshot,
            self.as_many_as_the_messages_say,
        ]
        ways = self.random.sample(every, self.random.randint(1, 4))
        often = self.random.choice([0.02, 0.2, 0.7])
        in_turn = self.random.random() < 0.5
        for n in range(MESSAGES):
            if self.random.random() < often:
                self.random.choice(ways)()
            topic, number = (n, n) if in_turn else (self.random.randrange(60), self.random.randrange(60))
            self.send(self.topics[topic % len(self.topics)], number % len(self.tries))


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("number", [2, 5, 12])
def test_all_get_equally_much_beside_one_that_leaves_with_each_message(number: int, elsewhere: bool) -> None:
    """A worker unsubscribes for as long as it is at work. It may have another filter than the others."""
    trie = SubscriptionTrie[str](NATS)
    filter = "jobs.*" if elsewhere else "jobs.x"
    stay = [f"stays {n}" for n in range(number)]
    for who in stay:
        assert trie.subscribe("jobs.x", who, queue="w")
    got: Counter[str] = Counter()
    who = "worker"
    while sum(got[who] for who in stay) < 1_000 * number:
        if who == "worker":
            assert trie.subscribe(filter, who, queue="w")
        (who,) = trie.match("jobs.x")
        got[who] += 1
        if who == "worker":
            assert trie.unsubscribe(filter, who, queue="w")
    assert all(abs(got[who] - 1_000) < 200 for who in stay), got
    trie.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.once) for seed in range(2, 20))])
def test_a_member_that_stays_gets_its_share(seed: int) -> None:
    traffic = Traffic(seed)
    traffic.run()
    for who in traffic.stay:
        got, due = traffic.got[who.name], traffic.due[who.name]
        assert abs(got - due) < 0.1 * due, f"{who} got {got} where {due:.0f} were due, seed {seed}"
    for trie in traffic.tries:
        trie.check()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_where_changes_depend_on_who_was_served(schedule: Schedule) -> None:
    # A member can lose or win one turn of six, less what lots give it in between: see choosing.py. It was 0.42 to 1.8.
    got = shares(schedule, 6, 20_000)
    assert 0.85 < min(got) and max(got) < 1.15, got


GROUPS, CHOOSING = "subtrie._trie.groups", "subtrie._trie.choosing"
MUTANTS = [
    Change(
        "all members have lasted",
        GROUPS,
        "    group.lasted = present is None or _lasts(present)\n",
        "    group.lasted = True\n",
    ),
    Change(
        "members who had no turn are followed by ones that have lasted",
        GROUPS,
        "    return group.lasted if turn == 0 else",
        "    return turn == 0 or",
    ),
    Change(
        "one round by lot is enough",
        CHOOSING,
        "    return turn >> 32 != key or rounds_in(turn) < ENOUGH\n",
        "    return turn >> 32 != key or rounds_in(turn) < 1\n",
    ),
    Change("each message by lot ends a round", CHOOSING, "draw_again(size) == 0 if lots else", "True if lots else"),
    Change(
        "the first member begins after each change",
        CHOOSING,
        "        place = turn & LAST if turn >> 32 == key and not lots else draw(size)\n",
        "        place = turn & LAST if turn >> 32 == key and not lots else 0\n",
    ),
]


@pytest.mark.slow
@pytest.mark.once  # mutants are of the interpreted twin
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_gives_some_too_little_or_too_much(mutant: Change) -> None:
    twin = {"ctrie._build_choice": interpreted_twin()}
    copy: Any = import_privately(("ctrie", "subtrie"), twin, [mutant])["subtrie"]
    every = (shares(schedule, 6, 20_000, copy.SubscriptionTrie(copy.MQTT)) for schedule in SCHEDULES)
    assert any(min(got) <= 0.85 or max(got) >= 1.15 for got in every)


def test_turns_go_on_after_a_change_that_comes_late() -> None:
    trie = SubscriptionTrie[int](MQTT)
    for number in range(3):
        trie.subscribe("$share/w/a", number)
    for _ in range(7 * 3):
        trie.match("a")
    trie.subscribe("$share/w/a", 3)
    turns = [trie.match("a") for _ in range(12)]
    assert turns == turns[:4] * 3 and len(set(turns)) == 4
