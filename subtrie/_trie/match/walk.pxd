# The C bodies of walk.py.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport SLOT_NEEDS_PIN, Borrowed, PyTuple_GET_ITEM_PTR, PyTuple_GET_SIZE_PTR, peek
from ctrie._nodes cimport Root, value_of
from subtrie._trie.branch cimport sole_hash_of
from subtrie._trie.match.buffer cimport buffer, buffer_push, buffer_room_for
from subtrie._trie.packed_key cimport characters, packed_characters, packed_is_here, text_of
from subtrie._trie.words cimport character_at, word, word_begins, word_end, word_is_part, word_is_word

cdef extern from *:
    """
    #define prefetch(node) __builtin_prefetch(node)
    /* What is to be counted is to be written: on free-threaded builds another core may have it. */
    #ifdef Py_GIL_DISABLED
    #define prefetch_to_count(object) __builtin_prefetch(object, 1)
    #else
    #define prefetch_to_count(object) __builtin_prefetch(object)
    #endif
    static inline int lowest_bit(uint64_t x) { return __builtin_ctzll(x); }
    #define bit(i) ((uint64_t)1 << (i))
    """
    void prefetch(const void *node) nogil
    void prefetch_to_count(const void *object) nogil
    int lowest_bit(uint64_t x) nogil
    uint64_t bit(int i) nogil
    const bint OTHERS_MAY_WRITE "SLOT_NEEDS_PIN"

cdef enum:
    MOST_WORDS = 63     # positions 0 to 63 are the bits of a machine word
    NOTED = 3           # what `seen` holds for an I-node
    ABOVE = 3           # what `above` holds for a level
    MOST_INODES = 12    # on the way to a branch of a level (one for every W bits of a hash), and that of its next level

cdef struct Trails:         # how a traversal came to what it found (trail.h), for questions that want the filters
    buffer above            # of each level but the first, in the order in which they are gone through: the branch that
                            # leads to it, the number of that branch's level, and a number (matching.py)
    buffer levels           # of each branch found, the number of its level
    buffer records          # the trails, when all is found

cdef struct Traversal:
    word words[MOST_WORDS]  # of the topic, `size` of them
    Py_ssize_t size         # 0: not split yet, which is for a trie with exact=True only (exact_layout.py)
    word whole              # in such a trie: the topic as one word
    bint exact
    uint64_t full           # the positions 0 to size
    int many_min
    Py_UCS4 separator
    Py_UCS4 one
    Py_UCS4 many
    bint reserved
    bint only_first
    Trails *trails          # NULL: not wanted
    uint64_t level          # the number of the present level, from 0
    PyObject *pending       # the I-node of an undecided GCAS that stopped the traversal
    PyObject *pending_main
    buffer seen             # I-node, main node, positions: those of a level that begins there, 0 for I-nodes inside
    buffer found            # branches

cdef struct Ends:       # where a traversal's next notes go: kept in registers, unlike the counts of buffers
    uint64_t *seen
    uint64_t *found
    uint64_t *seen_limit        # beyond it there may be too little room for what one level has noted
    uint64_t *found_limit

# -------------------------------------------------------------------------------------------------------------- notes

cdef inline void rewind(Traversal *t) noexcept nogil:
    t.seen.count = t.found.count = 0
    t.level = <uint64_t>-1
    if t.trails != NULL:
        t.trails.above.count = t.trails.levels.count = 0


cdef inline Ends ends_of(Traversal *t) noexcept nogil:
    cdef Ends ends
    cdef Py_ssize_t branches = _most_branches(t)
    ends.seen = t.seen.items + t.seen.count
    ends.found = t.found.items + t.found.count
    ends.seen_limit = t.seen.items + t.seen.capacity - branches * MOST_INODES * NOTED
    ends.found_limit = t.found.items + t.found.capacity - branches
    return ends


cdef inline Py_ssize_t _most_branches(Traversal *t) noexcept nogil:
    # How many branches of one level the topic may reach: the wildcards', and one for each word.
    return 2 + t.size


cdef inline void count_notes(Traversal *t, const Ends *ends) noexcept nogil:
    t.seen.count = ends.seen - t.seen.items
    t.found.count = ends.found - t.found.items


cdef inline bint has_room(const Ends *ends) noexcept nogil:
    return ends.seen <= ends.seen_limit and ends.found <= ends.found_limit


cdef inline bint make_room(Traversal *t) noexcept nogil:
    cdef Py_ssize_t branches = _most_branches(t)
    return (
        buffer_room_for(&t.seen, branches * MOST_INODES * NOTED) != NULL
        and buffer_room_for(&t.found, branches) != NULL
    )


cdef inline Py_ssize_t noted(const uint64_t *seen, const Ends *ends) noexcept nogil:
    return ends.seen - seen


cdef inline Borrowed note(Ends *ends, Borrowed inode, uint64_t positions) noexcept nogil:
    cdef Borrowed main = peek(inode)
    note_both(ends, inode, main, positions)
    return main


cdef inline void note_both(Ends *ends, Borrowed inode, Borrowed main, uint64_t positions) noexcept nogil:
    ends.seen[0] = <uint64_t>inode
    ends.seen[1] = <uint64_t>main
    ends.seen[2] = positions
    ends.seen += NOTED


cdef inline void note_found(Ends *ends, Borrowed branch) noexcept nogil:
    ends.found[0] = <uint64_t>branch
    ends.found += 1


cdef inline bint note_read(Traversal *t, Borrowed inode, Borrowed main) noexcept nogil:
    cdef uint64_t *seen
    if not OTHERS_MAY_WRITE:
        return True
    seen = buffer_room_for(&t.seen, NOTED)
    if seen == NULL:
        return False
    seen[0] = <uint64_t>inode
    seen[1] = <uint64_t>main
    seen[2] = 0
    t.seen.count += NOTED
    return True


cdef inline bint push_branch(Traversal *t, Borrowed branch) noexcept nogil:
    return buffer_push(&t.found, <uint64_t>branch)


cdef inline bint note_above(Traversal *t, Borrowed branch) noexcept nogil:
    cdef uint64_t *above = buffer_room_for(&t.trails.above, ABOVE)
    if above == NULL:
        return False
    above[0] = <uint64_t>branch
    above[1] = t.level
    above[2] = 0
    t.trails.above.count += ABOVE
    return True


cdef inline uint64_t levels_noted(const Traversal *t) noexcept nogil:
    return t.trails.above.count // ABOVE if t.trails != NULL else 0


cdef inline Borrowed as_node(uint64_t noted) noexcept nogil:
    return <PyObject *>noted


cdef inline uint64_t after_one(Traversal *t, uint64_t positions) noexcept nogil:
    return positions << 1 & t.full


cdef inline uint64_t after_many(Traversal *t, uint64_t positions) noexcept nogil:
    cdef int fewest = lowest_bit(positions) + t.many_min
    return t.full & (~<uint64_t>0 << fewest) if fewest <= t.size else 0


# ---------------------------------------------------------------------------------------------------- words and nodes

cdef inline bint is_one_word(Traversal *t, int i, int j) noexcept nogil:
    return t.words[i].hash == t.words[j].hash and word_is_word(&t.words[i], &t.words[j])


cdef inline bint begins_branch(const word *w, Borrowed branch, Py_UCS4 separator) noexcept nogil:
    return word_begins(w, text_of(branch), separator)


cdef inline bint is_part(const word *w, const characters *text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    return word_is_part(w, text, start, end)


cdef inline characters text_in(Borrowed branch) noexcept nogil:
    return packed_characters(text_of(branch))


cdef inline Py_ssize_t length_of(const characters *text) noexcept nogil:
    return text.length


cdef inline Py_ssize_t size_of(Borrowed array) noexcept nogil:
    return PyTuple_GET_SIZE_PTR(array)


cdef inline Borrowed item_of(Borrowed array, Py_ssize_t i) noexcept nogil:
    return PyTuple_GET_ITEM_PTR(array, i)


cdef inline bint is_readonly(Borrowed root) noexcept nogil:
    return (<Root>root).readonly


cdef inline void prefetch_wanted(Borrowed branch) noexcept nogil:
    if sole_hash_of(branch):
        prefetch_to_count(value_of(branch))
    else:
        prefetch(value_of(branch))


cdef inline bint fetch_text_apart(Borrowed branch) noexcept nogil:
    if packed_is_here(text_of(branch)):
        return False
    prefetch((<const void **>text_of(branch))[0])
    return True
