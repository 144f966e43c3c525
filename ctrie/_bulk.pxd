# C types for _bulk.py, which has the text.
cimport cython
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._cnode cimport (
    Branches, CNode, Gen, MainNode, add_branch, branch_at, cnode_of_branches, drop_branches, move_branch,
    new_branches,
)
from ctrie._machine cimport GROUPS, W, check_signals, flag_at
from ctrie._nodes cimport (
    HASH_BITS, Pair, Root, SNode, gcas_read, new_inode, new_lnode, new_pair, rdcss_read_root, rdcss_root, same_key,
)

cdef extern from "Python.h":
    bint PyObject_GC_IsTracked(PyObject *o)

cdef extern from "sort.h":
    ctypedef struct hashed_pair:
        uint64_t hash
        PyObject *pair
    enum:
        SORT_AHEAD      # places that `pairs_new` allocates beyond `count`, so that a loop may look so far ahead
        SORT_LONG       # how many pairs are sorted while other threads run: that takes long, and touches no object
    hashed_pair *pairs_new(Py_ssize_t count)
    void pairs_free(hashed_pair *pairs)
    void pairs_drop(hashed_pair *pairs, Py_ssize_t count)
    void pair_fetch(PyObject *pair) noexcept
    void pairs_move(hashed_pair *pairs, list from_list)
    bint pairs_sort(hashed_pair *pairs, Py_ssize_t count) nogil
    void sort_level(hashed_pair *pairs, hashed_pair *room, Py_ssize_t count, int lev) noexcept nogil

ctypedef hashed_pair *Ordered       # they own their pairs


cdef inline Ordered in_order(list pairs) except NULL:
    cdef Py_ssize_t i, count = PyList_GET_SIZE(pairs)
    cdef Ordered ordered = pairs_new(count)
    cdef bint sorted
    if ordered == NULL:
        raise MemoryError()
    for i in range(count):
        ordered[i].hash = (<Pair>pairs[i]).hash
    pairs_move(ordered, pairs)
    if count < SORT_LONG:
        sorted = pairs_sort(ordered, count)
    else:
        with nogil:
            sorted = pairs_sort(ordered, count)
    if not sorted:
        let_go(ordered, count)
        raise MemoryError()
    return ordered


cdef inline bint never_tracked(list pairs) noexcept:
    for i in range(PyList_GET_SIZE(pairs)):
        if PyObject_GC_IsTracked(PyList_GET_ITEM(pairs, i)):
            return False
    return True


cdef inline uint64_t hash_at(Ordered ordered, Py_ssize_t i) noexcept:
    return ordered[i].hash


cdef inline object take_pair(Ordered ordered, Py_ssize_t i):
    pair = <object>ordered[i].pair
    pairs_drop(ordered + i, 1)
    return pair


cdef inline void move_pair(Branches *branches, Ordered ordered, Py_ssize_t i, bint untracked) noexcept:
    if not untracked:
        pair_fetch(ordered[i + SORT_AHEAD].pair)    # whether the collector tracks it is noted there
    move_branch(branches, &ordered[i].pair, untracked)


cdef inline void let_go(Ordered ordered, Py_ssize_t count) noexcept:
    pairs_drop(ordered, count)
    pairs_free(ordered)


@cython.locals(cn=CNode)
cdef Py_ssize_t fill_root(Root root, list pairs, object equal) except -2
@cython.locals(branches=Branches[1])
cdef CNode cnode_of(
    Ordered ordered, Py_ssize_t start, Py_ssize_t end, int lev, Gen gen, object equal, bint untracked, list repeated
)
@cython.locals(main=MainNode, i=Py_ssize_t)
cdef object _branch_of(
    Ordered ordered, Py_ssize_t start, Py_ssize_t end, int lev, Gen gen, object equal, bint untracked, list repeated
)
cdef SNode only_pair(CNode cn)
@cython.locals(pair=Pair, first=Pair)
cdef list _distinct(list pairs, object equal, list repeated)
