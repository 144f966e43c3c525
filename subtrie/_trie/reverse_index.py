"""The reverse index: from a subscriber to its filters.

It is a Ctrie (ctrie/_nodes.py) beside the trie, from subscriber to a persistent set of filters (keyed.py). Every change
of a subscriber's set puts a new pair into the Ctrie, so a pair that is there at two instants was there in between.

    str       one filter, which most subscribers have: its text takes the place of the set
    else      a set of Keyed, one for each filter

The key is a filter's text, or (filter, queue) if a queue group was named. Keys are of exact types, so no users' code
compares them. A `Filing` stands for its key as long as the change that files it is in progress.

The trie decides which subscriptions exist. The index must contain every filter of a subscriber. For a while it may
contain one too many; a look at the trie shows that. No compare-and-set changes both, so they are kept consistent like
this:

* To subscribe: file (a fresh Filing, PENDING, takes the place of the filter), change the trie, and confirm: mark the
  filing CONFIRMED, and put the filter itself in its place again, if it is still there and no other thread needs it.
* To unsubscribe: change the trie, then strike the filter: find the pair that holds it, look at the trie, and, if the
  subscription is not there, take the filter out of exactly this pair. If the pair has changed meanwhile, start over.

PENDING means that the thread that filed it, its owner, may not have changed the trie yet. No thread strikes a filter
with such a filing. A thread that would do so marks the filing TOUCHED instead, and the owner will look at the trie
after it has confirmed. If several threads file the same filter, the filing in the index names the PENDING ones of the
others.

Invariants
  N1  Every subscription in the trie is filed. Its thread had filed it before, and it is not struck as long as this
      filing is PENDING. Suppose that it is struck later. The pair that it was taken out of was there since before a
      look at the trie that did not find the subscription. A thread that put it there again after this look had filed
      it before: if before that pair was found, the filing was PENDING in it, and it was not struck; if later, another
      pair was there, and the strike failed.
  N2  A filter in the index whose subscription is not in the trie belongs to an operation in progress: each operation
      ends with a look at the trie after its own change, or leaves that look to the owner of a PENDING filing. Or the
      rest of an operation had no memory, or a user's `__eq__` raised there: it is on the list `left` (duties.py), for
      the next change to finish.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import Any

import cython

if not cython.compiled:
    from ctrie._descent import find
    from ctrie._edits import edit_trie
    from ctrie._machine import untrack, untrack_constant
    from ctrie._nodes import Edit, Pair, Root, Rooted, SNode, empty_root, freeze_root, mix, new_pair, root_of
    from ctrie._slot import Slot, compare_and_set, initialise, load
    from subtrie._trie.duties import Duties
    from subtrie._trie.keyed import Keyed, find_keyed, with_keyed, without_keyed

from ctrie._nodes import check_level, snodes
from subtrie._trie.keyed import check_set, iter_keyed

PENDING = "pending"
TOUCHED = "touched"
CONFIRMED = "confirmed"


class Filing(Keyed):
    """A key that a thread is filing, and how far that is."""

    __slots__ = ("others", "state")
    state: Slot
    others: tuple[Filing, ...]  # those that other threads had not confirmed when this one took their place


@cython.no_gc
@cython.cclass
class IndexEdit(Edit):
    """One change of a subscriber's set."""

    __slots__ = ("done", "equal", "key", "subscriber")
    subscriber: Any
    equal: Any  # how subscribers are compared; None: by their own equality
    key: Any  # what is filed
    done: bool  # afterwards: whether it found what it is about

    def same(self, sn: SNode) -> bool:
        if self.settled:
            return False  # it only clears tombs, and need not call the user's __eq__ again
        pair: Pair = sn  # type: ignore[assignment]
        return pair.key is self.subscriber or self.agree(pair.key, self.subscriber, self.equal)

    def create(self) -> SNode | None:
        self.done = False
        return None


@cython.no_gc
@cython.cclass
class File(IndexEdit):
    """Put `filing` there, and name the others that are PENDING in it."""

    __slots__ = ("filing",)
    filing: Filing

    def create(self) -> SNode | None:
        self.filing.others = ()
        return new_pair(self.subscriber, self.hash, self.filing)

    def change(self, sn: SNode) -> SNode | None:
        pair: Pair = sn  # type: ignore[assignment]
        self.filing.others = tuple(
            [one for one in filings_of(find_filed(pair.value, self.key)) if not _is_confirmed(one)]
        )
        return new_pair(pair.key, self.hash, with_filed(pair.value, self.filing))


@cython.no_gc
@cython.cclass
class Confirm(IndexEdit):
    """Put the key in the place of filings that are all confirmed."""

    __slots__ = ()

    def change(self, sn: SNode) -> SNode | None:
        self.done = True
        pair: Pair = sn  # type: ignore[assignment]
        filings = filings_of(find_filed(pair.value, self.key))
        if not filings or [one for one in filings if not _is_confirmed(one)]:
            return sn
        return new_pair(pair.key, self.hash, with_filed(pair.value, settled(self.key)))


@cython.no_gc
@cython.cclass
class Strike(IndexEdit):
    """Take the key out of exactly the pair `expected`."""

    __slots__ = ("expected",)
    expected: Pair

    def change(self, sn: SNode) -> SNode | None:
        pair: Pair = sn  # type: ignore[assignment]
        self.done = pair is self.expected
        if not self.done:
            return sn
        left = without_filed(pair.value, self.key)
        return None if left is None else new_pair(pair.key, self.hash, left)


class ReverseIndex(Rooted):
    """The filings of all subscribers. `hash` always belongs to the subscriber (subscribers.py).

    A subscriber's filings are stored under one object: the subscriber, or an equal one that was filed first. It is
    found by the users' `__eq__` (`owner_of`) before the trie is changed, so nothing is changed if that raises.
    Afterwards it is found by identity."""

    __slots__ = ("left",)
    left: Duties

    if cython.compiled:

        def __cinit__(self) -> None:
            self._root = empty_root()  # so that one that Python makes is no danger

    def owner_of(self, subscriber: Any, hash: int) -> Any:
        """Return the object under which the subscriber's filings are stored; itself if there are none. The search by
        identity comes first, since it calls no `__eq__`."""
        sn: Any = find(self, subscriber, hash, is_)
        if sn is None:
            sn = find(self, subscriber, hash, None)
        return subscriber if sn is None else sn.key

    def file(self, subscriber: Any, hash: int, filing: Filing) -> None:
        """Add a PENDING filing of its key."""
        edit: File = File.__new__(File)
        edit.filing = filing
        self._edit(edit, subscriber, hash, filing.key, None)

    def find_member(self, owner: Any, hash: int, key: Any) -> Any:
        """Return what is filed under a key; None if there is nothing."""
        sn = find(self, owner, hash, is_)
        return None if sn is None else find_filed(sn.value, key)

    def pair_of(self, subscriber: Any, hash: int) -> Pair | None:
        """Return the pair with a subscriber's set of one instant, or None. No other set has the same pair."""
        sn: Any = find(self, subscriber, hash, None)
        return sn  # type: ignore[no-any-return]

    def confirm(self, subscriber: Any, hash: int, filing: Filing) -> bool:
        """Confirm `filing` after the change of the trie. Return whether its owner has to look at the trie once more."""
        # Order: it is confirmed before the key takes its place, as long as the index has it. Success: no thread has
        # unsubscribed meanwhile, and from now on one that does so looks for itself.
        untouched = compare_and_set(filing.state, PENDING, CONFIRMED)
        if not untouched:
            # Success: from now on other threads look for themselves, as above, and we look for the one that touched it.
            # Failure: a call that ended early had confirmed it.
            compare_and_set(filing.state, TOUCHED, CONFIRMED)
        if not self._put_key(subscriber, hash, filing.key):
            # All of the subscriber's filters were struck, and perhaps an equal one has been filed since.
            self._put_key(self.owner_of(subscriber, hash), hash, filing.key)
        return not untouched

    def _put_key(self, owner: Any, hash: int, key: Any) -> bool:
        """Put the key in the place of its filings, if all are confirmed; tell whether anything is filed for `owner`."""
        edit: Confirm = Confirm.__new__(Confirm)
        self._edit(edit, owner, hash, key, is_)
        return edit.done

    def to_strike(self, owner: Any, hash: int, key: Any) -> Pair | None:
        """Return the pair to strike the key from if a later look at the trie finds no such subscription; None if there
        is none."""
        sn: Any = find(self, owner, hash, is_)
        member = None if sn is None else find_filed(sn.value, key)
        for filing in filings_of(member):
            # Success: the owner will look at the trie. Failure: another thread touched it, so the owner will, too; or
            # the owner has confirmed it.
            if compare_and_set(filing.state, PENDING, TOUCHED) or load(filing.state) is TOUCHED:
                return None
        return None if member is None else sn

    def strike(self, owner: Any, hash: int, key: Any, expected: Pair) -> bool:
        """Take a key out of a pair; return whether the pair was still there."""
        edit: Strike = Strike.__new__(Strike)
        edit.expected = expected
        self._edit(edit, owner, hash, key, is_)
        return edit.done

    def _edit(self, edit: IndexEdit, subscriber: Any, hash: int, key: Any, equal: Any) -> None:
        edit.subscriber = subscriber
        edit.hash = hash
        edit.key = key
        edit.equal = equal
        edit_trie(cython.cast(Root, root_of(self)), edit)

    def everything(self) -> Iterator[tuple[Any, int, Any]]:
        """Iterate over (subscriber, its hash, key) for every filing, at one instant."""
        return filed_in(freeze_root(self._root))

    def check(self) -> None:
        """Raise AssertionError if an invariant is broken that the index alone can check. At rest only."""
        for sn in check_level(self._root):
            check_filed(sn.value)
            for member in iter_keyed(_members(sn.value)):
                assert not isinstance(member, Filing), f"the filing of {sn.key!r} for {member.key!r} was not confirmed"


def filed_in(root: Root) -> Iterator[tuple[Any, int, Any]]:
    """Yield what `ReverseIndex.everything` does, of a read-only root."""
    for sn in snodes(root):
        for key in keys_in(sn.value):
            yield sn.key, sn.hash, key


def new_index() -> ReverseIndex:
    index: ReverseIndex = ReverseIndex.__new__(ReverseIndex)
    if not cython.compiled:
        index._root = empty_root()
    index.left = Duties()
    return index


def filings_of(member: Any) -> tuple[Filing, ...]:
    """Return the filings that stand for a key in the index."""
    if not isinstance(member, Filing):
        return ()
    filing: Filing = member
    return (filing, *filing.others)


def new_filing(key: Any) -> Filing:
    """Return a PENDING filing of a key."""
    filing: Filing = Filing.__new__(Filing)
    filing.key = key
    filing.hash = mix(hash(key))
    filing.others = ()
    state: Slot = Slot.__new__(Slot)
    initialise(state, PENDING)
    filing.state = state
    untrack(state, PENDING, None)
    return filing


def settled(key: Any) -> Keyed:
    """Return what stands for a key that is filed, and not being filed."""
    member: Keyed = Keyed.__new__(Keyed)
    member.key = key
    member.hash = mix(hash(key))
    untrack_constant(member)
    return member


def _is_confirmed(filing: Filing) -> bool:
    return load(filing.state) is CONFIRMED


# ---------------------------------------------------------------------------------------------------- a set of filters


def _members(filed: Any) -> Any:
    """Return a subscriber's filters as a set of Keyed."""
    return settled(filed) if type(filed) is str else filed


def _filed(members: Any) -> Any:
    """Return a set of Keyed as it is filed."""
    if isinstance(members, Keyed) and not isinstance(members, Filing) and type(members.key) is str:
        return members.key
    return members


def find_filed(filed: Any, key: Any) -> Any:
    """Return the member with this key, or None. O(log n)."""
    return find_keyed(_members(filed), key, mix(hash(key)))


def with_filed(filed: Any, member: Keyed) -> Any:
    """Return the filters with `member` in place of any that has its key."""
    members = _members(filed)
    return _filed(with_keyed(members, member, find_keyed(members, member.key, member.hash)))


def without_filed(filed: Any, key: Any) -> Any:
    """Return the filters without this one; None if there is nothing left. Raises KeyError."""
    members = _members(filed)
    found = find_keyed(members, key, mix(hash(key)))
    if found is None:
        raise KeyError(key)
    return _filed(without_keyed(members, found))


def keys_in(filed: Any) -> list[Any]:
    """Return the key of every member."""
    return [member.key for member in iter_keyed(_members(filed))]


def check_filed(filed: Any) -> None:
    """Raise AssertionError if a subscriber's filters are ill-formed, or one of them is not found."""
    members = _members(filed)
    assert members is not None, "a subscriber without filters"
    check_set(members)
    assert _filed(members) == filed, f"{members.key!r} is alone, and not filed as its text"
