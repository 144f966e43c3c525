"""The search with borrowed references: the compiled body of search.py, which is the text to read.

The caller holds the index, or the state, and what that leads to never changes, so nothing on the way has to be counted,
whatever users' code is called meanwhile. To count would be to write to each node that a search comes by: into memory
that is in no cache, and into memory that other threads' searches read.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.object cimport (
    Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, PyObject, PyObject_Hash, PyTypeObject
)
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport uint32_t, uint64_t

from ctrie._arrays cimport popcount
from ctrie._native cimport CTRIE_IS, Py_None, PyTuple_GET_ITEM_PTR, PyTuple_GET_SIZE_PTR
from ctrie._nodes cimport mix
from subtrie._trie.match.buffer cimport buffer, buffer_free, buffer_push, buffer_start
from subtrie._trie.subscribers cimport (
    SUBTRIE_ENTRY_HASH, SUBTRIE_SET_ARRAY, SUBTRIE_SUBSCRIBER, SetNode, is_held, set_size
)
from subtrie.fields.criteria cimport Criterion, Within, order_of
from subtrie.fields.index cimport Cell, Field, Filed, Index
from subtrie.fields.intervals cimport Ranges, exact_double
from subtrie.fields.state cimport State

from subtrie.fields.criteria import check_hashable

cdef extern from *:
    # Views of nodes: no reference is counted, so the caller must hold what leads there.
    """
    #define FIELDS_BITMAP(s) (((struct __pyx_obj_7subtrie_5_trie_11subscribers_SetNode *)(s))->bitmap)
    #define FIELDS_CELL_VALUE(c) (((struct __pyx_obj_7subtrie_6fields_5index_Cell *)(c))->value)
    #define FIELDS_REST(e) (((struct __pyx_obj_7subtrie_6fields_5index_Filed *)(e))->rest)
    #define FIELDS_FIELD(f) ((struct __pyx_obj_7subtrie_6fields_5index_Field *)(f))
    #define FIELDS_VALUES(f) (FIELDS_FIELD(f)->values)
    #define FIELDS_RANGES(f) (FIELDS_FIELD(f)->ranges)
    #define FIELDS_ANY(f) (FIELDS_FIELD(f)->any)
    #define FIELDS_NODE(r) ((struct __pyx_obj_7subtrie_6fields_9intervals_Ranges *)(r))
    #define FIELDS_LEFT(r) ((PyObject *)FIELDS_NODE(r)->left)
    #define FIELDS_RIGHT(r) ((PyObject *)FIELDS_NODE(r)->right)
    #define FIELDS_SPAN(r) ((PyObject *)FIELDS_NODE(r)->span)
    #define FIELDS_REACH(r) ((PyObject *)FIELDS_NODE(r)->reach)
    #define FIELDS_FILED(r) (FIELDS_NODE(r)->filed)
    #define FIELDS_HAS_NUMBERS(r) (FIELDS_NODE(r)->has_numbers)
    /* Whether one number is before another one, or may be the same where the bound is within. */
    #define FIELDS_BEFORE(one, other, open) ((open) ? (one) < (other) : (one) <= (other))
    #define FIELDS_LOW_BEFORE(r, x) FIELDS_BEFORE(FIELDS_NODE(r)->low, x, FIELDS_NODE(r)->low_open)
    #define FIELDS_HIGH_AFTER(r, x) FIELDS_BEFORE(x, FIELDS_NODE(r)->high, FIELDS_NODE(r)->high_open)
    #define FIELDS_HIGHEST_AFTER(r, x) FIELDS_BEFORE(x, FIELDS_NODE(r)->highest, FIELDS_NODE(r)->highest_open)
    #define FIELDS_WITHIN(w) ((struct __pyx_obj_7subtrie_6fields_8criteria_Within *)(w))
    #define FIELDS_LOW(w) (FIELDS_WITHIN(w)->low)
    #define FIELDS_HIGH(w) (FIELDS_WITHIN(w)->high)
    #define FIELDS_LOW_OPEN(w) (FIELDS_WITHIN(w)->low_open)
    #define FIELDS_HIGH_OPEN(w) (FIELDS_WITHIN(w)->high_open)
    #define FIELDS_CRITERION(c) ((struct __pyx_obj_7subtrie_6fields_8criteria_Criterion *)(c))
    #define FIELDS_MET_BY(c, message) \
        (((struct __pyx_vtabstruct_7subtrie_6fields_8criteria_Criterion *)FIELDS_CRITERION(c)->__pyx_vtab) \
             ->met_by(FIELDS_CRITERION(c), message))
    """
    uint32_t FIELDS_BITMAP(PyObject *node) noexcept
    PyObject *FIELDS_CELL_VALUE(PyObject *cell) noexcept
    PyObject *FIELDS_REST(PyObject *entry) noexcept
    PyObject *FIELDS_VALUES(PyObject *field) noexcept
    PyObject *FIELDS_RANGES(PyObject *field) noexcept
    PyObject *FIELDS_ANY(PyObject *field) noexcept
    PyObject *FIELDS_LEFT(PyObject *node) noexcept
    PyObject *FIELDS_RIGHT(PyObject *node) noexcept
    PyObject *FIELDS_SPAN(PyObject *node) noexcept
    PyObject *FIELDS_REACH(PyObject *node) noexcept
    PyObject *FIELDS_FILED(PyObject *node) noexcept
    bint FIELDS_HAS_NUMBERS(PyObject *node) noexcept
    bint FIELDS_LOW_BEFORE(PyObject *node, double value) noexcept
    bint FIELDS_HIGH_AFTER(PyObject *node, double value) noexcept
    bint FIELDS_HIGHEST_AFTER(PyObject *node, double value) noexcept
    PyObject *FIELDS_LOW(PyObject *span) noexcept
    PyObject *FIELDS_HIGH(PyObject *span) noexcept
    bint FIELDS_LOW_OPEN(PyObject *span) noexcept
    bint FIELDS_HIGH_OPEN(PyObject *span) noexcept
    int FIELDS_MET_BY(PyObject *criterion, PyObject *message) except -1
    int RichCompareBool "PyObject_RichCompareBool" (PyObject *one, PyObject *other, int how) except -1
    void INCREF "Py_INCREF" (PyObject *thing) noexcept

cdef enum:
    FEW = 16            # subscribers that are compared each with each
    ORDERS = 7          # of those, each has a tree

cdef PyTypeObject *SET_NODE = <PyTypeObject *>SetNode
cdef PyTypeObject *TUPLE = <PyTypeObject *>tuple


cdef struct Search:
    PyObject *message           # a dict
    buffer found                # the entries, borrowed


cdef inline bint _is_for(PyObject *entry, PyObject *key, uint64_t hash) except -1:
    return SUBTRIE_ENTRY_HASH(entry) == hash and (
        SUBTRIE_SUBSCRIBER(entry) == key or RichCompareBool(SUBTRIE_SUBSCRIBER(entry), key, Py_EQ)
    )


cdef int _find_cell(PyObject *cells, PyObject *key, uint64_t hash, PyObject **cell) except -1:
    """Look up the cell of a key; NULL if there is none."""
    cdef int shift = 0
    cdef uint32_t flag
    cdef Py_ssize_t i
    cell[0] = NULL
    while CTRIE_IS(cells, SET_NODE):
        flag = <uint32_t>1 << (hash >> shift & 15)
        if not FIELDS_BITMAP(cells) & flag:
            return 0
        cells = PyTuple_GET_ITEM_PTR(SUBTRIE_SET_ARRAY(cells), popcount(FIELDS_BITMAP(cells) & (flag - 1)))
        shift += 4
    if CTRIE_IS(cells, TUPLE):
        for i in range(PyTuple_GET_SIZE_PTR(cells)):
            if _is_for(PyTuple_GET_ITEM_PTR(cells, i), key, hash):
                cell[0] = PyTuple_GET_ITEM_PTR(cells, i)
                return 0
    elif cells != Py_None and _is_for(cells, key, hash):
        cell[0] = cells
    return 0


cdef int _search(Search *search, PyObject *fields, PyObject *absent) except -1:
    cdef PyObject *cell
    for name, value in list((<dict>search.message).items()):
        try:
            hash = PyObject_Hash(value)
        except TypeError:
            check_hashable(name, value)
            raise
        _find_cell(fields, <PyObject *>name, mix(PyObject_Hash(name)), &cell)
        if cell != NULL:
            _find_in_field(search, FIELDS_CELL_VALUE(cell), value, mix(hash))
    if absent != Py_None:
        _find_absent(search, absent)
    return 0


cdef int _find_in_field(Search *search, PyObject *field, object value, uint64_t hash) except -1:
    cdef PyObject *cell
    cdef PyObject *tree
    cdef int order
    cdef double number = 0
    if FIELDS_VALUES(field) != Py_None:
        _find_cell(FIELDS_VALUES(field), <PyObject *>value, hash, &cell)
        if cell != NULL:
            _find_among(search, FIELDS_CELL_VALUE(cell))
    if FIELDS_RANGES(field) != Py_None:
        order = order_of(value)
        if order < ORDERS:
            tree = PyTuple_GET_ITEM_PTR(FIELDS_RANGES(field), order)
            if exact_double(<PyObject *>value, &number):
                _find_around_number(search, tree, number, <PyObject *>value)
            else:
                _find_around(search, tree, <PyObject *>value)
    if FIELDS_ANY(field) != Py_None:
        _find_among(search, FIELDS_ANY(field))
    return 0


cdef int _find_absent(Search *search, PyObject *cells) except -1:
    cdef Py_ssize_t i
    if CTRIE_IS(cells, SET_NODE):
        cells = SUBTRIE_SET_ARRAY(cells)
    if CTRIE_IS(cells, TUPLE):
        for i in range(PyTuple_GET_SIZE_PTR(cells)):
            _find_absent(search, PyTuple_GET_ITEM_PTR(cells, i))
    elif <object>SUBTRIE_SUBSCRIBER(cells) not in <dict>search.message:
        _find_among(search, FIELDS_CELL_VALUE(cells))
    return 0


cdef int _find_around_number(Search *search, PyObject *node, double number, PyObject *value) except -1:
    """As `_find_around`, by the numbers that nodes have; where one has none, by its bounds."""
    while node != Py_None:
        if not FIELDS_HAS_NUMBERS(node):
            return _find_around(search, node, value)
        if not FIELDS_HIGHEST_AFTER(node, number):
            return 0
        if FIELDS_LEFT(node) != Py_None:
            _find_around_number(search, FIELDS_LEFT(node), number, value)
        if not FIELDS_LOW_BEFORE(node, number):
            return 0
        if FIELDS_HIGH_AFTER(node, number):
            _find_among(search, FIELDS_FILED(node))
        node = FIELDS_RIGHT(node)
    return 0


cdef int _find_around(Search *search, PyObject *node, PyObject *value) except -1:
    while node != Py_None and _lasts_to(FIELDS_REACH(node), value):
        if FIELDS_LEFT(node) != Py_None:
            _find_around(search, FIELDS_LEFT(node), value)
        if not _begins_by(FIELDS_SPAN(node), value):
            return 0
        if _lasts_to(FIELDS_SPAN(node), value):
            _find_among(search, FIELDS_FILED(node))
        node = FIELDS_RIGHT(node)
    return 0


cdef inline bint _begins_by(PyObject *span, PyObject *value) except -1:
    if FIELDS_LOW(span) == Py_None:
        return True
    return RichCompareBool(FIELDS_LOW(span), value, Py_LT if FIELDS_LOW_OPEN(span) else Py_LE)


cdef inline bint _lasts_to(PyObject *span, PyObject *value) except -1:
    if FIELDS_HIGH(span) == Py_None:
        return True
    return RichCompareBool(FIELDS_HIGH(span), value, Py_GT if FIELDS_HIGH_OPEN(span) else Py_GE)


cdef int _find_among(Search *search, PyObject *filed) except -1:
    cdef Py_ssize_t i
    cdef PyObject *rest
    if CTRIE_IS(filed, SET_NODE):
        filed = SUBTRIE_SET_ARRAY(filed)
    if CTRIE_IS(filed, TUPLE):
        for i in range(PyTuple_GET_SIZE_PTR(filed)):
            _find_among(search, PyTuple_GET_ITEM_PTR(filed, i))
        return 0
    rest = FIELDS_REST(filed)
    for i in range(PyTuple_GET_SIZE_PTR(rest)):
        if not FIELDS_MET_BY(PyTuple_GET_ITEM_PTR(rest, i), search.message):
            return 0
    if not buffer_push(&search.found, <uint64_t>filed):
        raise MemoryError()
    return 0


# ------------------------------------------------------------------------------------------------------------- answers


cpdef list entries_for(Index index, dict message):
    """Return the entries of which all holds for a message, each once; see search.py."""
    cdef Search search
    cdef Py_ssize_t i
    cdef list found = []
    search.message = <PyObject *>message
    buffer_start(&search.found)
    try:
        _search(&search, <PyObject *>index.fields, <PyObject *>index.absent)
        for i in range(search.found.count):
            found.append(<object><PyObject *>search.found.items[i])
    finally:
        buffer_free(&search.found)
    return found


cpdef tuple subscribers_for(State state, dict message):
    """Return the distinct subscribers with a subscription of which all criteria hold."""
    cdef Search search
    cdef Py_ssize_t i
    cdef buffer *found = &search.found
    search.message = <PyObject *>message
    buffer_start(found)
    try:
        _search(&search, <PyObject *>state.index.fields, <PyObject *>state.index.absent)
        for i in range(found.count):
            found.items[i] = <uint64_t>SUBTRIE_SUBSCRIBER(<PyObject *>found.items[i])
        if found.count > 1 and state.count != set_size(state.owners):  # somebody has several subscriptions
            _drop_repeated(found)
        return _tuple_of(found)
    finally:
        buffer_free(found)


cdef tuple _tuple_of(buffer *found):
    """Return the subscribers in a tuple, without those that are gone."""
    cdef Py_ssize_t i
    cdef PyObject *subscriber
    if found.count and is_held(<object><PyObject *>found.items[0]):
        alive = [(<object><PyObject *>found.items[i])() for i in range(found.count)]
        return tuple([one for one in alive if one is not None])
    cdef tuple answer = PyTuple_New(found.count)
    for i in range(found.count):
        subscriber = <PyObject *>found.items[i]
        INCREF(subscriber)
        PyTuple_SET_ITEM(answer, i, <object>subscriber)
    return answer


cdef int _drop_repeated(buffer *found) except -1:
    """Keep the first of each. All subscriptions of a subscriber have the same object for it."""
    cdef Py_ssize_t i, j, kept = 0, size = 4 * FEW
    cdef uint64_t *items = found.items
    cdef uint64_t *table
    cdef uint64_t at
    if found.count <= FEW:
        for i in range(found.count):
            for j in range(kept):
                if items[j] == items[i]:
                    break
            else:
                items[kept] = items[i]
                kept += 1
        found.count = kept
        return 0
    while size < 2 * found.count:
        size *= 2
    table = <uint64_t *>PyMem_RawCalloc(size, sizeof(uint64_t))      # 0: none
    if table == NULL:
        raise MemoryError()
    for i in range(found.count):
        at = mix(items[i]) & (size - 1)
        while table[at] and table[at] != items[i]:
            at = (at + 1) & (size - 1)
        if not table[at]:
            table[at] = items[i]
            items[kept] = items[i]
            kept += 1
    found.count = kept
    PyMem_RawFree(table)
    return 0
