"""The reverse index of a SubscriptionTrie: it names all filters of a subscriber, whatever happens at the same time.

Its steps are interleaved here one by one; `test_linearizability.py` has it under every schedule of two changes,
`test_machine.py` in any sequence of them. Then the sets of filters that it keeps, and subscribers that raise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, product
from typing import Any

import pytest

from subtrie import SubscriptionTrie
from subtrie._trie.reverse_index import check_filed, find_filed, keys_in, settled, with_filed, without_filed
from tests.subtrie.support import explained, subscription_twin
from tests.subtrie.test_linearizability import HERE, moved, two_changes
from tests.twins import Fault, Twin

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
        for one, other in (
            ("subscribe", "unsubscribe"),
            ("unsubscribe", "gone and back"),
            ("unsubscribe_all", "subscribe another"),
        ):
            for here in HERE:
                assert not two_changes(twin, one, other, here, index=True)


# ---------------------------------------------------------------------------------------------------- sets of filters

KEYS: list[Any] = [f"a.{n}" for n in range(60)] + [(f"a.{n}", "queue") for n in range(20)] + [("a.1", "other")]


@pytest.mark.parametrize("seed", range(20))
def test_a_set_has_what_was_put_into_it(seed: int) -> None:
    """Every version of it."""
    rng = random.Random(seed)
    filed: Any = None
    there: set[Any] = set()
    versions: list[tuple[Any, frozenset[Any]]] = []
    for _ in range(400):
        key = rng.choice(KEYS[: rng.choice([2, 20, len(KEYS)])])
        if rng.random() < rng.choice([0.3, 0.7]):
            filed = with_filed(filed, settled(key))
            there.add(key)
        elif key in there:
            filed = without_filed(filed, key)
            there.discard(key)
        else:
            with pytest.raises(KeyError):
                without_filed(filed, key)
        versions.append((filed, frozenset(there)))
        assert (find_filed(filed, key) is not None) is (key in there)
    for version, members in versions:
        if members:
            check_filed(version)
        assert sorted(map(str, keys_in(version))) == sorted(map(str, members))


@pytest.mark.parametrize("count", [1, 2, 16, 17, 3_000])
def test_a_set_grows_and_goes(count: int) -> None:
    filed: Any = None
    for number in range(count):
        filed = with_filed(filed, settled(f"plant/{number}"))
        assert find_filed(filed, f"plant/{number}").key == f"plant/{number}"
    assert count > 1 or filed == "plant/0", "the set of one text is the text itself"
    check_filed(filed)
    for absent in ("plant/none", ("plant/0", "queue")):
        assert find_filed(filed, absent) is None
    for number in range(count):
        assert find_filed(filed, f"plant/{number}") is not None
        filed = without_filed(filed, f"plant/{number}")
        if number % 100 == 99 and filed is not None:
            check_filed(filed)
    assert filed is None


# ------------------------------------------------------------------------------------------------ subscribers that raise


class Sore:
    """A subscriber with the same hash as others, which may be compared so many times."""

    comparisons_left = 1_000

    def __init__(self, name: object = None) -> None:
        self.name = object() if name is None else name

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        if not Sore.comparisons_left:
            raise ZeroDivisionError
        Sore.comparisons_left -= 1
        return isinstance(other, Sore) and self.name == other.name


@pytest.fixture
def allow() -> Iterator[Callable[[int], None]]:
    yield lambda number: setattr(Sore, "comparisons_left", number)
    Sore.comparisons_left = 1_000


@pytest.mark.parametrize("filter", ["a", "b"])
@pytest.mark.parametrize("change", [SubscriptionTrie.subscribe, SubscriptionTrie.unsubscribe])
@pytest.mark.parametrize("was_on", [True, False])
def test_where_a_comparison_raises_the_index_too_is_as_it_was(
    change: Callable[[Any, str, Any], bool], filter: str, was_on: bool, allow: Callable[[int], None]
) -> None:
    """Wherever that is: before the index has the filter, after that, and when the trie refuses the change."""
    raised = 0
    for allowed, again in product(range(6), (False, True)):
        trie = SubscriptionTrie(index=True)
        one, other = Sore("one"), Sore("other")
        trie.subscribe("a", one)
        if was_on:
            trie.subscribe(filter, other)
        before = len(trie)
        allow(allowed)
        try:
            changed = change(trie, filter, Sore("other") if again else other)
        except ZeroDivisionError:
            raised, changed = raised + 1, False
        allow(1_000)
        assert len(trie) - before == (0 if not changed else 1 if change is SubscriptionTrie.subscribe else -1)
        assert trie.filters(other) == [found.filter for found in trie if found.subscriber is not one]
        trie.check()
        trie.unsubscribe(filter, other)
        assert trie.filters(other) == []
    assert raised


def test_a_subscriber_that_raises_does_not_keep_the_others_filed_when_all_is_cleared(
    allow: Callable[[int], None],
) -> None:
    trie = SubscriptionTrie(index=True)
    trie.subscribe_many([("a", Sore()), ("b", Sore()), ("c", "plain")])
    allow(0)
    trie.clear()
    allow(1_000)
    assert trie.filters("plain") == []
    trie.check()
