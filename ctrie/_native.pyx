"""The native body of the slot (epoch.h explains it), and `AtomicReference`, which is a slot for users."""

import atexit
from types import GenericAlias

cimport cython

from cpython.object cimport PyObject, PyTypeObject, Py_TYPE


cdef extern from "epoch.h" nogil:
    bint slot_compare_and_set(PyObject **slot, PyObject *expected, PyObject *desired)
    void reclaim_pin()
    void reclaim_unpin()
    void reclaim_drain()
    Py_ssize_t reclaim_pending()
    int reclaim_start() except -1

cdef extern from "epoch.h":
    object slot_load(PyObject **slot)


cdef extern from "Python.h":
    unsigned long Py_TPFLAGS_HEAPTYPE
    bint PyType_HasFeature(PyTypeObject *kind, unsigned long feature)
    bint Py_ReprEnter(object) except -1
    void Py_ReprLeave(object)


cdef object load_pinned(PyObject **slot):
    return slot_load(slot)


cdef bint cas_retiring(PyObject **slot, object expected, object desired) except -1:
    return slot_compare_and_set(slot, <PyObject *>expected, <PyObject *>desired)


cdef void pin_thread() noexcept nogil:
    reclaim_pin()


cdef void unpin_thread() noexcept nogil:
    reclaim_unpin()


cdef class Slot:
    """The one kind of place that several threads may change. `load` and `compare_and_set` are for all threads,
    `initialise` is for its maker before any other thread can see it."""

    def load(self):
        return load(self)

    def compare_and_set(self, expected, desired):
        _check_of_python(self)
        return compare_and_set(self, expected, desired)

    def initialise(self, value):
        _check_of_python(self)
        initialise(self, value)


cdef int _check_of_python(Slot slot) except -1:
    """The nodes of compiled modules are slots, too. These modules look for nothing but what they have put there."""
    if type(slot) is not Slot and not PyType_HasFeature(Py_TYPE(slot), Py_TPFLAGS_HEAPTYPE):
        raise TypeError(f"{type(slot).__name__} objects are changed by the package alone")


@cython.trashcan(True)
cdef class AtomicReference:
    """AtomicReference(value=None)\n--\n
    A reference to any object that threads read and replace atomically.

    `AtomicReference(value=None)` starts with `value`. Both operations are O(1), linearizable, and lock-free. On
    free-threaded builds a replaced value is released as soon as no reader can still be using it (see `drain`).
    Threads share a reference, so it is not copied or pickled: that raises TypeError.

    >>> ref = AtomicReference("old")
    >>> ref.compare_and_set("another", "new")
    False
    >>> ref.compare_and_set(ref.load(), "new")
    True
    >>> ref.load()
    'new'
    """

    # Composition, not inheritance: users must not be able to call `initialise`.
    cdef Slot slot
    cdef object __weakref__

    __class_getitem__ = classmethod(GenericAlias)

    def __cinit__(self, value=None):
        self.slot = Slot.__new__(Slot)
        initialise(self.slot, value)

    def load(self):
        """Return the present value. Linearizes at its single read of the slot. Wait-free."""
        return load(self.slot)

    def compare_and_set(self, expected, desired):
        """Make `desired` the value if `expected` is the present value, and tell whether that happened.

        The comparison is by identity (`is`), never by `==`. Linearizes at its single compare-and-set. Of any number of
        concurrent calls that expect the same value, at most one succeeds. Wait-free.
        """
        return compare_and_set(self.slot, expected, desired)

    def __reduce__(self):
        raise TypeError(
            "an AtomicReference is shared, not copied or pickled: make another one, AtomicReference(ref.load())"
        )

    def __repr__(self):
        if Py_ReprEnter(self):
            return "AtomicReference(...)"
        try:
            return f"AtomicReference({load(self.slot)!r})"
        finally:
            Py_ReprLeave(self)


def drain():
    """Release every replaced value that no reader can still be using, in all threads.

    A no-op on GIL builds, where a replaced value is released at once. On free-threaded builds each thread keeps up to
    some two hundred replaced values until it replaces more; call this to release them now (tests do, and the
    interpreter does at exit). Runs the finalizers of the released values. Returns the number of values that could not
    be released because other threads kept reading or replacing: 0 when they are at rest.

    >>> drain()
    0
    """
    reclaim_drain()
    return reclaim_pending()


reclaim_start()
atexit.register(drain)
