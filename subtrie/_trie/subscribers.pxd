# C types for subscribers.py.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint32_t, uint64_t

from ctrie._arrays cimport inserted, popcount, removed, replaced, settle
from ctrie._memory cimport leaf_after, new_leaf
from ctrie._nodes cimport Edit, mix

cdef int INLINE, _BITS, _HASH_BITS
cdef uint32_t _MASK


cdef class Entry:
    cdef readonly object subscriber
    cdef readonly uint64_t hash
    cdef readonly dict options


cdef class SetNode:
    cdef uint32_t bitmap
    cdef tuple array
    cdef Py_ssize_t size


# Views for borrowed traversal; see ctrie/_nodes.pxd.
cdef inline PyObject *subscriber_of(PyObject *entry) noexcept nogil:
    return <PyObject *>(<Entry>entry).subscriber


cdef inline uint64_t entry_hash_of(PyObject *entry) noexcept nogil:
    return (<Entry>entry).hash


cdef inline PyObject *set_array_of(PyObject *node) noexcept nogil:
    return <PyObject *>(<SetNode>node).array


@cython.locals(entry=Entry)
cpdef Entry new_entry(object subscriber, uint64_t hash, dict options)
@cython.locals(node=SetNode)
cdef SetNode _new_node(uint32_t bitmap, tuple array, Py_ssize_t size)
cpdef uint64_t subscriber_hash(object subscriber) except? 0
cdef bint _same(Entry entry, object subscriber, uint64_t hash, Edit edit) except -1
cpdef bint is_held(object subscriber) except -1
cpdef Entry living(Entry entry)
@cython.locals(large=SetNode)
cpdef Py_ssize_t set_size(object subscribers) except -1
@cython.locals(shift=int, node=SetNode, flag=uint32_t, pos=Py_ssize_t)
cpdef Entry find_entry(object subscribers, object subscriber, uint64_t hash, Edit edit=*)
@cython.locals(pos=Py_ssize_t)
cdef Py_ssize_t _position(tuple entries, object subscriber, uint64_t hash, Edit edit) except -2
cpdef object with_entry(object subscribers, Entry entry, Entry found)
@cython.locals(left=tuple)
cpdef object without_entry(object subscribers, Entry found)
@cython.locals(pos=Py_ssize_t)
cdef Py_ssize_t _index(tuple entries, Entry found) except -1
@cython.locals(flag=uint32_t, pos=Py_ssize_t, size=Py_ssize_t)
cdef SetNode _node_with(SetNode node, Entry entry, Entry found, int shift)
@cython.locals(other=Entry, below=SetNode)
cdef object _child_with(object child, Entry entry, Entry found, int shift)
@cython.locals(flag=uint32_t, pos=Py_ssize_t, array=tuple, bitmap=uint32_t)
cdef object _node_without(SetNode node, Entry found, int shift)
@cython.locals(large=SetNode)
cdef tuple branches_of(object node)
@cython.locals(both=uint32_t, flag=uint32_t)
cdef list _branch_pairs(SetNode x, SetNode y)
cpdef object check_set(object subscribers)
cpdef object check_shape(object subscribers)
cdef object _check_node(SetNode node, int shift, uint64_t path)
