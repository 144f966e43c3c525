# C types for own_first.py.
from subtrie._trie.branch cimport is_wanted, subscribers_of
from subtrie._trie.frozen cimport frozen_root
from subtrie._trie.groups cimport Shared
from subtrie._trie.match.plan cimport Matchable, filter_path
from subtrie._trie.match.questions cimport taken_at
from subtrie._trie.words cimport MANY_WORDS, ONE_WORD

cdef object Dialect     # a global of the module would be counted, as one that all threads have

cpdef object match_iter(Matchable trie, object topic)
cdef tuple _own_path(Matchable trie, object topic)
cdef list _found(Matchable trie, object root, object topic, object words)
