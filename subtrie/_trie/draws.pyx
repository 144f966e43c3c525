"""Draws by lot. The compiled body of draws.py: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
generators", 2014), with a state for each thread, which begins with what the system calls random."""

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #include <pthread.h>
    #include <sys/random.h>
    #include <time.h>

    #ifdef CTRIE_EXPLORED
    static uint64_t draws_state;    /* whatever thread makes the next step of a schedule that is repeated */
    #else
    #ifdef __GLIBC__
    __attribute__((tls_model("initial-exec")))
    #endif
    static _Thread_local uint64_t draws_state;      /* 0: not begun */
    #endif

    static __attribute__((noinline, cold)) void draws_begin(void)
    {
        struct timespec now;
        if (getentropy(&draws_state, sizeof(draws_state)) != 0) {
            clock_gettime(CLOCK_MONOTONIC, &now);       /* of two threads that begin at once, addresses differ */
            draws_state = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)&draws_state;
        }
    }

    static inline uint64_t draws_next(uint64_t size)
    {
        if (draws_state == 0) {
            draws_begin();
        }
        uint64_t x = draws_state += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return (uint64_t)((unsigned __int128)(x ^ x >> 31) * size >> 64);
    }

    static void draws_seed(uint64_t number) { draws_state = number * 0x9e3779b97f4a7c15u + 1; }
    static void draws_forget(void) { draws_state = 0; }
    /* The thread that has forked is the only one that a child has. */
    static int draws_differ_in_children(void) { return pthread_atfork(NULL, NULL, draws_forget); }
    """
    uint64_t draws_next(uint64_t size) nogil
    void draws_seed(uint64_t number) nogil
    int draws_differ_in_children() nogil

if draws_differ_in_children() != 0:
    raise MemoryError


cdef uint64_t draw(uint64_t size) noexcept nogil:
    return draws_next(size)


def seed(uint64_t number):
    """Let the next draws of this thread follow from a number: for tests, and for schedules that are repeated."""
    draws_seed(number)
