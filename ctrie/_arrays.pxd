# The C bodies of _arrays.py.
from libc.stdint cimport uint32_t

cdef extern from *:
    """
    static inline PyObject *ctrie_array_part(PyObject *array, Py_ssize_t kept, Py_ssize_t skipped, PyObject *item)
    {
        /* array[:kept] + (item, if there is one) + array[kept + skipped:] */
        Py_ssize_t size = PyTuple_GET_SIZE(array), i, at = 0;
        PyObject *part = PyTuple_New(size - skipped + (item != NULL));
        if (part == NULL) {
            return NULL;
        }
        for (i = 0; i < kept; i++) {
            PyTuple_SET_ITEM(part, at++, Py_NewRef(PyTuple_GET_ITEM(array, i)));
        }
        if (item != NULL) {
            PyTuple_SET_ITEM(part, at++, Py_NewRef(item));
        }
        for (i = kept + skipped; i < size; i++) {
            PyTuple_SET_ITEM(part, at++, Py_NewRef(PyTuple_GET_ITEM(array, i)));
        }
        return part;
    }
    /* Without -mpopcnt the compiler's own is a call into a table. */
    static inline int ctrie_popcount(uint32_t x)
    {
        x -= x >> 1 & 0x55555555u;
        x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
        return (int)(((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24);
    }
    #define ctrie_replaced(array, pos, item) ctrie_array_part(array, pos, 1, item)
    #define ctrie_inserted(array, pos, item) ctrie_array_part(array, pos, 0, item)
    #define ctrie_removed(array, pos) ctrie_array_part(array, pos, 1, NULL)
    """
    tuple replaced "ctrie_replaced" (tuple array, Py_ssize_t pos, object item)
    tuple inserted "ctrie_inserted" (tuple array, Py_ssize_t pos, object item)
    tuple removed "ctrie_removed" (tuple array, Py_ssize_t pos)
    int popcount "ctrie_popcount" (uint32_t bitmap) nogil
