# C types for bulk.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._arrays cimport W, flag_at
from ctrie._cnode cimport Gen, MainNode, new_cnode
from ctrie._nodes cimport HASH_BITS, INode, new_inode, new_lnode, new_root, two_snodes
from subtrie._trie.branch cimport Branch, new_branch
from subtrie._trie.groups cimport members_of, with_members
from subtrie._trie.keyed cimport find_keyed, with_keyed
from subtrie._trie.subscribers cimport Entry, new_entry, subscriber_hash
from subtrie._trie.trie cimport SubscriptionTrie


cdef class Bulk:
    cdef SubscriptionTrie _trie
    cdef readonly Py_ssize_t rows
    cdef bint _from_below
    cdef Gen _gen
    cdef tuple _words
    cdef tuple _hashes
    cdef list _subscribers
    cdef list _open
    cdef list _waiting

    @cython.locals(trie=SubscriptionTrie, number=Py_ssize_t, first=Py_ssize_t, queues=bint, place=tuple, entry=Entry)
    cpdef object add(self, list filters, list subscribers, list options)
    @cython.locals(words=tuple, common=Py_ssize_t)
    cdef object _add(self, Py_ssize_t row, tuple place, Entry entry)
    @cython.locals(path=tuple, most=Py_ssize_t, common=Py_ssize_t)
    cdef Py_ssize_t _common(self, tuple words) except -1
    cdef object _follow(self, tuple words, tuple hashes, Py_ssize_t common)
    @cython.locals(end=Py_ssize_t)
    cdef object _join(self, Py_ssize_t row, tuple place, Entry entry)
    @cython.locals(words=tuple, separator=str, stop=Py_ssize_t, start=Py_ssize_t, word=Py_ssize_t, below=INode, level=dict)
    cdef object _close(self, Py_ssize_t depth)
    @cython.locals(finished=dict)
    cdef INode _level_at(self, Py_ssize_t depth)
    @cython.locals(top=list, entry=Entry, place=tuple)
    cdef object _finish(self)


@cython.locals(groups=list, only=Branch, branch=Branch, group=Py_ssize_t, array=list, held=list, bitmap=uint64_t)
cdef MainNode _main_of(list nodes, int lev, Gen gen)
@cython.locals(bulk=Bulk)
cpdef Bulk new_bulk(object dialect, bint exact)
