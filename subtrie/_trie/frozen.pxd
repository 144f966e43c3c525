# C types for frozen.py.
cimport cython

from ctrie._cnode cimport MainNode
from ctrie._native cimport Borrowed
from ctrie._nodes cimport Root, Rooted


@cython.locals(first=Borrowed, main=Borrowed, kept=MainNode, root=Root)
cdef MainNode main_for_good(Rooted trie)
@cython.locals(i=Py_ssize_t, node=Borrowed)
cdef bint _leads_to_none_of(Borrowed main, Borrowed gen) noexcept
cdef Root root_over(MainNode main)
cpdef Root frozen_root(Rooted trie)
