"""The reverse index of a SubscriptionTrie: it names all filters of a subscriber, whatever happens at the same time.

One thread against a dict; two operations under every schedule; real threads; and the index's promises about time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import drain
from stress.explorer.bounded import bounded
from subtrie import MQTT, NATS, SubscriptionTrie
from tests.subtrie.support import explained, subscription_twin
from tests.subtrie.test_model import SUBSCRIBERS, filters_of
from tests.threads import meanwhile, run_together
from tests.twins import Fault, Together, Twin

# ---------------------------------------------------------------------------------------------------------- one thread


@given(
    exact=st.booleans(),
    steps=st.lists(
        st.tuples(st.sampled_from(["subscribe", "subscribe", "unsubscribe", "all"]), filters_of(NATS), SUBSCRIBERS)
    ),
)
def test_any_sequence_of_operations(exact: bool, steps: list[tuple[str, str, Any]]) -> None:
    trie = SubscriptionTrie(NATS, index=True, exact=exact)
    there: set[tuple[str, Any]] = set()
    for action, filter, subscriber in steps:
        theirs = {on for on in there if on[1] == subscriber}
        if action == "subscribe":
            assert trie.subscribe(filter, subscriber) is ((filter, subscriber) not in there)
            there.add((filter, subscriber))
        elif action == "unsubscribe":
            assert trie.unsubscribe(filter, subscriber) is ((filter, subscriber) in there)
            there.discard((filter, subscriber))
        else:
            assert trie.unsubscribe_all(subscriber) == len(theirs)
            there -= theirs
        trie.check()
    for subscriber in (0, 1, 2, "x", (), None):
        theirs = {on for on in there if on[1] == subscriber}
        assert sorted(trie.filters(subscriber)) == sorted(on[0] for on in theirs)
        assert {one[:2] for one in trie.snapshot().subscriptions() if one[1] == subscriber} == theirs


def filled() -> SubscriptionTrie:
    trie = SubscriptionTrie(MQTT, index=True)
    assert trie.subscribe_many([("a/+", "ann", {"qos": 1}), ("#", "ann"), ("a/+", "bob"), ("a", "carl")]) == 4
    return trie


class Sore:
    """A subscriber with the same hash as others; `calm` tells whether it can be compared."""

    calm = True

    def __init__(self, name: object = None) -> None:
        self.name = object() if name is None else name

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        if not Sore.calm:
            raise ZeroDivisionError
        return isinstance(other, Sore) and self.name == other.name


class TestOneThread:
    def test_it_tells_options_too(self) -> None:
        trie = filled()
        trie.subscribe("#", "ann", qos=2)
        assert {one.filter: dict(one.options) for one in trie.subscriptions(subscriber="ann")} == {
            "a/+": {"qos": 1},
            "#": {"qos": 2},
        }
        trie.check()

    def test_many_at_once(self) -> None:
        trie = filled()
        assert trie.unsubscribe_many([("a/+", "ann"), ("a", "nobody")]) == 1
        assert trie.filters("ann") == ["#"]
        trie.check()

    def test_clear(self) -> None:
        trie = filled()
        trie.clear()
        assert trie.filters("ann") == []
        trie.check()
        trie.subscribe("a", "ann")
        assert trie.filters("ann") == ["a"]
        trie.check()

    @pytest.mark.parametrize("take", [SubscriptionTrie.snapshot, SubscriptionTrie.fork])
    def test_snapshots_and_forks_answer_the_same_without_it(self, take: Callable[[Any], SubscriptionTrie]) -> None:
        trie = filled()
        taken = take(trie)
        trie.clear()
        assert sorted(taken.filters("ann")) == ["#", "a/+"]
        taken.check()

    def test_a_filter_that_is_no_plain_str(self) -> None:
        class Shouting(str):
            def __str__(self) -> str:
                return self.upper()

            def __hash__(self) -> int:
                return 0

        trie = SubscriptionTrie(index=True)
        trie.subscribe(Shouting("a.b"), "ann")
        assert trie.filters("ann") == ["a.b"]
        assert trie.unsubscribe("a.b", "ann")
        trie.check()

    def test_a_subscriber_that_raises_leaves_it_sound(self) -> None:
        trie = SubscriptionTrie(index=True)
        one, other = Sore(), Sore()
        trie.subscribe("a", one)
        Sore.calm = False
        for change in (trie.subscribe, trie.unsubscribe):
            with pytest.raises(ZeroDivisionError):
                change("a", other)
        Sore.calm = True
        assert trie.filters(one) == ["a"]
        assert trie.filters(other) == []
        trie.check()

    @pytest.mark.parametrize("filter", ["a", "b"])
    @pytest.mark.parametrize("change", [SubscriptionTrie.subscribe, SubscriptionTrie.unsubscribe])
    @pytest.mark.parametrize("was_on", [True, False])
    def test_where_a_comparison_raises_the_index_too_is_as_it_was(
        self, change: Callable[[Any, str, Any], bool], filter: str, was_on: bool
    ) -> None:
        """Another subscriber with the same hash is on one of the filters."""
        trie = SubscriptionTrie(index=True)
        one, other, same_as_other = Sore("one"), Sore("other"), Sore("other")
        trie.subscribe("a", one)
        if was_on:
            trie.subscribe(filter, other)
        for subscriber in (other, same_as_other):
            before = len(trie)
            Sore.calm = False
            try:
                changed = change(trie, filter, subscriber)
            except ZeroDivisionError:
                changed = False
            finally:
                Sore.calm = True
            assert len(trie) - before == (0 if not changed else 1 if change is SubscriptionTrie.subscribe else -1)
            trie.check()

    def test_a_subscriber_that_raises_between_the_index_and_the_trie(self) -> None:
        """The index has the filter by then, and the trie refuses the change."""

        class Late:
            comparisons_left = 0

            def __hash__(self) -> int:
                return 1

            def __eq__(self, other: object) -> bool:
                if not Late.comparisons_left:
                    raise ZeroDivisionError
                Late.comparisons_left -= 1
                return False

        trie = SubscriptionTrie(index=True)
        one, other = Late(), Late()
        Late.comparisons_left = 100
        trie.subscribe("a", one)
        raised = 0
        for allowed in range(6):
            Late.comparisons_left = allowed
            try:
                trie.subscribe("a", other)
            except ZeroDivisionError:
                raised += 1
            Late.comparisons_left = 1_000
            trie.unsubscribe("a", other)
            assert trie.filters(other) == []
            trie.check()
        assert raised >= 2

    def test_a_subscriber_that_raises_does_not_keep_the_others_filed_when_all_is_cleared(self) -> None:
        trie = SubscriptionTrie(index=True)
        trie.subscribe_many([("a", Sore()), ("b", Sore()), ("c", "plain")])
        Sore.calm = False
        trie.clear()
        Sore.calm = True
        assert trie.filters("plain") == []
        trie.check()


# ------------------------------------------------------------------------------------------------------- two operations

# All are of one subscriber, on one filter or another.
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "subscribe": lambda trie: trie.subscribe("a.b", "x"),
    "unsubscribe": lambda trie: trie.unsubscribe("a.b", "x"),
    "subscribe another": lambda trie: trie.subscribe("c", "x"),
    "unsubscribe another": lambda trie: trie.unsubscribe("c", "x"),
    "unsubscribe_all": lambda trie: trie.unsubscribe_all("x"),
    "clear": lambda trie: trie.clear(),
    "filters": lambda trie: trie.filters("x"),
}
FILTERS = ("a.b", "c")


def started(twin: Twin, here: tuple[str, ...]) -> Any:
    trie = twin.modules["subtrie"].SubscriptionTrie(index=True)
    for filter in here:
        trie.subscribe(filter, "x")
    return trie


def after_others(trie: Any, others: tuple[str, ...]) -> list[str]:
    """Run the other operations. Unless another thread comes between, the index must then have each filter that was
    subscribed, and no filter that the trie does not have: what is otherwise is answered."""
    wrong = []
    for other in others:
        OPERATIONS[other](trie)
        last_word = {"subscribe": "a.b", "subscribe another": "c"}.get(other)
        if last_word is not None and last_word not in trie.filters("x"):
            wrong.append(f"{other} has returned, but the index does not know")
    if not set(trie.filters("x")) <= {one.filter for one in trie.subscriptions()}:
        wrong.append("the index knows more than the trie")
    return wrong


def every_schedule(twin: Twin, first: str) -> int:
    changes = [name for name in OPERATIONS if name != "filters"]
    pairs = [(name,) for name in changes] + [pair for pair in product(changes, repeat=2) if pair[0] != pair[1]]
    tried = 0

    def judge(trie: Any, _: object, wrong: list[str]) -> None:
        if together.is_in_one_piece(1):
            assert not wrong
        assert set(trie.filters("x")) == {one.filter for one in trie.subscriptions()}
        trie.check()

    # Where the subscriber is on neither or both, an operation on the other filter is the mirror of one on the first.
    for here in [("a.b",)] if "another" in first else [(), ("a.b",), FILTERS]:
        for others in pairs:
            burst = partial(after_others, others=others)
            together = Together(twin, partial(started, twin, here), [OPERATIONS[first], burst], judge)
            with explained(f"{first}, with {here}, against {others}"):
                tried += sum(1 for _ in bounded(together, 1))
    return tried


@pytest.mark.once  # of the interpreted source, in one thread
@pytest.mark.parametrize("first", OPERATIONS)
def test_every_schedule_of_two_and_three_operations(first: str) -> None:
    assert every_schedule(subscription_twin(), first) > 100


@pytest.mark.once
def test_filters_are_those_of_one_instant() -> None:
    """The subscriber moves from one filter to the other and is on both in between."""
    twin = subscription_twin()
    assert moved(twin)


def moved(twin: Twin) -> int:

    def move(trie: Any) -> None:
        assert trie.subscribe("c", "x")
        assert trie.unsubscribe("a.b", "x")

    def judge(trie: Any, answer: list[str], _: None) -> None:
        assert sorted(answer) in (["a.b"], ["a.b", "c"], ["c"])
        trie.check()

    start = partial(started, twin, ("a.b",))
    return sum(1 for _ in bounded(Together(twin, start, [OPERATIONS["filters"], move], judge), 1))


# ------------------------------------------------------------------------------------------------ the steps, interleaved

# The steps of _put_filed and _withdraw in changeable.py, on a real index, with a set in place of the trie.

SUBSCRIBER, HASH, KEY = "x", 1, "a.b"


class Steps:
    def __init__(self, twin: Twin, here: bool) -> None:
        self.module: Any = twin.modules["subtrie._trie.reverse_index"]
        self.index: Any = self.module.new_index()
        self.trie: set[str] = set()
        if here:
            for _ in self.subscribing():
                pass

    def subscribing(self) -> Iterator[None]:
        filing = self.module.new_filing(KEY)
        self.index.file(SUBSCRIBER, HASH, filing)
        yield
        self.trie.add(KEY)
        yield
        if self.index.confirm(SUBSCRIBER, HASH, filing):
            yield
            yield from self.withdrawing()

    def unsubscribing(self) -> Iterator[None]:
        self.trie.discard(KEY)
        yield
        yield from self.withdrawing()

    def withdrawing(self) -> Iterator[None]:
        struck = False
        while not struck:
            pair = self.index.to_strike(SUBSCRIBER, HASH, KEY)
            yield
            there = KEY in self.trie
            yield
            struck = pair is None or there or self.index.strike(SUBSCRIBER, HASH, KEY, pair)

    def run(self, kinds: str, turns: Iterable[int]) -> None:
        """Let the threads, "s" for one that subscribes and "u" for one that unsubscribes, take their steps in turn."""
        threads = [self.subscribing() if kind == "s" else self.unsubscribing() for kind in kinds]
        for turn in turns:
            next(threads[turn], None)
            if KEY in self.trie:
                assert self.filed(), "N1"
        for thread in threads:
            for _ in thread:
                pass
        assert self.filed() is (KEY in self.trie), "N2"
        self.index.check()

    def filed(self) -> bool:
        return self.index.find_member(SUBSCRIBER, HASH, KEY) is not None


MOST_STEPS = 6


def turns_of_two() -> Iterator[tuple[int, ...]]:
    for places in combinations(range(2 * MOST_STEPS), MOST_STEPS):
        yield tuple(int(n in places) for n in range(2 * MOST_STEPS))


def all_of_two(twin: Twin) -> None:
    for kinds, here, turns in product(("su", "ss", "uu"), (False, True), turns_of_two()):
        with explained(f"{kinds}, {here}, {turns}"):
            Steps(twin, here).run(kinds, turns)


def some_of_several(twin: Twin, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(1_500):
        kinds = "".join(rng.choices("su", k=rng.choice([3, 4])))
        turns = rng.choices(range(len(kinds)), k=6 * len(kinds))
        with explained(f"seed {seed}: {kinds}, {turns}"):
            Steps(twin, rng.random() < 0.5).run(kinds, turns)


@pytest.mark.once
def test_every_order_of_the_steps_of_two_threads() -> None:
    all_of_two(subscription_twin())


@pytest.mark.once
@pytest.mark.parametrize("seed", range(3))
def test_orders_of_the_steps_of_several_threads(seed: int) -> None:
    some_of_several(subscription_twin(), seed)


# ------------------------------------------------------------------------------------------------- faults put back

INDEX = "subtrie._trie.reverse_index"
TRIE = "subtrie._trie.changeable"
FAULTS = [
    Fault(
        "whoever unsubscribes strikes a filing whose owner is not through",
        INDEX,
        "            if compare_and_set(filing.state, PENDING, TOUCHED) or load(filing.state) is TOUCHED:\n",
        "            if False:\n",
    ),
    Fault(
        "the owner does not mind that it was touched", INDEX, "        return not untouched\n", "        return False\n"
    ),
    Fault(
        "the key takes the place of a filing that is not confirmed",
        INDEX,
        "        if not filings or [one for one in filings if not _is_confirmed(one)]:\n",
        "        if not filings:\n",
    ),
    Fault(
        "a filing takes the place of others that are not confirmed",
        INDEX,
        " for one in filings_of(find_filed(pair.value, self.key)) if ",
        " for one in () if ",
    ),
    Fault(
        "a filing that was touched is never confirmed",
        INDEX,
        "filing.state, TOUCHED, CONFIRMED",
        "filing.state, TOUCHED, TOUCHED",
    ),
    Fault(
        "a strike takes out of whatever pair it finds", INDEX, "self.done = pair is self.expected", "self.done = True"
    ),
    Fault(
        "a strike that failed is not tried again",
        TRIE,
        "if index.strike(owner, hash, key, pair):",
        "if index.strike(owner, hash, key, pair) or True:",
    ),
    Fault(
        "nobody looks at the trie before a strike",
        TRIE,
        "if pair is None or _entry_at(self._root, self._plan.separator, place, subscriber, hash, edit) is not None:",
        "if pair is None:",
    ),
    Fault("the filters are read at two instants", TRIE, "if index.pair_of(subscriber, hash) is pair:", "if True:"),
]


@pytest.mark.once
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_suite_notices(fault: Fault) -> None:
    twin = subscription_twin(fault)
    with pytest.raises(AssertionError):
        moved(twin)
        all_of_two(twin)
        some_of_several(twin, 0)
        some_of_several(twin, 0)
        for first in OPERATIONS:
            every_schedule(twin, first)


# -------------------------------------------------------------------------------------------------------- real threads


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rounds", [150, pytest.param(4_000, marks=pytest.mark.slow)])
def test_real_threads_on_the_same_subscriptions(seed: int, rounds: int) -> None:
    """All threads use the same few pairs. At the end, the index has exactly the trie's subscriptions."""
    trie = SubscriptionTrie(index=True, exact=seed == 0)
    filters, subscribers = ["a", "a.b", "*.b", "#"], ["x", "y"]

    def work(number: int) -> None:
        rng = random.Random(f"{seed}, {number}")
        for _ in range(rounds):
            filter, subscriber = rng.choice(filters), rng.choice(subscribers)
            action = rng.random()
            if action < 0.45:
                trie.subscribe(filter, subscriber)
            elif action < 0.9:
                trie.unsubscribe(filter, subscriber)
            elif action < 0.99:
                trie.unsubscribe_all(subscriber)
            else:
                trie.clear()

    def look() -> None:
        found = trie.filters("x")
        assert len(set(found)) == len(found)
        assert set(found) <= set(filters)

    print(f"seed {seed}")
    with meanwhile(look):
        run_together([partial(work, number) for number in range(3)])
    for subscriber in subscribers:
        assert set(trie.filters(subscriber)) == {one.filter for one in trie.subscriptions() if one[1] == subscriber}
    trie.check()
    assert drain() == 0


def test_real_threads_that_own_their_subscriptions_always_find_them() -> None:
    """A thread that has subscribed finds the filter, while others unsubscribe theirs from the same filters."""
    trie = SubscriptionTrie(index=True)
    filters = ["a", "a.b", "*.b", "#", "a.#"]

    def work(number: int) -> None:
        rng = random.Random(number)
        mine: set[str] = set()
        for _ in range(150):
            filter = rng.choice(filters)
            if rng.random() < 0.5:
                assert trie.subscribe(filter, number) is (filter not in mine)
                mine.add(filter)
            else:
                assert trie.unsubscribe(filter, number) is (filter in mine)
                mine.discard(filter)
            found = trie.filters(number)
            assert set(found) == mine
            assert len(found) == len(mine)
        assert trie.unsubscribe_all(number) == len(mine)

    run_together([partial(work, number) for number in range(3)])
    assert not trie
    trie.check()


@pytest.mark.once
def test_cost_is_that_of_the_subscribers_own_filters() -> None:
    """Other subscribers, however many, cost nothing more."""
    twin = subscription_twin()
    accesses = []
    for others in (0, 60):
        trie = twin.modules["subtrie"].SubscriptionTrie(index=True)
        trie.subscribe("a.b", "x")
        for n in range(others):
            trie.subscribe("a.b", n)
            trie.subscribe("c", n)
        accesses.append(twin.count(partial(trie.filters, "x")))
        trie.check()
    assert accesses[1] <= accesses[0] + 12, "more than a few I-nodes more"
