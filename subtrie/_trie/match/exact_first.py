"""`match_iter`: first the subscribers of the filter that equals the topic, then all others.

The first ones are handed over before the others are searched for. This search begins when the caller asks for more; it
is in what the trie was at the instant of the call. If there is little to search, and no two subscribers may be equal,
all are taken at once, which takes less time than a second search. Where this file has no answer (None),
literal_first.py has one.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Iterator
from typing import Any

if not cython.compiled:
    from ctrie._cnode import MainNode
    from ctrie._descent import help_pending
    from ctrie._nodes import Root
    from ctrie._slot import borrow, borrowed, pin, unpin
    from subtrie._trie.frozen import main_for_good, root_over
    from subtrie._trie.match.named import begin_again, few_beside, find_named, traverse_beside
    from subtrie._trie.match.plan import Matchable, has_wild_word, holds_weakly, lay_out, plan_of, split_in_place
    from subtrie._trie.match.questions import answer_of, take_different, take_found
    from subtrie._trie.match.scratch import (
        Later,
        Named,
        Scratch,
        begin,
        handed_over,
        keep_named,
        put_named,
        release,
        subscriber_at,
    )
    from subtrie._trie.match.traversal import ENOUGH, PENDING, THROUGH, traverse
    from subtrie._trie.match.walk import KEPT, Passed, Traversal, address, as_node
else:
    from cython import address


def exact_first(trie: Matchable, topic: Any) -> Iterator[Any] | None:
    """Return an iterator over what `match` returns, all of the instant of the call. Subscribers of the filter that
    equals the topic come first. None: literal_first.py has to answer."""
    if not cython.compiled:
        scratch, passed = Scratch(), Passed()
    s = address(scratch)
    if holds_weakly(trie) or not split_in_place(address(s.walk), plan_of(trie), borrow(topic)) or s.walk.size > KEPT:
        return None
    main = main_for_good(trie)
    named = borrow(None)
    begin(s, False)
    try:
        if not has_wild_word(address(s.walk)):
            named = _take_named(s, main, address(passed))
        if s.shared:
            return None
        if named is not borrow(None):
            if passed.count == 0:
                return iter(handed_over(s))
            return _search_later(s, trie, topic, main, named, address(passed))
        _read_below(s, main, address(passed), named)
        return iter(answer_of(s, trie, True))
    finally:
        release(s)


def _take_named(s: Scratch, main: MainNode, passed: Passed) -> Any:
    """Take the subscribers of the filter that is the topic itself. Return its branch, which `main` keeps, or None. If
    the others are few, take these, too: then nothing that was passed is left to be searched."""
    root = None
    while True:
        pin()
        outcome = find_named(address(s.walk), borrow(main), passed)
        if outcome == PENDING:
            root = _help_below(root, main, address(s.walk))
            continue
        named = as_node(s.walk.found.items[0]) if outcome == ENOUGH else borrow(None)
        taken = outcome != ENOUGH or _take_few(s, passed, named) or take_found(s)
        unpin()
        if not taken:
            raise MemoryError
        return named


def _take_few(s: Scratch, passed: Passed, named: Any) -> bool:
    """Take all that the topic reaches, if it is little; else leave what was found as it is."""
    if few_beside(address(s.walk), passed, named) and take_different(s):
        passed.count = 0
        return True
    begin_again(address(s.walk), named)
    return False


def _help_below(root: Root | None, main: MainNode, t: Traversal) -> Root:
    """Decide what is pending below a main node for good. That takes a root: made, unpinned, at the first try."""
    if root is None:
        unpin()
        return root_over(main)
    help_pending(root, t.pending, t.pending_main)
    return root


def _read_below(s: Scratch, main: MainNode, passed: Passed, named: Any) -> int:
    """Take the subscribers of all that the topic reaches below a main node for good: no second pass is needed. The
    branch `named`, unless that is None, comes first."""
    root = None
    while True:
        pin()
        if named is borrow(None):
            outcome = traverse(address(s.walk), named, borrow(main))
        else:
            outcome = traverse_beside(address(s.walk), passed, named)
        if outcome == PENDING:
            root = _help_below(root, main, address(s.walk))
            continue
        taken = outcome == THROUGH and take_found(s)
        unpin()
        if not taken:
            raise MemoryError
        return 0


def _search_later(s: Scratch, trie: Matchable, topic: Any, main: MainNode, named: Any, passed: Passed) -> ExactFirst:
    """Hand the subscribers taken over to an iterator, which searches for the others after them."""
    rest: ExactFirst = ExactFirst.__new__(ExactFirst)
    if not cython.compiled:
        rest.kept = Named()
    rest.trie = trie
    rest.topic = topic
    rest.main = main
    rest.named = borrowed(named)
    if s.subscribers.count == 2:  # one subscriber, with its hash, as most often: it takes no tuple
        rest.sole = subscriber_at(s, 0)
        rest.found = ()
        rest.told = -1
    else:
        rest.found = handed_over(s)
        rest.told = 0
    keep_named(address(rest.kept), address(s.walk), passed)
    return rest


class ExactFirst(Later):
    """Yields the subscribers of the filter that equals the topic. Then it searches for the others, in what the trie was
    at the call."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        with cython.critical_section(self):
            if self.told < 0:
                self.told = 1
                return self.sole
            if self.main is not None and self.told >= len(self.found):
                _search(self)
            if self.told < len(self.found):
                one = self.found[self.told]
                self.told += 1
                return one
        raise StopIteration


def _search(rest: ExactFirst) -> None:
    """Find the others. The answer begins with those that have been handed over."""
    if not cython.compiled:
        scratch = Scratch()
    s = address(scratch)
    main = rest.main
    rest.main = None
    assert main is not None
    put_named(address(s.walk), address(rest.kept))
    lay_out(address(s.walk), plan_of(rest.trie), borrow(rest.topic))
    begin(s, False)
    try:
        _read_below(s, main, address(rest.kept.passed), borrow(rest.named))
        rest.found = answer_of(s, rest.trie, True)
    finally:
        release(s)
