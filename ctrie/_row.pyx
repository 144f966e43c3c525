"""The compiled body of _row.py, which is the text to read; row.h describes the layout."""

from cpython.object cimport PyObject, PyTypeObject

cdef extern from "row.h":
    Row row_make(PyTypeObject *type, Py_ssize_t size)
    int row_prepare(PyTypeObject *type) except -1


cdef class Row:
    """Slots."""


row_prepare(<PyTypeObject *>Row)


cdef Row new_row(Py_ssize_t size):
    return row_make(<PyTypeObject *>Row, size)
