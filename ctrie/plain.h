/* Nodes that the collector never hears of, on free-threaded builds.
 *
 * There a collection stops all threads and looks at every object that was allocated for the collector, whether it is
 * tracked or not; and when the next one is due is reckoned by how many more of them have been allocated than freed, and
 * by how many are tracked. A large trie of nodes that are not tracked (native.h) would be looked at again and again for
 * nothing: on behalf of others' garbage, and of its own nodes that have been displaced and wait for their readers
 * (reclaim.h). So a node that is not tracked when it is made is allocated as objects are that the collector has nothing
 * to do with. It must never be tracked afterwards.
 *
 * On GIL builds what the collector needs stands in front of an object, and its functions look there at any object of a
 * type that may be tracked; so all nodes have it. Nor does it look at objects there that are not tracked.
 */
#ifndef CTRIE_PLAIN_H
#define CTRIE_PLAIN_H

#include <Python.h>
#include <string.h>

/* What the plain nodes of one kind are made after: its fields are None, or no references. A C variable, since every use
 * of a Python one would be counted, and in that count all threads would write. */
static PyObject *plain_prototype;

static inline void plain_after(PyObject *node) { plain_prototype = Py_NewRef(node); }

#ifdef Py_GIL_DISABLED

/* Uninitialised but for its head. */
static inline PyObject *plain_new(PyTypeObject *type, Py_ssize_t bytes)
{
    PyObject *node = (PyObject *)PyObject_Malloc((size_t)bytes);
    return node == NULL ? PyErr_NoMemory() : PyObject_Init(node, type);
}

/* A node of the kind that this module makes, to lead to `one` and `other` only, as `plain_prototype` but for what is set
 * then; None where the collector has to know of it. */
static inline PyObject *plain_node(PyObject *one, PyObject *other)
{
    if (PyObject_IS_GC(one) || PyObject_IS_GC(other)) {
        return Py_NewRef(Py_None);
    }
    PyTypeObject *type = Py_TYPE(plain_prototype);
    PyObject *node = plain_new(type, type->tp_basicsize);
    if (node != NULL) {
        memcpy(node + 1, plain_prototype + 1, (size_t)type->tp_basicsize - sizeof(PyObject));
    }
    return node;
}

/* Of a node that nobody has taken off the collector's list. */
static inline int is_plain(PyObject *node) { return !PyObject_GC_IsTracked(node); }

#else

static inline PyObject *plain_node(PyObject *one, PyObject *other) { (void)one, (void)other; return Py_NewRef(Py_None); }
static inline int is_plain(PyObject *node) { (void)node; return 0; }

#endif

static inline void plain_free(PyObject *node) { PyObject_Free(node); }

#endif /* CTRIE_PLAIN_H */
