# How nodes are made and dropped; recycle.h explains it.
from cpython.object cimport PyObject, PyTypeObject

cdef extern from "recycle.h":
    ctypedef struct recycled:
        pass
    void drop_reference(PyObject **field) noexcept
    void recycle_give(recycled *to, PyObject *node) noexcept
    PyObject *recycle_take(recycled *from_, PyTypeObject *type) except NULL
    bint is_plain(PyObject *node) noexcept
    void plain_free(PyObject *node) noexcept
    void recycle(
        recycled *nodes, PyObject *type, void (*drop)(PyObject *) noexcept,
        PyObject *(*make)(PyTypeObject *, Py_ssize_t) except NULL
    )
