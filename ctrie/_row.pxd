# C types for _row.py.
from cpython.object cimport PyObject

from ctrie._native cimport Borrowed, compare_and_set_in, load_from, slot_read

cdef extern from "row.h" nogil:
    # Views for borrowed traversal: no reference is counted, so the caller must be pinned.
    Py_ssize_t row_size "CTRIE_ROW_SIZE" (PyObject *row)
    PyObject **CTRIE_SLOT_AT(PyObject *row, Py_ssize_t place)


cdef class Row:
    cdef Py_ssize_t size    # at the offset where CPython keeps the number of items


cdef Row new_row(Py_ssize_t size)


cdef inline object load_at(Row row, Py_ssize_t place):
    return load_from(CTRIE_SLOT_AT(<PyObject *>row, place))


cdef inline Borrowed peek_at(Borrowed row, Py_ssize_t place) noexcept:
    return slot_read(CTRIE_SLOT_AT(row, place))


cdef inline bint compare_and_set_at(Row row, Py_ssize_t place, object expected, object desired) except -1:
    return compare_and_set_in(CTRIE_SLOT_AT(<PyObject *>row, place), expected, desired)
