/* Making and dropping nodes. Every write makes a few nodes and drops as many, so the general way, which asks the memory
 * allocator twice and visits the base types of a node one by one, is what a write would spend most of its time on.
 *
 * A type taken over by `recycle` drops its nodes by a function of its own, and on GIL builds keeps the memory of some
 * for the next ones. A subclass keeps the general way, but for what it calls of its base.
 */
#ifndef CTRIE_RECYCLE_H
#define CTRIE_RECYCLE_H

#include "untracked.h"

/* Enough for the next writes. Each one may keep a megabyte of CPython's allocator from being given back. */
enum { RECYCLED = 2 };

typedef struct {
    PyTypeObject *type;
    int count;
    PyObject *nodes[RECYCLED];      /* untracked, with all their references cleared */
} recycled;

static inline void drop_reference(PyObject **field)
{
    PyObject *value = *field;
    *field = NULL;
    Py_XDECREF(value);
}

static inline void recycle_give(recycled *to, PyObject *node)
{
#ifndef Py_GIL_DISABLED
    if (Py_IS_TYPE(node, to->type) && to->count < RECYCLED) {
        to->nodes[to->count++] = node;
        return;
    }
#endif
    Py_TYPE(node)->tp_free(node);
}

static inline PyObject *recycle_take(recycled *from, PyTypeObject *type)
{
    if (type != from->type || from->count == 0) {
        return PyType_GenericAlloc(type, 0);
    }
    PyObject *node = from->nodes[--from->count];
    _Py_NewReference(node);
    PyObject_GC_Track(node);
    return node;
}

static inline void recycle(recycled *nodes, PyObject *type, destructor drop, allocfunc make)
{
    nodes->type = (PyTypeObject *)type;
    nodes->type->tp_dealloc = drop;
#ifndef Py_GIL_DISABLED
    nodes->type->tp_alloc = make;
#else
    (void)make;
#endif
}

#endif /* CTRIE_RECYCLE_H */
