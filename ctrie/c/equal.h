/* Comparing two keys without running Python code. */
#ifndef CTRIE_EQUAL_H
#define CTRIE_EQUAL_H

#include <Python.h>

/* Of two exact strings, or two exact integers: neither allocates, nor fails. Their own comparison is called, not by way of
 * one that minds the recursion limit: near it, that one would run the hooks for exceptions. */
static inline int same_by_their_type(PyObject *one, PyObject *other)
{
    PyObject *same = Py_TYPE(one)->tp_richcompare(one, other, Py_EQ);
    Py_XDECREF(same);       /* True or False */
    return same == Py_True;
}

#endif /* CTRIE_EQUAL_H */
