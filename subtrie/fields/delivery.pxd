# C types for delivery.py.
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM

from ctrie._arrays cimport settle

cdef object _DELIVERY, _HELD

cdef extern from "interpreter.h":
    PyObject *referred_to(PyObject *reference)

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
    #ifdef Py_GIL_DISABLED
        leads_nowhere = 0;  /* as settle_entry in maps.pxd */
    #endif
        if (!leads_nowhere) {
            PyObject_GC_Track(delivery);
        }
        return (PyObject *)delivery;
    }
    """
    object filled(PyObject *type, PyObject *subscriber, PyObject *options, bint leads_nowhere)
    bint is_tracked "PyObject_GC_IsTracked" (object thing) noexcept
    PyObject *item_of "PyTuple_GET_ITEM" (object several, Py_ssize_t i) noexcept
    void DECREF "Py_DECREF" (PyObject *thing) noexcept


cdef inline tuple new_delivery(object subscriber, object options, bint leads_nowhere):
    return <tuple>filled(<PyObject *>_DELIVERY, <PyObject *>subscriber, <PyObject *>options, leads_nowhere)


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


cdef inline object part_of(object delivery, Py_ssize_t i):
    return <object>item_of(delivery, i)


cdef inline tuple changeable(tuple found):
    return found    # nobody else has it yet


cdef inline void put(tuple several, Py_ssize_t i, object thing) noexcept:
    cdef PyObject *before = item_of(several, i)
    Py_INCREF(thing)
    PyTuple_SET_ITEM(several, i, thing)
    DECREF(before)


cpdef tuple delivery_for(object subscriber, dict options, object view)
cpdef tuple with_subscriber(object delivery, object subscriber)
@cython.locals(several=tuple, gone=Py_ssize_t, i=Py_ssize_t)
cdef tuple living(tuple found, bint delivers)
