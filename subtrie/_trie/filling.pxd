# C types for filling.py, and the compiled functions of its rows.
cimport cython
from cpython.list cimport PyList_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint32_t, uint64_t

from ctrie._bulk cimport Ordered, SORT_AHEAD, SORT_LONG, cnode_of, hash_at, pairs_drop, pairs_free, pairs_new, sort_level
from ctrie._cnode cimport CNode, Gen
from ctrie._machine cimport EVERY, check_signals, check_stack
from ctrie._nodes cimport INode, gcas_read, new_inode, rdcss_read_root, rdcss_root
from subtrie._trie.branch cimport Branch, Place, branch_of, lone_branch
from subtrie._trie.groups cimport members_of, with_members
from subtrie._trie.match.plan cimport Matchable, word_hash, words_in_filter
from subtrie._trie.match.walk cimport MOST_WORDS
from subtrie._trie.keyed cimport find_keyed, with_keyed
from subtrie._trie.packed_key cimport set_characters, set_key
from subtrie._trie.subscribers cimport Entry, checked_entry, entry_of, subscriber_hash
from subtrie._trie.words cimport word

cdef extern from "interpreter.h":
    bint is_ascii_in_place(object text)
    const char *ascii_of(object text)

cdef extern from *:
    """
    #ifndef SUBTRIE_FILLING
    #define SUBTRIE_FILLING
    typedef struct {
        uint64_t hash;
        uint32_t start, end;        /* in the text */
    } filling_word;
    typedef struct {
        PyObject *text;             /* borrowed: the lists of the filling hold all these objects */
        PyObject *subscriber;
        PyObject *options;          /* NULL: none */
        PyObject *group;            /* NULL: none */
        Py_ssize_t number;
        uint64_t owner_hash;
        Py_ssize_t size;
        filling_word words[];
    } filling_row;
    typedef struct filling_block {
        struct filling_block *next;
        char rows[];
    } filling_block;
    enum { FILLING_BLOCK = 1 << 20, FILLING_NEAR = 1024 };
    #define FILLING_LONG_WORD ((uint64_t)1 << 63)
    /* Fetch in advance what a branch will be made from. */
    static inline void filling_fetch(const filling_row *row)
    {
        __builtin_prefetch((const char *)row + 64);
        __builtin_prefetch(row->text);
        __builtin_prefetch((const char *)row->text + 64);
        __builtin_prefetch(row->subscriber, 1);
    }
    /* Fetch a word of a row; NULL is no row, and no address is made from it. */
    static inline void filling_fetch_word(const filling_row *row, Py_ssize_t depth)
    {
        size_t at = offsetof(filling_row, words) + (size_t)depth * sizeof(filling_word);
        __builtin_prefetch((const void *)((uintptr_t)row + at));
    }
    #endif
    """
    ctypedef struct filling_word:
        uint64_t hash
        uint32_t start
        uint32_t end
    ctypedef struct filling_row:
        PyObject *text
        PyObject *subscriber
        PyObject *options
        PyObject *group
        Py_ssize_t number
        uint64_t owner_hash
        Py_ssize_t size
        filling_word words[1]
    ctypedef struct filling_block:
        filling_block *next
        char rows[1]
    enum:
        FILLING_BLOCK       # how many bytes of rows are allocated at a time, at least
        FILLING_NEAR        # how many rows fit into a cache with all that they lead to
    uint64_t FILLING_LONG_WORD
    void filling_fetch(const filling_row *row) noexcept nogil
    void filling_fetch_word(const filling_row *row, Py_ssize_t depth) noexcept nogil

ctypedef filling_row *FilterRow


cdef int NOT_FILLED, DEEP


cdef class Filling:
    cdef Matchable _trie
    cdef object _place
    cdef list _filters
    cdef list _subscribers
    cdef list _options
    cdef bint _strict
    cdef list _kept
    cdef Ordered _ordered       # rows, and later branches, in the places of pairs
    cdef Ordered _room
    cdef filling_block *_blocks
    cdef char *_free            # the free memory in the last block, and its size
    cdef Py_ssize_t _left
    cdef uint64_t _share_hash   # the hash of the word that begins a shared subscription; 0: there is no such word
    cdef Gen _gen
    cdef Py_ssize_t count

    cdef int read(self) except -1
    cdef int _read_row(self, Py_ssize_t number) except -1
    @cython.locals(place=Place)
    cdef int _cut_by_dialect(self, Py_ssize_t number, object filter, object queue) except -1
    cdef INode level(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth)
    @cython.locals(branch=Branch)
    cdef INode _inode(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth, int lev)
    cdef Py_ssize_t end_of_word(self, Py_ssize_t start, Py_ssize_t end) noexcept
    cdef Branch _of_one_word(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth)
    @cython.locals(is_long=bint)
    cdef Branch _alone(self, FilterRow row, Py_ssize_t depth)
    cdef Branch _branch(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth)
    @cython.locals(present=Entry)
    cdef object _with_row(self, object audience, FilterRow row)


# ---------------------------------------------------------------------------------------------------------------- rows

cdef inline int make_room(Filling filling) except -1:
    cdef Py_ssize_t count = PyList_GET_SIZE(filling._filters)
    cdef str share = filling._trie._plan.share
    filling._ordered = pairs_new(count)
    filling._room = pairs_new(count)
    if filling._ordered == NULL or filling._room == NULL:
        raise MemoryError()
    filling._share_hash = 0 if share is None else word_hash(share)
    return 0


cdef inline int let_go(Filling filling) except -1:
    cdef filling_block *block
    while filling._blocks != NULL:
        block = filling._blocks
        filling._blocks = block.next
        PyMem_RawFree(block)
    pairs_free(filling._ordered)
    pairs_free(filling._room)
    filling._ordered = filling._room = NULL
    return 0


cdef inline FilterRow new_row(Filling filling, Py_ssize_t number, str text, Py_ssize_t size) except NULL:
    cdef Py_ssize_t bytes_ = <Py_ssize_t>(sizeof(filling_row) + size * sizeof(filling_word))
    cdef Py_ssize_t most
    cdef filling_block *block
    cdef FilterRow row
    if filling._left < bytes_:
        most = max(bytes_, <Py_ssize_t>FILLING_BLOCK)
        block = <filling_block *>PyMem_RawMalloc(sizeof(filling_block) + most)
        if block == NULL:
            raise MemoryError()
        block.next = filling._blocks
        filling._blocks = block
        filling._free = block.rows
        filling._left = most
    row = <FilterRow>filling._free
    filling._free += bytes_
    filling._left -= bytes_
    row.number = number
    row.text = <PyObject *>text
    row.size = size
    row.group = NULL
    filling._ordered[number].pair = <PyObject *>row
    return row


cdef inline bint cut(Filling filling, Py_ssize_t number, str filter) except -1:
    cdef word words[MOST_WORDS]
    cdef const char *data = ascii_of(filter)
    cdef Py_ssize_t i, size
    cdef FilterRow row
    if filling._trie._plan.exact:
        return False
    size = words_in_filter(filling._trie._plan, filter, words)
    if size <= 0 or (filling._share_hash != 0 and words[0].hash == filling._share_hash):
        return False
    row = new_row(filling, number, filter, size)
    for i in range(size):
        put_word(row, i, words[i].hash, words[i].data - data, words[i].data - data + words[i].length)
    return True


cdef inline void put_word(FilterRow row, Py_ssize_t number, uint64_t hash, Py_ssize_t start, Py_ssize_t end) noexcept:
    row.words[number].hash = hash
    row.words[number].start = <uint32_t>start
    row.words[number].end = <uint32_t>end


cdef inline void put_group(FilterRow row, object group) noexcept:
    row.group = <PyObject *>group


cdef inline object group_of(FilterRow row):
    return None if row.group == NULL else <object>row.group


cdef inline int put_subscriber(FilterRow row, object subscriber, dict options) except -1:
    row.subscriber = <PyObject *>subscriber
    row.options = NULL if options is None else <PyObject *>options
    row.owner_hash = subscriber_hash(subscriber)
    return 0


cdef inline object subscriber_of(FilterRow row):
    return <object>row.subscriber


cdef inline dict options_of(FilterRow row):
    return None if row.options == NULL else <dict>row.options


cdef inline void order(Filling filling, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth) noexcept:
    cdef Ordered ordered = filling._ordered, room = filling._room
    if end - start < SORT_LONG:
        order_rows(ordered, room, start, end, depth)
    else:
        with nogil:
            order_rows(ordered, room, start, end, depth)


cdef inline void order_rows(
    Ordered ordered, Ordered room, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth
) noexcept nogil:
    cdef Py_ssize_t i
    cdef FilterRow row
    for i in range(start, end):
        # `pairs_new` allocates SORT_AHEAD more places, which hold NULL.
        filling_fetch_word(<FilterRow>ordered[i + SORT_AHEAD].pair, depth)
        row = row_at(ordered, i)
        ordered[i].hash = row.words[depth].hash
        if end - start <= FILLING_NEAR:
            filling_fetch(row)
    sort_level(ordered + start, room, end - start, 0)


cdef inline FilterRow row_at(Ordered ordered, Py_ssize_t number) noexcept nogil:
    return <FilterRow>ordered[number].pair


cdef inline void put_row(Ordered ordered, Py_ssize_t number, FilterRow row) noexcept:
    ordered[number].pair = <PyObject *>row


cdef inline void put_branch(Ordered ordered, Py_ssize_t number, Branch branch) noexcept:
    Py_INCREF(branch)
    ordered[number].pair = <PyObject *>branch
    ordered[number].hash = branch.hash


cdef inline void drop_branches_at(Ordered ordered, Py_ssize_t start, Py_ssize_t end) noexcept:
    pairs_drop(ordered + start, end - start)


cdef inline bint agree(FilterRow row, FilterRow other, Py_ssize_t size) except -1:
    # Short words are equal if their hashes are (c/words.h).
    cdef Py_ssize_t i
    if row == other:
        return True
    for i in range(size):
        if row.words[i].hash & FILLING_LONG_WORD:
            return (<str>row.text)[: row.words[size - 1].end] == (<str>other.text)[: other.words[size - 1].end]
    return True


cdef inline int put_key(Branch branch, FilterRow row, Py_ssize_t depth, Py_ssize_t end) except -1:
    cdef Py_ssize_t start = row.words[depth].start, stop = row.words[end - 1].end
    text = <str>row.text
    if is_ascii_in_place(text):
        return set_characters(branch, ascii_of(text) + start, stop - start)
    return set_key(branch, text[start:stop])


# --------------------------------------------------------------------------------------------------------------- texts

@cython.locals(cn=CNode)
cdef Py_ssize_t fill_empty(
    Matchable trie, object place, list filters, list subscribers, list options, bint strict
) except -2
cdef Entry _entry_of(FilterRow row, object dialect)
cdef Py_ssize_t _agree_until(FilterRow row, FilterRow other, Py_ssize_t start, Py_ssize_t end) noexcept
@cython.locals(filling=Filling)
cdef Filling new_filling(
    Matchable trie, object place, list filters, list subscribers, list options, bint strict
)
