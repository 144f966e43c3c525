"""The reverse index: from a subscriber to its filters.

It is a Ctrie (ctrie/_nodes.py) beside the trie, from subscriber to a persistent set (keyed.py) of *filings*. A
filing records one subscription: its key is the filter's text, and it has a state.

The trie decides which subscriptions exist. The index must contain every filter of a subscriber. For a while it may
contain one too many; a look at the trie shows that. No compare-and-set changes both, so they are kept consistent like
this:

* To subscribe: file (a fresh filing, PENDING, replaces any present one), change the trie, settle, and look at the
  index. If another thread has replaced or struck the filing, file again.
* To unsubscribe: change the trie, then strike the filing.

PENDING means that the thread that filed it, its owner, has yet to look at the trie a last time. No thread strikes such
a filing. A thread that would do so marks it TOUCHED instead, and the owner will settle it and then look. A SETTLED
filing is struck by any thread that finds that the trie lacks the subscription, but only if it is still the same filing
that this thread found SETTLED before its look at the trie.

Invariants
  N1  Every subscription in the trie by a subscribe that has returned is filed. Suppose a filing is struck. After it was
      found SETTLED, the subscription was not in the trie. A thread that put it there again did so later, and then
      looked at the index. If it found another thread's SETTLED filing, it replaced that, so the strike failed. If the
      filing was gone, it filed again.
  N2  A filing whose subscription is not in the trie belongs to an operation in progress: each operation ends with a
      look at the trie after its own change, or leaves that look to the owner of a PENDING filing. Or the rest of an
      operation had no memory, or a user's `__eq__` raised there: it is on the list `left` (duties.py), for the next
      change to finish.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Iterator
from operator import is_
from typing import Any

if not cython.compiled:
    from ctrie._descent import find
    from ctrie._edits import edit_trie
    from ctrie._memory import untrack
    from ctrie._nodes import Edit, Pair, Root, Rooted, SNode, empty_root, freeze_root, new_pair, root_of
    from ctrie._slot import Slot, compare_and_set, initialise, load
    from subtrie._trie.keyed import Keyed, find_keyed, with_keyed, without_keyed
    from subtrie._trie.subscribers import subscriber_hash

from ctrie._nodes import check_level, snodes
from subtrie._trie.duties import Duties
from subtrie._trie.keyed import check_set, iter_keyed

PENDING = "pending"
TOUCHED = "touched"
SETTLED = "settled"


class Filing(Keyed):
    """A record that a subscriber is on a filter. Its key is that of the filter."""

    __slots__ = ("state",)
    state: Slot


class IndexEdit(Edit):
    """One change of a subscriber's filings: add `filing`, or remove exactly this filing."""

    __slots__ = ("equal", "filing", "strike", "subscriber")
    subscriber: Any
    equal: Any  # how subscribers are compared; None: by their own equality
    filing: Filing
    strike: bool

    def same(self, sn: SNode) -> bool:
        if self.settled:
            return False  # it only clears tombs, and need not call the user's __eq__ again
        pair: Pair = sn  # type: ignore[assignment]
        return pair.key is self.subscriber or self.agree(pair.key, self.subscriber, self.equal)

    def create(self) -> SNode | None:
        return None if self.strike else new_pair(self.subscriber, self.hash, self.filing)

    def change(self, sn: SNode) -> SNode | None:
        filing = self.filing
        pair: Pair = sn  # type: ignore[assignment]
        present = find_keyed(pair.value, filing.key, filing.hash)
        if not self.strike:
            return new_pair(pair.key, self.hash, with_keyed(pair.value, filing, present))
        if present is not filing:
            return sn
        left = without_keyed(pair.value, filing)
        return None if left is None else new_pair(pair.key, self.hash, left)


class Index(Rooted):
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

    def file(self, subscriber: Any, hash: int, key: Any) -> Filing:
        """Add a PENDING filing, in place of any present one."""
        filing = _new_filing(key)
        self._edit(subscriber, hash, filing, False, None)
        return filing

    def find_filing(self, owner: Any, hash: int, key: Any) -> Filing | None:
        sn = find(self, owner, hash, is_)
        return None if sn is None else find_keyed(sn.value, key, subscriber_hash(key))

    def filings(self, subscriber: Any, hash: int) -> Any:
        """Return the set of a subscriber's filings, of one instant."""
        sn = find(self, subscriber, hash, None)
        return None if sn is None else sn.value

    def settle(self, subscriber: Any, hash: int, filing: Filing) -> bool:
        """Settle `filing` after the change of the trie. Return whether its owner has to look at the trie once more."""
        look = _settle(filing)
        present = self.find_filing(self.owner_of(subscriber, hash), hash, filing.key)
        if present is filing or (present is not None and load(present.state) is not SETTLED):
            return look  # the owner of another thread's filing has yet to look
        _settle(self.file(subscriber, hash, filing.key))
        return True

    def to_strike(self, owner: Any, hash: int, key: Any) -> Filing | None:
        """Return the filing to strike if a later look at the trie finds no such subscription; None if there is none."""
        filing = self.find_filing(owner, hash, key)
        if filing is None:
            return None
        # Success: the owner will look at the trie. Failure: it has settled the filing, or another thread touched it.
        if compare_and_set(filing.state, PENDING, TOUCHED) or load(filing.state) is TOUCHED:
            return None
        return filing

    def strike(self, owner: Any, hash: int, filing: Filing) -> None:
        self._edit(owner, hash, filing, True, is_)

    def _edit(self, subscriber: Any, hash: int, filing: Filing, strike: bool, equal: Any) -> None:
        edit: IndexEdit = IndexEdit.__new__(IndexEdit)
        edit.subscriber = subscriber
        edit.hash = hash
        edit.filing = filing
        edit.strike = strike
        edit.equal = equal
        edit_trie(cython.cast(Root, root_of(self)), edit)

    def everything(self) -> Iterator[tuple[Any, int, Any]]:
        """Iterate over (subscriber, its hash, key) for every filing, at one instant."""
        return filed_in(freeze_root(self._root))

    def check(self) -> None:
        """Raise AssertionError if an invariant is broken that the index alone can check. At rest only."""
        for sn in check_level(self._root):
            assert sn.value is not None, f"{sn.key!r} is filed without a filter"
            check_set(sn.value)
            for filing in iter_keyed(sn.value):
                assert _is_settled(filing), f"the filing of {sn.key!r} for {filing.key!r} was not settled"


def filed_in(root: Root) -> Iterator[tuple[Any, int, Any]]:
    """Yield what `Index.everything` does, of a read-only root."""
    for sn in snodes(root):
        for filing in iter_keyed(sn.value):
            yield sn.key, sn.hash, filing.key


def new_index() -> Index:
    index: Index = Index.__new__(Index)
    if not cython.compiled:
        index._root = empty_root()
    index.left = Duties()
    return index


def _new_filing(key: Any) -> Filing:
    filing: Filing = Filing.__new__(Filing)
    filing.key = key
    filing.hash = subscriber_hash(key)
    state: Slot = Slot.__new__(Slot)
    initialise(state, PENDING)
    filing.state = state
    untrack(state, PENDING, None)
    untrack(filing, key, None)
    return filing


def _settle(filing: Filing) -> bool:
    """Settle a filing; return whether another thread has left it to the owner to look at the trie."""
    # Success: no thread has unsubscribed meanwhile, and from now on one that does so strikes the filing itself.
    # Failure: a thread has, and has left the look to us.
    if compare_and_set(filing.state, PENDING, SETTLED):
        return False
    # Success: from now on other threads strike it, as above. There is no failure: only the owner takes this step.
    compare_and_set(filing.state, TOUCHED, SETTLED)
    return True


def _is_settled(filing: Any) -> bool:
    return load(filing.state) is SETTLED
