/* Leaves: making and dropping the nodes that hold a key or a subscriber. Every write makes one and drops one. The general
 * way would take most of a write's time: it visits the base types of a node one by one, clears fields that are set next,
 * and tells the collector of a node that is untracked at once.
 *
 * A leaf is a copy of the first leaf of its kind, all of whose references are to None. Its references are dropped without
 * asking the type. A leaf that leads to nothing that the collector tracks is not tracked either (slot.h), and on
 * free-threaded builds it is not even allocated for the collector (untracked.h). On GIL builds the memory of the leaves
 * that were dropped last is reused for the next ones: a write drops the leaf that it replaces, and calling the allocator
 * would be a twelfth of its time.
 */
#ifndef CTRIE_LEAF_H
#define CTRIE_LEAF_H

#include "slot.h"
#include "untracked.h"

/* The most kinds in a module, and the most references in a kind. */
enum { LEAF_KINDS = 2, LEAF_REFERENCES = 4 };

/* Enough for the next writes. Each leaf kept may prevent a megabyte of CPython's allocator from being given back. Builds that
 * are explored keep none: who uses a leaf that was dropped must be seen, so its memory is freed. */
#ifdef CTRIE_EXPLORED
enum { LEAVES_KEPT = 0 };
#else
enum { LEAVES_KEPT = 2 };
#endif

typedef struct {
    PyTypeObject *type;
    PyObject *first;
    int references;
    Py_ssize_t offsets[LEAF_REFERENCES];
#ifndef Py_GIL_DISABLED
    int count;
    PyObject *kept[LEAVES_KEPT + !LEAVES_KEPT];     /* untracked, with references that have been dropped */
#endif
} leaf_kind;

/* C variables, since every use of a Python variable would be counted, and all threads would write to that count. */
static leaf_kind leaf_kinds[LEAF_KINDS];

static inline leaf_kind *leaf_kind_of(PyTypeObject *type)
{
    leaf_kind *kind = leaf_kinds;
    while (kind->type != type) {
        kind++;
    }
    return kind;
}

#define LEAF_REFERENCE(node, kind, i) (*(PyObject **)((char *)(node) + (kind)->offsets[i]))

#ifdef Py_GIL_DISABLED

static inline void leaf_free(leaf_kind *kind, PyObject *node, int plain)
{
    (void)kind;
    if (plain) {
        plain_free(node);
    }
    else {
        PyObject_GC_Del(node);
    }
}

static inline PyObject *leaf_allocate(leaf_kind *kind, int tracked)
{
    return tracked ? PyObject_GC_New(PyObject, kind->type) : plain_new(kind->type, kind->type->tp_basicsize);
}

#else

static inline void leaf_free(leaf_kind *kind, PyObject *node, int plain)
{
    (void)plain;
    if (LEAVES_KEPT > 0 && kind->count < LEAVES_KEPT) {
        kind->kept[kind->count++] = node;
    }
    else {
        PyObject_GC_Del(node);
    }
}

static inline PyObject *leaf_allocate(leaf_kind *kind, int tracked)
{
    (void)tracked;
    if (kind->count == 0) {
        return PyObject_GC_New(PyObject, kind->type);
    }
    PyObject *node = kind->kept[--kind->count];
    count_anew(node);
    return node;
}

#endif

/* Return the kind of a type, or else that of the nearest base that has one: the instances of its subclasses come here,
 * too, by way of their own types. */
static inline leaf_kind *leaf_kind_above(PyTypeObject *type)
{
    for (;; type = type->tp_base) {
        for (leaf_kind *kind = leaf_kinds; kind < leaf_kinds + LEAF_KINDS; kind++) {
            if (kind->type == type) {
                return kind;
            }
        }
    }
}

static inline __attribute__((always_inline)) void leaf_clear(leaf_kind *kind, PyObject *node, int plain)
{
    for (int i = 0; i < kind->references; i++) {
        Py_DECREF(LEAF_REFERENCE(node, kind, i));
    }
    if (Py_TYPE(node) == kind->type) {
        leaf_free(kind, node, plain);
    }
    else {
        Py_TYPE(node)->tp_free(node);
    }
}

/* A leaf that is tracked may lead to another of its kind, and so on. The trashcan drops nested ones without recursion on the
 * C stack: it calls this again, for a leaf that is no longer tracked then. What tells is a bit in its first reference. */
enum { LEAF_WAITS = 1 };

static void leaf_drop(PyObject *node)
{
    leaf_kind *kind = leaf_kind_above(Py_TYPE(node));
    PyObject **first = &LEAF_REFERENCE(node, kind, 0);
    int waited = (uintptr_t)*first & LEAF_WAITS;
    if (!waited && !PyObject_GC_IsTracked(node)) {
        leaf_clear(kind, node, is_plain(node));
        return;
    }
    PyObject_GC_UnTrack(node);
    *first = (PyObject *)((uintptr_t)*first | LEAF_WAITS);
    Py_TRASHCAN_BEGIN(node, leaf_drop)
    *first = (PyObject *)((uintptr_t)*first & ~(uintptr_t)LEAF_WAITS);
    leaf_clear(kind, node, 0);
    Py_TRASHCAN_END
}

/* Register the type of `first`, all of whose references are to None, as a kind of leaves. A subclass is another kind. */
static inline int leaf_after(PyObject *first)
{
    leaf_kind *kind = leaf_kinds;
    while (kind->type != NULL) {
        kind++;
    }
    for (Py_ssize_t at = sizeof(PyObject); at < Py_TYPE(first)->tp_basicsize; at += sizeof(PyObject *)) {
        if (*(PyObject **)((char *)first + at) == Py_None) {
            if (kind->references == LEAF_REFERENCES) {
                PyErr_SetString(PyExc_SystemError, "ctrie: a leaf with more references than leaf.h has room for");
                return -1;
            }
            kind->offsets[kind->references++] = at;
        }
    }
    kind->type = Py_TYPE(first);
    kind->first = Py_NewRef(first);
    kind->type->tp_dealloc = leaf_drop;
    return 0;
}

/* Return a leaf of this type, which will refer to `one` and `other` only. */
static inline PyObject *new_leaf(PyObject *type, PyObject *one, PyObject *other)
{
    leaf_kind *kind = leaf_kind_of((PyTypeObject *)type);
    int tracked = !never_tracked(one) || !never_tracked(other);
    PyObject *node = leaf_allocate(kind, tracked);
    if (node == NULL) {
        return NULL;
    }
    memcpy(behind_head(node), behind_head(kind->first), (size_t)kind->type->tp_basicsize - sizeof(PyObject));
    for (int i = 0; i < kind->references; i++) {
        Py_INCREF(Py_None);
    }
    if (tracked) {
        PyObject_GC_Track(node);
    }
    return node;
}

#endif /* CTRIE_LEAF_H */
