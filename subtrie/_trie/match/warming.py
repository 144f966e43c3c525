"""Warming passes: they fetch into the processor's caches what the matches of several topics will read.

Among a million filters, a match mostly waits for memory, one node after the other. A warming pass follows several
topics side by side. In each step it looks at a node that was fetched before, and fetches the next one. While one node
is on its way from memory, it looks at the others. The ordinary matches that follow find their nodes in the cache.
Nothing depends on what a pass reads: it takes no references, notes nothing, finds nothing, and leaves out what is rare
(tombs, L-nodes, what does not fit into ROOM). Nodes are borrowed, as in a match.

In the interpreted twin there is nothing to fetch. There only tests and the explorer make a pass, and see that it goes
where a match goes (`warming_gate.py` decides when one is made).
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
    from ctrie._descent import prefetch_child
    from ctrie._nodes import INode, hash_of, value_of
    from ctrie._slot import borrow, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import Chain, next_of
    from subtrie._trie.match.steps import (
        AT_CHILD,
        AT_INNER,
        AT_LEVEL,
        AT_MAIN,
        AT_PLACE,
        AT_TEXT,
        ROOM,
        Step,
        Steps,
        clear,
        fetch_branch,
        fetch_level,
        fetch_main,
        is_in_first_line,
        last_step,
        new_step,
        same_step,
        step_at,
        topic_at,
    )
    from subtrie._trie.match.traversal import along
    from subtrie._trie.match.walk import (
        MOST_WORDS,
        Traversal,
        after_many,
        after_one,
        bit,
        fetch_text_apart,
        lowest_bit,
        prefetch,
        prefetch_to_count,
        word_at,
    )
    from subtrie._trie.words import MANY_WORDS, ONE_WORD
else:
    from cython.cimports.ctrie._arrays import W, flag_at, popcount
    from cython.cimports.ctrie._cnode import CNode, bitmap_of, child_at
    from cython.cimports.ctrie._descent import prefetch_child
    from cython.cimports.ctrie._native import borrow, is_exactly, peek, pin, unpin
    from cython.cimports.ctrie._nodes import INode, hash_of, value_of
    from cython.cimports.subtrie._trie.branch import Chain, next_of
    from cython.cimports.subtrie._trie.match.steps import (
        AT_CHILD,
        AT_INNER,
        AT_LEVEL,
        AT_MAIN,
        AT_PLACE,
        AT_TEXT,
        ROOM,
        clear,
        fetch_branch,
        fetch_level,
        fetch_main,
        is_in_first_line,
        last_step,
        new_step,
        same_step,
        step_at,
        topic_at,
    )
    from cython.cimports.subtrie._trie.match.traversal import along
    from cython.cimports.subtrie._trie.match.walk import (
        MOST_WORDS,
        after_many,
        after_one,
        bit,
        fetch_text_apart,
        lowest_bit,
        prefetch,
        prefetch_to_count,
        word_at,
    )
    from cython.cimports.subtrie._trie.words import MANY_WORDS, ONE_WORD


def warm(root: Any, topics: Any, count: int, here: Steps, there: Steps) -> None:
    """Fetch what the matches of these topics will read below a borrowed root; those of size 0 are left out. `here` and
    `there` are room for steps, empty or used before. Progress: each step goes further down a way of finite length."""
    pin()
    first = peek(root)
    if is_exactly(first, INode):  # no snapshot is being taken
        clear(here)
        for i in range(count):
            if topic_at(topics, i).size > 0:
                _begin(here, first, i)
        while here.count > 0:
            clear(there)
            i = 0
            while i < here.count and there.count < ROOM - MOST_WORDS - 2:
                _go(topic_at(topics, step_at(here, i).topic), step_at(here, i), there)
                i += 1
            here, there = there, here
    unpin()


def _begin(steps: Steps, first: Any, topic: int) -> None:
    step = new_step(steps)
    step.node = first
    step.state = AT_LEVEL
    step.topic = topic
    step.positions = 1


def _go(t: Traversal, s: Step, there: Steps) -> None:
    """Look at a node, and note the steps that follow from it."""
    if s.state == AT_MAIN:
        _pass_main(t, s, there)
    elif s.state == AT_INNER:
        _seek(s, there, s.hash, s.whole, s.positions, s.end)
    elif s.state == AT_CHILD:
        _pass_child(t, s, there)
    elif s.state == AT_TEXT:
        _reach(t, s, there, along(t, s.node, s.end, s.positions))
    elif s.state == AT_LEVEL:
        _on(s, there, peek(s.node), AT_MAIN)
        fetch_main(last_step(there).node)
    else:
        _on(s, there, child_at(s.node, s.place), AT_CHILD)
        fetch_branch(last_step(there).node)


def _on(s: Step, there: Steps, node: Any, state: int) -> None:
    """Note a step like this one, to another node."""
    step = same_step(there, s)
    step.node = node
    step.state = state


def _pass_main(t: Traversal, s: Step, there: Steps) -> None:
    """The first main node of a level: go on with the wildcards and with the topic's words."""
    if not is_exactly(s.node, CNode):
        return
    bitmap = bitmap_of(s.node)
    if bitmap >> MANY_WORDS:
        _seek(s, there, MANY_WORDS, MANY_WORDS, after_many(t, s.positions), 1)
    if bitmap >> ONE_WORD & 1:
        _seek(s, there, ONE_WORD, ONE_WORD, after_one(t, s.positions), 1)
    left = s.positions & (t.full >> 1)
    while left:
        i = lowest_bit(left)
        left &= left - 1
        _seek(s, there, word_at(t, i).hash, word_at(t, i).hash, bit(i + 1), word_at(t, i).length)


def _seek(s: Step, there: Steps, hash: int, whole: int, positions: int, end: int) -> None:
    """Go on with a C-node's child of this hash: at once if it is in the line of memory that has been read."""
    if not positions or not is_exactly(s.node, CNode):
        return
    bitmap = bitmap_of(s.node)
    flag = flag_at(hash, 0)
    if not bitmap & flag:
        return
    place = popcount(bitmap & (flag - 1))
    step = same_step(there, s)
    step.hash = hash
    step.whole = whole
    step.positions = positions
    step.end = end
    if is_in_first_line(s.node, place):
        step.node = child_at(s.node, place)
        step.state = AT_CHILD
        fetch_branch(step.node)
    else:
        step.place = place
        step.state = AT_PLACE
        prefetch_child(s.node, place)


def _pass_child(t: Traversal, s: Step, there: Steps) -> None:
    if is_exactly(s.node, INode):
        _on(s, there, peek(s.node), AT_INNER)
        last_step(there).hash = s.hash >> W
        fetch_main(last_step(there).node)
    elif s.whole == hash_of(s.node):
        if not is_exactly(s.node, Chain):
            _reach(t, s, there, s.positions)
        elif fetch_text_apart(s.node):
            prefetch(value_of(s.node))
            _on(s, there, s.node, AT_TEXT)
        else:
            _reach(t, s, there, along(t, s.node, s.end, s.positions))


def _reach(t: Traversal, s: Step, there: Steps, reached: int) -> None:
    """A branch is reached: go on below it, as `_visit` in traversal.py."""
    below = next_of(s.node)
    if reached >> t.size & 1:
        prefetch_to_count(value_of(s.node))
    if reached and below is not borrow(None) and not (t.many_min and reached == bit(t.size)):
        _on(s, there, below, AT_LEVEL)
        last_step(there).positions = reached
        fetch_level(below)


def estimated_size(root: Any, t: Traversal) -> float:
    """Return about how many branches there are below a borrowed root, as one topic's way shows."""
    size = 0.0
    pin()
    first = peek(root)
    if is_exactly(first, INode):
        size = _product(first, t)
    unpin()
    return size


def _product(first: Any, t: Traversal) -> float:
    """Return the product of the numbers of children that a topic passes on its way."""
    product = 1.0
    node = first
    for i in range(t.size):
        hash = word_at(t, i).hash
        while is_exactly(node, INode):
            main = peek(node)
            if not is_exactly(main, CNode):
                return product
            bitmap = bitmap_of(main)
            product *= popcount(bitmap)
            flag = flag_at(hash, 0)
            if not bitmap & flag:
                return product
            node = child_at(main, popcount(bitmap & (flag - 1)))
            hash >>= W
        if is_exactly(node, Chain) or next_of(node) is borrow(None):
            return product
        node = next_of(node)
    return product
