# C types for _ctrie.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._stack cimport check_stack
from ctrie._bulk cimport fill_root
from ctrie._descent cimport (
    ADDED, Absent, GROUP, THERE, UNDONE, find, find_value, is_there, prefetch_text, put_quickly, warm,
    warm_all,
)
from ctrie._native cimport Slot, borrow, compare_and_set, initialise, load
from ctrie._edits cimport edit_trie
from ctrie._nodes cimport (
    Edit, INode, Pair, Root, Rooted, SNode, branches, clear_root, empty_root, first_snode, fork_root,
    freeze_root, is_empty, mix, new_pair, rdcss_read_root, root_of,
)
from ctrie._release cimport release, release_items
from ctrie._signals cimport EVERY, check_signals
from ctrie._tally cimport Tally, begin_change, begin_clear, doubt, end_change, end_clear, known, read, taken_over
cdef extern from "watch.h":
    bint is_watching "ctrie_is_watching" ()
    void watch_more "ctrie_watch" (int more)


cdef Py_ssize_t BLOCK
cdef int KEYS, VALUES, PAIRS
cdef int PUT, PUT_IF_ABSENT, REPLACE, REPLACE_SAME, REMOVE, REMOVE_SAME
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
    @cython.locals(mode=int, pair=Pair)
    cdef SNode change(self, SNode sn)


@cython.collection_type("mapping")
cdef class Ctrie(Rooted):
    cdef object _hash
    cdef object _equal
    cdef Slot _creations
    cdef object __weakref__

    cdef uint64_t _hash_of(self, object key) except? 0
    cdef object _writable(self)
    @cython.locals(answers=list, block=list, start=Py_ssize_t, at=Py_ssize_t)
    cdef list _get_all(self, list keys, object default)
    @cython.locals(hashes=uint64_t[16], count=Py_ssize_t, i=Py_ssize_t)
    cdef int _get_group(self, list keys, Py_ssize_t start, object default, list answers) except -1
    @cython.locals(found=list, mapping=dict, number=Py_ssize_t)
    cdef bint _fill(self, object given) except -1
    @cython.locals(hash=uint64_t)
    cdef int _put(self, object key, object value) except -1
    @cython.locals(hash=uint64_t, outcome=int)
    cdef object _put_if_absent(self, object key, object value, object default)
    @cython.locals(outcome=int)
    cdef int _put_quickly(self, object key, uint64_t hash, object value, bint only_new) except -1
    @cython.locals(stored=bint, number=Py_ssize_t)
    cdef bint _fill_root(self, list pairs, bint distinct) except -1
    cdef SNode _edit(self, int mode, object key, object value, SNode expected)
    @cython.locals(edit=MapEdit, found=SNode, more=int)
    cdef SNode _edit_hashed(self, int mode, object key, uint64_t hash, object value, SNode expected)
    cdef object _watch_on(self, object watch, str operation, object key, uint64_t hash)
    @cython.locals(edit=MapEdit)
    cdef MapEdit _map_edit(self, int mode, object key, uint64_t hash, object value, SNode expected)
    @cython.locals(hash=uint64_t, sn=SNode)
    cdef bint _edit_if(self, int mode, object key, object old, object new) except -1
    cdef Root _creations_root(self)
    @cython.locals(edit=MapEdit)
    cdef object _take_back(self, Root making, int mode, object key, uint64_t hash, SNode announced)
    @cython.locals(other=Ctrie)
    cdef Ctrie _with_content(self, Root root, Tally tally)
    @cython.locals(other=Ctrie)
    cdef Ctrie _with_root(self, Root root)

@cython.locals(count=Py_ssize_t, root=Root, stack=list)
cpdef Py_ssize_t _number(Ctrie trie) except -1
cdef Root _frozen(Ctrie trie)
cdef bint _has_changed(int mode, SNode found, SNode expected) noexcept
cdef int _more(int mode, SNode found, SNode expected) noexcept
cdef bint _compares_as(Ctrie one, Ctrie other) except -1
@cython.locals(remade=Ctrie)
cpdef Ctrie _remade(object cls, object hash, object equal)
