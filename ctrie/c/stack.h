/* How much is left of the thread's C stack. Users' code that an operation calls may call the operation again, and that
 * again, and so on. No interpreter counts the C stack that compiled modules take, and threads may have stacks of 256 kB; so
 * compiled code asks before it calls users' `__eq__` and `__hash__`. One system call for each thread, then a comparison.
 */
#ifndef CTRIE_STACK_H
#define CTRIE_STACK_H

#include <Python.h>
#include <pthread.h>

enum { STACK_KEPT = 256 * 1024 };   /* or a quarter of a smaller stack: more than an operation takes until it asks again */

#ifdef __GLIBC__
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local char *stack_low;       /* where to stop; NULL: not known yet */

static __attribute__((noinline, cold)) void stack_find(void)
{
    void *lowest = NULL;
    size_t size = 0;
#if defined(__linux__)
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &lowest, &size) != 0) {
            size = 0;
        }
        pthread_attr_destroy(&attributes);
    }
#elif defined(__APPLE__)
    size = pthread_get_stacksize_np(pthread_self());
    lowest = (char *)pthread_get_stackaddr_np(pthread_self()) - size;
#endif
    size_t kept = size / 4 < STACK_KEPT ? size / 4 : STACK_KEPT;
    stack_low = size > 0 ? (char *)lowest + kept : (char *)1;    /* where nothing is known, nothing is refused */
}

static __attribute__((noinline, cold)) int stack_refuse(void)
{
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: little is left of this thread's stack");
    return -1;
}

/* Return -1 with RecursionError if little is left. Any address in this frame will do. */
static inline int check_stack(void)
{
    char here;
    char *volatile now = &here;
    if (stack_low == NULL) {
        stack_find();
    }
    return now < stack_low ? stack_refuse() : 0;
}

#endif /* CTRIE_STACK_H */
