"""Warming passes: what the matches of several topics will read is fetched into the processor's caches beforehand.

Among a million filters a match waits for memory most of its time, one node after the other. A warming pass goes the
ways of several topics side by side: each takes a step, which looks at a node that was fetched before and fetches the
next one; while one node is on its way from memory, the others are looked at. The ordinary matches that follow find
their nodes in the cache. Nothing depends on what a pass reads: it takes no references, notes nothing, finds nothing,
and leaves out what is rare (tombs, L-nodes, what does not fit into ROOM). The caller is pinned as for a match.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from ctrie._arrays cimport W, flag_at, popcount
from ctrie._cnode cimport CTRIE_BITMAP, CTRIE_CHILD, CNode
from ctrie._native cimport CTRIE_IS, CTRIE_SLOT, Py_None, slot_read
from ctrie._nodes cimport INode
from ctrie._nodes cimport hash_of as CTRIE_HASH, value_of as CTRIE_VALUE
from subtrie._trie.branch cimport Chain, next_of as SUBTRIE_NEXT
from subtrie._trie.match.traversal cimport _along
from subtrie._trie.match.walk cimport MOST_WORDS, Traversal, after_many, after_one, lowest_bit, prefetch, prefetch_to_count
from subtrie._trie.packed_key cimport packed_is_here, packed_text, text_of as SUBTRIE_TEXT
from subtrie._trie.words cimport MANY_WORDS, ONE_WORD

cdef extern from *:
    """
    #define CTRIE_CHILD_AT(main, i) (&CTRIE_CHILD(main, i))
    #define same_line(a, b) (((uintptr_t)(a) ^ (uintptr_t)(b)) < 64)
    """
    PyObject **CTRIE_CHILD_AT(PyObject *main, Py_ssize_t i) nogil
    bint same_line(const void *a, const void *b) nogil

cdef PyTypeObject *INODE = <PyTypeObject *>INode
cdef PyTypeObject *CNODE = <PyTypeObject *>CNode
cdef PyTypeObject *CHAIN = <PyTypeObject *>Chain

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


cdef inline void _fetch_branch(PyObject *node) noexcept:
    prefetch(node)
    prefetch(<const char *>node + TAIL)


cdef void warm(Traversal *topics, Py_ssize_t count, PyObject *first, Step *steps) noexcept:
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


cdef inline Step *_warm_step(Traversal *t, const Step *s, Step *next) noexcept:
    """Look at a node, write the steps that follow from it, and return where the next ones go."""
    cdef uint64_t reached
    if s.state == AT_MAIN:
        return _warm_main(t, s, next)
    if s.state == AT_INNER:
        return _warm_literal(s, next, s.node, s.hash)
    if s.state == AT_CHILD:
        return _warm_child(t, s, next)
    if s.state == AT_TEXT:
        reached = _along(t, s.node, s.end, s.positions)
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


cdef inline Step *_warm_main(Traversal *t, const Step *s, Step *next) noexcept:
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
        to.positions = after_many(t, s.positions)
        next = _warm_literal(&to, next, s.node, MANY_WORDS)
    if bitmap >> ONE_WORD & 1:
        to.whole = ONE_WORD
        to.positions = after_one(t, s.positions)
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


cdef inline Step *_warm_literal(const Step *s, Step *next, PyObject *main, uint64_t hash) noexcept:
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


cdef inline Step *_warm_child(Traversal *t, const Step *s, Step *next) noexcept:
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
        return _warm_end(t, s, next, _along(t, s.node, s.end, s.positions))
    prefetch((<const void **>text)[0])
    prefetch(CTRIE_VALUE(s.node))
    next[0] = s[0]
    next.state = AT_TEXT
    return next + 1


cdef inline Step *_warm_end(Traversal *t, const Step *s, Step *next, uint64_t reached) noexcept:
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


cdef double estimated_size(Traversal *t, PyObject *first) noexcept:
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
