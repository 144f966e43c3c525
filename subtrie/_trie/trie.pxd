# C types for trie.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._machine cimport own_methods
from ctrie._native cimport borrow
from ctrie._nodes cimport Root, empty_root, fork_root, freeze_root
from ctrie._tally cimport Tally, approximate_length, length, read, taken_over
from subtrie._trie.branch cimport Branch, is_wanted, subscribers_of
from subtrie._trie.changeable cimport Changeable
from subtrie._trie.choosing cimport new_choice
from subtrie._trie.frozen cimport frozen_root
from subtrie._trie.groups cimport is_member, members_of
from subtrie._trie.match cimport batches, matching
from subtrie._trie.match.answer_cache cimport counts as cache_counts, new_cache
from subtrie._trie.match.deliveries cimport check_merge, merged
from subtrie._trie.match.plan cimport Plan, filter_path, plan_of, split_filter_in_place
from subtrie._trie.match.walk cimport Traversal
from subtrie._trie.reverse_index cimport new_index
from subtrie._trie.lookup cimport find_in_place
from subtrie._trie.subscribers cimport Entry, Sole, living, subscriber_hash


cdef class SubscriptionTrie(Changeable):
    cdef tuple _both(self, object older)
    @cython.locals(trie=SubscriptionTrie)
    cdef Root _present(self)
    @cython.locals(branch=Branch, wanted=bint)
    cdef object _spelled_at(self, object filter, object subscriber)
    @cython.locals(branch=Branch)
    cdef tuple _audience_of(self, object filter)
    @cython.locals(filter_words=Traversal)
    cdef bint _has(self, object filter, object subscriber) except -1
    cdef bint _is_among(self, Branch branch, object group, object subscriber, uint64_t hash) except -1
    @cython.locals(other=SubscriptionTrie)
    cdef SubscriptionTrie _with_content(self, Root root, Tally tally)


cdef dict _content(SubscriptionTrie trie)
@cython.locals(snapshot=SubscriptionTrie)
cdef SubscriptionTrie _snapshot_of(SubscriptionTrie trie, tuple instant)
