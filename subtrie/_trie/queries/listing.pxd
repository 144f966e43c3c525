# C types for listing.py.
cimport cython

from ctrie._nodes cimport INode, Root, branches, compare_next, rdcss_read_root
from ctrie._signals cimport EVERY, check_signals
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

@cython.locals(level=INode, depth=Py_ssize_t, taken=Py_ssize_t, branch=Branch)
cpdef Branch branch_at(Root root, tuple words, tuple hashes, str separator)
cdef str _text(object dialect, object group, tuple words)
cdef object _subscription(str filter, object entry)
@cython.locals(rows=list, place=Py_ssize_t, step=tuple, before=Entry, after=Entry, words=tuple, plain=bint, text=str)
cdef list _rows_of(list steps, Py_ssize_t start, Py_ssize_t end, object dialect, str separator)
cdef object _changed_sets(object old, object new)
cdef list _as_list(object members)
@cython.locals(steps=list, left=list, removed=bint, added=bint, branch=Branch)
cdef list _steps_of_level(Root older, Root newer, str separator, list pairs)
@cython.locals(left=list, found=list, stack=list, both=tuple, one=Branch, other=Branch)
cdef list _compared(
    Root older, Root newer, INode old_level, INode new_level, object path, list pairs, list steps
)
cdef object _add_words(object found, object path, list pairs, list steps)
cdef bint _are_same_options(object before, object after) except -1
cdef bint _are_same(object before, object after) except -1
