# C types for changeable.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._machine cimport EVERY, check_signals, release, release_items
from ctrie._edits cimport edit_trie
from ctrie._native cimport Borrowed
from ctrie._nodes cimport Edit, Pair, Root, clear_root, empty_root, freeze_root, root_of
from ctrie._tally cimport Tally, begin_change, begin_clear, end_change, end_clear, end_in_doubt, end_with_doubts
from subtrie._trie.branch cimport (
    Branch, Chain, FilterEdit, Subscribe, Unsubscribe, is_wanted, subscribe_edit, subscribers_of, unsubscribe_edit, words_in,
)
from subtrie._trie.duties cimport Duty
from subtrie._trie.groups cimport members_of
from subtrie._trie.interest cimport Notices
from subtrie._trie.keyed cimport find_keyed
from subtrie._trie.match.answer_cache cimport forget
from subtrie._trie.match.plan cimport Matchable, Plan, filter_path, plan_of
from subtrie._trie.filed cimport Filing
from subtrie._trie.queries.listing cimport branch_at
from subtrie._trie.reverse_index cimport ReverseIndex, new_filing
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
    cdef bint _storable
    cdef object __weakref__

    cdef object _check_branch(self, object branch)
    cdef bint _is_made(self) except -1
    cdef int _writable(self) except -1
    cdef tuple _path(self, object filter)
    cdef tuple _place(self, object filter, object queue)
    cdef tuple _place_filed(self, object key)
    cdef bint _is_plain(self) except -1
    @cython.locals(changed=Py_ssize_t, doubts=int)
    cdef Py_ssize_t _change_many(self, list filters, list subscribers, list options, bint strict, bint takes) except -1
    @cython.locals(changed=Py_ssize_t, column=list)
    cdef Py_ssize_t _change_columns(self, tuple columns, bint takes) except -1
    cdef tuple _checked(self, object subscription)
    cdef dict _checked_options(self, object filter, dict options)
    cdef Entry _entry(self, tuple place, object subscriber, uint64_t hash, dict options)
    cdef object _clear(self, Duty notice)
    @cython.locals(edit=Subscribe, plan=Borrowed, separator=str)
    cdef bint _put(self, tuple place, Entry entry) except -1
    @cython.locals(notice=Duty)
    cdef object _make(self, tuple place, FilterEdit edit)
    @cython.locals(adds=bint, in_doubt=bint)
    cdef object _make_counted(self, tuple place, FilterEdit edit, Duty notice)
    @cython.locals(entry=Entry, index=ReverseIndex)
    cdef object _put_filed(self, tuple place, Subscribe edit)
    @cython.locals(hash=uint64_t, filing=Filing, index=ReverseIndex, look=bint)
    cdef object _file_and_put(self, tuple place, Subscribe edit, object owner, Duty after)
    @cython.locals(edit=Unsubscribe, plan=Borrowed, separator=str)
    cdef bint _take(self, tuple place, object subscriber, uint64_t hash) except -1
    @cython.locals(hash=uint64_t, index=ReverseIndex)
    cdef object _take_filed(self, tuple place, Unsubscribe edit)
    @cython.locals(index=ReverseIndex)
    cdef object _take_and_strike(self, tuple place, object owner, uint64_t hash, Unsubscribe edit, Duty after)
    cdef bint _crosses(self, FilterEdit edit) except -1
    @cython.locals(retries=Py_ssize_t)
    cdef object _after(self, FilterEdit edit, Duty notice)
    @cython.locals(notices=Notices, raised=list)
    cdef object _tell(self, Duty notice)
    cdef object _note(self, FilterEdit edit, Duty notice, object raised)
    cdef object _count_retries(self, Py_ssize_t number)
    @cython.locals(pair=Pair)
    cdef object _withdraw(self, tuple place, object subscriber, uint64_t hash, Edit edit)
    @cython.locals(index=ReverseIndex)
    cdef object _withdraw_all(self)
    cdef object _clear_filings(self, Duty after)
    cdef object _catch_up(self)
    cdef object _take_all(self, object found, object subscriber, uint64_t hash)
    @cython.locals(hash=uint64_t)
    cdef object _spelled_for(self, object subscriber)
    @cython.locals(root=Root)
    cdef list _spelled_filed(self, object subscriber, uint64_t hash)
    @cython.locals(pair=Pair)
    cdef object _filed(self, object subscriber, uint64_t hash)
    cdef object _check_index(self)


cdef Entry _entry_at(Root root, str separator, tuple place, object subscriber, uint64_t hash, Edit edit)
cdef tuple _plain_place(tuple place)
cdef object _filing_key(tuple place)
