/* A row of slots in the object itself. Reading one takes one memory access less than through a separate object, and an
 * eighth of the memory.
 */
#ifndef CTRIE_ROW_H
#define CTRIE_ROW_H

#include "slot.h"

typedef struct {
    PyObject_VAR_HEAD
    PyObject *values[];
} ctrie_row;

#define CTRIE_ROW_SIZE(row) Py_SIZE(row)
#define CTRIE_SLOT_AT(row, place) (&((ctrie_row *)(row))->values[place])

static inline PyObject *row_make(PyTypeObject *type, Py_ssize_t size)
{
    ctrie_row *row = PyObject_GC_NewVar(ctrie_row, type, size);
    if (row != NULL) {
        for (Py_ssize_t i = 0; i < size; i++) {
            row->values[i] = Py_NewRef(Py_None);
        }
        PyObject_GC_Track((PyObject *)row);
        slots_made((PyObject *)row, row->values, size);
    }
    return (PyObject *)row;
}

static int row_traverse(PyObject *row, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; i < Py_SIZE(row); i++) {
        Py_VISIT(*CTRIE_SLOT_AT(row, i));
    }
    return 0;
}

/* Called by the collector, when no other thread can see the row any more. */
static int row_clear(PyObject *row)
{
    for (Py_ssize_t i = 0; i < Py_SIZE(row); i++) {
        PyObject *value = *CTRIE_SLOT_AT(row, i);
        *CTRIE_SLOT_AT(row, i) = Py_NewRef(Py_None);
        Py_DECREF(value);
    }
    return 0;
}

static void row_drop(PyObject *row)
{
    PyObject_GC_UnTrack(row);
    for (Py_ssize_t i = 0; i < Py_SIZE(row); i++) {
        Py_DECREF(*CTRIE_SLOT_AT(row, i));
    }
    Py_TYPE(row)->tp_free(row);
}

/* Prepare a type for rows. Cython has made it with the same fields, except the slots. */
static inline int row_prepare(PyTypeObject *type)
{
    if (type->tp_basicsize != offsetof(ctrie_row, values)) {
        PyErr_SetString(PyExc_SystemError, "ctrie: a row of slots is not laid out as row.h has it");
        return -1;
    }
    type->tp_flags |= Py_TPFLAGS_HAVE_GC;       /* Cython sees no field that could be part of a cycle */
    type->tp_free = PyObject_GC_Del;
    type->tp_itemsize = sizeof(PyObject *);
    type->tp_traverse = row_traverse;
    type->tp_clear = row_clear;
    type->tp_dealloc = row_drop;
    return 0;
}

#endif /* CTRIE_ROW_H */
