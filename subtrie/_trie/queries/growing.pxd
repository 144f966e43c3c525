# C types for growing.py, and the bodies of its shortest functions.
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int32_t

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
    bint set_flag(char *flag)
    void clear_flag(char *flag)

cdef struct text_column:
    growing offsets
    growing text

cdef struct bit_column:
    growing bits
    Py_ssize_t count
    Py_ssize_t clear


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


cdef inline void cut(growing *g, Py_ssize_t used) noexcept:
    g.used = used


cdef inline int32_t pop_int(growing *g) noexcept:
    g.used -= sizeof(int32_t)
    return (<int32_t *>(g.data + g.used))[0]


cdef inline int add_bit(bit_column *column, bint bit) except -1:
    growing_add_bit(&column.bits, column.count, bit)
    column.count += 1
    column.clear += not bit
    return 0


cdef int add_number(growing *g, object number) except -1
cdef bint add_branch(growing *g, Branch branch, bint marked) except -1
cdef bytes drained(growing *g)
cdef tuple drained_bits(bit_column *column)
cdef void free_texts(text_column *column) noexcept
