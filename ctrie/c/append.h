/* An append that fails, in C that Cython writes: included before each module (setup.py).
 *
 * For an item of a list comprehension, Cython 3.3.1 gives the item's reference back in its helper and, if the append has
 * failed, once more where the exception is handled. Here a failed append keeps one for that. Any other failed append
 * leaves its item alive for ever then, which is the lesser evil without memory. */
#ifndef CTRIE_APPEND_H
#define CTRIE_APPEND_H

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

static inline int ctrie_append(PyObject *list, PyObject *item) {
    int failed = PyList_Append(list, item);
    if (failed) Py_INCREF(item);
    return failed;
}
#define PyList_Append(list, item) ctrie_append(list, item)

#endif
