from libc.stdint cimport uint64_t

from ctrie._nodes cimport Root, SNode

cdef SNode find(Root root, object key, uint64_t hash, object equal)
cdef object find_value(Root root, object key, uint64_t hash, object equal, object default)
cdef bint put_quickly(Root root, object key, uint64_t hash, object equal, object value) except -1
