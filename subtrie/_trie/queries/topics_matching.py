"""The topics of a store that a filter matches, found by a walk along the filter.

All words of what is stored are literal, and the filter has the wildcards: a word of its own leads to one branch of a
level, `one_word` to all of them, and `many_words` at its end to everything below. The pairs of topic and value stand
in the branches (topic_edits.py), so an answer takes no text, and what is no answer makes none.

A filter that has `many_words` before its end (AMQP's `a.#.b`) is walked as far as that word, and what is found is then
compared as a whole.

In a store of a million topics a walk along the nodes waits for memory most of its time: ten of them lie on the way to
an answer, each in a place of its own. So a walk has several *lanes*. In each, one node has been asked for; by the time
that its turn comes again, it is in the processor's caches, and the next one on its way is asked for. Who waits for a
lane stands on a stack. What an answer is made of is asked for as well: whoever reads the answers finds it there.

The root is read-only. So the main node of an I-node, once it is seen to be committed, is there for as long as the root
is (I2 in ctrie/_nodes.py), and so are all nodes below it: they are borrowed without being pinned. A pin is needed only
from the look at an I-node until its main node is seen to be committed; the walk lets go of its pin now and then, and
then looks at these I-nodes again.
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
    from subtrie._trie.match.walk import address, item_of, size_of
    from subtrie._trie.queries.lanes import (
        BUSY,
        CHILDREN,
        GONE,
        LANES,
        MAIN,
        NO_MEMORY,
        NODE,
        PAIR,
        PENDING,
        ROUNDS,
        SLOT,
        TEXT,
        Lane,
        Walk,
        aim_at,
        begin,
        end,
        fetch_children,
        fetch_pair,
        fetch_text_apart,
        followed_in,
        has_word,
        is_near,
        is_no_text,
        is_plain,
        is_reserved,
        is_word,
        keep,
        last_lane_to,
        list_of_found,
        next_waiting,
        set_aims,
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
    from cython.cimports.subtrie._trie.match.walk import item_of, size_of
    from cython.cimports.subtrie._trie.queries.lanes import (
        BUSY,
        CHILDREN,
        GONE,
        LANES,
        MAIN,
        NO_MEMORY,
        NODE,
        PAIR,
        PENDING,
        ROUNDS,
        SLOT,
        TEXT,
        Lane,
        Walk,
        aim_at,
        begin,
        end,
        fetch_children,
        fetch_pair,
        fetch_text_apart,
        followed_in,
        has_word,
        is_near,
        is_no_text,
        is_plain,
        is_reserved,
        is_word,
        keep,
        last_lane_to,
        list_of_found,
        next_waiting,
        set_aims,
        wait,
    )


def _go_through(w: Walk, root: Root) -> int:
    """Visit what waits, and what is found to be visited by that. GONE: nothing is left; NO_MEMORY."""
    rounds = 0
    pin()
    # Progress: each round takes a step in each lane towards the end of a trie in which nothing changes; what was found
    # pending is another thread's write, and is decided for good.
    while True:
        outcome = _round(w)
        rounds += 1
        if outcome == PENDING:
            help_pending(root, w.lanes[w.held_up].node, w.lanes[w.held_up].main)
        elif outcome == BUSY:
            if rounds < ROUNDS:
                continue
            unpin()
            PyErr_CheckSignals()
        else:
            unpin()
            return outcome
        rounds = 0
        pin()
        for i in range(w.count):
            if w.lanes[i].state == MAIN:
                w.lanes[i].main = peek(w.lanes[i].node)


def _round(w: Walk) -> int:
    """Take a step in each lane, and give free ones to what waits."""
    while w.count < LANES and w.waiting.count > 0:
        _call(w, address(w.lanes[w.count]))
        w.count += 1
    i = 0
    while i < w.count:
        outcome = _step(w, address(w.lanes[i]))
        if outcome == GONE:
            if w.waiting.count > 0:
                _call(w, address(w.lanes[i]))
            else:
                last_lane_to(w, i)
                continue
        elif outcome != BUSY:
            w.held_up = i
            return outcome
        i += 1
    return BUSY if w.count > 0 or w.waiting.count > 0 else GONE


def _call(w: Walk, lane: Lane) -> None:
    next_waiting(w, lane)
    _fetch(lane, lane.node)


def _fetch(lane: Lane, node: Any) -> int:
    """Ask for a node."""
    lane.node = node
    lane.state = NODE
    prefetch_node(node)
    return BUSY


def _step(w: Walk, lane: Lane) -> int:
    """Look at what has been asked for, and ask for what comes next."""
    state = lane.state
    if state == NODE:
        if not is_exactly(lane.node, INode):
            return _meet(w, lane)
        lane.main = peek(lane.node)
        lane.state = MAIN
        prefetch_node(lane.main)
        return BUSY
    if state == MAIN:
        return _look(w, lane)
    if state == SLOT:
        return _fetch(lane, child_at(lane.main, lane.place))
    if state == CHILDREN:
        return _visit_all(w, lane)
    if state == TEXT:
        return _follow(w, lane)
    fetch_pair(lane.node)
    return GONE if keep(w, lane.node) else NO_MEMORY


def _look(w: Walk, lane: Lane) -> int:
    """At a main node: go on with the one child where the filter's next word may be, or with all of them."""
    main = lane.main
    if peek(main) is not borrow(None):
        return PENDING
    if not is_exactly(main, CNode):
        return _visit_others(w, lane)
    bitmap = bitmap_of(main)
    aim = aim_at(w, lane.depth)
    if aim.any:
        if is_near(main, popcount(bitmap) - 1):
            return _visit_all(w, lane)
        fetch_children(main, popcount(bitmap))
        lane.state = CHILDREN
        return BUSY
    flag = flag_at(aim.hash, lane.lev)
    if not bitmap & flag:
        return GONE
    lane.place = popcount(bitmap & (flag - 1))
    lane.lev += W
    if is_near(main, lane.place):
        return _fetch(lane, child_at(main, lane.place))
    prefetch_child(main, lane.place)
    lane.state = SLOT
    return BUSY


def _visit_all(w: Walk, lane: Lane) -> int:
    """Let the children of a C-node wait, all but the last."""
    last = popcount(bitmap_of(lane.main)) - 1
    for i in range(last):
        if not wait(w, child_at(lane.main, i), lane.depth):
            return NO_MEMORY
    return _fetch(lane, child_at(lane.main, last)) if last >= 0 else GONE


def _visit_others(w: Walk, lane: Lane) -> int:
    """Let the branches of an L-node wait, or visit the one that a tomb holds."""
    if is_exactly(lane.main, LNode):
        entries = entries_of(lane.main)
        for i in range(size_of(entries)):
            if not wait(w, item_of(entries, i), lane.depth):
                return NO_MEMORY
        return GONE
    last = entombed_in(lane.main)
    return GONE if last is borrow(None) else _fetch(lane, last)


def _meet(w: Walk, lane: Lane) -> int:
    """A branch has been reached: see whether the filter takes it, and how far that leads."""
    branch = lane.node
    aim = aim_at(w, lane.depth)
    if not aim.any:
        if hash_of(branch) != aim.hash:
            return GONE
        if is_word(aim, branch):
            return _leave(w, lane, lane.depth + 1, True)
    elif lane.depth == w.size and lane.depth > 0:  # all that is below counts
        return _leave(w, lane, w.size + 1, True)
    elif not is_exactly(branch, Chain) and (lane.depth > 0 or is_plain(w, branch)):
        return _leave(w, lane, lane.depth + 1, True)
    if fetch_text_apart(branch):
        lane.state = TEXT
        return BUSY
    return _follow(w, lane)


def _follow(w: Walk, lane: Lane) -> int:
    """The same, where that takes the text of the branch."""
    branch = lane.node
    depth = lane.depth
    if not aim_at(w, depth).any:
        if not has_word(w, branch, depth):
            return GONE
    elif depth == 0 and is_reserved(w, branch):
        return GONE
    reached = depth + 1
    if is_exactly(branch, Chain):
        followed = followed_in(w, branch, depth)
        if followed > 0:
            reached = depth + followed
        elif w.open and depth - followed == w.size:
            reached = w.size + 1  # or more
        else:
            return GONE
    is_no_words = depth == 0 and w.wordless and w.size > 0 and is_no_text(branch)  # and the filter wants some
    return _leave(w, lane, reached, not is_no_words)


def _leave(w: Walk, lane: Lane, reached: int, counts: bool) -> int:
    """Go on from a branch, after so many words: to the level below, or, where that is all of the filter, to its value,
    if that counts."""
    level = next_of(lane.node)
    if reached < w.size:
        return GONE if level is borrow(None) else _enter(lane, level, reached)
    pair = value_of(lane.node)
    is_answer = pair is not borrow(None) and counts and reached >= w.least
    if w.open and level is not borrow(None):
        if not is_answer:
            return _enter(lane, level, w.size)
        if not wait(w, level, w.size):
            return NO_MEMORY
    if not is_answer:
        return GONE
    _fetch(lane, pair)
    lane.state = PAIR
    return BUSY


def _enter(lane: Lane, level: Any, depth: int) -> int:
    """Ask for the first I-node of a level."""
    lane.depth = depth
    lane.lev = 0
    return _fetch(lane, level)


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
        if not set_aims(w, words, hashes) or not wait(w, borrow(first), 0) or _go_through(w, root) == NO_MEMORY:
            raise MemoryError
        return list_of_found(w)
    finally:
        end(w)
