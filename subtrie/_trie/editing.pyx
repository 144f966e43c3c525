"""The compiled body of editing.py, which is the text to read.

A change goes down from the root, and on free-threaded builds it would count a reference to every node on its way: to
those near the root all writers would write at once. So the first attempt begins with borrowed pointers, under a pin
(ctrie/c/epoch.h), and takes references where it gets to. It passes what `_attempt` in ctrie/_nodes.py would pass without
a change: I-nodes of the root's generation with nothing pending, and branches that all of the filter's next words lead
through. At anything else it stops, and what is to be done there is done by that text. The plan and the root are borrowed
from the trie.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from ctrie._arrays cimport W, flag_at, popcount
from ctrie._cnode cimport CTRIE_BITMAP, CTRIE_CHILD, CNode
from ctrie._native cimport CTRIE_IS, CTRIE_SLOT, Py_None, pin, slot_read, unpin
from ctrie._nodes cimport CTRIE_GEN, CTRIE_HASH, CTRIE_VALUE, INode, MainNode, Root, edit_trie
from subtrie._trie.branch cimport SUBTRIE_ALONE, SUBTRIE_NEXT, subscribe_edit, unsubscribe_edit
from subtrie._trie.match.questions cimport Plan
from subtrie._trie.packed_key cimport SUBTRIE_TEXT, packed_text

cdef extern from "packed_key.h":
    Py_ssize_t packed_followed(const packed_text *text, tuple words, Py_ssize_t start, str separator)

cdef PyTypeObject *INODE = <PyTypeObject *>INode
cdef PyTypeObject *CNODE = <PyTypeObject *>CNode

cdef struct Place:          # where a descent stands, all borrowed; the fields of an Edit
    PyObject *inode
    int lev
    uint64_t hash
    PyObject *parent
    PyObject *parent_main
    int parent_lev
    uint64_t parent_hash
    Py_ssize_t depth
    bint bare_above


cdef Subscribe new_subscribe(Matchable trie, tuple words, tuple hashes, object group, Entry entry):
    cdef PyObject *plan = <PyObject *>trie._plan
    return subscribe_edit(<object>plan, (<Plan>plan).separator, words, hashes, group, entry)


cdef Unsubscribe new_unsubscribe(
    Matchable trie, tuple words, tuple hashes, object group, object subscriber, uint64_t hash
):
    cdef PyObject *plan = <PyObject *>trie._plan
    return unsubscribe_edit(<object>plan, (<Plan>plan).separator, words, hashes, group, subscriber, hash)


cdef SNode edit_filter(Matchable trie, FilterEdit edit):
    cdef PyObject *root = <PyObject *>trie._root
    return edit_trie(<Root>root, edit, _approach(root, edit))


cdef bint _approach(PyObject *root, FilterEdit edit) except -1:
    """Let the edit stand as near to its filter's end as it comes without a change. False: it does not stand anywhere."""
    cdef Place at
    cdef INode inode, parent
    cdef MainNode parent_main
    at.hash = edit.hashes[0]
    pin()
    at.inode = slot_read(CTRIE_SLOT(root))
    if not CTRIE_IS(at.inode, INODE):
        unpin()
        return False
    at.lev = 0
    at.parent = at.parent_main = NULL
    at.parent_lev = 0
    at.parent_hash = 0
    at.depth = 0
    at.bare_above = False
    while _step(&at, edit):
        pass
    inode = <INode>at.inode
    parent = None if at.parent == NULL else <INode>at.parent
    parent_main = None if at.parent == NULL else <MainNode>at.parent_main
    unpin()
    edit.rewind()
    edit.inode = inode
    edit.lev = at.lev
    edit.hash = at.hash
    edit.parent = parent
    edit.parent_main = parent_main
    edit.parent_lev = at.parent_lev
    edit.parent_hash = at.parent_hash
    edit.depth = at.depth
    edit.bare_above = at.bare_above
    return True


cdef inline bint _step(Place *at, FilterEdit edit) noexcept:
    """Go on to the next I-node, as `_enter` and `advance` do; False, and nowhere, where that is not to be told here."""
    cdef PyObject *main = slot_read(CTRIE_SLOT(at.inode))
    cdef PyObject *branch
    cdef PyObject *next
    cdef uint64_t bitmap, flag
    cdef Py_ssize_t taken
    if not CTRIE_IS(main, CNODE) or slot_read(CTRIE_SLOT(main)) != Py_None:
        return False
    bitmap = CTRIE_BITMAP(main)
    flag = flag_at(at.hash, at.lev)
    if not bitmap & flag:
        return False
    branch = CTRIE_CHILD(main, popcount(bitmap & (flag - 1)))
    if CTRIE_IS(branch, INODE):
        if CTRIE_GEN(branch) != CTRIE_GEN(at.inode):
            return False
        _enter(at, main, branch)
        at.lev += W
        return True
    next = SUBTRIE_NEXT(branch)
    if CTRIE_HASH(branch) != at.hash or next == Py_None or CTRIE_GEN(next) != CTRIE_GEN(at.inode):
        return False
    taken = packed_followed(SUBTRIE_TEXT(branch), edit.words, at.depth, edit.separator)
    if taken <= 0 or at.depth + taken >= len(edit.words):
        return False
    _enter(at, main, next)
    at.lev = 0
    at.bare_above = not SUBTRIE_ALONE(branch) and CTRIE_VALUE(branch) == Py_None
    at.depth += taken
    at.hash = edit.hashes[at.depth]
    return True


cdef inline void _enter(Place *at, PyObject *main, PyObject *inode) noexcept:
    at.parent = at.inode
    at.parent_main = main
    at.parent_lev = at.lev
    at.parent_hash = at.hash
    at.inode = inode
