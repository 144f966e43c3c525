"""The topics of a store that a filter matches, found by a walk along the filter.

All words of what is stored are literal, and the filter has the wildcards: a word of its own leads to one branch of a
level, `one_word` to all of them, and `many_words` at its end to everything below. The pairs of topic and value stand
in the branches (topic_edits.py), so an answer takes no text, and what is no answer makes none.

A filter that has `many_words` before its end (AMQP's `a.#.b`) is walked as far as that word, and what is found is then
compared as a whole.

In a store of a million topics a walk along the nodes waits for memory most of its time: ten of them lie on the way to
an answer, each in a place of its own. So the walk goes with a group of nodes at a time, in small steps, each of which
looks at one node of every way and asks for the next: while one is on its way from memory, the others are looked at.
What an answer is made of is asked for as well: whoever reads the answers finds it there.

The root is read-only. So the main node of an I-node, once it is seen to be committed, is there for as long as the root
is (I2 in ctrie/_nodes.py), and so are all nodes below it: they are borrowed without being pinned. A pin is needed only
from the look at an I-node until its main node is seen to be committed.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

if not cython.compiled:
    from ctrie._arrays import W, flag_at, popcount
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._descent import help_pending, prefetch_child, prefetch_node
    from ctrie._nodes import INode, LNode, Root, entombed_in, entries_of, hash_of, rdcss_read_root, value_of
    from ctrie._slot import borrow, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import Chain, next_of
    from subtrie._trie.match.reading import PyErr_CheckSignals
    from subtrie._trie.match.walk import address, fetch_text_apart, item_of, size_of
    from subtrie._trie.queries.store_walk import (
        GROUP,
        Walk,
        aim_at,
        begin,
        end,
        fetch_children,
        followed_in,
        has_word,
        is_no_text,
        is_plain,
        is_reserved,
        is_word,
        last_depth,
        list_of_found,
        note_pair,
        set_aims,
        take_last,
        take_references,
        wait,
    )
else:
    from cython import address
    from cython.cimports.cpython.exc import PyErr_CheckSignals
    from cython.cimports.ctrie._arrays import W, flag_at, popcount
    from cython.cimports.ctrie._cnode import CNode, bitmap_of, child_at
    from cython.cimports.ctrie._descent import help_pending, prefetch_child, prefetch_node
    from cython.cimports.ctrie._native import borrow, is_exactly, peek, pin, unpin
    from cython.cimports.ctrie._nodes import (
        INode,
        LNode,
        Root,
        entombed_in,
        entries_of,
        hash_of,
        rdcss_read_root,
        value_of,
    )
    from cython.cimports.subtrie._trie.branch import Chain, next_of
    from cython.cimports.subtrie._trie.match.walk import fetch_text_apart, item_of, size_of
    from cython.cimports.subtrie._trie.queries.store_walk import (
        GROUP,
        Walk,
        aim_at,
        begin,
        end,
        fetch_children,
        followed_in,
        has_word,
        is_no_text,
        is_plain,
        is_reserved,
        is_word,
        last_depth,
        list_of_found,
        note_pair,
        set_aims,
        take_last,
        take_references,
        wait,
    )


def _go_through(w: Walk, root: Root) -> bool:
    """Visit what waits, and what that leads to. False: there is no memory."""
    while w.waiting.count > 0:
        PyErr_CheckSignals()
        _take_group(w)
        take_references(w)  # to what the last group has found
        if not (_visit_all(w, root) if aim_at(w, w.depth).any else _visit_own(w, root)):
            return False
        for i in range(w.apart_count):
            if not _follow(w, w.apart[i]):
                return False
        w.apart_count = 0
    take_references(w)
    return True


def _take_group(w: Walk) -> None:
    """Ask for nodes that wait, as many as there are of the last one's depth."""
    w.depth = last_depth(w)
    w.count = 0
    while w.count < GROUP and w.waiting.count > 0 and last_depth(w) == w.depth:
        w.nodes[w.count] = take_last(w)
        prefetch_node(w.nodes[w.count])
        w.count += 1


def _read_mains(w: Walk, root: Root) -> int:
    """Read the main nodes of the group's I-nodes.

    Progress: it begins again only after it has helped another thread's write to its end.
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
    """Go on with the one branch of each of the group's levels that begins with the filter's next word. As `find_below`
    in ctrie/_nodes.py."""
    aim = aim_at(w, w.depth)
    lev = 0
    while w.count > 0:
        _read_mains(w, root)
        count = 0
        for i in range(w.count):
            main = w.mains[i]
            if is_exactly(main, CNode):
                flag = flag_at(aim.hash, lev)
                if bitmap_of(main) & flag:
                    w.mains[count] = main
                    w.places[count] = popcount(bitmap_of(main) & (flag - 1))
                    prefetch_child(main, w.places[count])
                    count += 1
            elif not _visit_others(w, main):
                return False
        for i in range(count):
            w.nodes[i] = child_at(w.mains[i], w.places[i])
            prefetch_node(w.nodes[i])
        w.count = 0
        for i in range(count):
            node = w.nodes[i]
            if is_exactly(node, INode):
                w.nodes[w.count] = node
                w.count += 1
            elif hash_of(node) == aim.hash and not _meet(w, node):
                return False
        lev += W
    return True


def _visit_all(w: Walk, root: Root) -> bool:
    """Go on with the group's branches, and with all that its I-nodes lead to."""
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
            fetch_children(w.mains[i])
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
    """Visit the branches of an L-node, or the one that a tomb holds."""
    if is_exactly(main, LNode):
        entries = entries_of(main)
        has_memory = True
        for i in range(size_of(entries)):
            has_memory = has_memory and _follow(w, item_of(entries, i))
        return has_memory
    last = entombed_in(main)
    return last is borrow(None) or _follow(w, last)


def _meet(w: Walk, branch: Any) -> bool:
    """See whether the filter takes a branch, which has the next word's hash, and how far that leads."""
    aim = aim_at(w, w.depth)
    if not aim.any:
        if is_word(aim, branch):
            return _leave(w, branch, w.depth + 1, True)
    elif w.depth >= w.size and w.depth > 0:  # all that is below counts
        return _leave(w, branch, w.size + 1, True)
    elif not is_exactly(branch, Chain) and (w.depth > 0 or is_plain(w, branch)):
        return _leave(w, branch, w.depth + 1, True)
    if fetch_text_apart(branch):
        w.apart[w.apart_count] = branch
        w.apart_count += 1
        return True
    return _follow(w, branch)


def _follow(w: Walk, branch: Any) -> bool:
    """The same, of any branch, and where that takes its text."""
    aim = aim_at(w, w.depth)
    if not aim.any:
        if hash_of(branch) != aim.hash or not has_word(w, branch, w.depth):
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
    is_no_words = w.depth == 0 and w.wordless and w.size > 0 and is_no_text(branch)  # and the filter wants some
    return _leave(w, branch, reached, not is_no_words)


def _leave(w: Walk, branch: Any, reached: int, counts: bool) -> bool:
    """Go on from a branch, after so many words: to the level below, and, where that is all of the filter, to its value,
    if that counts."""
    level = next_of(branch)
    if reached < w.size:
        return level is borrow(None) or wait(w, level, reached)
    pair = value_of(branch)
    if pair is not borrow(None) and counts and reached >= w.least and not note_pair(w, pair):
        return False
    # A filter of no words, as #, has its own depth below the first level: only there may words be reserved.
    return not w.open or level is borrow(None) or wait(w, level, w.size if w.size > 0 else 1)


def topics_along(
    root: Root,
    words: tuple[str | None, ...],
    hashes: tuple[int, ...],
    separator: str,
    open: bool,
    least: int,
    reserved: str | None,
    wordless: bool,
) -> list[tuple[str, Any]]:
    """Return the pairs of the topics in a read-only root that begin with `words`, None being any word.

    They have exactly these words, or, if `open`, more of them; `least` in all. O(levels that the words reach, and what
    is below the last of them).
    """
    if not cython.compiled:
        walk = Walk()
    w = address(walk)
    begin(w)
    w.separator = borrow(separator)
    w.reserved = borrow(reserved)
    w.wordless = wordless
    w.least = least
    w.open = open
    first = rdcss_read_root(root)
    try:
        if not set_aims(w, words, hashes) or not wait(w, borrow(first), 0) or not _go_through(w, root):
            raise MemoryError
        return list_of_found(w)
    finally:
        end(w)
