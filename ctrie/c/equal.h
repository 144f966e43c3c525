/* Comparing two keys without running Python code. */
#ifndef CTRIE_EQUAL_H
#define CTRIE_EQUAL_H

#include <Python.h>

/* Compare two exact strings, or two exact integers: this neither allocates nor fails. It calls the type's own comparison,
 * because the general one checks the recursion limit, and near that limit it would run the hooks for exceptions. */
static inline int same_by_their_type(PyObject *one, PyObject *other)
{
    PyObject *same = Py_TYPE(one)->tp_richcompare(one, other, Py_EQ);
    Py_XDECREF(same);       /* True or False */
    return same == Py_True;
}

#endif /* CTRIE_EQUAL_H */
