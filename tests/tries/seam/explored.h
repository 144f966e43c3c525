/* The explored body of the slot. It replaces those of ctrie/c/slot.h and ctrie/c/epoch.h: every operation calls the module
 * `explored_seam`, where a scheduler decides which thread makes it. Only builds that define CTRIE_EXPLORED use it.
 *
 * Each extension module is a separate library, so each finds the seam by itself, once. The rest of the code is that of
 * free-threaded builds, with pins and a second pass, with the object layout of GIL builds.
 */
#ifndef CTRIE_EXPLORED_H
#define CTRIE_EXPLORED_H

#include <stdint.h>

#define SLOT_NEEDS_PIN 1

typedef struct {
    PyObject *(*read)(PyObject **slot);                                             /* borrowed; cannot fail */
    PyObject *(*load)(PyObject **slot);                                             /* NULL with an exception */
    int (*compare_and_set)(PyObject **slot, PyObject *expected, PyObject *desired); /* -1 with an exception */
    void (*pin)(void);
    void (*unpin)(void);
    void (*made)(PyObject *owner, PyObject **slots, Py_ssize_t count);
    int (*knows)(const char *text, Py_ssize_t bytes, uint64_t *hash);
} explored_operations;

static const explored_operations *explored_found;

static inline const explored_operations *explored(void)
{
    if (explored_found == NULL) {
        explored_found = (const explored_operations *)PyCapsule_Import("explored_seam.operations", 0);
        if (explored_found == NULL) {
            Py_FatalError("ctrie: modules built with CTRIE_EXPLORED need explored_seam");
        }
    }
    return explored_found;
}

static inline PyObject *slot_read(PyObject **slot) { return explored()->read(slot); }
static inline PyObject *slot_load(PyObject **slot) { return explored()->load(slot); }

static inline int slot_compare_and_set(PyObject **slot, PyObject *expected, PyObject *desired)
{
    return explored()->compare_and_set(slot, expected, desired);
}

static inline void reclaim_pin(void) { explored()->pin(); }
static inline void reclaim_unpin(void) { explored()->unpin(); }
static inline void reclaim_drain(void) {}
static inline Py_ssize_t reclaim_pending(void) { return 0; }
static inline int reclaim_start(void) { return 0; }

/* Called by code that allocates its slots by itself. All other slots are reported by their type's allocator (seam.h). */
static inline void slots_made(PyObject *owner, PyObject **slots, Py_ssize_t count)
{
    explored()->made(owner, slots, count);
}

/* Tell whether a scenario has put this word on a chosen path. */
static inline int word_is_known(const char *text, Py_ssize_t bytes, uint64_t *hash)
{
    return explored()->knows(text, bytes, hash);
}

#endif /* CTRIE_EXPLORED_H */
