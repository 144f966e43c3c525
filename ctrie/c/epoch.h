/* The native body of the slot: one pointer, which many threads read and compare-and-set, and the memory behind it.
 *
 * GIL builds: the lock makes each function below atomic, so a slot is an ordinary field.
 *
 * Free-threaded builds: C11 atomics, and epoch-based reclamation (Fraser, "Practical lock-freedom", 2004). It is needed
 * because a reader loads a pointer first and counts a reference second: the object must not be freed in between.
 *
 *   epoch         a global counter.
 *   participant   a record for each thread: the epoch in which it is pinned, or UNPINNED, on its own cache line.
 *   pin           publishes "I may hold pointers loaded from slots"; unpin withdraws it.
 *   retire        a successful compare-and-set puts the slot's reference to the replaced value into the thread's bag,
 *                 stamped with the epoch, instead of dropping it.
 *   advance       the epoch grows by one when every pinned participant is pinned in the present epoch.
 *   release       a value stamped e is dropped when the epoch has reached e + 2.
 *
 * Why two: a reader that was pinned before the value was replaced blocks the second advance after that. (The first advance
 * may have scanned before the pin became visible. The second starts after the stamp was taken, hence after the pin.) A
 * reader that is pinned later cannot load the value, because the slot no longer holds it.
 *
 * Rules for callers: between pin and unpin, run no Python code, do not block, and drop no reference. Dropping may run
 * finalizers, so values are released only in retire and drain, with no lock held and no pin taken.
 */
#ifndef CTRIE_RECLAIM_H
#define CTRIE_RECLAIM_H

#include "slot.h"

#ifdef CTRIE_EXPLORED
/* explored.h has all of this for builds whose schedules are explored. */
#elif !defined(Py_GIL_DISABLED)

static inline void reclaim_pin(void) {}
static inline void reclaim_unpin(void) {}
static inline void reclaim_drain(void) {}
static inline Py_ssize_t reclaim_pending(void) { return 0; }
static inline int reclaim_start(void) { return 0; }

#else  /* Py_GIL_DISABLED */

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

enum { CACHE_LINE = 64, RETIREMENTS_PER_ADVANCE = 64, FIRST_CAPACITY = 128, RELEASE_BATCH = 64 };
static const uint64_t UNPINNED = 0;
static const uint64_t GRACE = 2;

typedef struct {
    PyObject *object;
    uint64_t epoch;
} retired;

/* A ring buffer. Epochs never decrease from head to tail. When full, it is replaced as a whole. */
typedef struct {
    size_t capacity, head, tail;    /* head == tail: empty; indices grow for ever and are masked on use */
    retired entries[];
} bag;

typedef struct participant {
    _Atomic(uint64_t) pinned;       /* written by its thread, read by any thread that advances the epoch */
    char own_cache_line[CACHE_LINE - sizeof(uint64_t)];
    struct participant *next;       /* never changes once linked; participants are reused, never freed */
    _Atomic(int) owned;
    _Atomic(int) bag_busy;          /* guards contents; held for a few stores, never across a call into Python */
    bag *contents;
    unsigned since_advance;
    int releasing;
} participant;

static struct {
    _Atomic(uint64_t) epoch;
    char own_cache_line[CACHE_LINE - sizeof(uint64_t)];
    _Atomic(participant *) participants;
    _Atomic(long) threads;          /* owned participants */
    pthread_key_t at_thread_exit;
} reclaim = {.epoch = 1};

/* One pointer fits into the space that glibc reserves for libraries loaded late. The general model calls a function for
 * every access. */
#ifdef __GLIBC__
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local participant *this_thread;

static void bag_lock(participant *p)
{
    /* Contended only by drain() and by a thread that empties the bag of a thread that has ended. */
    while (atomic_exchange_explicit(&p->bag_busy, 1, memory_order_acquire)) {
        sched_yield();
    }
}

static void bag_unlock(participant *p) { atomic_store_explicit(&p->bag_busy, 0, memory_order_release); }

static bag *bag_new(size_t capacity)
{
    bag *b = PyMem_RawMalloc(sizeof(bag) + capacity * sizeof(retired));
    if (b != NULL) {
        b->capacity = capacity;
        b->head = b->tail = 0;
    }
    return b;
}

/* Append, and grow if full. Return 0 if there is no memory. The bag is consistent after every store, for fork's sake. */
static int bag_append(participant *p, PyObject *object, uint64_t epoch)
{
    bag *b = p->contents;
    if (b == NULL || b->tail - b->head == b->capacity) {
        bag *larger = bag_new(b == NULL ? FIRST_CAPACITY : 2 * b->capacity);
        if (larger == NULL) {
            return 0;
        }
        if (b != NULL) {
            for (size_t i = b->head; i != b->tail; i++) {
                larger->entries[larger->tail++] = b->entries[i & (b->capacity - 1)];
            }
        }
        p->contents = larger;
        PyMem_RawFree(b);
        b = larger;
    }
    b->entries[b->tail & (b->capacity - 1)] = (retired){object, epoch};
    b->tail++;
    return 1;
}

static void reclaim_thread_exit(void *record)
{
    /* There is no thread state here, so nothing can be released: the bag stays for the next thread that releases. If
     * another library's destructor runs after this one and reads, it registers anew: by then the record may belong to
     * another thread. */
    participant *p = record;
    this_thread = NULL;
    p->releasing = 0;       /* 1 if the thread was ended inside a finalizer */
    atomic_store(&p->owned, 0);
    atomic_fetch_sub(&reclaim.threads, 1);
}

static participant *participant_register(void)
{
    participant *p;
    for (p = atomic_load(&reclaim.participants); p != NULL; p = p->next) {
        int free_record = 0;
        /* Success: this record is ours alone, with the values that its last thread left in the bag. */
        if (atomic_compare_exchange_strong(&p->owned, &free_record, 1)) {
            break;
        }
    }
    if (p == NULL) {
        void *memory = NULL;
        if (posix_memalign(&memory, CACHE_LINE, sizeof(participant)) != 0) {
            Py_FatalError("ctrie: no memory for a thread's reclamation record");
        }
        p = memory;
        *p = (participant){.owned = 1};
        participant *first = atomic_load(&reclaim.participants);
        do {    /* Progress: a failed exchange means that another thread has linked its record. */
            p->next = first;
        } while (!atomic_compare_exchange_weak(&reclaim.participants, &first, p));
    }
    atomic_fetch_add(&reclaim.threads, 1);
    pthread_setspecific(reclaim.at_thread_exit, p);
    this_thread = p;
    return p;
}

static inline participant *participant_of_thread(void)
{
    participant *p = this_thread;
    return p != NULL ? p : participant_register();
}

static inline void reclaim_pin(void)
{
    participant *p = participant_of_thread();
    uint64_t epoch = atomic_load_explicit(&reclaim.epoch, memory_order_relaxed);
    /* Sequentially consistent: the loads that follow must not happen before the pin is visible. A stale epoch is harmless:
     * it only delays the next advance. */
    atomic_exchange_explicit(&p->pinned, epoch, memory_order_seq_cst);
#if !defined(__x86_64__) && !defined(__i386__)      /* where the exchange itself is not a full barrier */
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline void reclaim_unpin(void)
{
    atomic_store_explicit(&this_thread->pinned, UNPINNED, memory_order_release);
}

static int reclaim_advance(void)
{
    uint64_t epoch = atomic_load(&reclaim.epoch);
    for (participant *p = atomic_load(&reclaim.participants); p != NULL; p = p->next) {
        uint64_t pinned = atomic_load(&p->pinned);
        if (pinned != UNPINNED && pinned != epoch) {
            return 0;
        }
    }
    /* Failure means that another thread has advanced it, which is just as good. */
    atomic_compare_exchange_strong(&reclaim.epoch, &epoch, epoch + 1);
    return 1;
}

/* Drop the values of one bag that no reader can hold any more. Batches are taken out under the lock and dropped without it.
 * */
static void bag_release(participant *p)
{
    PyObject *batch[RELEASE_BATCH];
    size_t taken;
    do {
        taken = 0;
        bag_lock(p);
        bag *b = p->contents;
        uint64_t epoch = atomic_load(&reclaim.epoch);
        while (b != NULL && b->head != b->tail && taken < RELEASE_BATCH) {
            retired *oldest = &b->entries[b->head & (b->capacity - 1)];
            if (oldest->epoch + GRACE > epoch) {
                break;
            }
            batch[taken++] = oldest->object;
            b->head++;
        }
        bag_unlock(p);
        for (size_t i = 0; i < taken; i++) {
            Py_DECREF(batch[i]);
        }
    } while (taken == RELEASE_BATCH);
}

static void reclaim_tidy(participant *me)
{
    if (me->releasing) {    /* a finalizer is writing: the release in progress, which called it, takes its values too */
        return;
    }
    me->releasing = 1;
    reclaim_advance();
    bag_release(me);
    for (participant *p = atomic_load(&reclaim.participants); p != NULL; p = p->next) {
        if (p != me && !atomic_load(&p->owned)) {
            bag_release(p);
        }
    }
    me->releasing = 0;
}

/* Take over the slot's reference to a value that the slot no longer holds. */
static void reclaim_retire(PyObject *object)
{
    participant *me = participant_of_thread();
    if (atomic_load(&reclaim.threads) == 1) {
        /* No other thread has ever pinned, or all that did have ended. A thread that starts now loads the new value. */
        Py_DECREF(object);
    }
    else {
        bag_lock(me);
        int kept = bag_append(me, object, atomic_load(&reclaim.epoch));
        bag_unlock(me);
        if (!kept) {        /* no memory for the bag: wait here instead, since pins are short */
            uint64_t safe = atomic_load(&reclaim.epoch) + GRACE;
            while (atomic_load(&reclaim.epoch) < safe) {
                if (!reclaim_advance()) {
                    sched_yield();
                }
            }
            Py_DECREF(object);
            return;
        }
    }
    /* Also in a thread that goes on alone: what ended threads have left in their bags is released by it. */
    if (++me->since_advance >= RETIREMENTS_PER_ADVANCE) {
        me->since_advance = 0;
        reclaim_tidy(me);
    }
}

static Py_ssize_t reclaim_pending(void)
{
    Py_ssize_t pending = 0;
    for (participant *p = atomic_load(&reclaim.participants); p != NULL; p = p->next) {
        bag_lock(p);
        if (p->contents != NULL) {
            pending += (Py_ssize_t)(p->contents->tail - p->contents->head);
        }
        bag_unlock(p);
    }
    return pending;
}

/* Release every value that was retired before the call, in every thread's bag, and what the values' finalizers retire. */
static void reclaim_drain(void)
{
    enum { ROUNDS = 1000 };     /* a bound, in case other threads keep retiring */
    participant *me = participant_of_thread();
    if (me->releasing) {
        return;
    }
    me->releasing = 1;
    for (int round = 0; round < ROUNDS && reclaim_pending() > 0; round++) {
        if (!reclaim_advance()) {
            sched_yield();
        }
        for (participant *p = atomic_load(&reclaim.participants); p != NULL; p = p->next) {
            bag_release(p);
        }
    }
    me->releasing = 0;
}

static void reclaim_after_fork_in_child(void)
{
    /* Only the forking thread exists in the child. It was not pinned: no call that could fork is made while pinned. */
    for (participant *p = atomic_load(&reclaim.participants); p != NULL; p = p->next) {
        atomic_store(&p->pinned, UNPINNED);
        atomic_store(&p->bag_busy, 0);
        if (p != this_thread) {
            p->releasing = 0;   /* its thread does not exist here, so it cannot end its release */
            atomic_store(&p->owned, 0);
        }
    }
    atomic_store(&reclaim.threads, this_thread != NULL);
}

static int reclaim_start(void)
{
    if (pthread_key_create(&reclaim.at_thread_exit, reclaim_thread_exit) != 0 ||
        pthread_atfork(NULL, NULL, reclaim_after_fork_in_child) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "ctrie: the system has no room for another thread key or fork handler");
        return -1;
    }
    return 0;
}

static inline int slot_compare_and_set(PyObject **slot, PyObject *expected, PyObject *desired)
{
    PyObject *found = expected;
    Py_INCREF(desired);
    /* The caller holds a reference to `expected`, so its address cannot have been reused: no ABA. */
    if (atomic_compare_exchange_strong((atomic_object *)slot, &found, desired)) {
        reclaim_retire(expected);
        return 1;
    }
    Py_DECREF(desired);
    return 0;
}

#endif /* Py_GIL_DISABLED */

#ifndef CTRIE_EXPLORED
/* Return a new reference to the slot's value. */
static inline PyObject *slot_load(PyObject **slot)
{
    reclaim_pin();
    PyObject *value = slot_read(slot);
    Py_INCREF(value);
    reclaim_unpin();
    return value;
}
#endif

#endif /* CTRIE_RECLAIM_H */
