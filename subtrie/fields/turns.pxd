# C types and bodies for turns.py.

cdef extern from *:
    """
    #include "signals.h"

    enum { ENOUGH = 16 };
    typedef struct {
        Py_ssize_t done;    /* since it looked */
        int64_t looked, began;
    } Turn;

    static inline void begin_turn(Turn *turn)
    {
        turn->done = ENOUGH - 1;    /* nothing is known of them yet */
        turn->looked = turn->began = signals_now();
    }

    static __attribute__((noinline)) int turn_ends(Turn *turn)
    {
        int64_t now = signals_now();
        turn->done = now - turn->looked > HOLD / ENOUGH ? ENOUGH - 1 : 0;
        if (now - turn->began > HOLD) {
            turn->began = signals_let_others_run();
            now = signals_now();
        }
        turn->looked = now;
        return PyErr_CheckSignals();
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
