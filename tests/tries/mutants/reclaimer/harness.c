/* Tests the reclaimer with real threads: two replace the value of a slot, two read it.
 *
 * Nothing is ever freed. A value is "released" when its count falls to zero; to count a released value is what would
 * crash an interpreter. At the end, all values but the last must have been released, once. Exit status 0: all is well;
 * 1: something is not, and standard output says what.
 */
#include "epoch.h"

#include <stdio.h>

enum { WRITERS = 2, READERS = 2, VALUES = 100000, YIELDS = 8 };

static PyObject values[WRITERS * VALUES + 1];
static PyObject *slot;
static _Atomic(int) writing = WRITERS, early, twice;

static _Thread_local unsigned draws;

/* Between the load of a value and its count: this is where an early release hits. */
static void now_and_then_give_way(void)
{
    draws = draws * 1103515245u + 12345u;
    if ((draws >> 16) % YIELDS == 0) {
        sched_yield();
    }
}

void Py_INCREF(PyObject *object)
{
    now_and_then_give_way();
    if (atomic_load(&object->released)) {
        atomic_store(&early, 1);
    }
    atomic_fetch_add(&object->count, 1);
}

void Py_DECREF(PyObject *object)
{
    if (atomic_fetch_sub(&object->count, 1) == 1 && atomic_exchange(&object->released, 1)) {
        atomic_store(&twice, 1);
    }
}

static void *write_values(void *first)
{
    draws = (unsigned)(size_t)first;
    for (PyObject *value = first; value < (PyObject *)first + VALUES && !early; value++) {
        int done = 0;
        value->count = 1;
        while (!done) {
            PyObject *present = slot_load(&slot);
            done = slot_compare_and_set(&slot, present, value);
            Py_DECREF(present);
        }
        Py_DECREF(value);
    }
    atomic_fetch_sub(&writing, 1);
    return NULL;
}

static void *read_values(void *seed)
{
    draws = (unsigned)(size_t)seed;
    while (writing && !early) {
        Py_DECREF(slot_load(&slot));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[WRITERS + READERS];
    if (reclaim_start() != 0) {
        return 2;
    }
    slot = &values[WRITERS * VALUES];
    slot->count = 1;
    for (size_t i = 0; i < WRITERS + READERS; i++) {
        int writes = i < WRITERS;
        pthread_create(&threads[i], NULL, writes ? write_values : read_values, writes ? &values[i * VALUES] : (void *)i);
    }
    for (size_t i = 0; i < WRITERS + READERS; i++) {
        pthread_join(threads[i], NULL);
    }
    if (early) {
        puts("a reader counted a value that had been released");
        return 1;
    }
    reclaim_drain();
    long kept = 0;
    for (size_t i = 0; i < WRITERS * VALUES; i++) {
        kept += !values[i].released && &values[i] != slot;
    }
    if (kept || twice) {
        printf("%ld values were never released%s\n", kept, twice ? ", and others twice" : "");
        return 1;
    }
    return 0;
}
