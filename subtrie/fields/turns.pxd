# C types and bodies for turns.py.

cdef extern from *:
    """
    #include <stdint.h>
    #include <time.h>
    #include "signals.h"

    enum { ENOUGH = 16, SLOW = 60000 };     /* answers; nanoseconds */
    typedef struct {
        Py_ssize_t done;    /* since it looked */
        int64_t looked;
    } Turn;

    static inline int64_t turn_now(void)
    {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }

    static inline void begin_turn(Turn *turn)
    {
        turn->done = ENOUGH - 1;    /* nothing is known of them yet */
        turn->looked = turn_now();
    }

    static __attribute__((noinline)) int turn_ends(Turn *turn)
    {
        int64_t now = turn_now();
        turn->done = now - turn->looked > SLOW ? ENOUGH - 1 : 0;
        turn->looked = now;
        return check_signals();
    }

    static inline int others_may_run(Turn *turn, PyObject *answers)
    {
        PyObject *last = PyList_GET_ITEM(answers, PyList_GET_SIZE(answers) - 1);
        turn->done += 1 + PyTuple_GET_SIZE(last);
        return turn->done < ENOUGH ? 0 : turn_ends(turn);
    }
    """
    ctypedef struct Turn:
        pass
    void begin_turn(Turn *turn) noexcept
    int others_may_run(Turn *turn, list answers) except -1
