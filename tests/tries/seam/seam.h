/* The implementation of the explored slot: what happens at an access, how changes are undone, and a model of the reclaimer.
 *
 *   before   a Python function that is called before every access, as Seam.before (stress/explorer/slots.py). A read cannot
 *            fail. If the function raises there, the exception is kept, the function is not called any more, and the
 *            exception is raised at the next access that can fail, or where the call ends (`seam_leave`).
 *   journal  the slots that were changed, with their previous values: enough to undo an execution.
 *   arena    the objects with slots that were made in this execution. They are kept until it is undone, so no address is
 *            used twice, and no freed memory is written.
 *   pins     counted for each thread. Between pin and unpin a thread may only read; a violation is noted as a `fault`.
 *   ideal    a model of the fastest reclaimer that the rules allow: a replaced value is dropped as soon as all threads that
 *            were pinned when it was replaced have unpinned. Nothing is undone then, so every execution begins anew.
 *   memory   under valgrind's memcheck, with `ideal`, every use of memory that was freed is a `fault`, too.
 *   order    in memory that processes share: which thread made which access, so that the schedule outlives a crash.
 */
#ifndef EXPLORED_SEAM_H
#define EXPLORED_SEAM_H

#include <Python.h>
#include "explored.h"
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_COUNT_ERRORS 0
#endif

enum { SEAM_THREADS = 64, MOST_TEXT = 24, MOST_WORDS_KNOWN = 64 };

typedef struct { PyObject **slot; PyObject *old; } seam_change;
typedef struct { PyObject *value; uint64_t waits_for; } seam_displaced;

static struct {
    int active, ideal;
    PyObject *before, *after, *made;
    int me, pins[SEAM_THREADS];
    int unwinding;
    PyObject *kept[3];
    seam_change *journal;
    Py_ssize_t changes, journal_room;
    PyObject **arena;
    Py_ssize_t held, arena_room;
    seam_displaced *limbo;
    Py_ssize_t waiting, limbo_room;
    uint64_t pinned;
    const char *fault;
    unsigned memory_errors;
    uint32_t *order_used;       /* directly before `order`, in shared memory */
    uint8_t *order;
    uint32_t order_room;
    struct { char text[MOST_TEXT]; Py_ssize_t bytes; uint64_t hash; } words[MOST_WORDS_KNOWN];
    int word_count;
} seam;

static void seam_fault(const char *told)
{
    if (seam.fault == NULL && seam.before != NULL) {
        seam.fault = told;
    }
}

static void *seam_room(void *list, Py_ssize_t used, Py_ssize_t *room, size_t size)
{
    if (used < *room) {
        return list;
    }
    *room = *room == 0 ? 256 : 2 * *room;
    list = realloc(list, (size_t)*room * size);
    if (list == NULL) {
        Py_FatalError("explored_seam: no memory");
    }
    return list;
}

static void seam_keep(PyObject *owner)
{
    seam.arena = seam_room(seam.arena, seam.held, &seam.arena_room, sizeof *seam.arena);
    seam.arena[seam.held++] = Py_NewRef(owner);
}

static void seam_note_order(void)
{
    if (seam.order != NULL && seam.me > 0 && *seam.order_used < seam.order_room) {
        seam.order[(*seam.order_used)++] = (uint8_t)(seam.me - 1);
    }
}

/* Called before an access. Return -1 with an exception set, if `may_fail`. */
static int seam_before(PyObject **slot, PyObject *expected, PyObject *desired, int may_fail)
{
    if (seam.unwinding) {
        if (may_fail && seam.kept[0] != NULL) {
            PyErr_Restore(seam.kept[0], seam.kept[1], seam.kept[2]);
            seam.kept[0] = NULL;
            return -1;
        }
        return 0;
    }
    if (seam.before == NULL) {
        return 0;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int me = seam.me;
    PyObject *arguments[4] = {NULL, PyLong_FromVoidPtr(slot), expected, desired};
    size_t count = expected == NULL ? 1 : 3;
    PyObject *answer = arguments[1] == NULL ? NULL : PyObject_Vectorcall(
        seam.before, arguments + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(arguments[1]);
    seam.me = me;       /* others may have run meanwhile */
    if (answer == NULL) {
        seam.unwinding = 1;
        if (may_fail) {
            Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(traceback);
            return -1;
        }
        PyErr_Fetch(&seam.kept[0], &seam.kept[1], &seam.kept[2]);
    }
    else {
        seam_note_order();
    }
    Py_XDECREF(answer);
    PyErr_Restore(type, value, traceback);
    return 0;
}

/* What CPython's debugging allocator writes over memory that is freed. */
static int seam_is_freed(PyObject *value) { return (uintptr_t)value == (uintptr_t)0xdddddddddddddddd; }

static PyObject *seam_read(PyObject **slot)
{
    if (seam.active) {
        if (seam.pins[seam.me] == 0) {
            seam_fault("a slot is read without a pin");
        }
        seam_before(slot, NULL, NULL, 0);
        if (seam.ideal && seam_is_freed(*slot)) {
            seam_fault("a slot is read of a node that has been released");
            return Py_None;
        }
    }
    return *slot;
}

static PyObject *seam_load(PyObject **slot)
{
    if (seam.active) {
        if (seam.pins[seam.me] != 0) {
            seam_fault("a reference is taken by a load under a pin, which ends the pin");
        }
        if (seam_before(slot, NULL, NULL, 1) < 0) {
            return NULL;
        }
    }
    return Py_NewRef(*slot);
}

static void seam_drop_displaced(void)
{
    for (Py_ssize_t i = 0; i < seam.waiting;) {
        seam.limbo[i].waits_for &= seam.pinned;
        if (seam.limbo[i].waits_for) {
            i++;
            continue;
        }
        PyObject *value = seam.limbo[i].value;
        seam.limbo[i] = seam.limbo[--seam.waiting];
        Py_DECREF(value);   /* may run finalizers that change the list */
        i = 0;
    }
}

static int seam_compare_and_set(PyObject **slot, PyObject *expected, PyObject *desired)
{
    if (seam.active) {
        if (seam.pins[seam.me] != 0) {
            seam_fault("a slot is changed under a pin");
        }
        if (seam_before(slot, expected, desired, 1) < 0) {
            return -1;
        }
    }
    if (*slot != expected) {
        return 0;
    }
    Py_INCREF(desired);
    *slot = desired;
    if (!seam.active || (seam.ideal && !seam.pinned)) {
        Py_DECREF(expected);
    }
    else if (seam.ideal) {
        seam.limbo = seam_room(seam.limbo, seam.waiting, &seam.limbo_room, sizeof *seam.limbo);
        seam.limbo[seam.waiting++] = (seam_displaced){expected, seam.pinned};
    }
    else {
        seam.journal = seam_room(seam.journal, seam.changes, &seam.journal_room, sizeof *seam.journal);
        seam.journal[seam.changes++] = (seam_change){slot, expected};
    }
    if (seam.active && seam.after != NULL) {
        PyObject *answer = PyObject_CallNoArgs(seam.after);
        if (answer == NULL) {
            seam.unwinding = 1;
            return -1;
        }
        Py_DECREF(answer);
    }
    return 1;
}

static void seam_pin(void)
{
    if (seam.active) {
        if (seam.pins[seam.me]++ != 0) {
            seam_fault("a thread that is pinned pins");
        }
        seam.pinned |= (uint64_t)1 << seam.me;
    }
}

static void seam_unpin(void)
{
    if (seam.active) {
        if (--seam.pins[seam.me] < 0) {
            seam_fault("a thread unpins that is not pinned");
            seam.pins[seam.me] = 0;
        }
        if (seam.pins[seam.me] == 0) {
            seam.pinned &= ~((uint64_t)1 << seam.me);
            if (seam.waiting) {
                seam_drop_displaced();
            }
        }
    }
}

static void seam_made(PyObject *owner, PyObject **slots, Py_ssize_t count)
{
    if (!seam.active) {
        return;
    }
    if (seam.pins[seam.me] != 0) {
        seam_fault("a node is made under a pin");
    }
    if (!seam.ideal) {
        seam_keep(owner);
    }
    if (seam.made != NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *answer = PyObject_CallFunction(seam.made, "nns", (Py_ssize_t)slots, count, Py_TYPE(owner)->tp_name);
        if (answer == NULL) {
            PyErr_WriteUnraisable(seam.made);
        }
        Py_XDECREF(answer);
        PyErr_Restore(type, value, traceback);
    }
}

/* The allocator of a type whose one slot is directly behind the object's head. */
static PyObject *seam_allocate(PyTypeObject *type, Py_ssize_t items)
{
    PyObject *owner = PyType_GenericAlloc(type, items);
    if (owner != NULL) {
        seam_made(owner, (PyObject **)(owner + 1), 1);
    }
    return owner;
}

static int seam_knows(const char *text, Py_ssize_t bytes, uint64_t *hash)
{
    for (int i = 0; i < seam.word_count; i++) {
        if (seam.words[i].bytes == bytes && memcmp(seam.words[i].text, text, (size_t)bytes) == 0) {
            *hash = seam.words[i].hash;
            return 1;
        }
    }
    return 0;
}

static const explored_operations seam_operations = {
    seam_read, seam_load, seam_compare_and_set, seam_pin, seam_unpin, seam_made, seam_knows
};

/* ------------------------------------------------------------------------------------------------------ for Python */

/* Return the rule that was broken since the last call, or NULL. */
static const char *seam_fault_told(void)
{
    unsigned errors = VALGRIND_COUNT_ERRORS;    /* 0 where no valgrind runs this */
    const char *told = seam.fault != NULL || errors == seam.memory_errors ? seam.fault : "memory is used that has been freed";
    seam.memory_errors = errors;
    seam.fault = NULL;
    return told;
}

static PyObject *seam_capsule(void) { return PyCapsule_New((void *)&seam_operations, "explored_seam.operations", NULL); }

static void seam_set(PyObject **where, PyObject *function)
{
    Py_XSETREF(*where, function == Py_None ? NULL : Py_NewRef(function));
}

static int seam_know(const char *text, Py_ssize_t bytes, uint64_t hash)
{
    if (bytes > MOST_TEXT || seam.word_count == MOST_WORDS_KNOWN) {
        PyErr_SetString(PyExc_ValueError, "too long a word, or too many");
        return -1;
    }
    memcpy(seam.words[seam.word_count].text, text, (size_t)bytes);
    seam.words[seam.word_count].bytes = bytes;
    seam.words[seam.word_count++].hash = hash;
    return 0;
}

static void seam_enter(int me)
{
    seam.me = me;
    if (seam.pins[me] != 0) {
        seam.pins[me] = 0;
        seam.pinned &= ~((uint64_t)1 << me);
    }
}

/* A thread continues in Python, where the seam cannot see it: after it has `made` a step there, or was given up. */
static void seam_go_on(int me, int made)
{
    seam.me = me;
    if (made) {
        seam_note_order();
    }
}

/* Called when a call has ended: raise the exception that could not be raised in it. */
static int seam_leave(void)
{
    if (seam.pins[seam.me] != 0 && !seam.unwinding) {
        seam_fault("a call returns and leaves its thread pinned");
    }
    seam_enter(seam.me);
    seam.unwinding = 0;
    if (seam.kept[0] != NULL) {
        PyErr_Restore(seam.kept[0], seam.kept[1], seam.kept[2]);
        seam.kept[0] = NULL;
        return -1;
    }
    return 0;
}

/* Undo all changes after the first `mark`, or without `undo` keep them. `whole`: also release all objects made since. */
static void seam_take_back(Py_ssize_t mark, int whole, int undo)
{
    int active = seam.active;
    seam.active = 0;
    while (seam.changes > mark) {
        seam_change change = seam.journal[--seam.changes];
        PyObject *dropped = change.old;
        if (undo) {
            dropped = *change.slot;
            *change.slot = change.old;
        }
        Py_DECREF(dropped);
    }
    if (whole) {
        while (seam.held > 0) {
            Py_DECREF(seam.arena[--seam.held]);
        }
        while (seam.waiting > 0) {
            Py_DECREF(seam.limbo[--seam.waiting].value);
        }
        seam.pinned = 0;
        memset(seam.pins, 0, sizeof seam.pins);
    }
    seam.active = active;
}

static PyObject *seam_peek(size_t address)
{
    PyObject *value = *(PyObject **)address;
    return Py_NewRef(value == NULL || seam_is_freed(value) ? Py_None : value);
}

static void seam_write_order(void *memory, size_t bytes)
{
    seam.order_used = memory;
    seam.order = memory == NULL ? NULL : (uint8_t *)memory + sizeof(uint32_t);
    seam.order_room = memory == NULL ? 0 : (uint32_t)(bytes - sizeof(uint32_t));
}

static void seam_begin_order(void)
{
    if (seam.order_used != NULL) {
        *seam.order_used = 0;
    }
}

#endif /* EXPLORED_SEAM_H */
