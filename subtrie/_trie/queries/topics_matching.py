# distutils: extra_compile_args = FAST
"""The topics of a store that a filter matches, found by a walk along the filter.

All stored words are literal; only the filter has wildcards. A literal word of the filter leads to one branch of a
level, `one_word` leads to all branches, and `many_words` at its end to everything below. The branches hold the pairs of
topic and value (topic_edits.py), so no text has to be made for an answer.

For a filter with `many_words` before its end (AMQP's `a.#.b`), the walk goes as far as that word, and each topic found
is then compared with the whole filter.

In a store of a million topics, a walk waits for memory most of its time: there are ten scattered nodes on the path to
an answer. So the walk visits a group of nodes at a time, in small steps. Each step reads one node of every path and
prefetches the next: while one is fetched, the others are read. The topic and value of each answer are prefetched, too,
for the caller.

The root is read-only. So the main node of an I-node, once it is seen to be committed, exists as long as the root does
(I2 in ctrie/_nodes.py), and so do all nodes below it: they are borrowed without a pin. A pin is needed only from the
read of an I-node until its main node is seen to be committed.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._descent import help_pending, prefetch_child, prefetch_node
    from ctrie._machine import W, check_signals, flag_at, popcount
    from ctrie._nodes import INode, LNode, Root, entombed_in, entries_of, hash_of, rdcss_read_root, value_of
    from ctrie._slot import borrow, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import Chain, next_of
    from subtrie._trie.match.reading import PyErr_CheckSignals
    from subtrie._trie.match.walk import address, begins_branch, fetch_text_apart, item_of, size_of
    from subtrie._trie.queries.store_walk import (
        GROUP,
        Walk,
        aim_at,
        begin,
        end,
        followed_in,
        is_no_text,
        is_reserved,
        last_depth,
        list_of_found,
        note_pair,
        pop_last,
        prefetch_children,
        set_aims,
        take_references,
        wait,
    )
else:
    from cython import address


def _go_through(w: Walk, root: Root) -> bool:
    """Visit the waiting nodes, and all that they lead to. Return False if there is no memory."""
    while w.waiting.count > 0:
        PyErr_CheckSignals()
        if w.waiting.count > GROUP:
            check_signals()  # lets others run; what is borrowed is the root's, which the caller holds
        _gather_group(w)
        take_references(w)  # to the answers of the last group
        if not (_visit_all(w, root) if aim_at(w, w.depth).any else _visit_own(w, root)):
            return False
        for i in range(w.apart_count):
            if not _follow(w, w.apart[i]):
                return False
        w.apart_count = 0
    take_references(w)
    return True


def _gather_group(w: Walk) -> None:
    """Make a group of the last waiting nodes, which have the same depth, and prefetch them."""
    w.depth = last_depth(w)
    w.count = 0
    while w.count < GROUP and w.waiting.count > 0 and last_depth(w) == w.depth:
        w.nodes[w.count] = pop_last(w)
        prefetch_node(w.nodes[w.count])
        w.count += 1


def _read_mains(w: Walk, root: Root) -> int:
    """Read the main nodes of the group's I-nodes.

    Progress: it begins again only after it has completed another thread's write.
    """
    while True:
        pin()
        for i in range(w.count):
            w.mains[i] = peek(w.nodes[i])
            prefetch_node(w.mains[i])
        pending = -1
        for i in range(w.count):
            if peek(w.mains[i]) is not borrow(None):
                pending = i
        if pending < 0:
            unpin()
            return 0
        help_pending(root, w.nodes[pending], w.mains[pending])


def _visit_own(w: Walk, root: Root) -> bool:
    """Visit the one branch in each of the group's levels that begins with the filter's next word, like `branch_in` in
    reading.py."""
    aim = aim_at(w, w.depth)
    lev = 0
    while w.count > 0:
        _read_mains(w, root)
        count = 0
        for i in range(w.count):
            main = w.mains[i]
            if is_exactly(main, CNode):
                flag = flag_at(aim.word.hash, lev)
                if bitmap_of(main) & flag:
                    w.mains[count] = main
                    w.numbers[count] = popcount(bitmap_of(main) & (flag - 1))
                    prefetch_child(main, w.numbers[count])
                    count += 1
            elif not _visit_others(w, main):
                return False
        for i in range(count):
            w.nodes[i] = child_at(w.mains[i], w.numbers[i])
            prefetch_node(w.nodes[i])
        w.count = 0
        for i in range(count):
            node = w.nodes[i]
            if is_exactly(node, INode):
                w.nodes[w.count] = node
                w.count += 1
            elif hash_of(node) == aim.word.hash and not _meet(w, node):
                return False
        lev += W
    return True


def _visit_all(w: Walk, root: Root) -> bool:
    """Visit the group's branches, and let all children of its I-nodes wait."""
    count = 0
    for i in range(w.count):
        node = w.nodes[i]
        if is_exactly(node, INode):
            w.nodes[count] = node
            count += 1
        elif not _meet(w, node):
            return False
    w.count = count
    _read_mains(w, root)
    for i in range(w.count):
        if is_exactly(w.mains[i], CNode):
            prefetch_children(w.mains[i])
    for i in range(w.count):
        main = w.mains[i]
        if is_exactly(main, CNode):
            for j in range(popcount(bitmap_of(main))):
                if not wait(w, child_at(main, j), w.depth):
                    return False
        elif not _visit_others(w, main):
            return False
    return True


def _visit_others(w: Walk, main: Any) -> bool:
    """Visit the branches of an L-node, or the branch in a tomb."""
    if is_exactly(main, LNode):
        entries = entries_of(main)
        has_memory = True
        for i in range(size_of(entries)):
            has_memory = has_memory and _follow(w, item_of(entries, i))
        return has_memory
    last = entombed_in(main)
    return last is borrow(None) or _follow(w, last)


def _meet(w: Walk, branch: Any) -> bool:
    """Visit a branch whose hash fits the next word. If its text is needed and stored elsewhere, fetch it first."""
    if w.depth > 0 and aim_at(w, w.depth).any:
        if w.depth >= w.size:  # all topics below match
            return _leave(w, branch, w.size + 1, True)
        if not is_exactly(branch, Chain):
            return _leave(w, branch, w.depth + 1, True)
    if fetch_text_apart(branch):
        w.apart[w.apart_count] = branch
        w.apart_count += 1
        return True
    return _follow(w, branch)


def _follow(w: Walk, branch: Any) -> bool:
    """Visit any branch: find whether the filter follows it, by its text if needed, and how far."""
    aim = aim_at(w, w.depth)
    if not aim.any:
        if hash_of(branch) != aim.word.hash or not begins_branch(address(aim.word), branch, w.separator_in_place):
            return True
    elif w.depth >= w.size and w.depth > 0:
        return _leave(w, branch, w.size + 1, True)
    elif w.depth == 0 and is_reserved(w, branch):
        return True
    reached = w.depth + 1
    if is_exactly(branch, Chain):
        followed = followed_in(w, branch, w.depth)
        if followed > 0:
            reached = w.depth + followed
        elif w.open and w.depth - followed == w.size:
            reached = w.size + 1  # or more
        else:
            return True
    is_no_words = w.depth == 0 and w.wordless and w.least > 0 and is_no_text(branch)  # but the filter wants words
    return _leave(w, branch, reached, not is_no_words)


def _leave(w: Walk, branch: Any, reached: int, counts: bool) -> bool:
    """Leave a branch, after `reached` words: let the level below wait, and at the filter's end note the branch's value,
    if that `counts`."""
    level = next_of(branch)
    if reached < w.size:
        return level is borrow(None) or wait(w, level, reached)
    pair = value_of(branch)
    if pair is not borrow(None) and counts and reached >= w.least and not note_pair(w, pair):
        return False
    # For a filter of no literal words, such as #, lower levels have depth 1: words are reserved only at depth 0.
    return not w.open or level is borrow(None) or wait(w, level, w.size if w.size > 0 else 1)


def topics_along(
    root: Root,
    words: tuple[str | None, ...],
    separator: str,
    open: bool,
    least: int,
    reserved: str | None,
    wordless: bool,
) -> list[tuple[str, Any]]:
    """Return the pairs of the topics in a read-only root that begin with `words`; None stands for any word.

    The topics have exactly these words, or may have more if `open`, and have at least `least` words. O(levels that the
    words reach, and all that is below the last word).
    """
    if not cython.compiled:
        walk = Walk()
    w = address(walk)
    begin(w)
    w.separator = borrow(separator)
    w.separator_in_place = separator
    w.reserved = borrow(reserved)
    w.wordless = wordless
    w.least = least
    w.open = open
    first = rdcss_read_root(root)
    try:
        if not set_aims(w, words) or not wait(w, borrow(first), 0) or not _go_through(w, root):
            raise MemoryError
        return list_of_found(w)
    finally:
        end(w)
