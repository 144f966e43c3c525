from libc.stdint cimport uint64_t

from ctrie._nodes cimport Root

cdef class Plan:
    cdef readonly object dialect
    cdef char separator
    cdef bytes special
    cdef bint empty_words
    cdef bint in_place
    cdef int many_min
    cdef Py_ssize_t max_bytes
    cdef Py_ssize_t most
    cdef int reserved  # first character of reserved topics, -1 for none
    cdef bytes forbidden
    cdef char one
    cdef char many
    cdef bint many_last
    cdef bint wildcards_in_words
    cdef str share
    cdef Py_ssize_t most_in_filter

cpdef uint64_t word_hash(str word) except? 0
cpdef tuple filter_path(Plan plan, object filter)
cpdef tuple match(Root root, Plan plan, topic)
cpdef bint has_match(Root root, Plan plan, topic) except -1
cpdef list match_many(Root root, Plan plan, topics)
