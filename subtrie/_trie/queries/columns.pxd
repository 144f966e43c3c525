# C types for columns.py.
cimport cython
from cpython.object cimport PyObject

from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._descent cimport prefetch_node
from ctrie._machine cimport popcount
from ctrie._native cimport Borrowed, Py_None, borrow, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode, Root, branches, rdcss_read_root, value_of
from subtrie._trie.branch cimport Branch, next_of
from subtrie._trie.groups cimport Shared, members_of
from subtrie._trie.packed_key cimport packed_is_here, text_of
from subtrie._trie.queries.buffers cimport GrowingRows, new_rows
from subtrie._trie.keyed cimport branches_of, key_in
from subtrie._trie.subscribers cimport Entry, Sole, entry_alone, subscriber_in

cdef extern from *:
    """
    static inline void prefetch_branch(PyObject *branch)
    {
        __builtin_prefetch(branch);
        __builtin_prefetch((char *)branch + 64);
    }
    #define prefetch_keys(dict) __builtin_prefetch(((PyDictObject *)dict)->ma_keys)
    """
    void prefetch_branch(PyObject *branch)
    void prefetch_keys(PyObject *dict)

cdef object Held        # asked for each row; a global of the module would be counted each time

cdef enum:
    AHEAD = 64
    INODES = 8


cdef inline void prefetch_value(Borrowed branch) noexcept:
    if not packed_is_here(text_of(branch)):
        prefetch_node((<Borrowed *>text_of(branch))[0])
    prefetch_node(value_of(branch))
    prefetch_node(next_of(branch))


cdef inline void prefetch_entry(Borrowed branch) noexcept:
    cdef Borrowed value = value_of(branch)
    if is_exactly(value, Entry):
        prefetch_node(key_in(value))
        prefetch_node(<Borrowed>(<Entry>value).options)
    elif is_exactly(value, Sole):
        prefetch_node(subscriber_in(value))
        prefetch_node(<Borrowed>(<Sole>value).options)


cdef inline void prefetch_options(Borrowed branch) noexcept:
    cdef Borrowed value = value_of(branch)
    if is_exactly(value, Entry) and <Borrowed>(<Entry>value).options != Py_None:
        prefetch_keys(<Borrowed>(<Entry>value).options)
    elif is_exactly(value, Sole):
        prefetch_keys(<Borrowed>(<Sole>value).options)


cdef class SetColumns:
    cdef Root _root
    cdef list _nodes
    cdef readonly GrowingRows rows

    cpdef bint fill(self, Py_ssize_t rows, Py_ssize_t text) except -1
    @cython.locals(each=INode)
    cdef object _level(self, INode inode)
    cdef object _branch(self, Branch branch)
    @cython.locals(entry=Entry)
    cdef object _members(self, object group, object members)
    cdef object _row(self, object group, object subscriber, dict options)


cdef int _prefetch_branches(Borrowed main) except -1
@cython.locals(columns=SetColumns)
cpdef SetColumns set_columns(Root root, object dialect, object texts, bint ask)
