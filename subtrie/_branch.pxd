# C types for _branch.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._nodes cimport Edit, Gen, INode, Root, SNode
from subtrie._subscribers cimport Entry

cdef extern from *:
    # For borrowed traversal; see ctrie/_nodes.pxd.
    """
    #define SUBTRIE_NEXT(b) ((PyObject *)((struct __pyx_obj_7subtrie_7_branch_Branch *)(b))->next)
    """


cdef class Branch(SNode):
    cdef readonly INode next

    @cython.locals(level=INode)
    cdef SNode renewed(self, Root root, Gen gen)
    cdef SNode without_level(self, INode level)


@cython.locals(branch=Branch, entry=Entry)
cdef Branch new_branch(str word, uint64_t hash, object subscribers, INode next)


@cython.no_gc
cdef class FilterEdit(Edit):
    cdef tuple words
    cdef tuple hashes
    cdef object group
    cdef Py_ssize_t attempts
    cdef bint crossed
    cdef Py_ssize_t depth

    cdef object rewind(self)
    cdef bint same(self, SNode sn) except -1
    @cython.locals(branch=Branch)
    cdef INode below(self, SNode sn)
    cdef object advance(self)


@cython.no_gc
cdef class Subscribe(FilterEdit):
    cdef Entry entry
    cdef Entry present

    cdef SNode create(self)
    @cython.locals(branch=Branch, rest=INode, entry=Entry, present=Entry)
    cdef SNode change(self, SNode sn)
    @cython.locals(branch=Branch, last=Py_ssize_t)
    cdef Branch _path_from(self, Py_ssize_t depth)


@cython.no_gc
cdef class Unsubscribe(FilterEdit):
    cdef object subscriber
    cdef uint64_t subscriber_hash
    cdef Entry present

    cdef SNode create(self)
    @cython.locals(branch=Branch, present=Entry)
    cdef SNode change(self, SNode sn)


cdef INode _level_of(Branch only, Gen gen)
@cython.locals(edit=Subscribe)
cdef Subscribe subscribe_edit(tuple words, tuple hashes, object group, Entry entry)
@cython.locals(edit=Unsubscribe)
cdef Unsubscribe unsubscribe_edit(tuple words, tuple hashes, object group, object subscriber, uint64_t hash)
