"""The seam of the compiled modules, for `tests.tries.compiled`: seam.h describes its functions.

Only builds with CTRIE_EXPLORED have this module, and it must be imported before their other modules.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

cdef extern from "seam.h":
    object seam_capsule()
    void seam_set(PyObject **where, object function)
    int seam_know(const char *text, Py_ssize_t bytes, uint64_t hash) except -1
    void seam_enter(int me)
    void seam_go_on(int me, int made)
    int seam_leave() except -1
    void seam_take_back(Py_ssize_t mark, bint whole, bint undo)
    object seam_peek(size_t address)
    void seam_write_order(void *memory, size_t bytes)
    void seam_begin_order()
    const char *seam_fault_told()
    PyObject *seam_allocate(PyTypeObject *type, Py_ssize_t items)

cdef extern from *:
    """
    #define seam_active seam.active
    #define seam_me seam.me
    #define seam_ideal seam.ideal
    #define seam_before_function (&seam.before)
    #define seam_after_function (&seam.after)
    #define seam_made_function (&seam.made)
    #define seam_changes seam.changes
    #define seam_set_allocator(type) ((type)->tp_alloc = seam_allocate)
    """
    bint seam_active, seam_ideal
    PyObject **seam_before_function
    PyObject **seam_after_function
    PyObject **seam_made_function
    Py_ssize_t seam_changes
    int seam_me
    void seam_set_allocator(PyTypeObject *type)

cdef extern from "Python.h":
    void *PyCapsule_GetPointer(object capsule, const char *name) except NULL

operations = seam_capsule()
_memory = None


def begin(bint ideal):
    """Follow all slots from now on."""
    global seam_active, seam_ideal
    seam_active, seam_ideal = True, ideal


def set_functions(before, made):
    """Set the functions to call before each access, and for each new slot; None: none."""
    seam_set(seam_before_function, before)
    seam_set(seam_made_function, made)


def begin_order():
    """Begin an execution: forget the accesses of the last one."""
    seam_begin_order()


def set_after(function):
    """Set the function to call after each change; None: none."""
    seam_set(seam_after_function, function)


def follow(type kind):
    """Report all new objects of this type, which has one slot."""
    seam_set_allocator(<PyTypeObject *>kind)


def know(str text, uint64_t hash):
    """Put a word on a path."""
    data = text.encode()
    seam_know(data, len(data), hash)


def set_int(capsule, int value):
    """Set a module's C variable, found in its `__pyx_capi__`."""
    (<int *>PyCapsule_GetPointer(capsule, b"int"))[0] = value


def enter(int me):
    """Begin a call in thread `me`; 0 is the exploring code."""
    seam_enter(me)


def me():
    """The thread that runs."""
    return seam_me


def go_on(int me, bint made):
    """This thread goes on in Python code, after it has `made` a step there, or was given up."""
    seam_go_on(me, made)


def leave():
    """End the call."""
    seam_leave()


def take_back(Py_ssize_t mark, bint whole, bint undo=True):
    """Undo the changes since `mark`, or without `undo` keep them; `whole`: the execution has ended."""
    seam_take_back(mark, whole, undo)


def changes():
    """The number of changes that can be undone."""
    return seam_changes


def peek(size_t address):
    """The value of a slot."""
    return seam_peek(address)


def fault():
    """The rule that was broken since the last call, as a text; None if none was."""
    cdef const char *told = seam_fault_told()
    return None if told == NULL else (<bytes>told).decode()


def write_order(memory):
    """Write the thread of each access into this writable buffer, after their number in four bytes."""
    global _memory
    cdef unsigned char[::1] view = memory
    _memory = memory
    seam_write_order(&view[0], len(view))
