# C types for delivery.py.
from cpython.object cimport PyObject

from subtrie._trie.subscribers cimport is_held

cdef object _DELIVERY

cdef extern from *:
    """
    /* An instance of a tuple's subclass, without the room for one item more that the class itself would allocate. */
    static inline PyObject *filled(PyObject *type, PyObject *subscriber, PyObject *options, int leads_nowhere)
    {
        PyTupleObject *delivery = PyObject_GC_NewVar(PyTupleObject, (PyTypeObject *)type, 3);
        if (delivery == NULL) {
            return NULL;
        }
    #if PY_VERSION_HEX >= 0x030E0000
        delivery->ob_hash = -1; /* not known yet */
    #endif
        delivery->ob_item[0] = Py_NewRef(subscriber);
        delivery->ob_item[1] = Py_NewRef(options);
        delivery->ob_item[2] = Py_NewRef(Py_None);
        if (!leads_nowhere) {
            PyObject_GC_Track(delivery);
        }
        return (PyObject *)delivery;
    }
    """
    object filled(PyObject *type, PyObject *subscriber, PyObject *options, bint leads_nowhere)
    bint is_tracked "PyObject_GC_IsTracked" (object thing) noexcept


cdef inline tuple new_delivery(object subscriber, object options, bint leads_nowhere):
    return <tuple>filled(<PyObject *>_DELIVERY, <PyObject *>subscriber, <PyObject *>options, leads_nowhere)


cpdef tuple delivery_for(object subscriber, dict options, object view)
cpdef tuple with_subscriber(object delivery, object subscriber)
cpdef tuple living(tuple deliveries)
