# C types for _descent.py; what the code means is written there.
cimport cython
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, MainNode, bitmap_of, branch_at, child_at, with_branch, with_other_branch
from ctrie._machine cimport W, flag_at, is_out_of_track, popcount
from ctrie._native cimport Borrowed, borrow, borrowed, is_exactly, peek, pin, unpin
from ctrie._nodes cimport (
    INode, LNode, MainNode, Pair, Root, Rooted, SNode, TNode, gcas, gcas_complete, gen_of, hash_of, key_of, new_inode,
    new_pair, rdcss_read_root, root_of, same_key, two_snodes, value_of,
)
from ctrie._tally cimport begin_change, end_change, end_in_doubt

cdef extern from "equal.h":
    bint same_by_their_type(PyObject *one, PyObject *other)

cdef extern from "prefetch.h":
    void prefetch_node(PyObject *node)
    void prefetch_child(PyObject *cn, Py_ssize_t pos)
    void prefetch_text(PyObject *key)

cdef enum:
    GROUP = 16
ctypedef uint64_t *Hashes

cdef int UNDONE, STORED, THERE, ADDED


cdef class NoValue:
    pass


@cython.locals(kept_inode=INode, kept_main=MainNode)
cdef int help_pending(Root root, Borrowed inode, Borrowed main) except -1
cdef Borrowed _end_of_path(Rooted trie, uint64_t hash) except NULL
@cython.locals(sn=SNode, ln=LNode, tn=TNode)
cdef SNode _compared(object end, object key, uint64_t hash, object equal)
cdef SNode find(Rooted trie, object key, uint64_t hash, object equal)
@cython.locals(same=bint)
cdef bint is_there(Rooted trie, object key, uint64_t hash, object equal) except -1
cdef object find_value(Rooted trie, object key, uint64_t hash, object equal, object default)


@cython.locals(nodes=Borrowed[16], places=Py_ssize_t[16])
cdef int prefetch_paths(Rooted trie, Hashes hashes, Py_ssize_t count) except -1
cdef void prefetch_walk(tuple here, list stack) noexcept


cdef inline bint same_without_python(Borrowed stored, object key, object equal) noexcept:
    return stored == <PyObject *>key or (
        equal is None
        and (
            (PyUnicode_CheckExact(key) and PyUnicode_CheckExact(<object>stored))
            or (PyLong_CheckExact(key) and PyLong_CheckExact(<object>stored))
        )
        and same_by_their_type(stored, <PyObject *>key)
    )


@cython.locals(added=bint)
cdef int put_quickly(Rooted trie, object key, uint64_t hash, object equal, object value, bint only_new) except -1
cdef CNode _with_pair(
    CNode cn, INode inode, uint64_t flag, Py_ssize_t pos, int lev, object key, uint64_t hash, object value
)
