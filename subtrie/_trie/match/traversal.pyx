"""The two passes of a match, with borrowed pointers: the compiled body of `Reading` in reading.py, the text to read.

The caller holds a pin (ctrie/c/epoch.h) from before the first pass until it has taken references to what it wants of
what was found. Nothing here runs Python code, and nothing allocates but by malloc.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from ctrie._arrays cimport W, flag_at, popcount
from ctrie._cnode cimport CTRIE_BITMAP, CTRIE_CHILD, CNode
from ctrie._native cimport CTRIE_IS, CTRIE_SLOT, Py_None, PyTuple_GET_ITEM_PTR, PyTuple_GET_SIZE_PTR, slot_read
from ctrie._nodes cimport CTRIE_ENTRIES, CTRIE_HASH, CTRIE_TOMB, CTRIE_VALUE, INode, LNode
from subtrie._trie.branch cimport SUBTRIE_ALONE, SUBTRIE_NEXT, Chain
from subtrie._trie.match.buffer cimport buffer_push, buffer_room_for
from subtrie._trie.packed_key cimport SUBTRIE_TEXT, characters, packed_characters, packed_text
from subtrie._trie.words cimport (
    MANY_WORDS, MARKED, ONE_WORD, character_at, word, word_begins, word_end, word_is_part, word_is_word
)

cdef extern from *:
    """
    static inline int lowest_bit(uint64_t x) { return __builtin_ctzll(x); }
    """
    int lowest_bit(uint64_t x) nogil

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
    ends.seen[0] = <uint64_t>inode
    ends.seen[1] = <uint64_t>main
    ends.seen[2] = positions
    ends.seen += NOTED
    return main


cdef inline bint _is_pending(Traversal *t, PyObject *inode, PyObject *main) noexcept nogil:
    if slot_read(CTRIE_SLOT(main)) == Py_None:
        return False
    t.pending = inode
    t.pending_main = main
    return True


cdef int traverse(Traversal *t, PyObject *first) noexcept nogil:
    """Breadth first: the levels noted are the queue. A level's main node is noted, and fetched into the cache, some
    time before it is looked at."""
    cdef Ends ends
    cdef uint64_t *at
    cdef uint64_t *noted
    cdef Py_ssize_t passed
    cdef int outcome = THROUGH
    t.seen.count = t.found.count = 0
    if t.trails != NULL:
        t.trails.above.count = t.trails.levels.count = 0
    t.level = <uint64_t>-1
    ends = _ends(t)
    at = ends.seen
    _note(&ends, first, 1)
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
            outcome = _level(t, &ends, <PyObject *>noted[0], <PyObject *>noted[1], noted[2], noted == t.seen.items)
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
    cdef uint64_t bitmap = CTRIE_BITMAP(main)
    cdef PyObject *marked
    cdef int outcome = THROUGH if t.reserved else _wildcards(t, ends, main, 1)
    if outcome == THROUGH:
        outcome = _literal(t, ends, level, main, &t.whole, <uint64_t>1 << t.size)
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


cdef bint still_holds(Traversal *t, PyObject *root, PyObject *first) noexcept nogil:
    """The second pass."""
    cdef uint64_t *noted = t.seen.items
    cdef uint64_t *end = noted + t.seen.count
    while noted != end:
        if slot_read(CTRIE_SLOT(<PyObject *>noted[0])) != <PyObject *>noted[1]:
            return False
        noted += NOTED
    return slot_read(CTRIE_SLOT(root)) == first
