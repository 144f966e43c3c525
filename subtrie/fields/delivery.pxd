# C types for delivery.py.
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM

from ctrie._machine cimport untrack_constant

cdef object _DELIVERY, _HELD

cdef extern from "interpreter.h":
    PyObject *referred_to(PyObject *reference)

cdef extern from *:
    """
    /* The class of deliveries, whose instances are tuples of three items. Python's own way to drop one asks the class for
     * what it has none of: slots, a dict, weak references, a finaliser. And most answers for weakly held subscribers are
     * dropped before the next ones are made. So deliveries are dropped here, and on GIL builds the last ones are kept. */
    static PyTypeObject *delivery_type;

    #ifndef Py_GIL_DISABLED
    enum { DELIVERIES_KEPT = 256 };
    static PyTupleObject *deliveries_kept[DELIVERIES_KEPT];     /* untracked, without items */
    static int deliveries_kept_now;
    #endif

    /* Keep one for the next answer, with its reference to its class. To drop its items must not go on to others. */
    static inline int is_kept(PyTupleObject *delivery)
    {
    #ifndef Py_GIL_DISABLED
        PyObject **items = delivery->ob_item;
        if (Py_SIZE(delivery) == 3 && deliveries_kept_now < DELIVERIES_KEPT && items[2] == Py_None
            && items[0] != items[1] && Py_REFCNT(items[0]) > 1 && Py_REFCNT(items[1]) > 1) {
            PyObject_GC_UnTrack(delivery);
            for (int i = 0; i < 3; i++) {
                Py_DECREF(items[i]);
            }
            deliveries_kept[deliveries_kept_now++] = delivery;
            return 1;
        }
    #else
        (void)delivery;
    #endif
        return 0;
    }

    static inline void delivery_drop(PyObject *delivery)
    {
        PyTypeObject *type = Py_TYPE(delivery);         /* an instance refers to a class that Python made */
        if (type != delivery_type) {                    /* of a subclass, which drops the rest */
            PyTuple_Type.tp_dealloc(delivery);
            Py_DECREF(type);
            return;
        }
        if (is_kept((PyTupleObject *)delivery)) {
            return;
        }
        PyObject_GC_UnTrack(delivery);
        Py_TRASHCAN_BEGIN(delivery, delivery_drop)      /* those in one another are dropped without recursion */
        for (Py_ssize_t i = PyTuple_GET_SIZE(delivery) - 1; i >= 0; i--) {      /* 3, unless it was made as a tuple */
            Py_XDECREF(((PyTupleObject *)delivery)->ob_item[i]);
        }
        PyObject_GC_Del(delivery);
        Py_DECREF(type);
        Py_TRASHCAN_END
    }

    static inline int drop_deliveries_here(PyObject *type)
    {
        delivery_type = (PyTypeObject *)Py_NewRef(type);
        delivery_type->tp_dealloc = delivery_drop;
        return 0;
    }

    /* One without items, and without the room for one item more that the class itself would allocate. */
    static inline PyTupleObject *blank_delivery(void)
    {
    #ifndef Py_GIL_DISABLED
        if (deliveries_kept_now > 0) {
            PyTupleObject *delivery = deliveries_kept[--deliveries_kept_now];
            count_anew((PyObject *)delivery);
            return delivery;
        }
    #endif
        return PyObject_GC_NewVar(PyTupleObject, delivery_type, 3);
    }

    static inline PyObject *filled(PyObject *subscriber, PyObject *options, int leads_nowhere)
    {
        PyTupleObject *delivery = blank_delivery();
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
        leads_nowhere = 0;  /* as untrack_entry in maps.pxd */
    #endif
        if (!leads_nowhere) {
            PyObject_GC_Track(delivery);
        }
        return (PyObject *)delivery;
    }
    """
    int drop_deliveries_here(object kind) except -1
    object filled(PyObject *subscriber, PyObject *options, bint leads_nowhere)
    bint is_tracked "PyObject_GC_IsTracked" (object thing) noexcept
    PyObject *item_of "PyTuple_GET_ITEM" (object several, Py_ssize_t i) noexcept
    void DECREF "Py_DECREF" (PyObject *thing) noexcept


cdef inline tuple new_delivery(object subscriber, object options, bint leads_nowhere):
    return <tuple>filled(<PyObject *>subscriber, <PyObject *>options, leads_nowhere)


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
