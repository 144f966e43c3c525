/* Counts of what is in a trie; _tally.py tells what they are for. */
#ifndef CTRIE_TALLY_H
#define CTRIE_TALLY_H

#include <Python.h>
#include <stdint.h>

/* TELLS in _tally.py. */
#ifdef CTRIE_EXPLORED
#define TALLY_TELLS 0
#else
#define TALLY_TELLS 1
#endif

enum { TALLY_BEGUN, TALLY_DONE, TALLY_ITEMS, TALLY_FILTERS, TALLY_DOUBTS, TALLY_FILTER_DOUBTS, TALLY_COUNTS };

#ifndef Py_GIL_DISABLED

typedef struct {
    int64_t counts[TALLY_COUNTS];
} tally;

static inline void tally_free(tally *t) { (void)t; }
static inline void tally_add(tally *t, int count, int64_t more) { t->counts[count] += more; }
static inline int64_t tally_sum(tally *t, int count) { return t->counts[count]; }

#else

#include <stdatomic.h>
#include <stdlib.h>

enum { TALLY_CELLS = 16, TALLY_LINE = 64 };

typedef union {
    _Atomic(int64_t) counts[TALLY_COUNTS];
    char own_cache_line[TALLY_LINE];
} tally_cell;

/* The first thread counts here, all others in cells that are made when there is a second one. */
typedef struct {
    _Atomic(int64_t) counts[TALLY_COUNTS];
    _Atomic(uintptr_t) first_thread;
    _Atomic(tally_cell *) cells;
} tally;

static inline void tally_free(tally *t) { free(atomic_load(&t->cells)); }

static inline unsigned tally_thread(void)
{
    static _Atomic(unsigned) threads;
    static _Thread_local unsigned number;
    if (number == 0) {
        number = atomic_fetch_add(&threads, 1) + 1;
    }
    return number;
}

static __attribute__((noinline, cold)) tally_cell *tally_grow(tally *t)
{
    void *memory = NULL;
    if (posix_memalign(&memory, TALLY_LINE, TALLY_CELLS * sizeof(tally_cell)) != 0) {
        return NULL;
    }
    memset(memory, 0, TALLY_CELLS * sizeof(tally_cell));
    tally_cell *cells = NULL;
    /* Success: all threads use these. Failure: another thread has made them. */
    if (atomic_compare_exchange_strong(&t->cells, &cells, (tally_cell *)memory)) {
        return memory;
    }
    free(memory);
    return cells;
}

static inline _Atomic(int64_t) *tally_own(tally *t)
{
    uintptr_t me = tally_thread();
    uintptr_t first = atomic_load_explicit(&t->first_thread, memory_order_relaxed);
    /* Success: the counts in the tally itself are ours. Failure: they are another thread's. */
    if (first == me || (first == 0 && atomic_compare_exchange_strong(&t->first_thread, &first, me))) {
        return t->counts;
    }
    tally_cell *cells = atomic_load(&t->cells);
    if (cells == NULL) {
        cells = tally_grow(t);
    }
    return cells == NULL ? t->counts : cells[me % TALLY_CELLS].counts;     /* without memory, side by side with the first */
}

/* Sequentially consistent: what is begun is counted before the change is committed, and what is done after that. */
static inline void tally_add(tally *t, int count, int64_t more) { atomic_fetch_add(&tally_own(t)[count], more); }

static inline int64_t tally_sum(tally *t, int count)
{
    int64_t sum = atomic_load(&t->counts[count]);
    tally_cell *cells = atomic_load(&t->cells);
    for (int i = 0; cells != NULL && i < TALLY_CELLS; i++) {
        sum += atomic_load(&cells[i].counts[count]);
    }
    return sum;
}

#endif

#endif /* CTRIE_TALLY_H */
