# C types for listing.py.
cimport cython

from ctrie._machine cimport EVERY, check_signals, release_items
from ctrie._nodes cimport INode, Root, branches, compare_next, rdcss_read_root
from subtrie._trie.branch cimport Branch, Chain, is_wanted, subscribers_of, words_in
from subtrie._trie.match.deliveries cimport new_told
from subtrie._trie.match.reading cimport branch_in, extended, words_of
from subtrie._trie.packed_key cimport words_followed
from subtrie._trie.groups cimport Shared
from subtrie._trie.keyed cimport SetNode, changed_listed, find_keyed
from subtrie._trie.subscribers cimport Entry, Excepting, living
from subtrie._trie.words cimport MARKED


@cython.locals(excepting=Excepting)
cdef bint _leaves(object dialect, tuple texts, tuple given, Entry entry) except -1

cpdef Branch branch_at(Root root, tuple words, tuple hashes, str separator)
cdef object _audience(Branch branch)
cdef str _text(object dialect, object group, tuple words)
cdef object _subscription(str filter, object entry)
@cython.locals(before=Entry, after=Entry, plain=bint)
cdef object _add_rows(list rows, object path, object found, object dialect, str separator)
cdef object _changed_sets(object old, object new)
cdef list _as_list(object members)
@cython.locals(both=tuple, one=Branch, other=Branch)
cdef list _compare_some(Root older, Root newer, list stack, object path, list pairs, list left)
@cython.locals(removed=bint, added=bint)
cdef bint _is_of_both_sides(list left) except -1
@cython.locals(branch=Branch)
cdef list _of_one_side(list left, Py_ssize_t start, Py_ssize_t end, object path, list pairs)
cdef list _of_words(object found, object path, list pairs)
cdef bint _are_same_options(object before, object after) except -1
cdef bint _are_same(object before, object after) except -1
