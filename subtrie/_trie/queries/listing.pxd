# C types for listing.py.
cimport cython

from ctrie._nodes cimport INode, Root, branches, rdcss_read_root
from subtrie._trie.branch cimport Chain, is_wanted, subscribers_of, words_in
from subtrie._trie.match.deliveries cimport new_told
from subtrie._trie.match.reading cimport extended
from subtrie._trie.packed_key cimport words_followed
from subtrie._trie.groups cimport Shared
from subtrie._trie.keyed cimport find_keyed
from subtrie._trie.subscribers cimport Entry, Excepting, living
from subtrie._trie.words cimport MARKED


@cython.locals(excepting=Excepting)
cdef bint _leaves(object dialect, tuple texts, tuple given, Entry entry) except -1
