# C types for _bulk.py, which has the text.
cimport cython
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, Gen, MainNode
from ctrie._nodes cimport INode, Pair, Root, SNode

cdef extern from "sort.h":
    ctypedef struct hashed_pair:
        uint64_t hash
        PyObject *pair
    enum:
        SORT_AHEAD      # places that `pairs_new` allocates beyond `count`, so that a loop may look so far ahead
    hashed_pair *pairs_new(Py_ssize_t count)
    void pairs_free(hashed_pair *pairs)
    bint pairs_sort(hashed_pair *pairs, Py_ssize_t count)
    void sort_level(hashed_pair *pairs, hashed_pair *room, Py_ssize_t count, int lev)
    PyObject *pair_in(const hashed_pair *pairs, Py_ssize_t i)

ctypedef hashed_pair *Ordered       # pairs that their list keeps


cdef inline Ordered in_order(list pairs) except NULL:
    cdef Py_ssize_t i, count = PyList_GET_SIZE(pairs)
    cdef Ordered ordered = pairs_new(count)
    if ordered == NULL:
        raise MemoryError()
    for i in range(count):
        ordered[i].pair = <PyObject *>pairs[i]
        ordered[i].hash = (<Pair>pairs[i]).hash
    if not pairs_sort(ordered, count):
        pairs_free(ordered)
        raise MemoryError()
    return ordered


cdef inline uint64_t hash_at(Ordered ordered, Py_ssize_t i) noexcept:
    return ordered[i].hash


cdef inline object pair_at(Ordered ordered, Py_ssize_t i):
    return <object>pair_in(ordered, i)


cdef inline void let_go(Ordered ordered) noexcept:
    pairs_free(ordered)


@cython.locals(old=INode, main=MainNode, cn=CNode, gen=Gen, ordered=Ordered)
cdef bint fill_root(Root root, list pairs, object equal) except -1
@cython.locals(flag=uint64_t, stop=Py_ssize_t, bitmap=uint64_t, branches=list)
cdef CNode cnode_of(Ordered ordered, Py_ssize_t start, Py_ssize_t end, int lev, Gen gen, object equal)
@cython.locals(main=MainNode, kept=list, cn=CNode, i=Py_ssize_t)
cdef object _branch_of(Ordered ordered, Py_ssize_t start, Py_ssize_t end, int lev, Gen gen, object equal)
cdef SNode _only_pair(CNode cn)
@cython.locals(kept=list, pair=Pair, first=Pair)
cdef list _distinct(list pairs, object equal)
