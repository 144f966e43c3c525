/* Signals, and other threads, during long work; _signals.py tells when this is called.
 *
 * A thread that waits for the GIL asks for it after its switch interval, and only between two lines of Python code does
 * the holder hear that. Compiled code that goes through a million items has no such lines. So it lets go of the GIL by
 * itself, at most once in HOLD of its time, and if there is another thread at all. It sleeps meanwhile: otherwise it
 * would have the GIL back before a thread that waits for it has woken up.
 *
 * Whoever gets the GIL wakes only one of those that wait. So if this thread does not get it back at once, but soon, others
 * may wait as well, and it sleeps again, at most NAPS times. One that holds it for longer than SHORT computes, and takes
 * turns with this thread.
 *
 * On free-threaded builds nobody waits for this thread but one that stops all threads, as the collector does, and for
 * that it is enough to detach for a moment.
 */
#ifndef CTRIE_SIGNALS_H
#define CTRIE_SIGNALS_H

#include <Python.h>
#include <stdint.h>
#include <time.h>

enum { HOLD = 2000000, NAP = 20000, SHORT = 1000000 };     /* nanoseconds */
enum { NAPS = 32 };

static inline int64_t signals_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static __attribute__((noinline)) void signals_let_others_run(void)
{
#ifndef Py_GIL_DISABLED
    PyThreadState *first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    if (PyThreadState_Next(first) == NULL) {
        return;
    }
    struct timespec nap = {0, NAP};
    int64_t waited = NAP;
    for (int naps = 0; naps < NAPS && waited >= NAP && waited <= SHORT; naps++) {
        PyThreadState *thread = PyEval_SaveThread();
        nanosleep(&nap, NULL);
        waited = signals_now();
        PyEval_RestoreThread(thread);
        waited = signals_now() - waited;
    }
#else
    PyEval_RestoreThread(PyEval_SaveThread());
#endif
}

/* Let other threads run if they may have waited for long. */
static inline void let_others_run(void)
{
    /* When this thread began the work that it is doing now, and when it was here before. If that is long ago, it has done
     * other things since, and what it does now has just begun. */
    static _Thread_local int64_t began, before;
    int64_t now = signals_now();
    if (now - before > HOLD) {
        began = now;
    }
    before = now;
    if (now - began > HOLD) {
        signals_let_others_run();
        began = before = signals_now();
    }
}

/* Run the handlers of the signals that have arrived, and let other threads run if they may have waited for long. Returns
 * -1 if a handler has raised something. */
static inline int check_signals(void)
{
    let_others_run();
    return PyErr_CheckSignals();
}

#endif /* CTRIE_SIGNALS_H */
