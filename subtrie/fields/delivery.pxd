# C types for delivery.py.
cimport cython
from cpython.object cimport PyObject

from ctrie._machine cimport untrack_constant

cdef object _DELIVERY, _HELD

cdef extern from "interpreter.h":
    PyObject *referred_to(PyObject *reference)

cdef extern from *:
    """
    /* The class of deliveries, a tuple of four items that Python made. A call of it takes five times as long as this. */
    static PyTypeObject *delivery_type;

    static inline int deliveries_are(PyObject *type)
    {
        delivery_type = (PyTypeObject *)Py_NewRef(type);
        return 0;
    }

    static inline PyObject *filled(PyObject *subscriber, PyObject *options, PyObject *criteria, int leads_nowhere)
    {
        PyTupleObject *delivery = PyObject_GC_NewVar(PyTupleObject, delivery_type, 4);
        if (delivery == NULL) {
            return NULL;
        }
    #if PY_VERSION_HEX >= 0x030E0000
        delivery->ob_hash = -1; /* not known yet */
    #endif
        delivery->ob_item[0] = Py_NewRef(subscriber);
        delivery->ob_item[1] = Py_NewRef(options);
        delivery->ob_item[2] = Py_NewRef(Py_None);
        delivery->ob_item[3] = Py_NewRef(criteria);
    #ifdef Py_GIL_DISABLED
        leads_nowhere = 0;  /* as untrack_entry in maps.pxd */
    #endif
        if (!leads_nowhere) {
            PyObject_GC_Track(delivery);
        }
        return (PyObject *)delivery;
    }
    """
    int deliveries_are(object kind) except -1
    object filled(PyObject *subscriber, PyObject *options, PyObject *criteria, bint leads_nowhere)
    bint is_tracked "PyObject_GC_IsTracked" (object thing) noexcept
    void DECREF "Py_DECREF" (PyObject *thing) noexcept


cdef inline tuple new_delivery(object subscriber, object options, object criteria, bint leads_nowhere):
    return <tuple>filled(<PyObject *>subscriber, <PyObject *>options, <PyObject *>criteria, leads_nowhere)


cdef inline object referred_by(object reference):
    cdef PyObject *alive
    if type(reference) is not _HELD:
        return reference()
    alive = referred_to(<PyObject *>reference)
    if alive == NULL:
        return None
    subscriber = <object>alive
    DECREF(alive)
    return subscriber


@cython.locals(leads_nowhere=bint)
cpdef tuple delivery_for(object subscriber, dict options, object view)
@cython.locals(leads_nowhere=bint)
cpdef tuple completed(object delivery, object subscriber, tuple criteria)
@cython.locals(alive=list)
cpdef tuple living(tuple found, bint delivers)
