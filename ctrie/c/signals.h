/* Signals, and other threads, during long work; _machine.py tells when this is called.
 *
 * The interpreter runs the handlers of signals, and gives the GIL to a thread that has asked for it, when it begins a function of
 * Python code. So that is what compiled code does here: it calls the interpreted text of this very function, which is empty. A
 * thread that waits for the GIL asks for it after the switch interval, which is 5 ms by default.
 *
 * To let go of the GIL and take it again would not do: who lets go has it back before the one that waits has woken up, and that
 * one begins its interval anew. On free-threaded builds nobody waits for this thread but one that stops all threads, as the
 * collector does; for that it is enough to detach for a moment, and no count of an object that threads share is written to.
 */
#ifndef CTRIE_SIGNALS_H
#define CTRIE_SIGNALS_H

#include <Python.h>

#if defined(Py_GIL_DISABLED) || defined(CTRIE_EXPLORED)
static inline int check_signals(void)
{
    PyEval_RestoreThread(PyEval_SaveThread());
    return PyErr_CheckSignals();
}
#else
static __attribute__((noinline, cold)) PyObject *signals_find(void)
{
    PyObject *module = PyImport_ImportModule("ctrie._machine");
    PyObject *found = module == NULL ? NULL : PyObject_GetAttrString(module, "check_signals");
    Py_XDECREF(module);
    return found;
}

/* Run the handlers of the signals that have arrived, and let others run that have waited for long. Returns -1 if a handler has
 * raised something. */
static inline int check_signals(void)
{
    static PyObject *text;
    if (text == NULL && (text = signals_find()) == NULL) {
        return -1;
    }
    PyObject *none = PyObject_CallNoArgs(text);
    Py_XDECREF(none);
    return none == NULL ? -1 : 0;
}
#endif

#endif /* CTRIE_SIGNALS_H */
