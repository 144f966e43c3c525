"""Shares of groups: of each message that could go to n members, each gets one n-th on average, whatever comes and goes,
however it is asked for, and weights, keys and senders decide as they should.

What a member gets is the sum of independent draws, some by one in n and some by others. So what it gets differs from
what is due to it by a multiple of a known standard deviation. It does not matter whether a change depends on who was
served: what is drawn next is independent of all that was drawn before.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from math import sqrt
from random import Random
from typing import Any

import pytest

import subtrie
from subtrie import MQTT, NATS, Dialect, SubscriptionTrie
from subtrie._trie import draws
from tests.subtrie.lots import BAR, check_fair, unfairness
from tests.subtrie.support import Ways, both_ways, made
from tests.threads import run_together
from tests.tries.source_copy import Change, import_privately, interpreted_twin


class Member:
    """A subscriber that can be weakly held, named `name`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


HISTORIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "index": {"index": True},
    "exact": {"exact": True},
    "weak": {"weak": True},
}


@pytest.mark.parametrize("settings", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("often", [0.05, 1.0])
@both_ways
def test_members_that_stay_get_their_shares_whoever_comes_and_goes(
    dialect: Dialect, often: float, settings: dict[str, Any]
) -> None:
    """Who was served leaves, or comes back, or dies and has an heir; the same is asked of the trie and of its forks."""
    chance, ways, trie = (
        Random(str((dialect.name, often, settings))),
        Ways(dialect),
        SubscriptionTrie(dialect, **settings),
    )
    draws.seed(1)
    stay, flap = ([Member(f"{kind} {n}") for n in range(5)] for kind in ("stays", "flaps"))
    for who in stay:
        ways.subscribe(trie, "a", "w", who)
    on: dict[Member, None] = {}
    got, due, variance = Counter[str](), Counter[str](), Counter[str]()
    for n in range(4_000):
        fork, there = trie.fork() if n % 3 == 0 else trie, [*stay, *on]
        (served,) = fork.match("a")
        got[served.name] += 1
        for who in stay:
            due[who.name] += 1 / len(there)  # type: ignore[assignment]
            variance[who.name] += (1 - 1 / len(there)) / len(there)  # type: ignore[assignment]
        del fork, there, who
        if chance.random() < often:
            number = flap.index(served) if served in flap else n % 5
            del served
            if flap[number] not in on:
                on[flap[number]] = None
                ways.subscribe(trie, "a", "w", flap[number])
            elif n % 2 or not trie.weak:
                del on[flap[number]]
                ways.unsubscribe(trie, "a", "w", flap[number])
            else:
                del on[flap[number]]
                flap[number] = Member(f"flaps {number}'")
    for name in due:
        assert abs(got[name] - due[name]) <= BAR * sqrt(variance[name]), (
            f"{name} got {got[name]} where {due[name]:.0f} were due"
        )
    trie.check()


# ---------------------------------------------------------------------------------------------------- groups that stay


def members(dialect: Dialect, number: int, **settings: Any) -> SubscriptionTrie:
    trie = SubscriptionTrie(dialect, **settings)
    for n in range(number):
        assert Ways(dialect).subscribe(trie, "a", "g", n)
    return trie


@both_ways
@pytest.mark.parametrize(
    ("number", "settings"), [(1, {}), (2, {"cache": 8}), (8, {"exact": True}), (9, {}), (100, {"cache": 8})]
)
def test_every_member_is_as_likely_however_it_is_asked_for(
    dialect: Dialect, number: int, settings: dict[str, Any]
) -> None:
    trie, everybody = members(dialect, number, **settings), dict.fromkeys(range(number), 1)
    ways: list[Callable[[], Iterable[Any]]] = [
        lambda: trie.match("a"),
        lambda: [one for (one,) in trie.match_many(["a"] * 5)],
        lambda: trie.match_iter("a"),
        lambda: [one.subscriber for one in trie.deliveries("a")],
        lambda: [one.subscriber for (one,) in trie.deliveries_many(["a"] * 5)],
    ]
    for seed, way in enumerate(ways):
        draws.seed(seed)
        check_fair(Counter(who for _ in everybody for _ in range(60) for who in way()), everybody, seed)
    assert trie.count("a") == 1
    trie.check()


def test_threads_draw_apart() -> None:
    trie = members(MQTT, 9)

    def matches(own: int) -> list[Any]:
        draws.seed(own)
        return [who for _ in range(540) for who in trie.match("a")]

    found = run_together([partial(matches, own) for own in range(3)])
    for own, drawn in enumerate(found):
        check_fair(Counter(drawn), dict.fromkeys(range(9), 1), own)
    assert found[0] != found[1]
    trie.check()


@pytest.mark.parametrize("topic", ["a.b", "a." + ".".join("b" * 70)], ids=["short", "long"])
def test_members_on_several_filters_are_as_likely(topic: str) -> None:
    """A group of NATS is one. A long topic has more words than the compiled matcher keeps in a machine word."""
    trie = made(
        NATS,
        rows=[
            (filter, (filter, member), {"queue": "g"})
            for number, filter in enumerate(("a.*", "a.>", ">", topic))
            for member in range(number + 1)
        ],
    )
    reached = [one.subscriber for one in trie.entries(topic)]
    assert len(reached) >= 8
    for ask in (trie.match, lambda topic: tuple(trie.match_iter(topic)), lambda topic: trie.match_many([topic])[0]):
        draws.seed(1)
        check_fair(Counter(ask(topic)[0] for _ in range(60 * len(reached))), dict.fromkeys(reached, 1), 1)


@pytest.mark.parametrize(("number", "greatest"), [(2, 3), (9, 1_000), (100, 3), (100, 1_000)])
def test_by_weight(number: int, greatest: int) -> None:
    """Where one weighs 1,000 times as much as most others, draws are mostly in vain."""
    trie = made(MQTT)
    weights = {n: 2 if n % 2 else 1 for n in range(number)} | {0: greatest}
    for n, weight in weights.items():
        trie.subscribe("$share/g/a", n, weight=type("Weight", (int,), {})(weight))  # as an IntEnum
    draws.seed(number)
    check_fair(Counter(trie.match("a")[0] for _ in range(20_000)), weights, number)


@both_ways
@pytest.mark.parametrize("weights", [False, True])
def test_topics_that_leave_out_different_members_alternate(dialect: Dialect, weights: bool) -> None:
    ways, sep = Ways(dialect), dialect.separator
    trie = made(dialect)
    for n in range(4):
        more = {"but": (f"a{sep}{n}",)} if n < 3 else {"weight": 2} if weights else {}
        ways.subscribe(trie, f"a{sep}{dialect.many_words}", "g", n, **more)
    for topics in ([0, 9], [0, 1, 2], [9, 9, 1], [2, 0, 2, 1]):
        draws.seed(1)
        got = {topic: Counter[int]() for topic in topics}
        for n in range(2_000):
            topic = topics[n % len(topics)]
            got[topic].update(trie.match(f"a{sep}{topic}"))
        for topic, drawn in got.items():
            check_fair(drawn, {n: 2 if weights and n == 3 else 1 for n in range(4) if n != topic}, 1)


def test_of_dead_members_nobody_gets_what_they_got() -> None:
    for number, gone in ((2, slice(1)), (12, slice(3, 9)), (40, slice(None, None, 2))):
        workers = [Member(f"{n}") for n in range(number)]
        trie = SubscriptionTrie(NATS, weak=True)
        for worker in workers:
            trie.subscribe("j", worker, queue="w")
        fork, cut = trie.fork(), trie.snapshot()
        del workers[gone], worker
        gc.collect()
        for seed, one in enumerate((trie, fork, cut)):
            draws.seed(seed)
            check_fair(Counter(one.match("j")[0] for _ in range(600)), dict.fromkeys(workers, 1), seed)
            one.check()


# ------------------------------------------------------------------------------------------------ keys, senders, absent


def member(trie: SubscriptionTrie, **choice: Any) -> Any:
    (one,) = trie.deliveries("a", **choice)
    return one.subscriber


@both_ways
@pytest.mark.parametrize("number", [2, 8, 9, 100])
class TestChoices:
    def test_equal_keys_go_to_one_member_and_few_move(self, dialect: Dialect, number: int) -> None:
        ways, trie = Ways(dialect), members(dialect, number)
        before = {key: member(trie, key=key) for key in range(2_000)}
        assert {key: member(trie, key=float(key)) for key in before} == before
        share = len(before) / number
        counts = Counter(before.values())
        assert all(abs(counts[n] - share) < 6 * share**0.5 for n in range(number))
        ways.unsubscribe(trie, "a", "g", 0)
        ways.subscribe(trie, "a", "g", "new")
        after = {key: member(trie, key=key) for key in before}
        assert all(after[key] in (before[key], "new") or before[key] == 0 for key in before)
        assert sum(after[key] != before[key] for key in before) < 3.5 * share
        ways.subscribe(trie, "a", "g", "heavy", weight=number)
        got = Counter(member(trie, key=key) for key in range(2_000))
        assert abs(got["heavy"] - 1_000) < 150
        trie.check()

    def test_the_sender_and_those_who_are_not_there_get_nothing(self, dialect: Dialect, number: int) -> None:
        ways, trie = Ways(dialect), members(dialect, number)
        there = number // 2
        absent = set(range(there, number))
        for choice, able in (
            ({"sender": 0}, range(1, number)),
            ({"without": absent}, range(there)),
            ({"sender": "x"}, range(number)),
        ):
            draws.seed(1)
            got = Counter(member(trie, **choice) for _ in range(60 * len(able)))
            check_fair(got, dict.fromkeys(able, 1), 1)
            assert {member(trie, key=key, **choice) for key in range(2_000)} == set(able)
        trie.subscribe(ways.filter("a", "g"), "heavy", weight=1_000, **ways.options("g"))
        assert {member(trie, without=["heavy"]) for _ in range(20 * number)} <= set(range(number))
        trie.check()

    def test_a_sender_gets_it_if_alone_and_if_there(self, dialect: Dialect, number: int) -> None:
        ways, trie = Ways(dialect), members(dialect, number)
        for key in (None, 1, 2):
            assert member(trie, without=range(1, number), key=key) == 0
            assert member(trie, without=range(1, number), sender=0, key=key) == 0
            assert trie.deliveries("a", without=iter(range(number)), sender=0, key=key) == ()
        for n in range(1, number):
            ways.unsubscribe(trie, "a", "g", n)
        assert member(trie, sender=0) == member(trie, sender=0, key=1) == 0
        trie.check()


@pytest.mark.parametrize(
    "choice", [{"key": []}, {"sender": []}, {"without": "ann"}, {"without": [[]]}, {"without": 5}], ids=str
)
def test_what_chooses_nobody_is_refused(choice: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        members(MQTT, 3).deliveries("a", **choice)


# -------------------------------------------------------------------------------------------------------- no fair draws


def worst(package: Any, seed: Callable[[int], None]) -> float:
    """Return how unfair the draws of a package are where they are the least fair: with weights, some with exclusions,
    on two filters, one being the sender; and in one group without any of these."""
    found: list[float] = []
    weighing: list[Callable[[int], int]] = [lambda n: 1, lambda n: n % 3 + 1, lambda n: 1_000 if n == 1 else n % 3 + 1]
    for number, weigh in enumerate(weighing):
        weights = {n: weigh(n) for n in range(12)}
        trie = package.SubscriptionTrie(package.NATS)
        for n, weight in weights.items():
            but = ("a.x",) if n % 4 == 0 else ()
            trie.subscribe("a.*" if n % 2 else "a.>", n, queue="w", weight=weight, but=but)
        for topic, sender in (("a.x", None), ("a.y", 1), ("a.y", None)):
            able = {n: weight for n, weight in weights.items() if n != sender and (n % 4 or topic == "a.y")}
            seed(number)
            got = Counter(trie.deliveries(topic, sender=sender)[0].subscriber for _ in range(3_000))
            found.append(unfairness(got, able))
    trie = package.SubscriptionTrie(package.MQTT)
    for n in range(12):
        trie.subscribe("$share/w/a", n)
    seed(1)
    found.append(unfairness(Counter(trie.match("a")[0] for _ in range(3_000)), dict.fromkeys(range(12), 1)))
    return max(found)


def test_draws_are_fair() -> None:
    assert worst(subtrie, draws.seed) < BAR


CHOOSING = "subtrie._trie.choosing"
MUTANTS = [
    Change(
        "the last member is never drawn", CHOOSING, "entry_at(members, draw(size))", "entry_at(members, draw(size - 1))"
    ),
    Change("weights do not count", CHOOSING, "heaviest == 1 or lot < weight_of(able)", "True"),
    Change(
        "members on the second filter are never drawn",
        CHOOSING,
        "_member_at(groups, draw(total))",
        "_member_at(groups, draw(set_size(groups[0].members)))",
    ),
    Change(
        "what one cannot get, the next one gets",
        CHOOSING,
        "    for _ in range(min(TRIES, total)):\n        at, entry = _member_at(groups, draw(total))\n",
        "    first = draw(total)\n    for place in range(min(TRIES, total)):\n"
        "        at, entry = _member_at(groups, (first + place) % total)\n",
    ),
    Change("a list has no weights", CHOOSING, "bisect_right(ends, draw(end))", "draw(len(listed))"),
]


@pytest.mark.once  # mutants are of the interpreted twin
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_unfair(mutant: Change) -> None:
    twin = {"ctrie._build_choice": interpreted_twin()}
    modules = import_privately(("ctrie", "subtrie"), twin, [mutant])
    seed: Any = vars(modules["subtrie._trie.draws"])["seed"]
    assert worst(modules["subtrie"], seed) > BAR


def drawn(trie: SubscriptionTrie[Any]) -> list[Any]:
    return [who for _ in range(20) for who in trie.match("a")]


def test_draws_follow_from_a_seed_and_else_differ() -> None:
    trie = made(MQTT)
    trie.subscribe_many([("$share/w/a", n) for n in range(1_000)])
    draws.seed(1)
    first = drawn(trie)
    assert drawn(trie) != first
    draws.seed(1)
    assert drawn(trie) == first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_draws_otherwise() -> None:
    trie = made(MQTT)
    trie.subscribe_many([("$share/w/a", n) for n in range(1_000)])
    draws.seed(1)
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writable, repr(drawn(trie)).encode())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with os.fdopen(readable, "rb") as told:
        os.close(writable)
        assert told.read().decode() != repr(drawn(trie))
