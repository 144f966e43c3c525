/* Reading a slot: the half of the native body that every compiled module includes; epoch.h has the other half. */
#ifndef CTRIE_NATIVE_H
#define CTRIE_NATIVE_H

#include <Python.h>

#ifdef CTRIE_EXPLORED

#include "explored.h"   /* stress/tries/seam: a scheduler decides about every access */

#elif !defined(Py_GIL_DISABLED)

#define SLOT_NEEDS_PIN 0

static inline PyObject *slot_read(PyObject **slot) { return *slot; }

static inline int slot_compare_and_set(PyObject **slot, PyObject *expected, PyObject *desired)
{
    if (*slot != expected) {
        return 0;
    }
    Py_INCREF(desired);
    *slot = desired;
    Py_DECREF(expected);    /* last: it may run a finalizer that uses this very slot */
    return 1;
}

#else

#include <stdatomic.h>

#define SLOT_NEEDS_PIN 1

typedef _Atomic(PyObject *) atomic_object;

/* Sequentially consistent, as every compare-and-set is. To see the fields of a node that were written before it was
 * published, acquire would do. But GCAS puts a main node in place and then reads the root, RDCSS puts a descriptor into the
 * root and then reads the main node, and one of two that meet must see the other: no store may be passed by the load after
 * it, wherever pins stand. On x86 such a load is like any other; on ARM it is the acquire load that follows a release in
 * order. */
static inline PyObject *slot_read(PyObject **slot)
{
    return atomic_load_explicit((atomic_object *)slot, memory_order_seq_cst);
}

/* Here compare-and-set retires what it displaces: epoch.h has it, and _native exports it. */
#endif

#ifndef CTRIE_EXPLORED
/* Said by what allocates its slots in a way of its own, for whoever explores schedules. */
#define slots_made(owner, slots, count) ((void)0)
#endif

/* A node that leads to nothing the collector tracks cannot be part of a cycle, and nodes never change: with millions
 * of them, each one taken off the collector's list shortens every full collection. Only types that the collector
 * never tracks count here; a dict, say, may be untracked now and tracked later. */
static inline int never_tracked(PyObject *value) { return !PyObject_IS_GC(value); }

#endif /* CTRIE_NATIVE_H */
