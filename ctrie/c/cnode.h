/* A C-node with its branches in the node itself. Reading a branch takes one memory access less than through a separate
 * array, and such accesses are most of what a lookup in a trie of millions waits for. The array's head is saved, too.
 *
 * CPython keeps the number of items of such an object directly behind its head. Here the number is that of the bitmap's set
 * bits, and the place holds `prev`: `prev` is set as soon as the node is allocated, and only `__sizeof__` would need the
 * number.
 */
#ifndef CTRIE_CNODE_H
#define CTRIE_CNODE_H

#include "arrays.h"
#include "slot.h"
#include "untracked.h"

typedef struct {
    PyObject_HEAD
    PyObject *prev;             /* the slot */
    uint64_t bitmap;
    PyObject *branches[];
} ctrie_cnode;

#define CTRIE_BITMAP(cn) (((ctrie_cnode *)(cn))->bitmap)
#define CTRIE_CHILD(cn, i) (((ctrie_cnode *)(cn))->branches[i])

static inline ctrie_cnode *cnode_allocate(PyTypeObject *type, Py_ssize_t branches, int tracked)
{
#ifdef Py_GIL_DISABLED
    if (!tracked) {
        return (ctrie_cnode *)plain_new(type, type->tp_basicsize + branches * type->tp_itemsize);
    }
#endif
    return (ctrie_cnode *)PyObject_GC_NewVar(PyVarObject, type, branches);
}

/* Finish a node whose branches are there, as many as `bitmap` has set bits. */
static inline void cnode_complete(ctrie_cnode *cn, uint64_t bitmap, int tracked)
{
    cn->prev = Py_NewRef(Py_None);
    cn->bitmap = bitmap;
    if (tracked) {
        PyObject_GC_Track((PyObject *)cn);
    }
    slots_made((PyObject *)cn, &cn->prev, 1);
}

/* Make a node with the branches in `part`. */
static inline PyObject *cnode_make(PyTypeObject *type, uint64_t bitmap, array_part part, int tracked)
{
    ctrie_cnode *cn = cnode_allocate(type, part_size(&part), tracked);
    if (cn != NULL) {
        part_copy(cn->branches, &part);
        cnode_complete(cn, bitmap, tracked);
    }
    return (PyObject *)cn;
}

/* Branches that become a node together. Their references are moved and never counted: counting would fetch each of them,
 * and a new trie may have a million. */
typedef struct {
    int count, tracked;
    PyObject *items[CTRIE_GROUPS];
} cnode_branches;

static inline void branches_start(cnode_branches *branches) { branches->count = branches->tracked = 0; }

/* Move a reference here. `untracked` promises that the collector does not track the branch. */
static inline void branches_move(cnode_branches *branches, PyObject **branch, int untracked)
{
    branches->tracked |= !untracked && PyObject_GC_IsTracked(*branch);
    branches->items[branches->count++] = *branch;
    *branch = NULL;
}

static inline void branches_add(cnode_branches *branches, PyObject *branch)
{
    PyObject *moved = Py_NewRef(branch);
    branches_move(branches, &moved, 0);
}

/* Add a branch that is in a C-node too. If the collector tracks none of that node's branches, it does not track the node;
 * so no branch needs to be fetched for the answer. */
static inline void branches_share(cnode_branches *branches, PyObject *branch, PyObject *cn)
{
    PyObject *moved = Py_NewRef(branch);
    branches_move(branches, &moved, !PyObject_GC_IsTracked(cn));
}

static inline void branches_drop(cnode_branches *branches)
{
    while (branches->count > 0) {
        Py_DECREF(branches->items[--branches->count]);
    }
}

/* Make a node with these branches, and leave none behind. */
static inline PyObject *cnode_of_branches(PyTypeObject *type, uint64_t bitmap, cnode_branches *branches)
{
    ctrie_cnode *cn = cnode_allocate(type, branches->count, branches->tracked);
    if (cn != NULL) {
        memcpy(cn->branches, branches->items, (size_t)branches->count * sizeof *branches->items);
        branches->count = 0;
        cnode_complete(cn, bitmap, branches->tracked);
    }
    return (PyObject *)cn;
}

static inline int cnode_size(const PyObject *cn) { return ctrie_popcount(CTRIE_BITMAP(cn)); }

static inline array_part cnode_part(PyObject *cn, Py_ssize_t kept, Py_ssize_t skipped, PyObject *branch)
{
    return (array_part){((ctrie_cnode *)cn)->branches, cnode_size(cn), kept, skipped, branch};
}

static inline Py_ssize_t cnode_bytes(const PyObject *cn)
{
    return offsetof(ctrie_cnode, branches) + cnode_size(cn) * (Py_ssize_t)sizeof(PyObject *);
}

static int cnode_traverse(PyObject *node, visitproc visit, void *arg)
{
    ctrie_cnode *cn = (ctrie_cnode *)node;
    Py_VISIT(cn->prev);
    for (int i = cnode_size(node) - 1; i >= 0; i--) {
        Py_VISIT(cn->branches[i]);
    }
    return 0;
}

static inline void cnode_clear(ctrie_cnode *cn)
{
    for (int i = cnode_size((PyObject *)cn) - 1; i >= 0; i--) {
        Py_DECREF(cn->branches[i]);
    }
}

static void cnode_drop(PyObject *node)
{
    ctrie_cnode *cn = (ctrie_cnode *)node;
    int returns = cn->prev == NULL;         /* the trashcan has called this again, and has untracked the node */
    if (!returns && is_plain(node)) {       /* such a node leads to no other C-node */
        Py_DECREF(cn->prev);
        cnode_clear(cn);
        plain_free(node);
        return;
    }
    PyObject_GC_UnTrack(node);
    Py_CLEAR(cn->prev);
    Py_TRASHCAN_BEGIN(node, cnode_drop)     /* nested levels are dropped without recursion on the C stack */
    cnode_clear(cn);
    Py_TYPE(node)->tp_free(node);
    Py_TRASHCAN_END
}

/* Prepare a type for C-nodes. Cython has made it with the same fields, except the branches. */
static inline int cnode_prepare(PyTypeObject *type)
{
    if (type->tp_basicsize != offsetof(ctrie_cnode, branches)) {
        PyErr_SetString(PyExc_SystemError, "ctrie: a C-node is not laid out as cnode.h has it");
        return -1;
    }
    type->tp_itemsize = sizeof(PyObject *);
    type->tp_traverse = cnode_traverse;
    type->tp_dealloc = cnode_drop;
    return 0;
}

#endif /* CTRIE_CNODE_H */
