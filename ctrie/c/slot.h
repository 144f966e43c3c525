/* Reading a slot: the half of the native body that every compiled module includes. epoch.h has the other half. */
#ifndef CTRIE_NATIVE_H
#define CTRIE_NATIVE_H

#include <Python.h>
#include <stdint.h>

#ifdef CTRIE_EXPLORED

#include "explored.h"   /* tests/tries/seam: a scheduler decides the order of all accesses */

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

/* Sequentially consistent, like every compare-and-set. Acquire would be enough to see the fields of a node that were
 * written before it was published. But GCAS puts a main node in place and then reads the root, while RDCSS puts a
 * descriptor into the root and then reads the main node. If the two overlap, one must see the other. So no load may be
 * reordered before an earlier store, wherever the pins are. On x86 such a load costs as much as any other; on ARM it is the
 * acquire load that stays behind an earlier release. */
static inline PyObject *slot_read(PyObject **slot)
{
    return atomic_load_explicit((atomic_object *)slot, memory_order_seq_cst);
}

/* In this build compare-and-set retires the value that it replaces: epoch.h defines it, and _native exports it. */
#endif

#ifndef CTRIE_EXPLORED
/* Called by code that allocates its slots by itself. An exploring build learns of those slots by it. */
#define slots_made(owner, slots, count) ((void)0)
#endif

/* A node that leads to nothing that the collector tracks cannot be part of a cycle, and nodes never change. There are
 * millions of them, and each one taken off the collector's list shortens every full collection. Only types that the
 * collector never tracks count here: a dict, for instance, may be untracked now and tracked later. A tuple that is not
 * tracked counts, too: it was taken off the list because it leads to nothing that is tracked, and it never changes. */
static inline int never_tracked(PyObject *value)
{
    return !PyType_IS_GC(Py_TYPE(value))    /* inline; the next one is a call, for types of whose objects it depends */
        || !PyObject_IS_GC(value) || (PyTuple_CheckExact(value) && !PyObject_GC_IsTracked(value));
}

#endif /* CTRIE_NATIVE_H */
