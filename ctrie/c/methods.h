/* Inherited methods as a type's own; _machine.py tells what for. */
#ifndef CTRIE_METHODS_H
#define CTRIE_METHODS_H

#include <Python.h>

static int own_method(PyTypeObject *type, PyObject *methods, PyTypeObject *base, PyMethodDef *definition)
{
    PyObject *inherited = PyDict_GetItemString(base->tp_dict, definition->ml_name);
    if (inherited == NULL || !Py_IS_TYPE(inherited, &PyMethodDescr_Type)
        || PyDict_GetItemString(methods, definition->ml_name) != NULL) {
        return 0;
    }
    PyObject *own = PyDescr_NewMethod(type, definition);
    int outcome = own == NULL ? -1 : PyDict_SetItemString(methods, definition->ml_name, own);
    Py_XDECREF(own);
    return outcome;
}

/* Public methods only: a special one may stand in a slot of the type, too. */
static int own_methods(PyObject *kind)
{
    PyTypeObject *type = (PyTypeObject *)kind;
    for (PyTypeObject *base = type->tp_base; base != NULL; base = base->tp_base) {
        for (PyMethodDef *each = base->tp_methods; each != NULL && each->ml_name != NULL; each++) {
            if (each->ml_name[0] != '_' && own_method(type, type->tp_dict, base, each) < 0) {
                return -1;
            }
        }
    }
    PyType_Modified(type);
    return 0;
}

#endif /* CTRIE_METHODS_H */
