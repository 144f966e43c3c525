# C types for reverse_index.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._descent cimport find
from ctrie._machine cimport untrack, untrack_constant
from ctrie._native cimport Slot, compare_and_set, initialise, load
from ctrie._edits cimport edit_trie
from ctrie._nodes cimport Edit, Pair, Root, Rooted, SNode, empty_root, freeze_root, mix, new_pair, root_of
from subtrie._trie.duties cimport Duties
from subtrie._trie.keyed cimport Keyed, find_keyed, with_keyed, without_keyed

cdef object PENDING, TOUCHED, CONFIRMED


cdef class Filing(Keyed):
    cdef Slot state
    cdef tuple others


@cython.no_gc
cdef class IndexEdit(Edit):
    cdef object subscriber
    cdef object equal
    cdef object key
    cdef bint done

    @cython.locals(pair=Pair)
    cdef bint same(self, SNode sn) except -1
    cdef SNode create(self)


@cython.no_gc
cdef class File(IndexEdit):
    cdef Filing filing

    cdef SNode create(self)
    @cython.locals(pair=Pair)
    cdef SNode change(self, SNode sn)


@cython.no_gc
cdef class Confirm(IndexEdit):
    @cython.locals(pair=Pair)
    cdef SNode change(self, SNode sn)


@cython.no_gc
cdef class Strike(IndexEdit):
    cdef Pair expected

    @cython.locals(pair=Pair)
    cdef SNode change(self, SNode sn)


cdef class ReverseIndex(Rooted):
    cdef readonly Duties left

    cpdef object owner_of(self, object subscriber, uint64_t hash)
    @cython.locals(edit=File)
    cdef object file(self, object subscriber, uint64_t hash, Filing filing)
    cpdef object find_member(self, object owner, uint64_t hash, object key)
    cdef Pair pair_of(self, object subscriber, uint64_t hash)
    cdef bint confirm(self, object subscriber, uint64_t hash, Filing filing) except -1
    @cython.locals(edit=Confirm)
    cdef bint _put_key(self, object owner, uint64_t hash, object key) except -1
    @cython.locals(filing=Filing)
    cdef Pair to_strike(self, object owner, uint64_t hash, object key)
    @cython.locals(edit=Strike)
    cdef bint strike(self, object owner, uint64_t hash, object key, Pair expected) except -1
    cdef object _edit(self, IndexEdit edit, object subscriber, uint64_t hash, object key, object equal)


@cython.locals(index=ReverseIndex)
cdef ReverseIndex new_index()
@cython.locals(filing=Filing, state=Slot)
cdef Filing new_filing(object key)
@cython.locals(filing=Filing)
cdef tuple filings_of(object member)
@cython.locals(member=Keyed)
cpdef Keyed settled(object key)
cdef bint _is_confirmed(Filing filing) except -1
cdef object _members(object filed)
cdef object _filed(object members)
cpdef object find_filed(object filed, object key)
cpdef object with_filed(object filed, Keyed member)
cpdef object without_filed(object filed, object key)
