from cpython.object cimport PyObject, PyTypeObject

cdef extern from "slot.h" nogil:
    const bint SLOT_NEEDS_PIN
    # A load of a pointer, which the caller may use only while pinned (on GIL builds: while no Python code runs). slot.h says
    # why the load is sequentially consistent.
    PyObject *slot_read(PyObject **slot)
    bint never_tracked(PyObject *value)

cdef extern from *:
    """
    #if SLOT_NEEDS_PIN
    #define ctrie_plain_cas(slot, expected, desired) 0
    #else
    #define ctrie_plain_cas(slot, expected, desired) slot_compare_and_set(slot, expected, desired)
    #endif
    #define CTRIE_SLOT(s) (&((struct __pyx_obj_5ctrie_7_native_Slot *)(s))->value)
    #define CTRIE_IS(node, type) (Py_TYPE(node) == (type))
    """
    PyObject **CTRIE_SLOT(PyObject *slot) nogil
    bint ctrie_plain_cas(PyObject **slot, PyObject *expected, PyObject *desired)
    # Queries for traversals with borrowed pointers; they take any object.
    PyObject *Py_None
    bint CTRIE_IS(PyObject *node, PyTypeObject *type) nogil
    PyObject *PyTuple_GET_ITEM_PTR "PyTuple_GET_ITEM" (PyObject *array, Py_ssize_t i) nogil
    Py_ssize_t PyTuple_GET_SIZE_PTR "PyTuple_GET_SIZE" (PyObject *array) nogil


ctypedef PyObject *Borrowed


cdef class Slot:
    # Accessed only through the functions of slot.h. Declared as an object for the garbage collector.
    cdef object value


cdef object load_pinned(PyObject **slot)
cdef bint cas_retiring(PyObject **slot, object expected, object desired) except -1
cdef void pin_thread() noexcept nogil
cdef void unpin_thread() noexcept nogil


cdef inline void pin() noexcept nogil:
    if SLOT_NEEDS_PIN:
        pin_thread()


cdef inline void unpin() noexcept nogil:
    if SLOT_NEEDS_PIN:
        unpin_thread()


cdef inline object load_from(PyObject **slot):
    if SLOT_NEEDS_PIN:
        return load_pinned(slot)
    return <object>slot[0]


cdef inline bint compare_and_set_in(PyObject **slot, object expected, object desired) except -1:
    if SLOT_NEEDS_PIN:
        return cas_retiring(slot, expected, desired)
    return ctrie_plain_cas(slot, <PyObject *>expected, <PyObject *>desired)


cdef inline object load(Slot slot):
    return load_from(CTRIE_SLOT(<PyObject *>slot))


cdef inline bint compare_and_set(Slot slot, object expected, object desired) except -1:
    return compare_and_set_in(CTRIE_SLOT(<PyObject *>slot), expected, desired)


cdef inline PyObject *borrow(object thing) noexcept:
    return <PyObject *>thing


cdef inline object borrowed(PyObject *thing):
    return <object>thing


cdef inline Borrowed peek(Borrowed slot) noexcept nogil:
    return slot_read(CTRIE_SLOT(slot))


cdef inline bint is_exactly(Borrowed thing, object kind) noexcept:
    return CTRIE_IS(thing, <PyTypeObject *>kind)


cdef inline void initialise(Slot slot, object value) noexcept:
    # Only before the slot is published: no other thread can see it yet.
    slot.value = value
