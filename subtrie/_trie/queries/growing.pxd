# C types for growing.py, and the bodies of its shortest functions.
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int32_t
from libc.string cimport memchr, memcmp

from subtrie._trie.branch cimport Branch
from subtrie._trie.packed_key cimport characters, packed_characters, text_of

cdef extern from "columns.h":
    ctypedef struct growing:
        char *data
        Py_ssize_t used

    void free_bytes "growing_free" (growing *g)
    int add_bytes_at "growing_add" (growing *g, const char *data, Py_ssize_t size) except -1
    int add_int "growing_add_int" (growing *g, int32_t number) except -1
    int add_characters "growing_add_text" (growing *g, characters c) except -1
    int growing_add_bit(growing *g, Py_ssize_t at, bint bit) except -1
    bint is_integer_text(characters c)
    characters characters_of(object string)
    bint flag_taken(char *flag)
    void flag_given(char *flag)

cdef struct text_column:
    growing offsets
    growing text

cdef struct bit_column:
    growing bits
    Py_ssize_t count
    Py_ssize_t clear

cdef struct place:
    Py_ssize_t end
    int32_t depth
    int32_t wildcards


cdef inline int add(growing *g, bytes text) except -1:
    return add_bytes_at(g, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef inline int add_part(growing *g, growing *other, Py_ssize_t start, Py_ssize_t end) except -1:
    return add_bytes_at(g, other.data + start, end - start)


cdef inline bint add_text(growing *g, object text) except -1:
    return add_characters(g, characters_of(text)) == 0


cdef inline bint is_empty(Branch branch) noexcept:
    return packed_characters(text_of(<PyObject *>branch)).length == 0


cdef inline bint reads_as_integer(object text) noexcept:
    return is_integer_text(characters_of(text))


cdef inline Py_ssize_t int_at(growing *g, Py_ssize_t at) noexcept:
    return (<const int32_t *>g.data)[at]


cdef inline Py_ssize_t ints_in(growing *g) noexcept:
    return g.used // <Py_ssize_t>sizeof(int32_t)


cdef inline void cut(growing *g, Py_ssize_t used) noexcept:
    g.used = used


cdef inline void cut_ints(growing *g, Py_ssize_t count) noexcept:
    g.used = count * <Py_ssize_t>sizeof(int32_t)


cdef inline int keep_place(growing *places, place *here) except -1:
    return add_bytes_at(places, <const char *>here, sizeof(place))


cdef inline void take_place(growing *places, place *here) noexcept:
    places.used -= sizeof(place)
    here[0] = (<place *>(places.data + places.used))[0]


cdef inline Py_ssize_t find(growing *g, Py_ssize_t start, bytes separator) noexcept:
    cdef const char *first = PyBytes_AS_STRING(separator)
    cdef Py_ssize_t step = PyBytes_GET_SIZE(separator)
    cdef const char *end = g.data + g.used
    cdef const char *found = g.data + start
    while True:
        found = <const char *>memchr(found, first[0], end - found)
        if found == NULL:
            return -1
        if step == 1 or (end - found >= step and memcmp(found, first, step) == 0):
            return found - g.data
        found += 1


cdef inline bint is_there(growing *g, Py_ssize_t start, Py_ssize_t end, bytes word) noexcept:
    return end - start == PyBytes_GET_SIZE(word) and memcmp(g.data + start, PyBytes_AS_STRING(word), end - start) == 0


cdef inline int add_bit(bit_column *column, bint bit) except -1:
    growing_add_bit(&column.bits, column.count, bit)
    column.count += 1
    column.clear += not bit
    return 0


cdef int add_number(growing *g, object number) except -1
cdef bint add_branch(growing *g, Branch branch, bint marked) except -1
cdef bytes taken(growing *g)
cdef tuple taken_bits(bit_column *column)
cdef void free_texts(text_column *column) noexcept
