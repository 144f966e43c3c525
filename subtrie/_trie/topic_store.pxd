# C types for topic_store.py.
cimport cython

from cpython.object cimport PyObject

from ctrie._machine cimport release
from ctrie._native cimport Borrowed
from ctrie._nodes cimport Root, clear_root, empty_root, fork_root, freeze_root
from ctrie._tally cimport Tally, approximate_length, begin_clear, end_clear, length, read, taken_over
from subtrie._trie.branch cimport Branch
from subtrie._trie.frozen cimport frozen_root
from subtrie._trie.lookup cimport find_in_place
from subtrie._trie.match.plan cimport Matchable, Plan, path_by
from subtrie._trie.match.topic_rules cimport TopicRules, topic_in_place, topic_path
from subtrie._trie.match.walk cimport Traversal
from subtrie._trie.queries.topics_matching cimport topics_along
from subtrie._trie.topic_edits cimport put_topic, remove_topic
from subtrie._trie.words cimport MANY_WORDS, ONE_WORD

cdef Root _UNMADE
cdef Plan _UNMADE_PLAN
cdef TopicRules _UNMADE_RULES


cdef class TopicStore(Matchable):
    cdef readonly object dialect
    cdef readonly object max_age
    cdef readonly object max_topics
    cdef object _as_of
    cdef object _room
    cdef object _ahead
    cdef TopicRules _rules
    cdef Plan _asked_by
    cdef object __weakref__

    cdef object _begin(self, object dialect, Root root)
    cdef object _writable(self)
    cdef bint _is_there(self, object entry) except -1
    cdef tuple _entry(self, str topic, object value, object stored_at=*, object after=*, object expires=*)
    cdef object _not_before(self, object at, object running, object jitter)
    cdef object _put(self, tuple words, tuple hashes, object entry)
    cdef object _remove(self, tuple words, tuple hashes, object expected)
    cdef object _clock(self)
    cdef object _count_more(self)
    cdef bint _is_counted(self) except -1
    cdef object _add_room(self, object more)
    @cython.locals(topic_words=Traversal, words=tuple, hashes=tuple, branch=Branch)
    cdef object _found(self, object topic)
    cdef tuple _path(self, object topic)
    @cython.locals(other=TopicStore)
    cdef TopicStore _with_content(self, Root root, Tally tally)


cdef inline Borrowed rules_of(TopicStore store) noexcept:
    return <PyObject *>store._rules


cdef Root _frozen(TopicStore store)
@cython.locals(store=TopicStore, frozen=TopicStore)
cpdef object _restored(object kind, object dialect, object entries, bint readonly, object limits)
