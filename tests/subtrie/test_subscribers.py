"""The persistent set of one filter's subscribers: every version is a set, and never changes.

Hashes are chosen: many share their lowest bits, some all 64, so sets of a few dozen are deep and have lists of entries
at the bottom.
"""

from __future__ import annotations

import random
import textwrap
from itertools import pairwise, product
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie._trie.keyed import changed_keyed, check_set, find_keyed, iter_keyed, set_size, with_keyed, without_keyed
from subtrie._trie.subscribers import new_entry
from tests.scripts import run_script

INLINE = 8  # with more entries, a set is a hash trie

TOP = 0xFFFF_FFFF_FFFF_FFFF
# They differ in the lowest four bits, in later bits, in the highest bits, or nowhere.
HASHES = [0, 1, 2, 15, 16, 17, 16 << 8, 1 << 59, 1 << 60, 1 << 63, TOP, TOP ^ 1 << 63, *[7, 7, 7], *[TOP >> 1] * 3]


class Member(NamedTuple):
    """A subscriber with the hash that the test gives it."""

    number: int
    hash: int


MEMBERS = [Member(number, hash) for number, hash in enumerate(HASHES * 2)]


class Version:
    """A set, and the dict of entries that it should be."""

    def __init__(self, subscribers: Any = None, entries: dict[Member, Any] | None = None) -> None:
        self.subscribers = subscribers
        self.entries = entries or {}

    def with_member(self, member: Member, options: dict[str, Any] | None = None) -> Version:
        entry = new_entry(member, member.hash, options)
        found = find_keyed(self.subscribers, member, member.hash)
        assert found is self.entries.get(member)
        return Version(with_keyed(self.subscribers, entry, found), {**self.entries, member: entry})

    def without_member(self, member: Member) -> Version:
        found = find_keyed(self.subscribers, member, member.hash)
        assert found is self.entries.get(member)
        if found is None:
            return self
        left = {other: entry for other, entry in self.entries.items() if other != member}
        return Version(without_keyed(self.subscribers, found), left)

    def check(self) -> None:
        check_set(self.subscribers)
        assert set_size(self.subscribers) == len(self.entries)
        assert {entry.key: entry for entry in iter_keyed(self.subscribers)} == self.entries
        for member in MEMBERS:
            assert find_keyed(self.subscribers, member, member.hash) is self.entries.get(member)
        assert (self.subscribers is None) == (not self.entries)

    def differences(self, older: Version) -> set[tuple[Any, Any]]:
        members = self.entries.keys() | older.entries.keys()
        pairs = ((older.entries.get(member), self.entries.get(member)) for member in members)
        return {(old, new) for old, new in pairs if old is not new}


def changes(older: Version, newer: Version) -> set[tuple[Any, Any]]:
    found = list(changed_keyed(older.subscribers, newer.subscribers))
    assert len(found) == len(set(found)), "a change twice"
    return set(found)


STEPS = st.lists(
    st.tuples(st.sampled_from(["with", "with", "without", "other options"]), st.sampled_from(MEMBERS)), max_size=60
)


@given(lines=st.tuples(STEPS, STEPS))
def test_every_version_is_a_set_and_stays_what_it_was(lines: tuple[list[tuple[str, Member]], ...]) -> None:
    """The versions of a line follow one another; the second line diverges from an early one. The changes between any two
    of a line's ends are found, too."""
    versions = [Version()]
    ends = []
    for line in lines:
        newest = versions[len(versions) // 3]
        for step, member in line:
            older = newest
            options = {"step": len(versions)} if step == "other options" else None
            newest = older.without_member(member) if step == "without" else older.with_member(member, options)
            versions.append(newest)
            newest.check()
            assert changes(older, newest) == newest.differences(older)
        ends.append(newest)
    for one, other in product(
        [*ends, versions[0], ends[0].without_member(MEMBERS[0]).with_member(MEMBERS[1])], repeat=2
    ):
        assert changes(one, other) == other.differences(one)
    for version in versions:
        version.check()


@pytest.mark.parametrize("hash", [0, 7, 1 << 63, TOP])
def test_subscribers_that_agree_in_every_bit_of_their_hash(hash: int) -> None:
    """Up to the inline limit, beyond it, and back."""
    crowd = [Member(number, hash) for number in range(3 * INLINE)]
    apart = Member(-1, hash ^ 1 << 63)
    version = Version().with_member(apart)
    for member in crowd:
        version = version.with_member(member)
        version.check()
        assert find_keyed(version.subscribers, Member(-2, hash), hash) is None
    for member in crowd:
        version = version.with_member(member, {"again": True})
    version.check()
    for member in random.Random(hash).sample(crowd, len(crowd)):
        version = version.without_member(member)
        version.check()
    version = version.without_member(apart)
    assert version.subscribers is None


@pytest.mark.parametrize("order", ["as they came", "backwards", "shuffled"])
def test_growth_to_two_thousand_and_back(order: str) -> None:
    rng = random.Random(order)
    crowd = [Member(number, rng.getrandbits(64)) for number in range(2_000)]
    entries: dict[Member, Any] = {}
    subscribers: Any = None
    versions = [Version()]
    leaving = {"as they came": crowd, "backwards": crowd[::-1], "shuffled": rng.sample(crowd, len(crowd))}[order]
    for member in [*crowd, *leaving]:
        if member in entries:
            subscribers = without_keyed(subscribers, entries.pop(member))
        else:
            entries[member] = new_entry(member, member.hash, None)
            subscribers = with_keyed(subscribers, entries[member], None)
        assert set_size(subscribers) == len(entries)
        if len(entries) % 400 in (0, 1, INLINE, INLINE + 1):
            versions.append(Version(subscribers, dict(entries)))
    assert subscribers is None
    for kept in versions:
        kept.check()
    for older, newer in pairwise(versions):
        assert changes(older, newer) == newer.differences(older)


def test_a_change_shares_all_but_a_path() -> None:
    """The difference of two sets that differ by one entry is found without reading the others."""
    rng = random.Random(5)
    compared = []

    class Counting:
        def __init__(self, hash: int) -> None:
            self.hash = hash

        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return self is other

        def __hash__(self) -> int:
            return self.hash

    subscribers: Any = None
    for _ in range(1_000):
        hash = rng.getrandbits(64)
        subscribers = with_keyed(subscribers, new_entry(Counting(hash), hash, None), None)
    added = new_entry(Counting(3), 3, None)
    assert list(changed_keyed(subscribers, with_keyed(subscribers, added, None))) == [(None, added)]
    assert not compared


@pytest.mark.parametrize("count", [2, 20])
def test_a_subscriber_that_asks_the_trie_again_and_again_is_stopped(count: int) -> None:
    script = f"""
        from subtrie import SubscriptionTrie

        class Asking:
            def __hash__(self):
                return 1

            def __eq__(self, other):
                trie.match("a.b")
                return self is other

        trie = SubscriptionTrie()
        trie.subscribe("a.*", Asking())
        trie.subscribe("a.b", Asking())
        trie.subscribe_many([("#", number) for number in range(2, {count})])
        for _ in range(3):
            try:
                trie.match("a.b")
            except RecursionError:
                print("stopped")
        trie.check()
    """
    assert run_script(textwrap.dedent(script)) == (0, 3 * "stopped\n", "")
