"""The descent with borrowed pointers: the compiled body of `find`, `find_value` and `put_quickly` in _nodes.py, which is
the text to read; and, at the end, how nodes are made and dropped (recycle.h).

On free-threaded builds a reader that counted references on its way down would write to the very nodes that all
readers share. This one counts nothing until it has arrived; a pin keeps what it passes alive (epoch.h). While pinned
it runs no Python code and allocates nothing: to compare keys by `__eq__` it takes a reference, unpins, and compares.
"""

from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject, PyTypeObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport uint64_t

from ctrie._arrays cimport W, flag_at, popcount
from ctrie._cnode cimport CTRIE_BITMAP, CTRIE_CHILD, CNode, Gen, branch_at, with_branch, with_other_branch
from ctrie._native cimport (
    CTRIE_IS, CTRIE_SLOT, Py_None, compare_and_set, initialise, is_out_of_track, load, pin, slot_read, unpin
)
from ctrie._recycle cimport drop_reference, is_plain, plain_free, recycle, recycle_give, recycle_take, recycled
from ctrie._nodes cimport (
    CTRIE_GEN, CTRIE_HASH, CTRIE_KEY, CTRIE_VALUE, INode, LNode, Pair, Root, Rooted, SNode, TNode, gcas_complete, new_inode,
    new_pair, rdcss_read_root, same_key, two_snodes
)

cdef extern from *:
    """
    /* Of two exact strings, or two exact integers: neither allocates, nor fails. */
    static inline int same_by_their_type(PyObject *one, PyObject *other)
    {
        PyObject *same = Py_TYPE(one)->tp_richcompare(one, other, Py_EQ);
        Py_XDECREF(same);       /* True or False */
        return same == Py_True;
    }
    """
    bint same_by_their_type(PyObject *one, PyObject *other)
    PyObject **CTRIE_KEY_FIELD "&CTRIE_KEY" (PyObject *pair) nogil
    PyObject **CTRIE_VALUE_FIELD "&CTRIE_VALUE" (PyObject *sn) nogil
    void PyObject_GC_UnTrack(PyObject *o)

cdef PyTypeObject *INODE = <PyTypeObject *>INode
cdef PyTypeObject *CNODE = <PyTypeObject *>CNode
cdef PyTypeObject *PAIR = <PyTypeObject *>Pair


cdef int help_pending(Root root, PyObject *inode, PyObject *main) except -1:
    """Decide the GCAS that is pending in `inode`; both are borrowed and pinned, and the pin is gone afterwards. A
    function of its own, since its references are dropped at its end, and must not be dropped while pinned."""
    kept_inode = <INode>inode
    kept_main = <object>main
    unpin()
    gcas_complete(root, kept_inode, kept_main)
    return 0


cdef PyObject *_descend(Rooted trie, uint64_t hash) except? NULL:
    """Return, borrowed and *pinned*, the S-node, L-node or T-node at the end of the path of `hash`, or NULL."""
    cdef PyObject *node
    cdef PyObject *main
    cdef uint64_t bitmap, flag
    cdef int lev
    while True:
        pin()
        lev = 0
        node = slot_read(CTRIE_SLOT(<PyObject *>trie._root))
        if not CTRIE_IS(node, INODE):
            unpin()
            rdcss_read_root(trie._root)
            continue
        while True:
            main = slot_read(CTRIE_SLOT(node))
            if slot_read(CTRIE_SLOT(main)) != Py_None:
                break
            if not CTRIE_IS(main, CNODE):
                return main
            bitmap = CTRIE_BITMAP(main)
            flag = flag_at(hash, lev)
            if not bitmap & flag:
                return NULL
            node = CTRIE_CHILD(main, popcount(bitmap & (flag - 1)))
            if not CTRIE_IS(node, INODE):
                return node
            lev += W
        # A GCAS is pending here: decide it, and begin again.
        help_pending(trie._root, node, main)


cdef SNode _compare(object end, object key, uint64_t hash, object equal):
    """Return the S-node of `key` among those that `end` holds."""
    if isinstance(end, SNode):
        return end if same_key(end, key, hash, equal) else None
    if isinstance(end, LNode):
        for sn in (<LNode>end).entries:
            if same_key(sn, key, hash, equal):
                return sn
        return None
    if (<TNode>end).sn is None or not same_key((<TNode>end).sn, key, hash, equal):
        return None
    return (<TNode>end).sn


cdef SNode find(Rooted trie, object key, uint64_t hash, object equal):
    cdef PyObject *end = _descend(trie, hash)
    if end == NULL:
        unpin()
        return None
    kept = <object>end
    unpin()
    return _compare(kept, key, hash, equal)


cdef bint _same_without_python(PyObject *stored, object key, object equal) noexcept:
    """Whether the keys are the same as far as that can be told without running Python code: identical, or two exact
    strings or integers that are equal. Their own comparison is called, not by way of one that minds the recursion
    limit: near it, that one would run the hooks for exceptions."""
    return stored == <PyObject *>key or (
        equal is None
        and (
            (PyUnicode_CheckExact(key) and PyUnicode_CheckExact(<object>stored))
            or (PyLong_CheckExact(key) and PyLong_CheckExact(<object>stored))
        )
        and same_by_their_type(stored, <PyObject *>key)
    )


cdef bint put_quickly(Rooted trie, object key, uint64_t hash, object equal, object value) except -1:
    """Store `value` where that takes no more than one GCAS: the key is there, or its branch is free or another key's
    with another hash, all in the root's generation. False: nothing was done, and `edit_trie` has to do it, which would
    make the same GCAS, but by way of an Edit."""
    cdef PyObject *node
    cdef PyObject *main
    cdef PyObject *gen
    cdef uint64_t bitmap, flag
    cdef int lev = 0
    cdef Py_ssize_t pos
    cdef CNode cn, changed
    pin()
    node = slot_read(CTRIE_SLOT(<PyObject *>trie._root))
    if not CTRIE_IS(node, INODE):
        unpin()
        return False
    gen = CTRIE_GEN(node)
    while True:
        main = slot_read(CTRIE_SLOT(node))
        if slot_read(CTRIE_SLOT(main)) != Py_None or not CTRIE_IS(main, CNODE):
            unpin()
            return False
        bitmap = CTRIE_BITMAP(main)
        flag = flag_at(hash, lev)
        pos = popcount(bitmap & (flag - 1))
        if not bitmap & flag or not CTRIE_IS(CTRIE_CHILD(main, pos), INODE):
            break
        node = CTRIE_CHILD(main, pos)
        if CTRIE_GEN(node) != gen:
            unpin()
            return False
        lev += W
    if (
        bitmap & flag
        and CTRIE_HASH(CTRIE_CHILD(main, pos)) == hash
        and not _same_without_python(CTRIE_KEY(CTRIE_CHILD(main, pos)), key, equal)
    ):
        unpin()
        return False
    inode = <INode>node
    cn = <CNode>main
    unpin()
    changed = _with_pair(cn, inode.gen, flag, pos, lev, key, hash, value)
    return not is_out_of_track(inode, changed) and _gcas_at_rest(trie, inode, cn, changed)


cdef CNode _with_pair(
    CNode cn, Gen gen, uint64_t flag, Py_ssize_t pos, int lev, object key, uint64_t hash, object value
):
    """Return `cn` with one pair more, or with another value for the one at `pos` if that has the hash."""
    cdef Pair there = <Pair>branch_at(cn, pos) if cn.bitmap & flag else None
    cdef Pair pair
    cdef INode both
    if there is not None and there.hash == hash:
        pair = new_pair(there.key, hash, value)
        return with_other_branch(cn, pos, pair)
    pair = new_pair(key, hash, value)
    if there is None:
        return with_branch(cn, flag, pos, pair)
    both = new_inode(two_snodes(there, pair, lev + W, gen), gen)
    return with_other_branch(cn, pos, both)


cdef bint _gcas_at_rest(Rooted trie, INode inode, CNode old, CNode new) except -1:
    """As gcas, with a short cut for a root that nobody is replacing."""
    cdef PyObject *first
    cdef bint same
    initialise(new, old)
    # Success: `new` is in place but pending. Failure: another writer changed `inode` first, and nobody has seen `new`.
    if not compare_and_set(inode, old, new):
        return False
    pin()
    first = slot_read(CTRIE_SLOT(<PyObject *>trie._root))
    same = CTRIE_IS(first, INODE) and CTRIE_GEN(first) == <PyObject *>inode.gen
    unpin()
    # Success: the write is committed; it took effect when the root was read. Failure: a helper decided.
    if same and not trie._root.readonly and compare_and_set(new, old, None):
        return True
    gcas_complete(trie._root, inode, new)
    return load(new) is None


cdef object find_value(Rooted trie, object key, uint64_t hash, object equal, object default):
    cdef PyObject *end = _descend(trie, hash)
    cdef PyObject *stored
    cdef SNode sn
    if end == NULL:
        unpin()
        return default
    if CTRIE_IS(end, PAIR):
        if CTRIE_HASH(end) != hash:
            unpin()
            return default
        stored = CTRIE_KEY(end)
        if _same_without_python(stored, key, equal):
            value = <object>CTRIE_VALUE(end)
            unpin()
            return value
    kept = <object>end
    unpin()
    sn = _compare(kept, key, hash, equal)
    return default if sn is None else sn.value


# --------------------------------------------------------------------------------------------------- nodes, recycled

cdef recycled pairs


cdef PyObject *make_pair(PyTypeObject *type, Py_ssize_t size) except NULL:
    return recycle_take(&pairs, type)


cdef void drop_pair(PyObject *pair) noexcept:
    cdef bint plain = is_plain(pair)
    PyObject_GC_UnTrack(pair)
    drop_reference(CTRIE_KEY_FIELD(pair))
    drop_reference(CTRIE_VALUE_FIELD(pair))
    if plain:
        plain_free(pair)
    else:
        recycle_give(&pairs, pair)


recycle(&pairs, <PyObject *>Pair, drop_pair, make_pair)
