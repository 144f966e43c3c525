"""The topic's own filter, for questions that want it first: found by name, and the others beside it.

As `_asked_by_name` in literal_first.py, with borrowed nodes, below a main node that does not change any more. The
caller holds a pin, as for a traversal (traversal.py)."""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

if not cython.compiled:
    from ctrie._arrays import W, flag_at, popcount
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._nodes import INode, LNode, entombed_in, entries_of, hash_of, value_of
    from ctrie._slot import borrow, is_exactly, peek
    from subtrie._trie.branch import Chain, next_of, sole_hash_of
    from subtrie._trie.match.traversal import ENOUGH, PENDING, THROUGH, first_of_exact_but_whole, go_through, wildcards
    from subtrie._trie.match.walk import (
        FEW,
        Ends,
        Passed,
        Traversal,
        Word,
        address,
        as_node,
        begin_with,
        begins_branch,
        bit,
        ends_of,
        few_of,
        is_part,
        item_of,
        length_of,
        named_word,
        rewind,
        size_of,
        text_in,
        word_end,
    )
    from subtrie._trie.subscribers import Entry
else:
    from cython import address


def find_named(t: Traversal, main: Any, passed: Passed) -> int:
    """Look for the branch of the filter that is the topic itself, below the first main node. No word of the topic is
    what a wildcard is in a filter, and there are KEPT at most. ENOUGH: it is what was found, and it has subscribers.
    THROUGH: there is none. PENDING: of an undecided GCAS on the way, `t.pending` is the I-node."""
    rewind(t)
    size = 1 if t.exact else t.size
    taken = 0
    branch = borrow(None)
    passed.count = 0
    t.pending = borrow(None)
    while True:
        passed.mains[passed.count] = main
        passed.taken[passed.count] = taken
        passed.count += 1
        if taken == size:
            break
        branch = _branch_of(t, main, named_word(t, taken))
        if branch is borrow(None):
            return THROUGH if t.pending is borrow(None) else PENDING
        taken += _followed(t, branch, taken, size)
        if taken > size or (taken == size and not sole_hash_of(branch) and value_of(branch) is borrow(None)):
            return THROUGH
        level = next_of(branch)
        if level is borrow(None):
            if taken == size:
                break
            return THROUGH
        main = peek(level)
        if _is_pending(t, level, main):
            return PENDING
    begin_with(t, branch)
    return ENOUGH


def traverse_beside(t: Traversal, passed: Passed, named: Any) -> int:
    """As `traverse`, where the topic's own filter is known, which comes first of what is found: of the levels on the
    way to it only the wildcards are still to be looked at, for a word leads to one branch."""
    begin_again(t, named)
    return _beside(t, ends_of(t), passed)


def few_beside(t: Traversal, passed: Passed, named: Any) -> bool:
    """Find the same, and tell whether it is all that the topic reaches, and little: a few I-nodes and subscribers."""
    if not _has_few(named):
        return False
    begin_again(t, named)
    if _beside(t, few_of(t), passed) != THROUGH or t.found.count > FEW:
        return False
    for i in range(1, t.found.count):  # noqa: SIM110 - compiled code has no generators here
        if not _has_few(as_node(t.found.items[i])):
            return False
    return True


def begin_again(t: Traversal, named: Any) -> None:
    """Forget all that was found but the topic's own filter."""
    rewind(t)
    begin_with(t, named)


def _has_few(branch: Any) -> bool:
    """Return whether a branch has few subscribers, in no group."""
    value = value_of(branch)
    return sole_hash_of(branch) or is_exactly(value, Entry) or is_exactly(value, tuple)


def _beside(t: Traversal, ends: Ends, passed: Passed) -> int:
    """Look for all but the topic's own filter."""
    if t.exact:  # the whole topic is one word, and what begins with a word is behind the mark
        outcome = first_of_exact_but_whole(t, address(ends), passed.mains[0])
        return outcome if outcome != THROUGH else go_through(t, ends, False)
    for i in range(passed.count):
        if i > 0 or not t.reserved:
            outcome = wildcards(t, address(ends), passed.mains[i], bit(passed.taken[i]))
            if outcome != THROUGH:
                return outcome
    return go_through(t, ends, False)


def _is_pending(t: Traversal, inode: Any, main: Any) -> bool:
    if peek(main) is borrow(None):
        return False
    t.pending = inode
    t.pending_main = main
    return True


def _branch_of(t: Traversal, main: Any, word: Word) -> Any:
    """Return the branch of a level that begins with a word; None if there is none, or `t.pending` was met first."""
    hash = word.hash
    while is_exactly(main, CNode):
        bitmap = bitmap_of(main)
        flag = flag_at(hash, 0)
        if not bitmap & flag:
            return borrow(None)
        node = child_at(main, popcount(bitmap & (flag - 1)))
        if not is_exactly(node, INode):
            return node if _begins(t, node, word) else borrow(None)
        hash >>= W
        main = peek(node)
        if _is_pending(t, node, main):
            return borrow(None)
    if is_exactly(main, LNode):
        entries = entries_of(main)
        for i in range(size_of(entries)):
            if _begins(t, item_of(entries, i), word):
                return item_of(entries, i)
        return borrow(None)
    node = entombed_in(main)
    return node if node is not borrow(None) and _begins(t, node, word) else borrow(None)


def _begins(t: Traversal, branch: Any, word: Word) -> bool:
    return hash_of(branch) == word.hash and begins_branch(word, branch, t.separator)


def _followed(t: Traversal, branch: Any, taken: int, size: int) -> int:
    """Return how many words of the topic, after those taken, a branch has that begins with the next one; more than
    there are if it has others."""
    if not is_exactly(branch, Chain):
        return 1
    chain = text_in(branch)
    length = length_of(address(chain))
    at = named_word(t, taken).length
    count = 1
    while at < length:
        start = at + 1
        at = word_end(address(chain), start, t.separator)
        if taken + count == size or not is_part(named_word(t, taken + count), address(chain), start, at):
            return size - taken + 1
        count += 1
    return count
