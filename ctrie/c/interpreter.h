/* What is taken from CPython that it does not promise: how its objects are laid out, and what a new reference does. Each use
 * stands here, with a check for each version that it is known for. Whatever else is compiled uses documented functions.
 *
 * These versions run the tests (`make builds`). A later one may lay out its objects differently, and a compiled module would
 * then write to the wrong places; so it is refused. The interpreted twin runs on any version.
 */
#ifndef CTRIE_INTERPRETER_H
#define CTRIE_INTERPRETER_H

#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#if PY_VERSION_HEX < 0x030b0000 || PY_VERSION_HEX >= 0x03100000
#error "The compiled modules are known to work on CPython 3.11 to 3.15. CTRIE_NO_EXTENSIONS=1 installs the interpreted twin."
#endif
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030d0000
#error "Without the GIL, CPython 3.13 is the first version."
#endif

/* The head of an object. leaf.h copies what is behind it, and cnode.h and row.h lay a field where a variable-sized object
 * has its size. */
#ifdef Py_GIL_DISABLED
_Static_assert(sizeof(PyObject) == 16 + 2 * sizeof(void *), "the head has a thread, flags, two counts and a type");
#else
_Static_assert(sizeof(PyObject) == 2 * sizeof(void *), "the head has a count and a type");
#endif
_Static_assert(offsetof(PyVarObject, ob_size) == sizeof(PyObject), "the size is behind the head");

static inline void *behind_head(PyObject *node) { return node + 1; }

/* Begin to count references to an object that is in memory of its type whose last reference was dropped. */
#ifndef Py_GIL_DISABLED
static inline void count_anew(PyObject *node) { _Py_NewReference(node); }
#endif

/* On free-threaded builds an object may lie in front of nothing: its type is one for the collector, but it was allocated
 * like those of other types. The collector goes through its own heaps and never finds it; it must never be tracked. Whether
 * an object is tracked is a bit in its head there. */
#ifdef Py_GIL_DISABLED
_Static_assert(sizeof(((PyObject *)0)->ob_gc_bits) == 1, "the collector's bits are in the head");

static inline int is_plain(PyObject *node) { return !PyObject_GC_IsTracked(node); }

/* Return a node of which only the head is initialised. */
static inline PyObject *plain_new(PyTypeObject *type, Py_ssize_t bytes)
{
    PyObject *node = (PyObject *)PyObject_Malloc((size_t)bytes);
    return node == NULL ? PyErr_NoMemory() : PyObject_Init(node, type);
}
#else
static inline int is_plain(PyObject *node) { return (void)node, 0; }
#endif

static inline void plain_free(PyObject *node) { PyObject_Free(node); }

/* A string knows its hash once it was asked for; -1: not yet. Threads without the GIL may ask together. */
_Static_assert(sizeof(((PyASCIIObject *)0)->hash) == sizeof(Py_hash_t), "a string has room for its hash");

static inline Py_hash_t hash_of_string(PyObject *string)
{
    Py_hash_t known = __atomic_load_n(&((PyASCIIObject *)string)->hash, __ATOMIC_RELAXED);
    return known != -1 ? known : PyObject_Hash(string);
}

/* Tell whether an object is a string, of no subclass, whose characters are ASCII and lie behind its head. In 3.11 those of
 * some strings lie elsewhere. */
static inline int is_ascii_in_place(PyObject *object)
{
    if (!PyUnicode_CheckExact(object)) {
        return 0;
    }
#if PY_VERSION_HEX >= 0x030c0000
    return PyUnicode_IS_ASCII(object);
#else
    return PyUnicode_IS_COMPACT_ASCII(object);
#endif
}

/* Return the characters of such a string. */
static inline const char *ascii_of(PyObject *text)
{
    return (const char *)PyUnicode_1BYTE_DATA(text);
}

/* Where the objects of a class keep what one of its __slots__ names. */
static inline Py_ssize_t place_of_slot(PyObject *member) { return ((PyMemberDescrObject *)member)->d_member->offset; }
static inline PyObject *kept_at(PyObject *object, Py_ssize_t place) { return *(PyObject **)((char *)object + place); }

/* What a weak reference refers to, counted; NULL if that is gone. 3.13 is the first that can tell without a race. */
static inline PyObject *referred_to(PyObject *reference)
{
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *object;
    return PyWeakref_GetRef(reference, &object) == 1 ? object : NULL;
#else
    PyObject *object = PyWeakref_GET_OBJECT(reference);
    return object == Py_None ? NULL : Py_NewRef(object);
#endif
}

#endif /* CTRIE_INTERPRETER_H */
