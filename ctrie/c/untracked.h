/* Nodes that the collector never hears of, on free-threaded builds.
 *
 * There a collection stops all threads and looks at every object that was allocated for the collector, whether it is
 * tracked or not; and when the next one is due is reckoned by how many more of them have been allocated than freed, and
 * by how many are tracked. A large trie of nodes that are not tracked (slot.h) would be looked at again and again for
 * nothing: on behalf of others' garbage, and of its own nodes that have been displaced and wait for their readers
 * (epoch.h). So a node that is not tracked when it is made is allocated as objects are that the collector has nothing
 * to do with. It must never be tracked afterwards.
 *
 * On GIL builds what the collector needs stands in front of an object, and its functions look there at any object of a
 * type that may be tracked; so all nodes have it. Nor does it look at objects there that are not tracked.
 */
#ifndef CTRIE_UNTRACKED_H
#define CTRIE_UNTRACKED_H

#include <Python.h>

/* Of a node that nobody has taken off the collector's list. */
static inline int is_plain(PyObject *node)
{
#ifdef Py_GIL_DISABLED
    return !PyObject_GC_IsTracked(node);
#else
    (void)node;
    return 0;
#endif
}

/* An I-node leads to nothing that the collector tracks for as long as its main node does not, and need not be tracked
 * itself: in a trie of a million filters, what a collection takes is mostly for I-nodes. But unlike nodes it may change.
 * So whoever puts in a main node that is tracked has the I-nodes and C-nodes tracked that lead there (`_commit` in
 * _nodes.py): what leads to a node that is tracked is tracked itself. What stays so for nothing does no harm. On
 * free-threaded builds the collector looks at all of them anyway, so there I-nodes are tracked from the beginning. So they
 * are where schedules are explored: whether a node is tracked is no slot, and could not be taken back. */
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

/* Whether the collector would come to `main` by way of a node that it does not track. */
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

static inline void plain_free(PyObject *node) { PyObject_Free(node); }

#ifdef Py_GIL_DISABLED

/* Uninitialised but for its head. */
static inline PyObject *plain_new(PyTypeObject *type, Py_ssize_t bytes)
{
    PyObject *node = (PyObject *)PyObject_Malloc((size_t)bytes);
    return node == NULL ? PyErr_NoMemory() : PyObject_Init(node, type);
}

#endif

#endif /* CTRIE_UNTRACKED_H */
