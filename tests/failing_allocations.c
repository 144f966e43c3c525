/* Allocations that fail on purpose: `refusing(call, first, last)` calls `call()` while the allocations of this thread from
 * number `first` to number `last - 1` fail, and returns (what it returned, or None after a MemoryError; whether it was
 * refused; how many allocations it asked for). All three of CPython's domains count.
 *
 * `places(call)` lets none fail, and returns for each allocation a number that is the same for the same size asked for by
 * the same chain of C functions.
 *
 * Some functions of some interpreters free memory twice if an allocation of their own fails. What those ask for never fails
 * here, since it says nothing about our modules: a test of `tests/whole/test_no_memory.py` runs them without any. */
#define _GNU_SOURCE
#include <Python.h>
#include <execinfo.h>

/* PyList_New without the GIL: the new list is dropped before its array is set, and with it the array of an earlier list
 * (CPython's issue 152125). The functions of 3.12 and 3.13: the code object is given back twice. */
#ifdef Py_GIL_DISABLED
#define FAULTY_LISTS (void *)&PyList_New,
#else
#define FAULTY_LISTS
#endif
#if 0x030c0000 <= PY_VERSION_HEX && PY_VERSION_HEX < 0x030e0000
#define FAULTY_FUNCTIONS (void *)&PyFunction_NewWithQualName,
#else
#define FAULTY_FUNCTIONS
#endif

enum { DOMAINS = 3 };
static const PyMemAllocatorDomain domains[DOMAINS] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
static PyMemAllocatorEx real[DOMAINS];
static Py_ssize_t first, last, asked;
static unsigned long thread;

static void *const faulty[] = {FAULTY_LISTS FAULTY_FUNCTIONS NULL};    /* ends with NULL */

#if defined(Py_GIL_DISABLED) || (0x030c0000 <= PY_VERSION_HEX && PY_VERSION_HEX < 0x030e0000)

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

static size_t bytes_of_code[sizeof faulty / sizeof faulty[0]];

static int find_faulty(void)
{
    for (int i = 0; faulty[i] != NULL; i++) {
        Dl_info found;
        const ElfW(Sym) *symbol;
        if (!dladdr1(faulty[i], &found, (void **)&symbol, RTLD_DL_SYMENT) || symbol == NULL) {
            PyErr_SetString(PyExc_RuntimeError, "the length of a faulty function's code is not known");
            return -1;
        }
        bytes_of_code[i] = symbol->st_size;
    }
    return 0;
}

static int asked_by_faulty(void)
{
    enum { FRAMES = 7 };        /* three of this file, three of the interpreter's allocator, then the function itself */
    void *frames[FRAMES];
    int count = backtrace(frames, FRAMES);
    for (int i = 0; faulty[i] != NULL; i++) {
        for (int j = 0; j < count; j++) {
            if ((char *)frames[j] - (char *)faulty[i] >= 0 && (size_t)((char *)frames[j] - (char *)faulty[i]) < bytes_of_code[i]) {
                return 1;
            }
        }
    }
    return 0;
}

#else
static int find_faulty(void) { return faulty[0] != NULL; }
static int asked_by_faulty(void) { return 0; }
#endif

enum { MOST_NOTED = 4096, CHAIN = 24 };
static uint64_t noted[MOST_NOTED];
static int noting;

static uint64_t place_of(size_t size)
{
    void *frames[CHAIN];
    int count = backtrace(frames, CHAIN);
    uint64_t place = size;
    for (int i = 0; i < count; i++) {
        place = (place ^ (uint64_t)(uintptr_t)frames[i]) * 0x9e3779b97f4a7c15u;
        place ^= place >> 29;
    }
    return place;
}

static int fails(size_t size)
{
    if (PyThread_get_thread_ident() != thread) {
        return 0;
    }
    Py_ssize_t number = asked++;
    if (noting && number < MOST_NOTED) {
        noted[number] = place_of(size);
    }
    return first <= number && number < last && !asked_by_faulty();
}

static void *failing_malloc(void *context, size_t size)
{
    PyMemAllocatorEx *below = context;
    return fails(size) ? NULL : below->malloc(below->ctx, size);
}

static void *failing_calloc(void *context, size_t count, size_t size)
{
    PyMemAllocatorEx *below = context;
    return fails(count * size) ? NULL : below->calloc(below->ctx, count, size);
}

static void *failing_realloc(void *context, void *old, size_t size)
{
    PyMemAllocatorEx *below = context;
    return fails(size) ? NULL : below->realloc(below->ctx, old, size);
}

static void plain_free(void *context, void *old)
{
    PyMemAllocatorEx *below = context;
    below->free(below->ctx, old);
}

static PyObject *refusing(PyObject *module, PyObject *args)
{
    PyObject *call;
    (void)module;
    if (!PyArg_ParseTuple(args, "Onn", &call, &first, &last)) {
        return NULL;
    }
    asked = 0;
    thread = PyThread_get_thread_ident();
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx failing = {&real[i], failing_malloc, failing_calloc, failing_realloc, plain_free};
        PyMem_GetAllocator(domains[i], &real[i]);
        PyMem_SetAllocator(domains[i], &failing);
    }
    PyObject *answer = PyObject_CallNoArgs(call);
    for (int i = 0; i < DOMAINS; i++) {
        PyMem_SetAllocator(domains[i], &real[i]);
    }
    int refused = 0;
    if (answer == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_MemoryError)) {
            return NULL;
        }
        PyErr_Clear();
        refused = 1;
        answer = Py_NewRef(Py_None);
    }
    return Py_BuildValue("Nin", answer, refused, asked);
}

static PyObject *places(PyObject *module, PyObject *call)
{
    PyObject *args = Py_BuildValue("Onn", call, (Py_ssize_t)0, (Py_ssize_t)0);
    if (args == NULL) {
        return NULL;
    }
    noting = 1;
    PyObject *answer = refusing(module, args);
    noting = 0;
    Py_DECREF(args);
    if (answer == NULL) {
        return NULL;
    }
    Py_DECREF(answer);
    Py_ssize_t count = asked < MOST_NOTED ? asked : MOST_NOTED;
    PyObject *found = PyList_New(count);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        PyObject *place = PyLong_FromUnsignedLongLong(noted[i]);
        if (place == NULL) {
            Py_CLEAR(found);
        }
        else {
            PyList_SET_ITEM(found, i, place);
        }
    }
    return found;
}

static PyMethodDef functions[] = {
    {"refusing", refusing, METH_VARARGS, NULL}, {"places", places, METH_O, NULL}, {NULL, NULL, 0, NULL}
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "failing_allocations", .m_methods = functions};

PyMODINIT_FUNC PyInit_failing_allocations(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || find_faulty() < 0) {
        return NULL;
    }
    void *first_call_allocates[1];
    backtrace(first_call_allocates, 1);
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    return module;
}
