/* Dropping a whole tree piece by piece.
 *
 * The interpreter frees all that only one object leads to in one call, during which no other thread has the GIL; for a
 * million nodes that is a tenth of a second. Here a node's children are taken over first, and the node is dropped then.
 * So dropping it frees this node alone, and between two nodes other threads may run.
 *
 * Nothing rests on what is found on the way. Each node is dropped once, by a counted reference, whatever other threads do
 * to it meanwhile. A node to which others lead, too, is not entered: their references keep it. If one of them goes away in
 * between, what is below is freed in one call, which is what happened without this.
 *
 * On free-threaded builds nobody waits for this thread (signals.h), and a replaced tree goes to the readers' queue first
 * (epoch.h). Where schedules are explored, a read that the scheduler does not know of would be an error.
 */
#ifndef CTRIE_RELEASE_H
#define CTRIE_RELEASE_H

#include "signals.h"

enum { RELEASED_AT_ONCE = 64 };     /* nodes, or items, between two checks */

#if defined(Py_GIL_DISABLED) || defined(CTRIE_EXPLORED)
static inline int release(PyObject *dropped, PyObject *kinds) { return (void)dropped, (void)kinds, 0; }
static inline int release_items(PyObject *list) { return (void)list, 0; }
#else

typedef struct {
    PyObject *dropped, *kinds;
} release_walk;

static int release_later(PyObject *child, void *walk)
{
    release_walk *w = walk;
    if (Py_REFCNT(child) != 1) {
        return 0;
    }
    for (Py_ssize_t i = PyTuple_GET_SIZE(w->kinds) - 1; i >= 0; i--) {
        if (PyObject_TypeCheck(child, (PyTypeObject *)PyTuple_GET_ITEM(w->kinds, i))) {
            return PyList_Append(w->dropped, child);
        }
    }
    return 0;
}

/* Drop the nodes in a list, and what only they lead to, as far as it is of the types in `kinds`. It may leave some in the
 * list, whose end drops them, and raises only what handlers of signals raise. Any finalizer may run, so nothing is pinned. */
static inline int release(PyObject *dropped, PyObject *kinds)
{
    release_walk walk = {dropped, kinds};
    Py_ssize_t left;
    for (unsigned count = 1; (left = PyList_GET_SIZE(dropped)) > 0; count++) {
        PyObject *node = Py_NewRef(PyList_GET_ITEM(dropped, left - 1));
        if (PyList_SetSlice(dropped, left - 1, left, NULL) != 0) {
            PyErr_Clear();      /* no memory for a shorter list: the caller frees it with all that is left */
            Py_DECREF(node);
            return 0;
        }
        traverseproc traverse = Py_TYPE(node)->tp_traverse;
        if (Py_REFCNT(node) == 1 && traverse != NULL && traverse(node, release_later, &walk) != 0) {
            PyErr_Clear();      /* no memory: the rest of its children is freed with it */
        }
        Py_DECREF(node);
        if (count % RELEASED_AT_ONCE == 0 && check_signals() < 0) {
            return -1;
        }
    }
    return 0;
}

/* Drop the items of a list, from its end; in all else as `release`. */
static inline int release_items(PyObject *list)
{
    Py_ssize_t left;
    while ((left = PyList_GET_SIZE(list)) > 0) {
        Py_ssize_t kept = left > RELEASED_AT_ONCE ? left - RELEASED_AT_ONCE : 0;
        if (PyList_SetSlice(list, kept, left, NULL) != 0) {
            PyErr_Clear();
            return 0;
        }
        if (check_signals() < 0) {
            return -1;
        }
    }
    return 0;
}
#endif

#endif /* CTRIE_RELEASE_H */
