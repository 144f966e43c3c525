# C types for frozen.py.
cimport cython

from ctrie._cnode cimport Gen, MainNode, bitmap_of, child_at
from ctrie._machine cimport popcount
from ctrie._native cimport Borrowed, borrow, borrowed, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode, Root, Rooted, freeze_root, gen_of, new_inode, new_root, root_of
from subtrie._trie.branch cimport next_of


@cython.locals(kept=MainNode)
cpdef Root frozen_root(Rooted trie)
cdef bint _leads_to_none_of(Borrowed main, Borrowed gen) noexcept
