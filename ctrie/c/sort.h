/* Sorts pairs into the order of the trie: by the group of W hash bits that is read first, then by the next group.
 *
 * A stable radix sort from the first level down. W bits make 64 heaps, few enough to write to all of them at a time; the
 * heaps of the second level fit into a cache. Small numbers of pairs are sorted by insertion.
 */
#ifndef CTRIE_SORT_H
#define CTRIE_SORT_H

#include <string.h>

#include "arrays.h"

typedef struct {
    uint64_t hash;
    PyObject *pair;             /* borrowed */
} hashed_pair;

enum { SORT_FEW = 24, SORT_AHEAD = 16 };

/* Tell whether `a` comes before `b`: the first group of bits in which they differ decides. */
static inline int path_before(uint64_t a, uint64_t b)
{
    if (a == b) {
        return 0;
    }
    int lev = __builtin_ctzll(a ^ b) / CTRIE_W * CTRIE_W;
    return (a >> lev & (CTRIE_GROUPS - 1)) < (b >> lev & (CTRIE_GROUPS - 1));
}

static void sort_few(hashed_pair *pairs, Py_ssize_t count)
{
    for (Py_ssize_t i = 1; i < count; i++) {
        hashed_pair moved = pairs[i];
        Py_ssize_t to = i;
        for (; to > 0 && path_before(moved.hash, pairs[to - 1].hash); to--) {
            pairs[to] = pairs[to - 1];
        }
        pairs[to] = moved;
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

/* Sort pairs whose hashes agree below `lev`. `room` is a buffer of the same size. */
static void sort_level(hashed_pair *pairs, hashed_pair *room, Py_ssize_t count, int lev)
{
    Py_ssize_t ends[CTRIE_GROUPS] = {0}, before = 0;
    if (count <= SORT_FEW) {
        sort_few(pairs, count);
        return;
    }
    if (all_equal(pairs, count)) {
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
        room[ends[pairs[i].hash >> lev & (CTRIE_GROUPS - 1)]++] = pairs[i];
    }
    memcpy(pairs, room, (size_t)count * sizeof *pairs);
    before = 0;
    for (int group = 0; group < CTRIE_GROUPS; group++) {
        sort_level(pairs + before, room, ends[group] - before, lev + CTRIE_W);
        before = ends[group];
    }
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

/* Return a sorted pair, whose reference is about to be counted. Prefetch a later one: pairs lie anywhere in memory. */
static inline PyObject *pair_in(const hashed_pair *pairs, Py_ssize_t i)
{
    __builtin_prefetch(pairs[i + SORT_AHEAD].pair, 1);
    return pairs[i].pair;
}

#endif /* CTRIE_SORT_H */
