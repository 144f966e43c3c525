/* Sorts pairs into the order of the trie: by the group of W hash bits that is read first, then by the next group.
 *
 * A stable radix sort from the first level down. W bits make 64 heaps, few enough to write to all of them at a time; the
 * heaps of the second level fit into a cache. Each level moves the pairs from one of two buffers to the other. Small
 * numbers of pairs are sorted by insertion, into the buffer in which they are wanted.
 */
#ifndef CTRIE_SORT_H
#define CTRIE_SORT_H

#include <string.h>

#include "arrays.h"

typedef struct {
    uint64_t hash;
    PyObject *pair;
} hashed_pair;

enum { SORT_FEW = 24, SORT_AHEAD = 16, SORT_LONG = 1 << 14 };

/* Tell whether `a` comes before `b`: the first group of bits in which they differ decides. */
static inline int path_before(uint64_t a, uint64_t b)
{
    if (a == b) {
        return 0;
    }
    int lev = __builtin_ctzll(a ^ b) / CTRIE_W * CTRIE_W;
    return (a >> lev & (CTRIE_GROUPS - 1)) < (b >> lev & (CTRIE_GROUPS - 1));
}

/* Sort pairs from `pairs` to `to`, which may be the same place. */
static void sort_few(const hashed_pair *pairs, hashed_pair *to, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        hashed_pair moved = pairs[i];
        Py_ssize_t place = i;
        for (; place > 0 && path_before(moved.hash, to[place - 1].hash); place--) {
            to[place] = to[place - 1];
        }
        to[place] = moved;
    }
}

static inline int all_equal(const hashed_pair *pairs, Py_ssize_t count)
{
    Py_ssize_t i = 1;
    while (i < count && pairs[i].hash == pairs[0].hash) {
        i++;
    }
    return i >= count;
}

/* Sort pairs whose hashes agree below `lev`. `other` is a buffer of the same size; `there` tells whether it, and not
 * `pairs`, is to hold them at the end. */
static void sort_between(hashed_pair *pairs, hashed_pair *other, Py_ssize_t count, int lev, int there)
{
    Py_ssize_t ends[CTRIE_GROUPS] = {0}, before = 0;
    if (count <= SORT_FEW) {
        sort_few(pairs, there ? other : pairs, count);
        return;
    }
    if (all_equal(pairs, count)) {
        if (there) {
            memcpy(other, pairs, (size_t)count * sizeof *pairs);
        }
        return;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        ends[pairs[i].hash >> lev & (CTRIE_GROUPS - 1)]++;
    }
    for (int group = 0; group < CTRIE_GROUPS; group++) {
        Py_ssize_t size = ends[group];
        ends[group] = before;
        before += size;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        other[ends[pairs[i].hash >> lev & (CTRIE_GROUPS - 1)]++] = pairs[i];
    }
    before = 0;
    for (int group = 0; group < CTRIE_GROUPS; group++) {
        Py_ssize_t size = ends[group] - before;
        if (size > 1) {
            sort_between(other + before, pairs + before, size, lev + CTRIE_W, !there);
        }
        else if (size == 1 && !there) {
            pairs[before] = other[before];
        }
        before = ends[group];
    }
}

/* Sort pairs whose hashes agree below `lev`. `room` is a buffer of the same size. */
static inline void sort_level(hashed_pair *pairs, hashed_pair *room, Py_ssize_t count, int lev)
{
    sort_between(pairs, room, count, lev, 0);
}

/* Allocate space for `count` pairs, and SORT_AHEAD empty places behind them, to be freed by `pairs_free`. Return NULL if
 * there is no memory. */
static inline hashed_pair *pairs_new(Py_ssize_t count)
{
    return (hashed_pair *)PyMem_RawCalloc((size_t)(count + SORT_AHEAD), sizeof(hashed_pair));
}

static inline void pairs_free(hashed_pair *pairs) { PyMem_RawFree(pairs); }

static inline int pairs_sort(hashed_pair *pairs, Py_ssize_t count)
{
    hashed_pair *room = (hashed_pair *)PyMem_RawMalloc((size_t)count * sizeof *pairs);
    if (room == NULL) {
        return 0;
    }
    sort_level(pairs, room, count, 0);
    PyMem_RawFree(room);
    return 1;
}

/* Move the items of a list to `pairs`, and leave the list empty. */
static inline void pairs_move(hashed_pair *pairs, PyObject *list)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    for (Py_ssize_t i = 0; i < count; i++) {
        pairs[i].pair = PyList_GET_ITEM(list, i);
    }
    Py_SET_SIZE(list, 0);
}

/* Fetch the place in front of a pair, or at its beginning, where it is noted whether the collector tracks it. NULL is no
 * pair, and no address is made from it. */
static inline void pair_fetch(const PyObject *pair)
{
    __builtin_prefetch((const void *)((uintptr_t)pair - 16));
    __builtin_prefetch((const void *)(uintptr_t)pair);
}

/* Free the pairs in some places that have not been moved on. */
static inline void pairs_drop(hashed_pair *pairs, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_CLEAR(pairs[i].pair);
    }
}

#endif /* CTRIE_SORT_H */
