# distutils: extra_compile_args = FAST INLINED
"""Interleaved traversals: the topics of a group are traversed side by side.

Among a million filters, a match mostly waits for memory, one node after the other. Here each topic of a group goes one
step at a time. A step looks at a node that was fetched before, and has the next one fetched into the processor's
caches. While that is on its way from memory, the other topics make their steps (in the field: asynchronous memory
access chaining).

What is found is what `traverse` (matching.py) finds, and the second pass is the same: each topic has an answer of one
instant of its own. Only the order in which nodes are read is different. Where a topic meets something rare, it is left
to the ordinary match of that topic alone, and has size 0 afterwards. Rare are tombs, L-nodes, writes and snapshots of
other threads that are not complete, a second pass that fails, and more steps than there is room for.

Nodes are borrowed, as in a match: while a group is pinned no Python code runs, nothing is counted before the second
pass, and nothing is allocated but by malloc.

Even in a small trie, whose nodes are all in the caches, a group takes no longer than its topics one by one. A trie that
remembers answers, or keeps filters without a wildcard by their whole text, is asked one by one. So is any trie of the
interpreted twin, where nothing can be fetched (`PREFETCHES`): there only tests and the explorer run this text.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._descent import prefetch_child
    from ctrie._machine import W, flag_at, popcount
    from ctrie._nodes import INode, hash_of, root_of, value_of
    from ctrie._slot import borrow, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import Chain, next_of, sole_hash_of
    from subtrie._trie.match.answer_cache import DELIVERIES, SUBSCRIBERS
    from subtrie._trie.match.matching import along, still_holds, take_found
    from subtrie._trie.match.plan import Matchable, plan_of, split_in_place
    from subtrie._trie.match.scratch import Question, begin_trails, end_trails, enter, leave, let_go, start
    from subtrie._trie.match.steps import (
        AT_CHILD,
        AT_INNER,
        AT_MAIN,
        AT_TEXT,
        FEWEST,
        GROUP,
        PREFETCHES,
        ROOM,
        WILD,
        Batch,
        Group,
        Step,
        Steps,
        clear,
        fetch_branch,
        fetch_characters,
        fetch_level,
        fetch_main,
        forget,
        has_room,
        keep,
        moved,
        next_step,
        question_at,
        queued,
        step_at,
        text_at,
        topic_at,
        trails_at,
    )
    from subtrie._trie.match.walk import (
        MOST_WORDS,
        OTHERS_MAY_WRITE,
        Trails,
        Traversal,
        address,
        after_many,
        after_one,
        begins_branch,
        bit,
        buffer_push,
        fetch_text_apart,
        is_one_word,
        is_readonly,
        levels_noted,
        lowest_bit,
        note_above,
        note_read,
        prefetch,
        prefetch_to_count,
        push_branch,
        rewind,
    )
    from subtrie._trie.words import MANY_WORDS, ONE_WORD
else:
    from cython import address


def traverse_next(b: Batch, trie: Matchable, block: list[Any], at: int, wants: int) -> bool:
    """Traverse the next GROUP topics of a block side by side, and take references to what was found. Then those topics
    whose traversal (`topic_at`) has a size have their answers, and the group must be ended. False if they are to be
    asked one by one."""
    count = min(len(block) - at, GROUP)
    if (
        count < FEWEST
        or not PREFETCHES
        or trie._plan.exact
        or trie._cache is not None
        or not has_room(b)
        or not enter()
    ):
        return False
    b.count = count
    for i in range(count):
        fetch_characters(text_at(block, at + i))
    for i in range(count):
        split_in_place(topic_at(b.group, i), plan_of(trie), text_at(block, at + i))
        _start(question_at(b.group, i), trails_at(b.group, i), trie, wants)
    traverse_group(root_of(trie), b.group, count, b.steps)
    return True


def _start(q: Question, trails: Trails, trie: Matchable, wants: int) -> None:
    q.wants = wants
    start(q)
    if wants == SUBSCRIBERS:
        q.weak = trie._home is not None
    elif wants == DELIVERIES:
        begin_trails(q, trails)
        q.shared = trie._home is not None  # Python code will find out which are alive


def end_group(b: Batch) -> None:
    """Give back what was taken and not handed on."""
    for i in range(b.count):
        if topic_at(b.group, i).trails:
            end_trails(trails_at(b.group, i))
        let_go(question_at(b.group, i))
    leave()


def traverse_group(root: Any, group: Group, count: int, steps: Steps) -> None:
    """Traverse what is below a borrowed root, for the topics of a group, and take references to the subscribers found.
    A topic of size 0 is left out; one that is left to the ordinary match has size 0 afterwards.

    Linearization point: that of a match, for each topic alone: a moment between the two passes. Progress: each step
    goes further down a way of finite length, and nothing is tried twice."""
    pin()
    first = peek(root)
    if is_exactly(first, INode):  # no snapshot is being taken
        _go_through(first, peek(first), group, count, steps)
    for i in range(count):
        t = topic_at(group, i)
        if not is_exactly(first, INode) or (
            OTHERS_MAY_WRITE and t.size > 0 and not is_readonly(root) and not still_holds(t, root, first)
        ):
            t.size = 0
        if t.size > 0 and not take_found(question_at(group, i)):
            t.size = 0
    unpin()


def _go_through(first: Any, main: Any, group: Group, count: int, steps: Steps) -> None:
    """The first pass, for all topics."""
    clear(steps)
    for i in range(count):
        t = topic_at(group, i)
        if t.size == 0:
            continue
        rewind(t)
        t.level = 0
        if not note_read(t, first, main) or not _is_usual(t, main):
            t.size = 0
            continue
        if not t.reserved:
            _to_wildcards(t, steps, main, 1)
        _to_literals(t, steps, main, 1)
    while queued(steps, AT_CHILD) > 0:
        _go_to_children(steps)
        _look_at(steps, AT_CHILD)
        _look_at(steps, AT_TEXT)
        _look_at(steps, AT_INNER)
        _go_to_mains(steps)
        _look_at(steps, AT_MAIN)


def _look_at(steps: Steps, kind: int) -> None:
    """Look at all nodes of a kind, which have been fetched. All of a kind at once, since the processor foresees what is
    done next; it would take the wrong way at every other step if kinds took turns."""
    for i in range(queued(steps, kind)):
        s = step_at(steps, kind, i)
        t = s.topic
        if t.size == 0:
            continue
        if kind == AT_CHILD:
            _at_child(t, s, steps)
        elif kind == AT_TEXT:
            _reach(t, s, steps)
        elif kind == AT_INNER:
            _at_inner(t, s, steps)
        else:
            _at_main(t, s, steps)
    forget(steps, kind)


# ------------------------------------------------------------------------------------------------- what is looked at


def _at_main(t: Traversal, s: Step, steps: Steps) -> None:
    """The first main node of a level: the wildcards and the topic's words lead on, each by a step of its own."""
    if not _is_usual(t, s.node):
        return
    if queued(steps, AT_MAIN) + queued(steps, AT_CHILD) > ROOM - MOST_WORDS - 2:
        t.size = 0
        return
    t.level = s.level
    _to_wildcards(t, steps, s.node, s.positions)
    _to_literals(t, steps, s.node, s.positions & (t.full >> 1))  # positions with a word after them


def _is_usual(t: Traversal, main: Any) -> bool:
    """Return whether a main node is a C-node, and nothing of it undecided. Otherwise the topic is left."""
    if is_exactly(main, CNode) and peek(main) is borrow(None):
        return True
    t.size = 0
    return False


def _to_wildcards(t: Traversal, steps: Steps, cn: Any, positions: int) -> None:
    bitmap = bitmap_of(cn)
    if bitmap >> MANY_WORDS:
        _seek(t, steps, cn, MANY_WORDS, WILD, after_many(t, positions))
    _seek(t, steps, cn, ONE_WORD, WILD, after_one(t, positions))


def _to_literals(t: Traversal, steps: Steps, cn: Any, left: int) -> None:
    """As `_literals` in matching.py."""
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
        _seek(t, steps, cn, address(t.words[i]).hash, i, reached)


def _seek(t: Traversal, steps: Steps, cn: Any, hash: int, word: int, positions: int) -> None:
    """Begin a step to the branch of a word, or of a wildcard, of a level. Afterwards it has these positions. The step
    is filled in whether or not the branch is there, since the processor could not foresee that."""
    bitmap = bitmap_of(cn)
    flag = flag_at(hash, 0)
    s = next_step(steps, AT_CHILD)
    s.topic = t
    s.level = t.level
    s.hash = hash
    s.word = word
    s.positions = positions
    _fetch_child(s, cn, popcount(bitmap & (flag - 1)))
    keep(s, steps, AT_CHILD, bitmap & flag != 0)


def _at_inner(t: Traversal, s: Step, steps: Steps) -> None:
    """The main node of an I-node inside a level."""
    if not _is_usual(t, s.node):
        return
    bitmap = bitmap_of(s.node)
    flag = flag_at(s.hash, 0)
    further = moved(s, steps, AT_CHILD)
    _fetch_child(further, s.node, popcount(bitmap & (flag - 1)))
    keep(further, steps, AT_CHILD, bitmap & flag != 0)


def _at_child(t: Traversal, s: Step, steps: Steps) -> None:
    if is_exactly(s.node, INode):
        s.hash >>= W
        further = moved(s, steps, AT_INNER)
        _to_main(t, further)
        keep(further, steps, AT_INNER, True)
    elif s.word != WILD and hash_of(s.node) != address(t.words[s.word]).hash:
        return
    elif is_exactly(s.node, Chain) and fetch_text_apart(s.node):
        prefetch(value_of(s.node))
        keep(moved(s, steps, AT_TEXT), steps, AT_TEXT, True)
    else:
        _reach(t, s, steps)


def _reach(t: Traversal, s: Step, steps: Steps) -> None:
    """A branch that has the hash of a word, or is a wildcard's: as `_visit_if` and `_visit` in matching.py."""
    branch = s.node
    reached = s.positions
    if s.word != WILD and not begins_branch(address(t.words[s.word]), branch, t.separator):
        return
    if is_exactly(branch, Chain):
        reached = along(t, branch, 1 if s.word == WILD else address(t.words[s.word]).length, reached)
    if not reached:
        return
    if reached >> t.size & 1 and (sole_hash_of(branch) or value_of(branch) is not borrow(None)):
        prefetch_to_count(value_of(branch))
        if not push_branch(t, branch) or (t.trails and not buffer_push(address(t.trails.levels), s.level)):
            t.size = 0
            return
    below = next_of(branch)
    if below is borrow(None) or (t.many_min and reached == bit(t.size)):
        return
    t.level = s.level
    if t.trails and not note_above(t, branch):
        t.size = 0
        return
    further = moved(s, steps, AT_MAIN)
    further.level = levels_noted(t)
    further.positions = reached
    further.node = below
    keep(further, steps, AT_MAIN, True)
    fetch_level(below)


# --------------------------------------------------------------------------------------------------- what is fetched


def _go_to_mains(steps: Steps) -> None:
    """Go on from the first I-nodes of levels to their main nodes."""
    for i in range(queued(steps, AT_MAIN)):
        s = step_at(steps, AT_MAIN, i)
        _to_main(s.topic, s)


def _to_main(t: Traversal, s: Step) -> None:
    """Read an I-node's main node, and note both for the second pass."""
    main = peek(s.node)
    if not note_read(t, s.node, main):
        t.size = 0
    s.node = main
    fetch_main(main)


def _fetch_child(s: Step, cn: Any, child: int) -> None:
    s.node = cn
    s.child = child
    prefetch_child(cn, child)


def _go_to_children(steps: Steps) -> None:
    """Go on from C-nodes to their children."""
    for i in range(queued(steps, AT_CHILD)):
        s = step_at(steps, AT_CHILD, i)
        s.node = child_at(s.node, s.child)
        fetch_branch(s.node)
