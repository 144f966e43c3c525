"""The two passes of a match, with borrowed pointers: the compiled body of `Reading` in reading.py, the text to read.

The caller holds a pin (ctrie/c/epoch.h) from before the first pass until it has taken references to what it wants of
what was found. Nothing here runs Python code, and nothing allocates but by malloc.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from ctrie._arrays cimport W, flag_at, popcount
from ctrie._cnode cimport CTRIE_BITMAP, CTRIE_CHILD, CNode
from ctrie._native cimport CTRIE_IS, CTRIE_SLOT, Py_None, PyTuple_GET_ITEM_PTR, PyTuple_GET_SIZE_PTR, slot_read
from ctrie._nodes cimport INode, LNode
from ctrie._nodes cimport entombed_in as CTRIE_TOMB, entries_of as CTRIE_ENTRIES, hash_of as CTRIE_HASH, value_of as CTRIE_VALUE
from subtrie._trie.branch cimport Chain, next_of as SUBTRIE_NEXT, sole_hash_of as SUBTRIE_ALONE
from subtrie._trie.match.buffer cimport buffer_push, buffer_room_for
from subtrie._trie.packed_key cimport characters, packed_characters, packed_is_here, packed_text, text_of as SUBTRIE_TEXT
from subtrie._trie.words cimport (
    MANY_WORDS, MARKED, ONE_WORD, character_at, word, word_begins, word_end, word_is_part, word_is_word
)

cdef extern from *:
    """
    static inline int lowest_bit(uint64_t x) { return __builtin_ctzll(x); }
    #define CTRIE_CHILD_AT(main, i) (&CTRIE_CHILD(main, i))
    #define same_line(a, b) (((uintptr_t)(a) ^ (uintptr_t)(b)) < 64)
    """
    int lowest_bit(uint64_t x) nogil
    PyObject **CTRIE_CHILD_AT(PyObject *main, Py_ssize_t i) nogil
    bint same_line(const void *a, const void *b) nogil

cdef PyTypeObject *INODE = <PyTypeObject *>INode
cdef PyTypeObject *CNODE = <PyTypeObject *>CNode
cdef PyTypeObject *LNODE = <PyTypeObject *>LNode
cdef PyTypeObject *CHAIN = <PyTypeObject *>Chain

cdef enum:
    MOST_INODES = 12    # on the way to a branch of a level (one for every W bits of a hash), and that of its next level

cdef struct Ends:       # where a traversal's next notes go: kept in registers, unlike the counts of buffers
    uint64_t *seen
    uint64_t *found
    uint64_t *seen_limit        # beyond it there may be too little room for what one level has noted
    uint64_t *found_limit


cdef inline PyObject *_note(Ends *ends, PyObject *inode, uint64_t positions) noexcept nogil:
    """Read an I-node's main node and note both."""
    cdef PyObject *main = slot_read(CTRIE_SLOT(inode))
    _note_both(ends, inode, main, positions)
    return main


cdef inline void _note_both(Ends *ends, PyObject *inode, PyObject *main, uint64_t positions) noexcept nogil:
    ends.seen[0] = <uint64_t>inode
    ends.seen[1] = <uint64_t>main
    ends.seen[2] = positions
    ends.seen += NOTED


cdef inline bint _is_pending(Traversal *t, PyObject *inode, PyObject *main) noexcept nogil:
    if slot_read(CTRIE_SLOT(main)) == Py_None:
        return False
    t.pending = inode
    t.pending_main = main
    return True


cdef int traverse(Traversal *t, PyObject *first, PyObject *main) noexcept nogil:
    """Go through the trie whose first I-node held `main`; `first` may be NULL where nobody will want to know it.

    Breadth first: the levels noted are the queue. A level's main node is noted, and fetched into the cache, some time
    before it is looked at."""
    cdef Ends ends
    t.seen.count = t.found.count = 0
    if t.trails != NULL:
        t.trails.above.count = t.trails.levels.count = 0
    t.level = <uint64_t>-1
    ends = _ends(t)
    _note_both(&ends, first, main, 1)
    return _go_through(t, ends, True)


cdef inline int _go_through(Traversal *t, Ends ends, bint from_first) noexcept nogil:
    """Look at the levels noted, and at what is noted by that. `from_first`: the first of them is the trie's."""
    cdef uint64_t *at = t.seen.items
    cdef uint64_t *noted
    cdef Py_ssize_t passed
    cdef int outcome = THROUGH
    while at != ends.seen and outcome == THROUGH:
        if ends.seen > ends.seen_limit or ends.found > ends.found_limit:
            passed = at - t.seen.items
            _settle(t, &ends)
            if not _more_room(t):
                return NO_MEMORY
            ends = _ends(t)
            at = t.seen.items + passed
        noted = at
        at += NOTED
        if noted[2]:
            t.level += 1
            outcome = _level(
                t, &ends, <PyObject *>noted[0], <PyObject *>noted[1], noted[2], from_first and noted == t.seen.items
            )
    _settle(t, &ends)
    return outcome


cdef inline Ends _ends(Traversal *t) noexcept nogil:
    cdef Ends ends
    cdef Py_ssize_t branches = _most_branches(t)
    ends.seen = t.seen.items + t.seen.count
    ends.found = t.found.items + t.found.count
    ends.seen_limit = t.seen.items + t.seen.capacity - branches * MOST_INODES * NOTED
    ends.found_limit = t.found.items + t.found.capacity - branches
    return ends


cdef inline Py_ssize_t _most_branches(Traversal *t) noexcept nogil:
    """Return how many branches of one level the topic may reach: the wildcards', and one for each word."""
    return 2 + t.size


cdef inline void _settle(Traversal *t, const Ends *ends) noexcept nogil:
    t.seen.count = ends.seen - t.seen.items
    t.found.count = ends.found - t.found.items


cdef bint _more_room(Traversal *t) noexcept nogil:
    cdef Py_ssize_t branches = _most_branches(t)
    return (
        buffer_room_for(&t.seen, branches * MOST_INODES * NOTED) != NULL
        and buffer_room_for(&t.found, branches) != NULL
    )


cdef inline int _level(
    Traversal *t, Ends *ends, PyObject *level, PyObject *main, uint64_t positions, bint is_first
) noexcept nogil:
    cdef int outcome
    if _is_pending(t, level, main):
        return PENDING
    if is_first and t.exact:
        return _first_of_exact(t, ends, level, main) if t.size else _whole(t, ends, level, main)
    if not (is_first and t.reserved):
        outcome = _wildcards(t, ends, main, positions)
        if outcome != THROUGH:
            return outcome
    return _literals(t, ends, level, main, positions & (t.full >> 1))       # positions with a word after them


cdef int _whole(Traversal *t, Ends *ends, PyObject *level, PyObject *main) noexcept nogil:
    """Look for the topic in the first level, which is never tombed, of a trie with exact=True, without its words."""
    cdef int outcome
    if CTRIE_BITMAP(main) >> MARKED and not t.only_first:   # others might match, too
        return UNSPLIT
    outcome = _literal(t, ends, level, main, &t.whole, 1)
    return UNSPLIT if outcome == THROUGH and ends.found == t.found.items else outcome


cdef int _first_of_exact(Traversal *t, Ends *ends, PyObject *level, PyObject *main) noexcept nogil:
    """The same with the words: look for all that may match."""
    cdef int outcome = _literal(t, ends, level, main, &t.whole, <uint64_t>1 << t.size)
    return outcome if outcome != THROUGH else _first_of_exact_but_whole(t, ends, main)


cdef inline int _first_of_exact_but_whole(Traversal *t, Ends *ends, PyObject *main) noexcept nogil:
    cdef uint64_t bitmap = CTRIE_BITMAP(main)
    cdef PyObject *marked
    cdef int outcome = THROUGH if t.reserved else _wildcards(t, ends, main, 1)
    if outcome != THROUGH or not bitmap >> MARKED & 1:
        return outcome
    marked = CTRIE_CHILD(main, popcount(bitmap & (flag_at(MARKED, 0) - 1)))
    return _visit(t, ends, marked, 0, 1)


cdef inline int _wildcards(Traversal *t, Ends *ends, PyObject *main, uint64_t positions) noexcept nogil:
    cdef uint64_t bitmap
    cdef PyObject *child
    cdef int outcome
    if not CTRIE_IS(main, CNODE):
        return _entombed_wildcard(t, ends, CTRIE_TOMB(main), positions)
    bitmap = CTRIE_BITMAP(main)
    if bitmap >> MANY_WORDS:
        child = CTRIE_CHILD(main, popcount(bitmap & (flag_at(MANY_WORDS, 0) - 1)))
        outcome = _visit(t, ends, child, 1, _after_many(t, positions))
        if outcome != THROUGH:
            return outcome
    if bitmap >> ONE_WORD & 1:
        child = CTRIE_CHILD(main, popcount(bitmap & (flag_at(ONE_WORD, 0) - 1)))
        return _visit(t, ends, child, 1, _after_one(t, positions))
    return THROUGH


cdef inline int _entombed_wildcard(Traversal *t, Ends *ends, PyObject *last, uint64_t positions) noexcept nogil:
    """The level is tombed: `last` is its only branch, or None."""
    if last != Py_None and CTRIE_HASH(last) == MANY_WORDS:
        return _visit(t, ends, last, 1, _after_many(t, positions))
    if last != Py_None and CTRIE_HASH(last) == ONE_WORD:
        return _visit(t, ends, last, 1, _after_one(t, positions))
    return THROUGH


cdef inline uint64_t _after_one(Traversal *t, uint64_t positions) noexcept nogil:
    return positions << 1 & t.full


cdef inline uint64_t _after_many(Traversal *t, uint64_t positions) noexcept nogil:
    cdef int fewest = lowest_bit(positions) + t.many_min
    return t.full & (~<uint64_t>0 << fewest) if fewest <= t.size else 0


cdef inline int _literals(Traversal *t, Ends *ends, PyObject *level, PyObject *main, uint64_t left) noexcept nogil:
    cdef uint64_t reached, others
    cdef int i, j, outcome
    while left:
        i = lowest_bit(left)
        left &= left - 1
        reached = <uint64_t>2 << i
        others = left
        while others:       # the same word at other positions leads to the same branch
            j = lowest_bit(others)
            others &= others - 1
            if t.words[i].hash == t.words[j].hash and word_is_word(&t.words[i], &t.words[j]):
                reached |= <uint64_t>2 << j
                left ^= <uint64_t>1 << j
        outcome = _literal(t, ends, level, main, &t.words[i], reached)
        if outcome != THROUGH:
            return outcome
    return THROUGH


cdef inline int _visit(Traversal *t, Ends *ends, PyObject *branch, Py_ssize_t end, uint64_t reached) noexcept nogil:
    """Note a branch that the topic reaches, given the positions after its first word, which has so many characters."""
    cdef PyObject *next = SUBTRIE_NEXT(branch)
    if CTRIE_IS(branch, CHAIN):
        reached = _along(t, SUBTRIE_TEXT(branch), end, reached)
    if not reached:
        return THROUGH
    if reached >> t.size & 1 and (SUBTRIE_ALONE(branch) or CTRIE_VALUE(branch) != Py_None):
        if SUBTRIE_ALONE(branch):
            prefetch_to_count(CTRIE_VALUE(branch))
        else:
            prefetch(CTRIE_VALUE(branch))
        ends.found[0] = <uint64_t>branch
        ends.found += 1
        if t.trails != NULL and not buffer_push(&t.trails.levels, t.level):
            return NO_MEMORY
        if t.only_first:
            return ENOUGH
    # Past the last word only a wildcard for no words can follow.
    if next == Py_None or (t.many_min and reached == <uint64_t>1 << t.size):
        return THROUGH
    if t.trails != NULL and not _note_above(t, branch):
        return NO_MEMORY
    prefetch(_note(ends, next, reached))
    return THROUGH


cdef bint _note_above(Traversal *t, PyObject *branch) noexcept nogil:
    """Note which branch leads to the level that is noted next."""
    cdef uint64_t *above = buffer_room_for(&t.trails.above, ABOVE)
    if above == NULL:
        return False
    above[0] = <uint64_t>branch
    above[1] = t.level
    above[2] = 0
    t.trails.above.count += ABOVE
    return True


cdef uint64_t _along(Traversal *t, const packed_text *text, Py_ssize_t at, uint64_t reached) noexcept nogil:
    """Return the positions after all words of a chain, given those after the first, which ends at `at`."""
    cdef characters chain = packed_characters(text)
    cdef Py_ssize_t start
    while at < chain.length and reached:
        start = at + 1
        at = word_end(&chain, start, t.separator)
        reached = _after_part(t, &chain, start, at, reached)
    return reached


cdef inline uint64_t _after_part(
    Traversal *t, const characters *chain, Py_ssize_t start, Py_ssize_t end, uint64_t positions
) noexcept nogil:
    cdef uint64_t after = 0, left = positions & (t.full >> 1)
    cdef int i
    if end - start == 1:
        if character_at(chain, start) == t.one:
            return _after_one(t, positions)
        if character_at(chain, start) == t.many:
            return _after_many(t, positions)
    while left:
        i = lowest_bit(left)
        left &= left - 1
        if word_is_part(&t.words[i], chain, start, end):
            after |= <uint64_t>2 << i
    return after


cdef inline int _visit_if(Traversal *t, Ends *ends, PyObject *branch, const word *w, uint64_t reached) noexcept nogil:
    if CTRIE_HASH(branch) != w.hash or not word_begins(w, SUBTRIE_TEXT(branch), t.separator):
        return THROUGH
    return _visit(t, ends, branch, w.length, reached)


cdef inline int _literal(
    Traversal *t, Ends *ends, PyObject *level, PyObject *main, const word *w, uint64_t reached
) noexcept nogil:
    cdef PyObject *node = level
    cdef PyObject *entries
    cdef uint64_t hash = w.hash
    cdef uint64_t bitmap, flag
    cdef Py_ssize_t i
    cdef int outcome
    while CTRIE_IS(main, CNODE):
        bitmap = CTRIE_BITMAP(main)
        flag = flag_at(hash, 0)
        if not bitmap & flag:
            return THROUGH
        node = CTRIE_CHILD(main, popcount(bitmap & (flag - 1)))
        if not CTRIE_IS(node, INODE):
            return _visit_if(t, ends, node, w, reached)
        hash >>= W
        main = _note(ends, node, 0)
        if _is_pending(t, node, main):
            return PENDING
    if CTRIE_IS(main, LNODE):
        entries = CTRIE_ENTRIES(main)
        for i in range(PyTuple_GET_SIZE_PTR(entries)):
            outcome = _visit_if(t, ends, PyTuple_GET_ITEM_PTR(entries, i), w, reached)
            if outcome != THROUGH:
                return outcome
        return THROUGH
    node = CTRIE_TOMB(main)
    return THROUGH if node == Py_None else _visit_if(t, ends, node, w, reached)


# ------------------------------------------------------------------------------------------------- the topic's own filter

cdef int find_named(Traversal *t, PyObject *main, Passed *passed) noexcept nogil:
    """Look for the branch of the filter that is the topic itself, below the first main node. No word of the topic is
    what a wildcard is in a filter, and there are KEPT at most. ENOUGH: it is what was found, and somebody is subscribed
    to it. THROUGH: there is none. As `_asked_by_name` in literal_first.py."""
    cdef const word *w = &t.whole if t.exact else t.words
    cdef const word *begin = w
    cdef const word *end = w + 1 if t.exact else w + t.size
    cdef PyObject *branch = NULL
    t.found.count = passed.count = 0
    while True:
        passed.mains[passed.count] = main
        passed.taken[passed.count] = w - begin
        passed.count += 1
        if w == end:
            break
        branch = _branch_of(t, main, w)
        if branch == NULL:
            return PENDING if t.pending != NULL else THROUGH
        w += _followed(t, branch, w, end)
        if w > end or (w == end and not SUBTRIE_ALONE(branch) and CTRIE_VALUE(branch) == Py_None):
            return THROUGH
        if SUBTRIE_NEXT(branch) == Py_None:
            if w == end:
                break
            return THROUGH
        main = slot_read(CTRIE_SLOT(SUBTRIE_NEXT(branch)))
        if _is_pending(t, SUBTRIE_NEXT(branch), main):
            return PENDING
    return ENOUGH if buffer_push(&t.found, <uint64_t>branch) else NO_MEMORY


cdef int traverse_beside(Traversal *t, const Passed *passed, PyObject *named) noexcept nogil:
    """As `traverse`, where the topic's own filter is known, which comes first of what is found: of the levels on the way
    to it only the wildcards are still to be looked at, for a word leads to one branch."""
    cdef Ends ends
    cdef int i, outcome
    t.seen.count = t.found.count = 0
    if (
        buffer_room_for(&t.seen, (KEPT + 2) * 2 * NOTED) == NULL
        or buffer_room_for(&t.found, (KEPT + 2) * 2) == NULL
        or not buffer_push(&t.found, <uint64_t>named)
    ):
        return NO_MEMORY
    ends = _ends(t)
    if t.exact:     # the whole topic is one word, and what begins with a word is behind the mark
        outcome = _first_of_exact_but_whole(t, &ends, passed.mains[0])
        return outcome if outcome != THROUGH else _go_through(t, ends, False)
    for i in range(passed.count):
        if i or not t.reserved:
            outcome = _wildcards(t, &ends, passed.mains[i], <uint64_t>1 << passed.taken[i])
            if outcome != THROUGH:
                return outcome
    return _go_through(t, ends, False)


cdef inline PyObject *_branch_of(Traversal *t, PyObject *main, const word *w) noexcept nogil:
    """Return the branch of a level that begins with a word, or NULL: then `t.pending` is the I-node of an undecided
    GCAS, with `t.pending_main`, or NULL if there is no such branch."""
    cdef uint64_t hash = w.hash
    cdef uint64_t bitmap, flag
    cdef PyObject *node
    cdef Py_ssize_t i
    while CTRIE_IS(main, CNODE):
        bitmap = CTRIE_BITMAP(main)
        flag = flag_at(hash, 0)
        t.pending = NULL
        if not bitmap & flag:
            return NULL
        node = CTRIE_CHILD(main, popcount(bitmap & (flag - 1)))
        if not CTRIE_IS(node, INODE):
            return node if _begins(t, node, w) else NULL
        hash >>= W
        main = slot_read(CTRIE_SLOT(node))
        if _is_pending(t, node, main):
            return NULL
    t.pending = NULL
    if CTRIE_IS(main, LNODE):
        node = CTRIE_ENTRIES(main)
        for i in range(PyTuple_GET_SIZE_PTR(node)):
            if _begins(t, PyTuple_GET_ITEM_PTR(node, i), w):
                return PyTuple_GET_ITEM_PTR(node, i)
        return NULL
    node = CTRIE_TOMB(main)
    return node if node != Py_None and _begins(t, node, w) else NULL


cdef inline bint _begins(Traversal *t, PyObject *branch, const word *w) noexcept nogil:
    return CTRIE_HASH(branch) == w.hash and word_begins(w, SUBTRIE_TEXT(branch), t.separator)


cdef inline Py_ssize_t _followed(Traversal *t, PyObject *branch, const word *w, const word *end) noexcept nogil:
    """Return how many words, from `w` on, a branch has that begins with this one; more than there are up to `end` if
    it has others."""
    cdef characters chain
    cdef Py_ssize_t start, at = w.length, count = 1
    if not CTRIE_IS(branch, CHAIN):
        return 1
    chain = packed_characters(SUBTRIE_TEXT(branch))
    while at < chain.length:
        start = at + 1
        at = word_end(&chain, start, t.separator)
        if w + count == end or not word_is_part(w + count, &chain, start, at):
            return end - w + 1
        count += 1
    return count


cdef bint still_holds(Traversal *t, PyObject *root, PyObject *first) noexcept nogil:
    """The second pass."""
    cdef uint64_t *noted = t.seen.items
    cdef uint64_t *end = noted + t.seen.count
    while noted != end:
        if slot_read(CTRIE_SLOT(<PyObject *>noted[0])) != <PyObject *>noted[1]:
            return False
        noted += NOTED
    return slot_read(CTRIE_SLOT(root)) == first


# ------------------------------------------------------------------------------------------------------------- warming
#
# Among a million filters a match waits for memory most of its time, one node after the other. A warming pass goes the
# ways of several topics side by side: each takes a step, which looks at a node that was fetched before and fetches the
# next one; while one node is on its way from memory, the others are looked at. The ordinary matches that follow find
# their nodes in the cache. Nothing depends on what a pass reads: it takes no references, notes nothing, finds nothing,
# and leaves out what is rare (tombs, L-nodes, what does not fit into ROOM). The caller is pinned as for a match.

cdef enum:                  # what a step's node is
    AT_LEVEL                # the first I-node of a level
    AT_MAIN                 # its main node
    AT_INNER                # the main node of another I-node of the level
    AT_SLOT                 # where a C-node has a child
    AT_CHILD                # a branch, or an I-node
    AT_TEXT                 # a branch whose text stands apart

cdef enum:
    HEAD = 24               # where what is read of a C-node begins
    TAIL = 56               # where what is read of a branch may stand in another line


cdef inline void _fetch_branch(PyObject *node) noexcept nogil:
    prefetch(node)
    prefetch(<const char *>node + TAIL)


cdef void warm(Traversal *topics, Py_ssize_t count, PyObject *first, Step *steps) noexcept nogil:
    """Fetch what the matches of these topics will read; those of size 0 are left out. `steps` has room for 2 * ROOM."""
    cdef Step *here = steps
    cdef Step *there = steps + ROOM
    cdef Step *end = here
    cdef Step *next
    cdef Step *s
    cdef Py_ssize_t i
    for i in range(count):
        if topics[i].size > 0:
            end.node = first
            end.state = AT_LEVEL
            end.topic = <int>i
            end.positions = 1
            end += 1
    while end != here:
        next = there
        s = here
        while s != end and next < there + ROOM - MOST_WORDS - 2:
            next = _warm_step(&topics[s.topic], s, next)
            s += 1
        here, there = there, here
        end = next


cdef inline Step *_warm_step(Traversal *t, const Step *s, Step *next) noexcept nogil:
    """Look at a node, write the steps that follow from it, and return where the next ones go."""
    cdef uint64_t reached
    if s.state == AT_MAIN:
        return _warm_main(t, s, next)
    if s.state == AT_INNER:
        return _warm_literal(s, next, s.node, s.hash)
    if s.state == AT_CHILD:
        return _warm_child(t, s, next)
    if s.state == AT_TEXT:
        reached = _along(t, SUBTRIE_TEXT(s.node), s.end, s.positions)
        return _warm_end(t, s, next, reached)
    next[0] = s[0]
    if s.state == AT_LEVEL:
        next.node = slot_read(CTRIE_SLOT(s.node))
        next.state = AT_MAIN
        prefetch(next.node)
        prefetch(<const char *>next.node + HEAD)
    else:
        next.node = (<PyObject **>s.node)[0]
        next.state = AT_CHILD
        _fetch_branch(next.node)
    return next + 1


cdef inline Step *_warm_main(Traversal *t, const Step *s, Step *next) noexcept nogil:
    """The first main node of a level: go on with the wildcards and with the topic's words."""
    cdef uint64_t bitmap, left
    cdef Step to = s[0]
    cdef int i
    if not CTRIE_IS(s.node, CNODE):
        return next
    bitmap = CTRIE_BITMAP(s.node)
    to.end = 1
    if bitmap >> MANY_WORDS:
        to.whole = MANY_WORDS
        to.positions = _after_many(t, s.positions)
        next = _warm_literal(&to, next, s.node, MANY_WORDS)
    if bitmap >> ONE_WORD & 1:
        to.whole = ONE_WORD
        to.positions = _after_one(t, s.positions)
        next = _warm_literal(&to, next, s.node, ONE_WORD)
    left = s.positions & (t.full >> 1)
    while left:
        i = lowest_bit(left)
        left &= left - 1
        to.whole = t.words[i].hash
        to.positions = <uint64_t>2 << i
        to.end = <int>t.words[i].length
        next = _warm_literal(&to, next, s.node, to.whole)
    return next


cdef inline Step *_warm_literal(const Step *s, Step *next, PyObject *main, uint64_t hash) noexcept nogil:
    """Go on with a C-node's child of this hash: at once where it stands in the line that has been read."""
    cdef uint64_t bitmap, flag = flag_at(hash, 0)
    cdef PyObject **slot
    if not s.positions or not CTRIE_IS(main, CNODE) or not CTRIE_BITMAP(main) & flag:
        return next
    bitmap = CTRIE_BITMAP(main)
    slot = CTRIE_CHILD_AT(main, popcount(bitmap & (flag - 1)))
    next[0] = s[0]
    next.hash = hash
    if same_line(slot, <char *>main + HEAD):
        next.node = slot[0]
        next.state = AT_CHILD
        _fetch_branch(next.node)
    else:
        next.node = <PyObject *>slot
        next.state = AT_SLOT
        prefetch(slot)
    return next + 1


cdef inline Step *_warm_child(Traversal *t, const Step *s, Step *next) noexcept nogil:
    cdef const packed_text *text
    if CTRIE_IS(s.node, INODE):
        next[0] = s[0]
        next.hash = s.hash >> W
        next.state = AT_INNER
        next.node = slot_read(CTRIE_SLOT(s.node))
        prefetch(next.node)
        prefetch(<const char *>next.node + HEAD)
        return next + 1
    if s.whole != CTRIE_HASH(s.node):
        return next
    if not CTRIE_IS(s.node, CHAIN):
        return _warm_end(t, s, next, s.positions)
    text = SUBTRIE_TEXT(s.node)
    if packed_is_here(text):
        return _warm_end(t, s, next, _along(t, text, s.end, s.positions))
    prefetch((<const void **>text)[0])
    prefetch(CTRIE_VALUE(s.node))
    next[0] = s[0]
    next.state = AT_TEXT
    return next + 1


cdef inline Step *_warm_end(Traversal *t, const Step *s, Step *next, uint64_t reached) noexcept nogil:
    """A branch is reached."""
    cdef PyObject *below = SUBTRIE_NEXT(s.node)
    if reached >> t.size & 1:
        prefetch_to_count(CTRIE_VALUE(s.node))
    if not reached or below == Py_None or (t.many_min and reached == <uint64_t>1 << t.size):
        return next
    next[0] = s[0]
    next.node = below
    next.state = AT_LEVEL
    next.positions = reached
    prefetch(below)
    prefetch(<const char *>below + 16)
    return next + 1


cdef double estimated_size(Traversal *t, PyObject *first) noexcept nogil:
    """Return about how many branches there are, as one topic's way shows: the product of the children it passes."""
    cdef double product = 1
    cdef uint64_t hash, bitmap, flag
    cdef PyObject *node = first
    cdef PyObject *main
    cdef Py_ssize_t i
    for i in range(t.size):
        hash = t.words[i].hash
        while CTRIE_IS(node, INODE):
            main = slot_read(CTRIE_SLOT(node))
            if not CTRIE_IS(main, CNODE):
                return product
            bitmap = CTRIE_BITMAP(main)
            product *= popcount(bitmap)
            flag = flag_at(hash, 0)
            if not bitmap & flag:
                return product
            node = CTRIE_CHILD(main, popcount(bitmap & (flag - 1)))
            hash >>= W
        if CTRIE_IS(node, CHAIN) or SUBTRIE_NEXT(node) == Py_None:
            return product
        node = SUBTRIE_NEXT(node)
    return product
