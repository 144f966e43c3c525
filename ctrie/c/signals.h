/* Signals, and other threads, during long work; _machine.py tells when this is called.
 *
 * A thread that waits for the GIL asks for it after its switch interval, and only between two lines of Python code does
 * the holder hear that. Compiled code that goes through a million items has no such lines. So it lets go of the GIL by
 * itself, at most once in HOLD of its time, and if there is another thread at all. It sleeps meanwhile: otherwise it
 * would have the GIL back before a thread that waits for it has woken up.
 *
 * Whoever lets go of the GIL wakes only one of those that wait, and until that one is awake anybody else may take it. A
 * thread that loses it so waits at the end of the queue again. Among a hundred threads some lose it many times, if this
 * one comes back after each nap and then holds it. So it naps until nobody else has run: until it gets the GIL at once, and
 * no other thread of the process went to sleep meanwhile, which is how a short turn ends. Threads that never want
 * the GIL go to sleep, too: after UNSEEN naps in a row in which nobody else was seen with it, that is what they were.
 *
 * If others have kept it for LONG, they compute, and take turns with this thread, whose own is longer then.
 *
 * On free-threaded builds nobody waits for this thread but one that stops all threads, as the collector does, and for
 * that it is enough to detach for a moment.
 */
#ifndef CTRIE_SIGNALS_H
#define CTRIE_SIGNALS_H

#include <Python.h>
#include <stdint.h>
#include <time.h>
#if !defined(Py_GIL_DISABLED) && defined(__linux__)
#include <sys/prctl.h>
#include <sys/resource.h>
#endif

/* Nanoseconds. A thread that was not here for APART has done other things. One that gets the GIL at once has waited for less
 * than AT_ONCE. */
enum { HOLD = 1000000, APART = 2000000, NAP = 20000, AT_ONCE = 5000, LONG = 4000000 };
enum { NAPS = 128, UNSEEN = 4 };

static inline int64_t signals_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#ifndef Py_GIL_DISABLED
/* How often other threads have gone to sleep by themselves; where the system does not tell, they never have. */
static inline long signals_sleeps_of_others(void)
{
#ifdef RUSAGE_THREAD
    struct rusage all, own;
    if (getrusage(RUSAGE_SELF, &all) == 0 && getrusage(RUSAGE_THREAD, &own) == 0) {
        return all.ru_nvcsw - own.ru_nvcsw;
    }
#endif
    return 0;
}

/* Let Linux wake this thread when its nap is over. By default it may be 50 us late, twice a nap. Returns what to set again. */
static inline int signals_slack(int slack)
{
#ifdef PR_SET_TIMERSLACK
    int before = prctl(PR_GET_TIMERSLACK);
    if (slack > 0) {
        prctl(PR_SET_TIMERSLACK, slack);
    }
    return before;
#else
    return slack;
#endif
}
#endif

/* Let other threads run, and return from when the next hold counts. */
static __attribute__((noinline)) int64_t signals_let_others_run(void)
{
#ifndef Py_GIL_DISABLED
    PyThreadState *first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    if (PyThreadState_Next(first) == NULL) {
        return signals_now();
    }
    struct timespec nap = {0, NAP};
    int64_t all = 0;
    int slack = signals_slack(1);
    long sleeps = signals_sleeps_of_others();
    for (int naps = 0, unseen = 0; naps < NAPS && unseen < UNSEEN && all < LONG; naps++) {
        PyThreadState *thread = PyEval_SaveThread();
        nanosleep(&nap, NULL);
        int64_t waited = signals_now();
        PyEval_RestoreThread(thread);
        waited = signals_now() - waited;
        all += waited;
        long before = sleeps;
        sleeps = signals_sleeps_of_others();
        if (waited > AT_ONCE) {
            unseen = 0;
        } else if (sleeps != before) {
            unseen++;
        } else {
            break;
        }
    }
    signals_slack(slack);
    return signals_now() + (all < LONG ? 0 : HOLD);
#else
    PyEval_RestoreThread(PyEval_SaveThread());
    return signals_now();
#endif
}

/* When this thread began the work that it is doing now, and when it was here before. If that is long ago, it has done
 * other things since, and what it does now has just begun. One pair for all modules (library.c): a library that needs much
 * room for what each thread has of its own may find none when it is loaded late. */
extern __attribute__((visibility("hidden"))) _Thread_local int64_t signals_began, signals_before;

/* Let other threads run if they may have waited for long. */
static inline void let_others_run(void)
{
    int64_t now = signals_now();
    if (now - signals_before > APART) {
        signals_began = now;
    }
    signals_before = now;
    if (now - signals_began > HOLD) {
        signals_began = signals_before = signals_let_others_run();
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
