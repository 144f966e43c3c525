# distutils: extra_compile_args = FAST INLINED
"""Matching: which branches of a subscription trie a topic reaches, and why that is an answer of one instant.

A traversal carries a *set of positions* for every level that it enters: the numbers of topic words that the path so
far may have consumed, as bits of an integer. `*` shifts the set by one; `#` fills it up from its lowest bit on; a word
keeps the positions at which the topic has it. Each level has one parent branch, so it is entered once, with all its
positions: the work is at most (levels reached) x (words), however many `#` the filters have. No backtracking. Of a
chain, the words are taken one after the other, as if each were a level of its own. In the first level of a trie
with `exact=True` (exact_layout.py) the topic is looked for as a whole, its words only behind wildcards and the mark.

A traversal notes every (I-node, main node) that it reads, the root's I-node first. When it is through, it reads them
all again. If each I-node still holds the main node it held, then all of them held together at the moment between the
two passes, for a main node that has been displaced never comes back: that moment is the linearization point. If not,
it starts over. After RETRIES failed attempts the question takes a read-only snapshot and matches on that, so a reader
always ends.

This is the text of both twins, for topics of up to MOST_WORDS words and dialects whose separator and wildcards are
ASCII characters; reading.py is the one for all others. What it walks with is in walk.py. Nodes are borrowed: a pin
(ctrie/c/epoch.h) keeps alive what is passed, and while it is held no Python code runs, nothing is counted, and nothing
is allocated but by malloc. So in the compiled twin on a GIL build no other thread can change the trie during a
traversal, and no second pass is needed there."""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._descent import help_pending
    from ctrie._machine import W, flag_at, popcount
    from ctrie._nodes import INode, LNode, Root, entombed_in, entries_of, hash_of, rdcss_read_root, value_of
    from ctrie._slot import borrow, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import Chain, next_of, sole_hash_of
    from subtrie._trie.match.walk import (
        NOTED,
        OTHERS_MAY_WRITE,
        Ends,
        Traversal,
        Word,
        address,
        after_many,
        after_one,
        as_node,
        begins_branch,
        bit,
        buffer_push,
        character_at,
        count_notes,
        ends_of,
        has_room,
        is_one_word,
        is_part,
        is_readonly,
        item_of,
        length_of,
        lowest_bit,
        make_room,
        note,
        note_above,
        note_both,
        note_found,
        noted,
        prefetch,
        prefetch_wanted,
        rewind,
        size_of,
        text_in,
        whole_of,
        word_at,
        word_end,
    )
    from subtrie._trie.words import MANY_WORDS, MARKED, ONE_WORD
else:
    from cython import address

if not cython.compiled:  # in traversal.pxd, an enum: how a traversal goes on or ends
    THROUGH = 0
    PENDING = 1
    NO_MEMORY = 2
    ENOUGH = 3  # one branch is found, and one is all that was wanted
    UNSPLIT = 4  # the topic's words are needed
    CHANGED = 5  # what was read did not hold together


def read_pinned(t: Traversal, root: Any) -> int:
    """Traverse what is below a borrowed root, and return *pinned*, so that references can be taken to what was found.

    THROUGH: what was found was there at one instant; ENOUGH: so was the one branch that was wanted; CHANGED: it was
    not, another thread having written meanwhile; UNSPLIT, NO_MEMORY. Lock-free: it begins again only after it has
    helped a write or a snapshot of another thread to its end. A single branch is found as a Ctrie finds a key, and
    needs no second pass; nor does a snapshot."""
    while True:
        pin()
        first = peek(root)
        if not is_exactly(first, INode):
            unpin()
            rdcss_read_root(cython.cast(Root, root))
            continue
        outcome = traverse(t, first, peek(first))
        if outcome == PENDING:
            help_pending(cython.cast(Root, root), t.pending, t.pending_main)
            continue
        if outcome == THROUGH and OTHERS_MAY_WRITE and not is_readonly(root) and not still_holds(t, root, first):
            return CHANGED
        return outcome


def still_holds(t: Traversal, root: Any, first: Any) -> bool:
    """The second pass."""
    seen = t.seen.items
    at = 0
    while at < t.seen.count:
        if peek(as_node(seen[at])) is not as_node(seen[at + 1]):
            return False
        at += NOTED
    return peek(root) is first


def traverse(t: Traversal, first: Any, main: Any) -> int:
    """The first pass, through the trie whose first I-node held `main`, breadth first: the levels noted are the queue. A
    level's main node is noted, and fetched into the processor's caches, some time before it is looked at."""
    rewind(t)
    ends = ends_of(t)
    note_both(address(ends), first, main, 1)
    seen = t.seen.items
    at = 0
    outcome = THROUGH
    while at != noted(seen, address(ends)) and outcome == THROUGH:
        if not has_room(address(ends)):
            count_notes(t, address(ends))
            if not make_room(t):
                return NO_MEMORY
            ends = ends_of(t)
            seen = t.seen.items
        if seen[at + 2]:
            t.level += 1
            outcome = _level(t, address(ends), as_node(seen[at]), as_node(seen[at + 1]), seen[at + 2], at == 0)
        at += NOTED
    count_notes(t, address(ends))
    return outcome


def _level(t: Traversal, ends: Ends, level: Any, main: Any, positions: int, is_first: bool) -> int:
    if _is_pending(t, level, main):
        return PENDING
    if is_first and t.exact:
        return _first_of_exact(t, ends, level, main) if t.size else _whole(t, ends, level, main)
    if not (is_first and t.reserved):
        outcome = _wildcards(t, ends, main, positions)
        if outcome != THROUGH:
            return outcome
    return _literals(t, ends, level, main, positions & (t.full >> 1))  # positions with a word after them


def _is_pending(t: Traversal, inode: Any, main: Any) -> bool:
    if peek(main) is borrow(None):
        return False
    t.pending = inode
    t.pending_main = main
    return True


def _whole(t: Traversal, ends: Ends, level: Any, main: Any) -> int:
    """Look for the topic in the first level, which is never tombed, of a trie with exact=True, without its words."""
    if bitmap_of(main) >> MARKED and not t.only_first:  # others might match, too
        return UNSPLIT
    before = ends.found
    outcome = _literal(t, ends, level, main, whole_of(t), 1)
    return UNSPLIT if outcome == THROUGH and ends.found == before else outcome


def _first_of_exact(t: Traversal, ends: Ends, level: Any, main: Any) -> int:
    """The same with the words: look for all that may match."""
    outcome = _literal(t, ends, level, main, whole_of(t), bit(t.size))
    if outcome == THROUGH and not t.reserved:
        outcome = _wildcards(t, ends, main, 1)
    bitmap = bitmap_of(main)
    if outcome != THROUGH or not bitmap >> MARKED & 1:
        return outcome
    return _visit(t, ends, _wild(main, bitmap, MARKED), 0, 1)


def _wildcards(t: Traversal, ends: Ends, main: Any, positions: int) -> int:
    if not is_exactly(main, CNode):
        return _entombed_wildcard(t, ends, entombed_in(main), positions)
    bitmap = bitmap_of(main)
    if bitmap >> MANY_WORDS:
        outcome = _visit(t, ends, _wild(main, bitmap, MANY_WORDS), 1, after_many(t, positions))
        if outcome != THROUGH:
            return outcome
    if bitmap >> ONE_WORD & 1:
        return _visit(t, ends, _wild(main, bitmap, ONE_WORD), 1, after_one(t, positions))
    return THROUGH


def _wild(cn: Any, bitmap: int, group: int) -> Any:
    """Return the branch of a wildcard, or of the mark, which has its group of the level's first C-node to itself."""
    return child_at(cn, popcount(bitmap & (flag_at(group, 0) - 1)))


def _entombed_wildcard(t: Traversal, ends: Ends, last: Any, positions: int) -> int:
    """The level is tombed: `last` is its only branch, or None."""
    if last is not borrow(None) and hash_of(last) == MANY_WORDS:
        return _visit(t, ends, last, 1, after_many(t, positions))
    if last is not borrow(None) and hash_of(last) == ONE_WORD:
        return _visit(t, ends, last, 1, after_one(t, positions))
    return THROUGH


def _literals(t: Traversal, ends: Ends, level: Any, main: Any, left: int) -> int:
    while left:
        i = lowest_bit(left)
        left &= left - 1
        reached = bit(i + 1)
        others = left
        while others:  # the same word at other positions leads to the same branch
            j = lowest_bit(others)
            others &= others - 1
            if is_one_word(t, i, j):
                reached |= bit(j + 1)
                left ^= bit(j)
        outcome = _literal(t, ends, level, main, word_at(t, i), reached)
        if outcome != THROUGH:
            return outcome
    return THROUGH


def _literal(t: Traversal, ends: Ends, level: Any, main: Any, word: Word, reached: int) -> int:
    """As `find` in ctrie/_descent.py, noting what is read."""
    node = level
    hash = word.hash
    while is_exactly(main, CNode):
        bitmap = bitmap_of(main)
        flag = flag_at(hash, 0)
        if not bitmap & flag:
            return THROUGH
        node = child_at(main, popcount(bitmap & (flag - 1)))
        if not is_exactly(node, INode):
            return _visit_if(t, ends, node, word, reached)
        hash >>= W
        main = note(ends, node, 0)
        if _is_pending(t, node, main):
            return PENDING
    if is_exactly(main, LNode):
        entries = entries_of(main)
        for i in range(size_of(entries)):
            outcome = _visit_if(t, ends, item_of(entries, i), word, reached)
            if outcome != THROUGH:
                return outcome
        return THROUGH
    node = entombed_in(main)
    return THROUGH if node is borrow(None) else _visit_if(t, ends, node, word, reached)


def _visit_if(t: Traversal, ends: Ends, branch: Any, word: Word, reached: int) -> int:
    if hash_of(branch) != word.hash or not begins_branch(word, branch, t.separator):
        return THROUGH
    return _visit(t, ends, branch, word.length, reached)


def _visit(t: Traversal, ends: Ends, branch: Any, end: int, reached: int) -> int:
    """Note a branch that the topic reaches, given the positions after its first word, which has so many characters."""
    next = next_of(branch)
    if is_exactly(branch, Chain):
        reached = along(t, branch, end, reached)
    if not reached:
        return THROUGH
    if reached >> t.size & 1 and (sole_hash_of(branch) or value_of(branch) is not borrow(None)):
        prefetch_wanted(branch)
        note_found(ends, branch)
        if t.trails and not buffer_push(address(t.trails.levels), t.level):
            return NO_MEMORY
        if t.only_first:
            return ENOUGH
    # Past the last word only a wildcard for no words can follow.
    if next is borrow(None) or (t.many_min and reached == bit(t.size)):
        return THROUGH
    if t.trails and not note_above(t, branch):
        return NO_MEMORY
    prefetch(note(ends, next, reached))
    return THROUGH


def along(t: Traversal, branch: Any, at: int, reached: int) -> int:
    """Return the positions after all words of a chain, given those after the first, which ends at `at`."""
    chain = text_in(branch)
    length = length_of(address(chain))
    while at < length and reached:
        start = at + 1
        at = word_end(address(chain), start, t.separator)
        if at - start == 1 and character_at(address(chain), start) == t.one:
            reached = after_one(t, reached)
        elif at - start == 1 and character_at(address(chain), start) == t.many:
            reached = after_many(t, reached)
        else:
            after = 0
            left = reached & (t.full >> 1)
            while left:
                i = lowest_bit(left)
                left &= left - 1
                if is_part(word_at(t, i), address(chain), start, at):
                    after |= bit(i + 1)
            reached = after
    return reached
