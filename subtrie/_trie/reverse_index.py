"""The reverse index: from a subscriber to its filters.

A Ctrie (ctrie/_nodes.py) beside the trie, from subscriber to a persistent set (subscribers.py) of *filings*. A filing
stands for one subscription: it has the filter's text as its key, and a state of its own.

The trie decides who is subscribed; the index must name every filter of a subscriber, and may for a while name one too
many, which a look at the trie tells. No compare-and-set changes both, so they are kept together like this:

* To subscribe: file (a fresh filing, PENDING, in place of the one that is there), change the trie, settle, and look
  at the index: where others have replaced or struck the filing, file anew.
* To unsubscribe: change the trie, then withdraw the filing.

PENDING means: whoever filed this has yet to look at the trie a last time. Nobody strikes such a filing; who would have
done so marks it TOUCHED instead, and leaves it to its owner, who settles it and then looks. A SETTLED filing is struck
by whoever finds that the trie lacks the subscription, and only if it still is the very filing that was found SETTLED
before that look.

Invariants
  N1  Whatever the trie holds by a subscribe that has returned is filed. Say a filing is struck: after it was found
      SETTLED the subscription was not in the trie. Whoever put it there again did so later, and then looked at the
      index: a filing of somebody else's that was SETTLED by then it has replaced, so that the strike failed, and one
      that was gone it has filed anew.
  N2  A filing whose subscription is not in the trie belongs to an operation that is still going on: each operation
      ends with a look at the trie that comes after its own change, or leaves that to the owner of a PENDING one.
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
    from ctrie._nodes import Edit, Pair, Rooted, SNode, edit_trie, empty_root, find, freeze_root, new_pair
    from ctrie._slot import Slot, compare_and_set, initialise, load, untrack
    from subtrie._trie.subscribers import Entry, find_entry, subscriber_hash, with_entry, without_entry
else:
    from cython.cimports.ctrie._descent import find
    from cython.cimports.ctrie._native import Slot, compare_and_set, initialise, load, untrack
    from cython.cimports.ctrie._nodes import Edit, Pair, Rooted, SNode, edit_trie, empty_root, freeze_root, new_pair
    from cython.cimports.subtrie._trie.subscribers import Entry, find_entry, subscriber_hash, with_entry, without_entry

from ctrie._nodes import check_level, snodes
from subtrie._trie.subscribers import check_set, iter_entries

PENDING = "pending"
TOUCHED = "touched"
SETTLED = "settled"


class Filing(Entry):
    """That a subscriber is on a filter: the key stands where a subscriber's entry has the subscriber."""

    __slots__ = ("state",)
    state: Slot


class IndexEdit(Edit):
    """One change of a subscriber's filings: put `filing` in, or take it, and no other one, out."""

    __slots__ = ("equal", "filing", "strike", "subscriber")
    subscriber: Any
    equal: Any  # how subscribers are compared; None: by their own equality
    filing: Filing
    strike: bool

    def same(self, sn: SNode) -> bool:
        if self.settled:
            return False  # only clearing tombs away: no need to trouble the user's __eq__ again
        pair: Pair = sn  # type: ignore[assignment]
        return pair.key is self.subscriber or self.agree(pair.key, self.subscriber, self.equal)

    def create(self) -> SNode | None:
        return None if self.strike else new_pair(self.subscriber, self.hash, self.filing)

    def change(self, sn: SNode) -> SNode | None:
        filing = self.filing
        pair: Pair = sn  # type: ignore[assignment]
        present = find_entry(pair.value, filing.subscriber, filing.hash)
        if not self.strike:
            return new_pair(pair.key, self.hash, with_entry(pair.value, filing, present))
        if present is not filing:
            return sn
        left = without_entry(pair.value, filing)
        return None if left is None else new_pair(pair.key, self.hash, left)


class Index(Rooted):
    """The filings of all subscribers. `hash` is everywhere the subscriber's (subscribers.py).

    A subscriber's filings stand under their *owner*: the subscriber, or one equal to it that was filed first. Users'
    code is asked who that is (`owner_of`) before the trie is changed, so that nothing is changed if it raises;
    afterwards the owner is found by identity."""

    __slots__ = ()

    def owner_of(self, subscriber: Any, hash: int) -> Any:
        """Return the object under which the subscriber's filings stand; itself if there are none. It is looked for by
        identity first: then the `__eq__` of no other subscriber is run."""
        sn: Any = find(self, subscriber, hash, is_)
        if sn is None:
            sn = find(self, subscriber, hash, None)
        return subscriber if sn is None else sn.key

    def file(self, subscriber: Any, hash: int, key: Any) -> Filing:
        """Put a PENDING filing in, whatever there was."""
        filing = _new_filing(key)
        self._edit(subscriber, hash, filing, False, None)
        return filing

    def find_filing(self, owner: Any, hash: int, key: Any) -> Filing | None:
        sn = find(self, owner, hash, is_)
        return None if sn is None else find_entry(sn.value, key, subscriber_hash(key))  # type: ignore[return-value]

    def filings(self, subscriber: Any, hash: int) -> Any:
        """Return the set of a subscriber's filings, of one instant."""
        sn = find(self, subscriber, hash, None)
        return None if sn is None else sn.value

    def settle(self, subscriber: Any, hash: int, filing: Filing) -> bool:
        """The trie has been changed for `filing`. Tell whether its owner has to look at the trie once more."""
        look = _settle(filing)
        present = self.find_filing(self.owner_of(subscriber, hash), hash, filing.subscriber)
        if present is filing or (present is not None and load(present.state) is not SETTLED):
            return look  # of somebody else's filing, the owner has his looks before him
        _settle(self.file(subscriber, hash, filing.subscriber))
        return True

    def to_strike(self, owner: Any, hash: int, key: Any) -> Filing | None:
        """Return the filing to strike if a look at the trie, from now on, finds no such subscription."""
        filing = self.find_filing(owner, hash, key)
        if filing is None:
            return None
        # Success: the owner will look at the trie. Failure: he has settled it, or somebody else has left it to him.
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
        edit_trie(self._root, edit)

    def everything(self) -> Iterator[tuple[Any, int, Any]]:
        """Yield (subscriber, its hash, key) for every filing, at one instant."""
        for sn in snodes(freeze_root(self._root)):
            for filing in iter_entries(sn.value):
                yield sn.key, sn.hash, filing.subscriber

    def check(self) -> None:
        """Raise AssertionError if an invariant is broken that the index can see by itself. At rest only."""
        for sn in check_level(self._root):
            assert sn.value is not None, f"{sn.key!r} is filed without a filter"
            check_set(sn.value)
            for filing in iter_entries(sn.value):
                assert _is_settled(filing), f"the filing of {sn.key!r} for {filing.subscriber!r} was not settled"


def new_index() -> Index:
    index: Index = Index.__new__(Index)
    index._root = empty_root()
    return index


def _new_filing(key: Any) -> Filing:
    filing: Filing = Filing.__new__(Filing)
    filing.subscriber = key
    filing.hash = subscriber_hash(key)
    filing.options = None
    state: Slot = Slot.__new__(Slot)
    initialise(state, PENDING)
    filing.state = state
    untrack(state, PENDING, None)
    untrack(filing, key, None)
    return filing


def _settle(filing: Filing) -> bool:
    """Tell whether somebody has left it to the owner to look at the trie."""
    # Success: nobody has unsubscribed meanwhile, and from now on whoever does so strikes the filing himself. Failure:
    # somebody has, and left it to us.
    if compare_and_set(filing.state, PENDING, SETTLED):
        return False
    # Success: from now on others strike it, as above. There is no failure: only the owner takes this step.
    compare_and_set(filing.state, TOUCHED, SETTLED)
    return True


def _is_settled(filing: Any) -> bool:
    return load(filing.state) is SETTLED
