/* Allocations that fail on purpose: `refusing(call, first, last)` calls `call()` while the allocations of this thread from
 * number `first` to number `last - 1` fail, and returns (what it returned, or None after a MemoryError; whether it was
 * refused; how many allocations it asked for). All three of CPython's domains count. */
#include <Python.h>

enum { DOMAINS = 3 };
static const PyMemAllocatorDomain domains[DOMAINS] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
static PyMemAllocatorEx real[DOMAINS];
static Py_ssize_t first, last, asked;
static unsigned long thread;

static int fails(void)
{
    if (PyThread_get_thread_ident() != thread) {
        return 0;
    }
    Py_ssize_t number = asked++;
    return first <= number && number < last;
}

static void *failing_malloc(void *context, size_t size)
{
    PyMemAllocatorEx *below = context;
    return fails() ? NULL : below->malloc(below->ctx, size);
}

static void *failing_calloc(void *context, size_t count, size_t size)
{
    PyMemAllocatorEx *below = context;
    return fails() ? NULL : below->calloc(below->ctx, count, size);
}

static void *failing_realloc(void *context, void *old, size_t size)
{
    PyMemAllocatorEx *below = context;
    return fails() ? NULL : below->realloc(below->ctx, old, size);
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

static PyMethodDef functions[] = {{"refusing", refusing, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "failing_allocations", .m_methods = functions};

PyMODINIT_FUNC PyInit_failing_allocations(void)
{
    PyObject *module = PyModule_Create(&definition);
#ifdef Py_GIL_DISABLED
    if (module != NULL) {
        PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
    }
#endif
    return module;
}
