/* Nodes that are not known to the collector, on free-threaded builds.
 *
 * On such a build a collection stops all threads and visits every object that was allocated for the collector, tracked or
 * not. The next collection is due according to two numbers: how many more of those objects have been allocated than freed,
 * and how many are tracked. A large trie of untracked nodes (slot.h) would be visited again and again for nothing: because
 * of other code's garbage, and because of its own nodes that were replaced and wait for their readers (epoch.h). So a node
 * that is not tracked when it is made is allocated like an object whose type has nothing to do with the collector. It must
 * never be tracked afterwards. interpreter.h makes such nodes.
 *
 * On GIL builds the collector's data is in front of an object, and the collector's functions read it for any object of a
 * type that may be tracked; so all nodes have it. Collections on these builds skip untracked objects anyway.
 */
#ifndef CTRIE_UNTRACKED_H
#define CTRIE_UNTRACKED_H

#include "interpreter.h"

/* While an I-node's main node leads to nothing that the collector tracks, neither does the I-node, so it need not be
 * tracked: in a trie of a million filters, I-nodes take most of the time of a collection. But an I-node may change. So a
 * writer that puts in a tracked main node first has all I-nodes and C-nodes tracked that lead there (`_commit` in
 * _nodes.py): a node that leads to a tracked node is tracked itself. A node that stays tracked without need is harmless.
 * On free-threaded builds the collector visits all I-nodes anyway, so they are tracked from the beginning. The same holds
 * for builds whose schedules are explored: whether a node is tracked is not kept in a slot, so it could not be undone. */
#if defined(Py_GIL_DISABLED) || defined(CTRIE_EXPLORED)
static inline void untrack_above(PyObject *inode, PyObject *main) { (void)inode, (void)main; }
static inline int is_out_of_track(PyObject *inode, PyObject *main) { return (void)inode, (void)main, 0; }
static inline void keep_track(PyObject *node) { (void)node; }
#else
static inline void untrack_above(PyObject *inode, PyObject *main)
{
    if (!PyObject_GC_IsTracked(main)) {
        PyObject_GC_UnTrack(inode);
    }
}

/* Tell whether the collector would reach the tracked `main` only through an untracked I-node. */
static inline int is_out_of_track(PyObject *inode, PyObject *main)
{
    return PyObject_GC_IsTracked(main) && !PyObject_GC_IsTracked(inode);
}

static inline void keep_track(PyObject *node)
{
    if (!PyObject_GC_IsTracked(node)) {
        PyObject_GC_Track(node);
    }
}
#endif

#endif /* CTRIE_UNTRACKED_H */
