from cpython.object cimport PyObject

cdef object recalled(PyObject *cache, PyObject *topic, int kind, int *stripe)
