/* A replacement for Python's header: objects are never freed, so that a use after release can be detected. */
#ifndef STRESS_RECLAIMER_PYTHON_H
#define STRESS_RECLAIMER_PYTHON_H

#define Py_GIL_DISABLED 1

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

typedef ssize_t Py_ssize_t;

typedef struct {
    _Atomic(long) count;
    _Atomic(int) released;
} PyObject;

void Py_INCREF(PyObject *object);
void Py_DECREF(PyObject *object);

#define Py_FatalError(message) abort()
#define PyErr_SetString(type, message) ((void)0)
#define PyExc_RuntimeError NULL
#define PyObject_IS_GC(object) 0
#define PyMem_RawMalloc malloc
#define PyMem_RawFree free

#endif
