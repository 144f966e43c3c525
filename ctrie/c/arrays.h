/* The C bodies of _machine.py, and what they share with C-nodes (cnode.h). */
#ifndef CTRIE_ARRAYS_H
#define CTRIE_ARRAYS_H

#include <Python.h>

enum { CTRIE_W = 6, CTRIE_GROUPS = 1 << CTRIE_W };

static inline uint64_t ctrie_flag_at(uint64_t hash, int shift)
{
    return (uint64_t)1 << (hash >> shift & (CTRIE_GROUPS - 1));
}

/* Without -mpopcnt the compiler's own popcount calls a function that reads a table. */
static inline int ctrie_popcount(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    return (int)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* A part of an array, with an optional item in the middle: from[:kept] + (item,) + from[kept + skipped : size]. */
typedef struct {
    PyObject *const *from;
    Py_ssize_t size, kept, skipped;
    PyObject *item;             /* or NULL */
} array_part;

static inline Py_ssize_t part_size(const array_part *part)
{
    return part->size - part->skipped + (part->item != NULL);
}

static inline void part_copy(PyObject **to, const array_part *part)
{
    for (Py_ssize_t i = 0; i < part->kept; i++) {
        *to++ = Py_NewRef(part->from[i]);
    }
    if (part->item != NULL) {
        *to++ = Py_NewRef(part->item);
    }
    for (Py_ssize_t i = part->kept + part->skipped; i < part->size; i++) {
        *to++ = Py_NewRef(part->from[i]);
    }
}

static inline array_part part_of_tuple(PyObject *array, Py_ssize_t kept, Py_ssize_t skipped, PyObject *item)
{
    return (array_part){((PyTupleObject *)array)->ob_item, PyTuple_GET_SIZE(array), kept, skipped, item};
}

static inline PyObject *tuple_of_part(array_part part)
{
    PyObject *array = PyTuple_New(part_size(&part));
    if (array != NULL) {
        part_copy(((PyTupleObject *)array)->ob_item, &part);
    }
    return array;
}

#define ctrie_replaced(array, pos, item) tuple_of_part(part_of_tuple(array, pos, 1, item))
#define ctrie_inserted(array, pos, item) tuple_of_part(part_of_tuple(array, pos, 0, item))
#define ctrie_removed(array, pos) tuple_of_part(part_of_tuple(array, pos, 1, NULL))

/* Take a complete node off the collector's list. A node that never changes and leads to nothing that the collector tracks
 * cannot be part of a cycle, and full collections then skip it: there are millions of them. Tuples and frozen sets directly
 * below the node are untracked with it. Anything else below it must have been untracked before. */
static inline void ctrie_untrack_constant(PyObject *node);

static int ctrie_stays_tracked(PyObject *below, void *unused)
{
    (void)unused;
    if (PyTuple_CheckExact(below) || PyFrozenSet_CheckExact(below)) {
        ctrie_untrack_constant(below);
    }
    return PyObject_GC_IsTracked(below);
}

static int ctrie_is_tracked(PyObject *below, void *unused) { return (void)unused, PyObject_GC_IsTracked(below); }

static inline void ctrie_untrack_constant(PyObject *node)
{
    if (PyObject_GC_IsTracked(node)) {
        int is_leaf = PyTuple_CheckExact(node) || PyFrozenSet_CheckExact(node);
        if (!Py_TYPE(node)->tp_traverse(node, is_leaf ? ctrie_is_tracked : ctrie_stays_tracked, NULL)) {
            PyObject_GC_UnTrack(node);
        }
    }
}

#endif /* CTRIE_ARRAYS_H */
