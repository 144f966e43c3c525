# C types for changeable.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._machine cimport EVERY, check_signals, release, release_items
from ctrie._edits cimport edit_trie
from ctrie._nodes cimport Edit, Root, clear_root, empty_root, freeze_root, root_of
from ctrie._tally cimport Tally, begin_change, begin_clear, end_change, end_clear, end_in_doubt, end_with_doubts
from subtrie._trie.branch cimport (
    Branch, Chain, FilterEdit, Place, Subscribe, Unsubscribe, is_wanted, subscribe_edit, subscribers_of, unsubscribe_edit, words_in,
)
from subtrie._trie.duties cimport Duty
from subtrie._trie.groups cimport members_of
from subtrie._trie.interest cimport Notices
from subtrie._trie.keyed cimport find_keyed
from subtrie._trie.match.answer_cache cimport forget
from subtrie._trie.match.plan cimport Matchable, Plan, filter_path, is_plain_filter, plan_of
from subtrie._trie.filling cimport NOT_FILLED, fill_empty, is_empty, new_row
from subtrie._trie.queries.listing cimport branch_at
from subtrie._trie.reverse_index cimport Filing, ReverseIndex, new_filing
from subtrie._trie.subscribers cimport Entry, checked_entry, subscriber_hash

cdef Root _UNMADE
cdef Plan _UNMADE_PLAN


cdef class Changeable(Matchable):
    cdef readonly object dialect
    cdef ReverseIndex _index
    cdef Notices _notices
    cdef object _retries
    cdef object _taken_at
    cdef object _name
    cdef object __weakref__

    cdef object _check_branch(self, object branch)
    cdef bint _is_made(self) except -1
    cdef int _writable(self) except -1
    cdef tuple _path(self, object filter)
    @cython.locals(words=tuple, hashes=tuple, place=Place)
    cdef Place _place(self, object filter, object queue)
    cdef Place _place_with(self, object filter, dict options)
    cdef Place _place_filed(self, object key)
    @cython.locals(own=dict, plain=bint, place=Place)
    cdef Py_ssize_t _change_many(self, list filters, list subscribers, list options, bint strict, bint removes) except -1
    cdef Py_ssize_t _change_each(
        self, list filters, list subscribers, list options, list checked, bint strict, bint removes
    ) except -1
    @cython.locals(doubts=int, filled=bint)
    cdef Py_ssize_t _fill(self, list rows, list filters, bint strict) except -2
    cdef dict _checked_options(self, object filter, dict options)
    cdef Entry _entry(self, Place place, object subscriber, uint64_t hash, dict options)
    cdef bint _put(self, Place place, Entry entry) except -1
    cdef object _make(self, Place place, FilterEdit edit)
    cdef object _put_filed(self, Place place, Subscribe edit)
    cdef bint _remove(self, Place place, object subscriber, uint64_t hash) except -1
    cdef object _remove_filed(self, Place place, Unsubscribe edit)
    cdef object _settle(self, Duty after, Edit edit, bint is_there)
    @cython.locals(place=Place, filing=Filing, touched=bint, hash=uint64_t)
    cdef object _finish(self, Duty duty, Edit edit, bint is_there)
    cdef bint _crosses(self, FilterEdit edit) except -1
    cdef object _after(self, FilterEdit edit, Duty notice)
    cdef object _tell(self, Duty notice)
    cdef object _count_retries(self, Py_ssize_t number)
    cdef object _withdraw(self, Place place, object subscriber, uint64_t hash, Edit edit)
    cdef object _withdraw_all(self)
    cdef object _catch_up(self)
    cdef object _remove_all(self, object found, object subscriber, uint64_t hash)
    cdef object _spelled_for(self, object subscriber)
    @cython.locals(root=Root)
    cdef list _spelled_filed(self, object subscriber, uint64_t hash)
    cdef object _filed(self, object subscriber, uint64_t hash)
    cdef object _check_index(self)


cdef Entry _entry_at(Root root, str separator, Place place, object subscriber, uint64_t hash, Edit edit)
cdef object _filing_key(Place place)
