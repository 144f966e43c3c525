/* Prefetching memory. The address may be anything: nothing is read, so nothing can fail. */
#ifndef CTRIE_PREFETCH_H
#define CTRIE_PREFETCH_H

#include "cnode.h"

enum { CTRIE_LINE = 64 };

/* The head of a node, and its last word, which may be on the next cache line. */
static inline void prefetch_node(PyObject *node)
{
    __builtin_prefetch(node);
    __builtin_prefetch((char *)node + 40);
}

static inline void prefetch_child(PyObject *cn, Py_ssize_t pos) { __builtin_prefetch(&CTRIE_CHILD(cn, pos)); }

/* A key, which will be compared, or a value, whose references will be counted. */
static inline void prefetch_text(PyObject *key)
{
    __builtin_prefetch(key);
    __builtin_prefetch((char *)key + CTRIE_LINE - sizeof(PyObject *));
}

#endif /* CTRIE_PREFETCH_H */
