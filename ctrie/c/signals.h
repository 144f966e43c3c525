/* Signals, and other threads, during long work; _machine.py tells when this is called.
 *
 * The interpreter runs the handlers of signals, and gives the GIL to a thread that has asked for it, when it begins a function of
 * Python code. So that is what compiled code does from time to time if it goes through any number of items: it calls the
 * interpreted text of this very function, which is empty. A thread that waits for the GIL asks after the switch interval, 5 ms.
 *
 * To let go of the GIL and take it again is not enough. A thread that waits hears of it and begins its interval anew, but
 * whoever lets go has the GIL back before the other one has woken up.
 */
#ifndef CTRIE_SIGNALS_H
#define CTRIE_SIGNALS_H

#include <Python.h>

static __attribute__((noinline, cold)) PyObject *signals_find(PyObject **place)
{
    PyObject *module = PyImport_ImportModule("ctrie._machine");
    PyObject *found = module == NULL ? NULL : PyObject_GetAttrString(module, "check_signals");
    Py_XDECREF(module);
    if (found != NULL) {
        __atomic_store_n(place, found, __ATOMIC_RELEASE);   /* threads that find it at the same time find the same */
    }
    return found;
}

/* Run the handlers of the signals that have arrived, and let others run that have waited for long. Returns -1 if a handler has
 * raised something. */
static inline int check_signals(void)
{
    static PyObject *nothing;
    PyObject *call = __atomic_load_n(&nothing, __ATOMIC_ACQUIRE);
    if (call == NULL && (call = signals_find(&nothing)) == NULL) {
        return -1;
    }
    PyObject *none = PyObject_CallNoArgs(call);
    Py_XDECREF(none);
    return none == NULL ? -1 : 0;
}

#endif /* CTRIE_SIGNALS_H */
