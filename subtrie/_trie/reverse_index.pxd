# C types for reverse_index.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._descent cimport find
from ctrie._memory cimport untrack
from ctrie._native cimport Slot, compare_and_set, initialise, load
from ctrie._edits cimport edit_trie
from ctrie._nodes cimport Edit, Pair, Root, Rooted, SNode, empty_root, freeze_root, new_pair, root_of
from subtrie._trie.keyed cimport Keyed, find_keyed, with_keyed, without_keyed
from subtrie._trie.subscribers cimport subscriber_hash

cdef object PENDING, TOUCHED, SETTLED


cdef class Filing(Keyed):
    cdef Slot state


@cython.no_gc
cdef class IndexEdit(Edit):
    cdef object subscriber
    cdef object equal
    cdef Filing filing
    cdef bint strike

    @cython.locals(pair=Pair)
    cdef bint same(self, SNode sn) except -1
    cdef SNode create(self)
    @cython.locals(filing=Filing, pair=Pair, present=Keyed)
    cdef SNode change(self, SNode sn)


cdef class Index(Rooted):
    cdef readonly object left

    cpdef object owner_of(self, object subscriber, uint64_t hash)
    cdef Filing file(self, object subscriber, uint64_t hash, object key)
    @cython.locals(sn=SNode)
    cpdef Filing find_filing(self, object owner, uint64_t hash, object key)
    @cython.locals(sn=SNode)
    cdef object filings(self, object subscriber, uint64_t hash)
    @cython.locals(present=Filing)
    cdef bint settle(self, object subscriber, uint64_t hash, Filing filing) except -1
    @cython.locals(filing=Filing)
    cdef Filing to_strike(self, object owner, uint64_t hash, object key)
    cdef object strike(self, object owner, uint64_t hash, Filing filing)
    @cython.locals(edit=IndexEdit)
    cdef object _edit(self, object subscriber, uint64_t hash, Filing filing, bint strike, object equal)


@cython.locals(index=Index)
cdef Index new_index()
@cython.locals(filing=Filing, state=Slot)
cdef Filing _new_filing(object key)
cdef bint _settle(Filing filing) except -1
cdef bint _is_settled(Filing filing) except -1
