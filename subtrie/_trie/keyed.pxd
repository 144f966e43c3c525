# C types for keyed.py.
cimport cython
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint32_t, uint64_t

from ctrie._machine cimport EVERY, check_signals, check_stack, inserted, popcount, removed, replaced, untrack_constant
from ctrie._native cimport CTRIE_IS, PyTuple_GET_SIZE_PTR
from ctrie._nodes cimport Edit

cdef extern from *:
    bint PyTuple_CheckExact(PyObject *thing) nogil

cdef int INLINE, _BITS, _HASH_BITS
cdef uint32_t _MASK


cdef class Keyed:
    cdef readonly object key
    cdef readonly uint64_t hash


cdef class SetNode:
    cdef uint32_t bitmap
    cdef tuple array
    cdef Py_ssize_t size


# Views for borrowed traversal; see ctrie/_nodes.pxd.
cdef inline PyObject *key_in(PyObject *keyed) noexcept nogil:
    return <PyObject *>(<Keyed>keyed).key


cdef inline uint64_t hash_in(PyObject *keyed) noexcept nogil:
    return (<Keyed>keyed).hash


cdef inline PyObject *set_array_of(PyObject *node) noexcept nogil:
    return <PyObject *>(<SetNode>node).array


cdef inline Py_ssize_t size_in(PyObject *members) noexcept nogil:
    if CTRIE_IS(members, <PyTypeObject *>SetNode):
        return (<SetNode>members).size
    return PyTuple_GET_SIZE_PTR(members) if PyTuple_CheckExact(members) else 1


@cython.locals(node=SetNode)
cdef SetNode _new_node(uint32_t bitmap, tuple array, Py_ssize_t size)
cdef bint _same(Keyed member, object key, uint64_t hash, Edit edit) except -1
cdef list changed_listed(list left, list members, object same)
@cython.locals(large=SetNode)
cpdef Py_ssize_t set_size(object members) except -1
@cython.locals(node=SetNode, flag=uint32_t)
cpdef Keyed find_keyed(object members, object key, uint64_t hash, Edit edit=*)
cdef Py_ssize_t _position(tuple several, object key, uint64_t hash, Edit edit) except -2
cpdef object with_keyed(object members, Keyed member, Keyed found=*)
cpdef object without_keyed(object members, Keyed found)
cdef Py_ssize_t _index(tuple several, Keyed found) except -1
@cython.locals(flag=uint32_t)
cdef SetNode _node_with(SetNode node, Keyed member, Keyed found, int shift)
@cython.locals(other=Keyed)
cdef object _child_with(object child, Keyed member, Keyed found, int shift)
@cython.locals(flag=uint32_t)
cdef object _node_without(SetNode node, Keyed found, int shift)
cdef list _listed(object members)
@cython.locals(large=SetNode)
cdef tuple branches_of(object node)
cdef list _branch_pairs(SetNode x, SetNode y)
cpdef object check_set(object members)
cpdef object check_shape(object members)
cdef object _check_node(SetNode node, int shift, uint64_t path)
