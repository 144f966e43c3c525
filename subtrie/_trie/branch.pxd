# C types for branch.py.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._cnode cimport Gen, new_cnode
from ctrie._machine cimport flag_at, leaf_after, new_leaf
from ctrie._native cimport Borrowed, borrow, borrowed
from ctrie._nodes cimport Edit, INode, SNode, hash_of, new_inode, two_snodes, value_of
from subtrie._trie.groups cimport members_of, with_members
from subtrie._trie.packed_key cimport (
    TextNode, copy_key, drop_texts, key_begins, set_key, words_followed, words_followed_in,
)
from subtrie._trie.keyed cimport find_keyed, with_keyed, without_keyed
from subtrie._trie.subscribers cimport Entry, entry_alone, entry_of, may_be_tracked, new_sole

cdef class Branch(TextNode):
    cdef readonly INode next
    cdef readonly uint64_t alone

    cdef SNode with_level(self, INode level)
    @cython.locals(filter_edit=FilterEdit, branch=Branch)
    cdef SNode without_level(self, Edit edit, SNode last)


cdef class Chain(Branch):
    pass


# Views of borrowed branches, for callers that are pinned; see ctrie/_nodes.pxd.
cdef inline uint64_t sole_hash_of(Borrowed branch) noexcept nogil:
    return (<Branch>branch).alone


cdef inline Borrowed next_of(Borrowed branch) noexcept nogil:
    return <PyObject *>(<Branch>branch).next


@cython.locals(entry=Entry, branch=Branch)
cdef Branch branch_of(bint long, uint64_t hash, object subscribers, INode next)
cdef Branch new_branch(tuple words, str separator, uint64_t hash, object subscribers, INode next)
cdef Branch changed_branch(Branch branch, object subscribers, INode next)
cpdef object subscribers_of(Branch branch)
cpdef bint is_wanted(Branch branch) except -1
cpdef tuple words_in(Branch branch, str separator)


@cython.no_gc
@cython.freelist(8)
cdef class Place:
    cdef tuple words
    cdef tuple hashes
    cdef object group
    cdef object filter
    cdef object queue

    cdef tuple given(self)


@cython.no_gc
cdef class FilterEdit(Edit):
    cdef PyObject *plan
    cdef str separator
    cdef tuple words
    cdef tuple hashes
    cdef object group
    cdef Py_ssize_t attempts
    cdef bint crossed
    cdef bint crossed_group
    cdef Py_ssize_t depth
    cdef Py_ssize_t followed
    cdef bint parts
    cdef bint bare
    cdef bint bare_above
    cdef Entry present

    cdef object begin(self, object plan, str separator, tuple words, tuple hashes, object group)
    cdef object rewind(self)
    @cython.locals(branch=Branch)
    cdef bint same(self, SNode sn) except -1
    @cython.locals(branch=Branch)
    cdef INode below(self, SNode sn)
    cdef Borrowed level_passed(self, Borrowed sn) noexcept
    cdef object _follow(self, Branch branch)
    cdef object advance(self)
    cdef bint rolls_up(self) except -1
    cdef Branch _branch(self, Py_ssize_t start, Py_ssize_t stop, object subscribers, INode next)


@cython.no_gc
cdef class Subscribe(FilterEdit):
    cdef Entry entry

    cdef SNode create(self)
    @cython.locals(branch=Branch, present=Entry)
    cdef SNode change(self, SNode sn)
    @cython.locals(lower_hash=uint64_t)
    cdef Branch _parted(self, Branch branch, Py_ssize_t end)
    cdef Branch _path_from(self, Py_ssize_t depth)


@cython.no_gc
cdef class Unsubscribe(FilterEdit):
    cdef object subscriber
    cdef uint64_t subscriber_hash

    cdef SNode create(self)
    @cython.locals(branch=Branch, present=Entry)
    cdef SNode change(self, SNode sn)


cdef INode _level_of(SNode only, Gen gen)
@cython.locals(edit=Subscribe)
cdef Subscribe subscribe_edit(object plan, str separator, Place place, Entry entry)
@cython.locals(edit=Unsubscribe)
cdef Unsubscribe unsubscribe_edit(object plan, str separator, Place place, object subscriber, uint64_t hash)
