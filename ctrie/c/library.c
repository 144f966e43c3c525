/* The library of all compiled modules, and who makes a module of it.

   Python looks for a module in a library of its name. To load seventy libraries took an eighth of the time of an
   import, and their tables some 15 % of a wheel. This one has them all: `ctrie._build_choice` asks it for a module by its name. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define MODULE(name, definition) PyObject *definition(void);
#include "modules.h" /* setup.py writes it */
#undef MODULE

#define MODULE(name, definition) {name, definition},
static const struct {
    const char *name;
    PyObject *(*definition)(void);
} MODULES[] = {
#include "modules.h"
};
#undef MODULE

#define COUNT (sizeof MODULES / sizeof *MODULES)

/* create(spec): a module that has not been executed yet. */
static PyObject *create(PyObject *Py_UNUSED(self), PyObject *spec) {
    PyObject *name = PyObject_GetAttrString(spec, "name"), *module = NULL;
    if (!name) return NULL;
    size_t i = 0;
    while (i < COUNT && !(PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, MODULES[i].name))) i++;
    if (i == COUNT) {
        PyErr_Format(PyExc_ImportError, "%R is no compiled module", name);
    } else {
        PyObject *definition = MODULES[i].definition();
        if (definition) module = PyModule_FromDefAndSpec((PyModuleDef *)definition, spec);
    }
    Py_DECREF(name);
    return module;
}

/* execute(module): run what `create` has made. A module that ran is left as it is; Cython's code sees to that. */
static PyObject *execute(PyObject *Py_UNUSED(self), PyObject *module) {
    PyModuleDef *definition = PyModule_Check(module) ? PyModule_GetDef(module) : NULL;
    size_t i = 0;
    while (definition && i < COUNT && MODULES[i].definition() != (PyObject *)definition) i++;
    if (!definition || i == COUNT) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%R is no compiled module", module);
        return NULL;
    }
    if (PyModule_ExecDef(module, definition) < 0) return NULL;
    Py_RETURN_NONE;
}

/* library_execute(name): what a module does before it takes anything from another (tools/linking.py); 0, or -1 with an exception. */
int library_execute(const char *name);
int library_execute(const char *name) {
    PyObject *module = PyImport_ImportModule(name);
    Py_XDECREF(module);
    return module ? 0 : -1;
}

static int name_all(PyObject *self) {
    PyObject *names = PyFrozenSet_New(NULL);
    int failed = !names;
    for (size_t i = 0; !failed && i < COUNT; i++) {
        PyObject *name = PyUnicode_InternFromString(MODULES[i].name);
        failed = !name || PySet_Add(names, name) < 0;
        Py_XDECREF(name);
    }
    failed = failed || PyModule_AddObjectRef(self, "NAMES", names) < 0;
    Py_XDECREF(names);
    return failed ? -1 : 0;
}

static PyMethodDef METHODS[] = {{"create", create, METH_O, NULL}, {"execute", execute, METH_O, NULL}, {0}};

static PyModuleDef_Slot SLOTS[] = {
    {Py_mod_exec, name_all},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0},
};

static PyModuleDef DEFINITION = {
    PyModuleDef_HEAD_INIT, .m_name = "ctrie._compiled", .m_methods = METHODS, .m_slots = SLOTS,
};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&DEFINITION); }
