"""The topic's own filter, for questions that want it first: found by name, and the others beside it.

The compiled body of `asked_by_name` in literal_first.py, with borrowed nodes, below a main node that nobody changes any
more. The caller holds a pin, as for a traversal (traversal.py).
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
from subtrie._trie.match.traversal cimport (
    ENOUGH, NO_MEMORY, PENDING, THROUGH, first_of_exact_but_whole, go_through, wildcards
)
from subtrie._trie.match.walk cimport NOTED, Ends, Traversal, ends_of
from subtrie._trie.packed_key cimport characters, packed_characters, text_of as SUBTRIE_TEXT
from subtrie._trie.words cimport word, word_begins, word_end, word_is_part

cdef PyTypeObject *INODE = <PyTypeObject *>INode
cdef PyTypeObject *CNODE = <PyTypeObject *>CNode
cdef PyTypeObject *LNODE = <PyTypeObject *>LNode
cdef PyTypeObject *CHAIN = <PyTypeObject *>Chain


cdef inline bint _is_pending(Traversal *t, PyObject *inode, PyObject *main) noexcept:
    if slot_read(CTRIE_SLOT(main)) == Py_None:
        return False
    t.pending = inode
    t.pending_main = main
    return True


cdef int find_named(Traversal *t, PyObject *main, Passed *passed) noexcept:
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


cdef int traverse_beside(Traversal *t, const Passed *passed, PyObject *named) noexcept:
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
    ends = ends_of(t)
    if t.exact:     # the whole topic is one word, and what begins with a word is behind the mark
        outcome = first_of_exact_but_whole(t, &ends, passed.mains[0])
        return outcome if outcome != THROUGH else go_through(t, ends, False)
    for i in range(passed.count):
        if i or not t.reserved:
            outcome = wildcards(t, &ends, passed.mains[i], <uint64_t>1 << passed.taken[i])
            if outcome != THROUGH:
                return outcome
    return go_through(t, ends, False)


cdef inline PyObject *_branch_of(Traversal *t, PyObject *main, const word *w) noexcept:
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


cdef inline bint _begins(Traversal *t, PyObject *branch, const word *w) noexcept:
    return CTRIE_HASH(branch) == w.hash and word_begins(w, SUBTRIE_TEXT(branch), t.separator)


cdef inline Py_ssize_t _followed(Traversal *t, PyObject *branch, const word *w, const word *end) noexcept:
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
