# C types for _ctrie.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._bulk cimport fill_root
from ctrie._descent cimport (
    ADDED, GROUP, NoValue, THERE, UNDONE, find, find_value, is_there, prefetch_paths, prefetch_text, prefetch_walk,
    put_quickly,
)
from ctrie._edits cimport edit_trie
from ctrie._machine cimport EVERY, check_signals, check_stack, release
from ctrie._native cimport Slot, borrow, compare_and_set, initialise, load
from ctrie._nodes cimport (
    Edit, Pair, Root, Rooted, SNode, branches, clear_root, empty_root, first_snode, fork_root, freeze_root, is_empty, mix,
    new_pair, rdcss_read_root, root_of,
)
from ctrie._tally cimport (
    Tally, approximate_length, begin_change, begin_clear, end_change, end_clear, end_in_doubt, length, read, taken_over,
)


cdef int PUT, PUT_IF_ABSENT, REPLACE, REPLACE_SAME, REMOVE, REMOVE_SAME, MOST_ATTEMPTS
cdef Py_ssize_t BLOCK
cdef int KEYS, VALUES, PAIRS
cdef object _ABSENT, _MASK64
cdef Root _UNMADE


@cython.no_gc
cdef class MapEdit(Edit):
    cdef object key
    cdef object value
    cdef int mode
    cdef SNode expected
    cdef object equal

    @cython.locals(pair=Pair)
    cdef bint same(self, SNode sn) except -1
    cdef SNode create(self)
    @cython.locals(pair=Pair)
    cdef SNode change(self, SNode sn)


@cython.collection_type("mapping")
cdef class Ctrie(Rooted):
    cdef object _hash
    cdef object _equal
    cdef Slot _creations
    cdef object __weakref__

    cdef uint64_t _hash_of(self, object key) except? 0
    cdef uint64_t _own_hash_of(self, object key) except? 0
    cdef bint _is_made(self) except -1
    cdef int _writable(self) except -1
    @cython.locals(mapping=dict, number=Py_ssize_t)
    cdef bint _fill(self, object given) except -1
    cdef int _put(self, object key, object value) except -1
    cdef object _put_if_absent(self, object key, object value, object default)
    cdef bint _fill_root(self, list pairs) except -1
    cdef SNode _edit(self, int mode, object key, object value, SNode expected)
    cdef SNode _edit_hashed(self, int mode, object key, uint64_t hash, object value, SNode expected)
    @cython.locals(edit=MapEdit)
    cdef MapEdit _map_edit(self, int mode, object key, uint64_t hash, object value, SNode expected)
    cdef bint _edit_if(self, int mode, object key, object old, object new) except -1
    cdef Root _creations_root(self)
    cdef object _take_back(self, Root making, int mode, object key, uint64_t hash, SNode announced)
    cdef list _get_all(self, list keys, object default)
    @cython.locals(hashes=uint64_t[16])
    cdef int _get_group(self, list keys, Py_ssize_t start, object default, list answers) except -1
    cdef Ctrie _with_content(self, Root root, Tally tally)
    @cython.locals(other=Ctrie)
    cdef Ctrie _with_root(self, Root root)


cpdef Py_ssize_t _number(Ctrie trie) except -1
cdef bint compares_as(Ctrie one, Ctrie other) except -1
@cython.locals(remade=Ctrie)
cpdef Ctrie _remade(object cls, object hash, object equal)
cdef int _more(int mode, SNode found, SNode expected) noexcept
