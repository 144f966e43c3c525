# C types for delivery.py.
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM

from subtrie._trie.subscribers cimport is_held

cdef object _DELIVERY

cdef extern from *:
    """
    static inline PyObject *room_for_three(PyObject *type) { return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 3); }
    """
    object room_for_three(PyObject *type)
    bint is_tracked "PyObject_GC_IsTracked" (object thing) noexcept
    void untrack "PyObject_GC_UnTrack" (PyObject *thing) noexcept


cdef inline tuple new_delivery(object subscriber, object options, bint leads_nowhere):
    delivery = room_for_three(<PyObject *>_DELIVERY)
    Py_INCREF(subscriber)
    PyTuple_SET_ITEM(delivery, 0, subscriber)
    Py_INCREF(options)
    PyTuple_SET_ITEM(delivery, 1, options)
    Py_INCREF(None)
    PyTuple_SET_ITEM(delivery, 2, None)
    if leads_nowhere:
        untrack(<PyObject *>delivery)
    return <tuple>delivery


cpdef tuple delivery_for(object subscriber, dict options, object view)
cpdef tuple with_subscriber(object delivery, object subscriber)
cpdef tuple living(tuple deliveries)
