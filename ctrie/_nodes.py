"""The Ctrie: its nodes, and the two protocols by which threads change it without locks. A writer's way: _edits.py.

After Prokopec, Bronson, Bagwell and Odersky, *Concurrent Tries with Efficient Non-Blocking Snapshots* (PPoPP 2012),
whose names are kept. A key's 64-bit hash is read W = 6 bits at a time; each group picks one of 64 branches.

    Root --> I-node --> C-node  [ S-node | I-node | ... ]      bitmap + array of at most 64 branches
                            |                 |
                      (key, value)            +--> C-node | T-node | L-node

* I-node: the only mutable node: its slot holds a main node. Every change takes place in one I-node.
* Main nodes are immutable, except for their own slot `prev` (see GCAS):
  - C-node: branches.
  - T-node ("tomb"): the last main node of an I-node, which never changes again. It holds the one S-node that was left,
    or nothing if a whole nested level has become empty. The next writer on the path moves its content into the parent.
    A nested level that is left with one S-node is tombed only if the S-node above asks for it (`Edit.rolls_up`).
  - L-node: S-nodes whose 64 hash bits all agree.
* S-node: a key with its hash and value. The S-node of a map is a *pair*. Another subclass may lead on to the I-node of
  a nested trie (a *level*); `edit_trie` walks such levels, and `subtrie` is built on that.

GCAS, "generation compare-and-set", changes an I-node's main node only if the root is still of the I-node's generation.
The new main node names the old one in `prev` and is put in place (*pending*). Then the root is read. The writer, or a
thread that helps it, either clears `prev` (*committed*) or puts a FailedNode there and the old main node back.

Snapshots. Every I-node carries the generation (a bare object, compared by identity) in which it was made. A snapshot
replaces the root I-node by a copy of a new generation; no GCAS pending on the old one can commit after that. Later
writers copy the path that they change into the new generation, node by node. The root is replaced by RDCSS: a
descriptor is put into the root slot and decides, once, whether the old root's main node was still the expected one.

Invariants
  I1  An I-node whose main node is a T-node keeps it for ever.
  I2  Below a root of generation g, an I-node of another generation never commits a change any more.
  I3  Below a root of generation g, an I-node of generation g is never replaced by a copy, and none of generation g is
      below one of an older generation. So a writer copies exactly those I-nodes on its path that are of an older
      generation, beginning at the root. (The published algorithm copies all I-nodes of a C-node at once, in some cases
      also those of generation g. A writer inside such an I-node then commits to a node that is no longer reachable,
      and its write is lost.)
  I4  bitmap has exactly len(array) bits; every key lies on the path of its hash; an L-node has two entries or more.
  I5  A C-node below the first one of its level is never published with just one S-node as its content, or with nothing:
      a T-node is published instead. The first I-node of the trie is never tombed.

A lookup reads through T-nodes instead of removing them, and copies nothing into its generation: it writes only to help
a pending GCAS. It is linearizable all the same. A node that has been cut off is frozen (I1, I2), so the lookup sees the
node's content at its last moment in the trie, and that moment lies within the lookup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import cython

from ctrie._machine import groups_of

if not cython.compiled:
    from ctrie._cnode import (
        CNode,
        Gen,
        MainNode,
        branch_at,
        branches_of,
        new_cnode,
    )
    from ctrie._machine import W, check_signals, check_stack, flag_at, leaf_after, new_leaf, popcount, untrack_above
    from ctrie._slot import (
        Slot,
        borrow,
        compare_and_set,
        initialise,
        is_exactly,
        load,
        peek,
        pin,
        unpin,
    )
    from ctrie._tally import Tally

# These are C variables in the compiled twin, where a literal beyond 63 bits would be a Python object.
HASH_BITS = 64
_MASK64 = 0xFFFFFFFFFFFFFFFF
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB


def mix(raw: int) -> int:
    """Spread a hash over 64 bits (SplitMix64's finaliser, a bijection), since Python's int hash is the identity."""
    h = raw & _MASK64
    h = ((h ^ (h >> 30)) * _MIX_1) & _MASK64
    h = ((h ^ (h >> 27)) * _MIX_2) & _MASK64
    return h ^ (h >> 31)


# ---------------------------------------------------------------------------------------------------------- nodes


class FailedNode:
    """The mark of an aborted GCAS; `wrapped` is the main node to restore."""

    __slots__ = ("wrapped",)
    wrapped: MainNode


class INode(Slot):
    """An indirection that can change: its slot holds a main node."""

    __slots__ = ("gen",)
    gen: Gen


class SNode:
    """A key, its mixed hash, and its value. A subclass defines how the key is kept."""

    __slots__ = ("hash", "value")
    hash: int
    value: Any

    def is_for(self, key: Any, equal: Callable[[Any, Any], Any] | None) -> bool:
        """Tell whether this is the S-node of `key`; their hashes are equal."""
        raise NotImplementedError

    def with_level(self, level: INode) -> SNode:
        """Return this S-node with `level` in place of the I-node that it leads to."""
        raise AssertionError

    def without_level(self, edit: Edit, last: SNode | None) -> SNode | None:
        """Return the replacement of this S-node after the level of `edit.inode` was tombed, or this S-node if it does
        not lead to that level. `last` is the S-node that was left in the level, if any."""
        return self


class Pair(SNode):
    """The S-node of a map: its key is any object."""

    __slots__ = ("key",)
    key: Any

    def is_for(self, key: Any, equal: Callable[[Any, Any], Any] | None) -> bool:
        if self.key is key:
            return True
        check_stack()
        return bool(self.key == key) if equal is None else bool(equal(self.key, key))


leaf_after(Pair.__new__(Pair))


class LNode(MainNode):
    """Two or more S-nodes with the same hash."""

    __slots__ = ("entries",)
    entries: tuple[Any, ...]


class TNode(MainNode):
    """A tomb. `sn` is the S-node to move into the parent, or None if a whole level has become empty."""

    __slots__ = ("sn",)
    sn: SNode | None


class Root(Slot):
    """The entry of a trie. Its slot holds an I-node, or temporarily the descriptor of an RDCSS."""

    __slots__ = ("readonly",)
    readonly: bool


# What is below a root: for `release` (_machine.py).
NODES: tuple[type[Any], ...] = (Slot, SNode)


class Rooted:
    """An object with a root. Functions that all threads call take this object instead of its root: to pass the root
    would count a reference to it, and all threads would write to that count."""

    __slots__ = ("_root", "_tally")
    _root: Root
    _tally: Tally


class RDCSSDescriptor(Slot):
    """A proposal to replace root `old` by `new` if the main node of `old` is still `expected`. Its slot holds the
    verdict, which is decided once. A flag that is set after the swap could be read too early by the proposer; this
    cannot."""

    __slots__ = ("expected", "new", "old")
    old: INode
    expected: MainNode
    new: INode


if not cython.compiled:  # views of borrowed nodes; the compiled ones (_nodes.pxd) count no references
    root_of = attrgetter("_root")
    gen_of = attrgetter("gen")
    hash_of = attrgetter("hash")
    key_of = attrgetter("key")
    value_of = attrgetter("value")
    entries_of = attrgetter("entries")
    entombed_in = attrgetter("sn")

UNDECIDED = "undecided"
COMMITTED = "committed"
ABORTED = "aborted"


def new_inode(main: MainNode, gen: Gen) -> INode:
    inode: INode = INode.__new__(INode)
    initialise(inode, main)
    inode.gen = gen
    untrack_above(inode, main)
    return inode


def new_pair(key: object, hash: int, value: object) -> Pair:
    pair: Pair = new_leaf(Pair, key, value)
    pair.key = key
    pair.hash = hash
    pair.value = value
    return pair


def new_lnode(entries: tuple[Any, ...]) -> LNode:
    ln: LNode = LNode.__new__(LNode)
    ln.entries = entries
    return ln


def new_tnode(sn: SNode | None) -> TNode:
    tn: TNode = TNode.__new__(TNode)
    tn.sn = sn
    return tn


def new_root(inode: INode, readonly: bool) -> Root:
    root: Root = Root.__new__(Root)
    initialise(root, inode)
    root.readonly = readonly
    return root


def empty_root() -> Root:
    return new_root(new_inode(new_cnode(0, ()), Gen()), False)


def _failed(wrapped: MainNode) -> FailedNode:
    fn: FailedNode = FailedNode.__new__(FailedNode)
    fn.wrapped = wrapped
    return fn


# ----------------------------------------------------------------------------------------------------------- GCAS


def gcas(root: Root, inode: INode, old: MainNode, new: MainNode) -> bool:
    """Replace main node `old` of `inode` by `new` if the root is still of the I-node's generation."""
    initialise(new, old)
    # Order: `new` is put in place before the root is read (in `_may_commit`), and RDCSS puts its descriptor in place
    # before it reads the main node: if the two overlap, one sees the other. Slots are sequentially consistent (slot.h).
    # Success: `new` is in place but pending; any thread that reads it completes it. Failure: another writer changed
    # `inode` first, and no other thread has seen `new`.
    if not compare_and_set(inode, old, new):
        return False
    # Success: the write is committed; it took effect when the root was read. Failure: a helper has decided it.
    if _may_commit(root, inode) and compare_and_set(new, old, None):
        return True
    gcas_complete(root, inode, new)
    # The test is not "is `new` still in place": after its commit it may already have been replaced.
    return load(new) is None


def _may_commit(root: Root, inode: INode) -> bool:
    """Tell whether the GCAS that is pending in `inode` commits: it does if the root, which is read after the new main
    node was put in place, is of the I-node's generation."""
    return is_present(root, inode) and not root.readonly


def gcas_read(root: Root, inode: INode) -> MainNode:
    """Return the committed main node of `inode`; complete a pending GCAS first."""
    main: MainNode = load(inode)
    if load(main) is None:
        return main
    return gcas_complete(root, inode, main)


def gcas_complete(root: Root, inode: INode, main: MainNode) -> MainNode:
    """Complete the GCAS that put `main` into `inode`, unless it is complete; return the committed main node."""
    # Progress: in every round that does not return, another thread's compare-and-set has succeeded.
    while True:
        prev = load(main)
        if prev is None:
            return main
        if isinstance(prev, FailedNode):
            failed: FailedNode = prev
            # Success: the aborted write is undone. Failure: another helper has put the old main node back.
            if compare_and_set(inode, main, failed.wrapped):
                return failed.wrapped
            main = load(inode)
            continue
        if _may_commit(root, inode):
            # Success: the write is committed; it took effect when the root was read. Failure: another helper decided.
            if compare_and_set(main, prev, None):
                return main
        else:
            # Success: the write is aborted, and its thread will start again. Failure: another helper decided.
            compare_and_set(main, prev, _failed(prev))
            main = load(inode)


# ---------------------------------------------------------------------------------------------------------- RDCSS


def rdcss_read_root(root: Root, abort: bool = False) -> INode:
    """Return the root I-node. Complete a pending proposal to replace it first; with `abort`, by aborting it."""
    current = load(root)
    if isinstance(current, INode):
        return current
    return _rdcss_complete(root, abort)


def is_present(root: Root, inode: INode) -> bool:
    """Tell whether an I-node is of the root's generation. A snapshot in progress is aborted, so that GCAS and RDCSS do
    not wait on each other. No reference to the root I-node is counted: all writers would write to that count."""
    pin()
    top = peek(borrow(root))
    if is_exactly(top, INode):
        same = gen_of(top) is gen_of(borrow(inode))
        unpin()
        return same
    unpin()
    return rdcss_read_root(root, True).gen is inode.gen


def _rdcss_complete(root: Root, abort: bool) -> INode:
    current = load(root)
    if isinstance(current, INode):
        return current
    descriptor: RDCSSDescriptor = current
    verdict = ABORTED
    if not abort and gcas_read(root, descriptor.old) is descriptor.expected:
        verdict = COMMITTED
    # Success: the proposal is decided. If committed, this is the linearization point of the snapshot: a GCAS on the old
    # root can no longer commit, because it must read the root after it has put its main node in place. Failure: another
    # helper has decided, perhaps otherwise.
    compare_and_set(descriptor, UNDECIDED, verdict)
    chosen: INode = descriptor.new if load(descriptor) is COMMITTED else descriptor.old
    # Success: the decision is carried out. Failure: another helper has done it. In both cases `chosen` was the root at
    # some time during this call. The published algorithm reads the root again here. It would then find the next
    # proposal and abort that one too, so a writer and a snapshot could repeat for ever.
    compare_and_set(root, descriptor, chosen)
    return chosen


def rdcss_root(root: Root, old: INode, expected: MainNode, new: INode) -> bool:
    """Replace root `old` by `new` if its main node is still `expected`."""
    descriptor: RDCSSDescriptor = RDCSSDescriptor.__new__(RDCSSDescriptor)
    descriptor.old = old
    descriptor.expected = expected
    descriptor.new = new
    initialise(descriptor, UNDECIDED)
    # Order: the descriptor is put in place before the main node of `old` is read (in `_rdcss_complete`); see `gcas`.
    # Success: the proposal is public. Failure: the root was replaced, or another proposal is pending.
    if compare_and_set(root, old, descriptor):
        _rdcss_complete(root, False)
        return load(descriptor) is COMMITTED
    return False


def snapshot_root(root: Root) -> INode:
    """Give `root` a new generation and return its I-node of the old one, which is frozen from then on. O(1).

    Lock-free: an attempt fails only if a writer committed or another snapshot was taken meanwhile.
    """
    while True:
        old = rdcss_read_root(root)
        main = gcas_read(root, old)
        if rdcss_root(root, old, main, new_inode(main, Gen())):
            return old


def fork_root(root: Root) -> Root:
    """Return a writable root with the present content of `root`. O(1)."""
    old = rdcss_read_root(root) if root.readonly else snapshot_root(root)
    # `old` is frozen. Its main node is read with a read-only root, so that a write still pending there is aborted.
    return new_root(new_inode(gcas_read(new_root(old, True), old), Gen()), False)


def freeze_root(root: Root) -> Root:
    """Return a read-only root with the present content of `root`. O(1)."""
    check_stack()  # what compares two instants calls users' code, which may ask for them again
    return root if root.readonly else new_root(snapshot_root(root), True)


def clear_root(root: Root) -> list[Any]:
    """Empty the trie; return a list with what it held, which is for `release`. Linearizes at the commit of the RDCSS.
    Lock-free, as `snapshot_root`."""
    held: list[Any] = [None]  # made first: once the trie is empty, nothing may fail for want of memory
    while True:
        old = rdcss_read_root(root)
        if rdcss_root(root, old, gcas_read(root, old), new_inode(new_cnode(0, ()), Gen())):
            held[0] = old
            return held


def renewed(root: Root, inode: INode, gen: Gen) -> INode:
    """Return a copy, in generation `gen`, of an I-node of an older generation, which is frozen (I2)."""
    return new_inode(gcas_read(root, inode), gen)


def two_snodes(x: SNode, y: SNode, lev: int, gen: Gen) -> MainNode:
    """Return a main node, for depth `lev`, that holds only `x` and `y`, whose hashes agree below `lev`."""
    if lev >= HASH_BITS:
        return new_lnode((x, y))
    i = flag_at(x.hash, lev)
    j = flag_at(y.hash, lev)
    if i == j:
        return new_cnode(i, (new_inode(two_snodes(x, y, lev + W, gen), gen),))
    return new_cnode(i | j, (x, y) if i < j else (y, x))


# --------------------------------------------------------------------------------------------------------- lookup


def branches(root: Root, inode: INode) -> tuple[Any, ...]:
    """Return the I-nodes and S-nodes directly below `inode`."""
    if inode is None:  # which C types admit, and who calls internal generators may have in a list
        raise TypeError("None is no node")
    main = gcas_read(root, inode)
    if isinstance(main, CNode):
        cn: CNode = main
        return branches_of(cn)
    if isinstance(main, LNode):
        ln: LNode = main
        return ln.entries
    tn: TNode = main  # type: ignore[assignment]
    return () if tn.sn is None else (tn.sn,)


def same_key(sn: SNode, key: object, hash: int, equal: Callable[[Any, Any], Any] | None) -> bool:
    """Compare as a dict does: hashes first, then identity, then equality (the trie's own function, if it has one)."""
    return sn.hash == hash and sn.is_for(key, equal)


def is_empty(root: Root) -> bool:
    """Tell whether there is no S-node. O(1), because by I5 every branch leads to an S-node. Linearizes at the read of
    the root's main node."""
    return len(branches(root, rdcss_read_root(root))) == 0


def first_snode(root: Root) -> SNode | None:
    """Return some S-node, or None if there is none. Linearizes as `find`."""
    node: Any = rdcss_read_root(root)
    while isinstance(node, INode):
        here = branches(root, node)
        if not here:
            return None
        node = here[0]
    return node  # type: ignore[no-any-return]


# ----------------------------------------------------------------------------------- one instant (read-only roots)


def snodes(root: Root, nodes: list[Any] | None = None) -> Iterator[Any]:
    """Yield every S-node of the first level, or below the nodes in `nodes`. Does not enter nested levels."""
    stack = [rdcss_read_root(root)] if nodes is None else nodes
    while stack:
        node = stack.pop()
        if isinstance(node, SNode):
            yield node
        else:
            check_signals()
            stack.extend(branches(root, node))


def parts(root: Root, n: int) -> list[list[Any]]:
    """Return up to `n` lists of nodes that together lead to every S-node once. Evenly spread hashes give similar
    sizes."""
    nodes: list[Any] = [rdcss_read_root(root)]
    while len(nodes) < 4 * n:  # with four or more nodes each, the parts have similar sizes
        wider: list[Any] = []
        for node in nodes:
            if isinstance(node, INode):
                wider.extend(branches(root, node))
            else:
                wider.append(node)
        if len(wider) == len(nodes) and not any(isinstance(node, INode) for node in wider):
            break
        nodes = wider
    return [nodes[i::n] for i in range(min(n, len(nodes)))]


def differences(older: Root, newer: Root, equal: Callable[[Any, Any], Any] | None) -> Iterator[tuple[Any, Any]]:
    """Yield (old, new) for the keys whose S-node is not the same object in both; None for a side without the key."""
    stack: list[Any] = [rdcss_read_root(older), rdcss_read_root(newer)]
    found: list[Any] = []
    while stack:
        compare_next(older, newer, equal, stack, found)
        yield from found
        found.clear()


def compare_next(
    older: Root, newer: Root, equal: Callable[[Any, Any], Any] | None, stack: list[Any], found: list[Any]
) -> None:
    """Take an I-node of each side off the stack, and compare them: the I-nodes below that differ, or what is there in
    place of one, go onto the stack, and differences into `found`, as `differences` yields them. Sub-tries with the same
    main node are skipped: their I-nodes are copies of one another."""
    y = stack.pop()
    x = stack.pop()
    if x is y:
        return
    if isinstance(x, INode) and isinstance(y, INode):
        old_main = gcas_read(older, x)
        new_main = gcas_read(newer, y)
        if old_main is new_main:
            return
        if isinstance(old_main, CNode) and isinstance(new_main, CNode):
            check_signals()
            _compare_branches(old_main, new_main, equal, stack, found)
            return
    found.extend(_compared_by_key(older, x, newer, y, equal))


def _compare_branches(
    older: CNode, newer: CNode, equal: Callable[[Any, Any], Any] | None, stack: list[Any], found: list[Any]
) -> None:
    both = older.bitmap | newer.bitmap
    while both:
        flag = both & (~both + 1)
        both ^= flag
        x = branch_at(older, popcount(older.bitmap & (flag - 1))) if older.bitmap & flag else None
        y = branch_at(newer, popcount(newer.bitmap & (flag - 1))) if newer.bitmap & flag else None
        if x is y:
            continue
        if isinstance(x, INode) or isinstance(y, INode):
            stack.append(x)
            stack.append(y)
        elif x is None or y is None or _have_one_key(x, y, equal):
            found.append((x, y))
        else:
            found.append((x, None))
            found.append((None, y))


def _have_one_key(x: Any, y: Any, equal: Callable[[Any, Any], Any] | None) -> bool:
    return x.hash == y.hash and same_key(x, y.key, y.hash, equal)


def _compared_by_key(
    older: Root, x: Any, newer: Root, y: Any, equal: Callable[[Any, Any], Any] | None
) -> Iterator[tuple[Any, Any]]:
    """Compare two sides of different shape. They differ by about as many keys as the larger one has, within one."""
    left: dict[int, list[SNode]] = {}
    if x is not None:
        for sn in snodes(older, [x]):
            left.setdefault(sn.hash, []).append(sn)
    if y is not None:
        for sn in snodes(newer, [y]):
            same_hash = left.get(sn.hash, [])
            old = next((candidate for candidate in same_hash if same_key(candidate, sn.key, sn.hash, equal)), None)
            if old is not None:
                same_hash.remove(old)
            if old is not sn:
                yield old, sn
    for remaining in left.values():
        for sn in remaining:
            yield sn, None


# --------------------------------------------------------------------------------------------------------- change


@cython.no_gc
@cython.cclass
class Edit:
    """The change that one operation makes to the S-node of its key, and the position of its descent. Private to its
    thread.

    Subclasses define the change; `edit_trie` (_edits.py) carries it out. Afterwards `found` is the S-node that was
    there, or None.
    """

    __slots__ = (
        "asked",
        "compared",
        "emptied",
        "entombed",
        "found",
        "hash",
        "inode",
        "lev",
        "parent",
        "parent_hash",
        "parent_lev",
        "parent_main",
        "said",
        "settled",
        "tracks",
        "verdict",
    )
    compared: bool  # `agree` has compared a key: `asked`, with this verdict; verdicts of further keys are in `said`
    asked: object
    verdict: bool
    said: dict[int, tuple[object, bool]] | None
    hash: int  # of the key in the present level
    found: SNode | None
    settled: bool  # the change is done; only tombs are left to clear away
    entombed: bool  # a level was tombed because it was left with one S-node
    emptied: bool  # the S-node last returned by `change` no longer keeps the level below from being rolled up
    tracks: bool  # the collector must track the nodes that lead to the change
    inode: INode  # of the root's generation
    lev: int
    parent: INode | None
    parent_hash: int
    parent_lev: int
    parent_main: MainNode | None  # what `parent` held when it led to `inode`

    def agree(self, stored: object, wanted: object, equal: Callable[[Any, Any], Any] | None) -> bool:
        """Tell whether two keys that are not identical are equal. Each stored key is compared only once, even over
        several attempts: if the comparison itself changes the trie, every attempt would fail otherwise."""
        if self.compared and stored is self.asked:
            return self.verdict
        said = None if self.said is None else self.said.get(id(stored))
        if said is not None:
            return said[1]
        check_stack()
        verdict = bool(stored == wanted) if equal is None else bool(equal(stored, wanted))
        if not self.compared:
            self.compared = True
            self.asked = stored
            self.verdict = verdict
        else:
            if self.said is None:
                self.said = {}
            self.said[id(stored)] = (stored, verdict)
        return verdict

    def rewind(self) -> None:
        """Return to the first level; called before every attempt."""

    def same(self, sn: SNode) -> bool:
        """Tell whether `sn` has the key of the present level. May run users' code."""
        raise AssertionError

    def below(self, sn: SNode) -> INode | None:
        """Return the level below `sn` in which to continue, or None if `sn` is the S-node to change."""
        return None

    def level_passed(self, sn: Any) -> Any:
        """Return the same of a borrowed S-node, or None if it is not to be passed without a closer look."""
        return borrow(None)

    def advance(self) -> None:
        """Take the key of the next level."""

    def rolls_up(self) -> bool:
        """Tell whether the S-node above the present level can hold that level's only S-node directly."""
        return False

    def create(self) -> SNode | None:
        """Return the S-node to add if the key has none, or None to add nothing."""
        raise AssertionError

    def change(self, sn: SNode) -> SNode | None:
        """Return the replacement of `sn`: `sn` itself for no change, None to remove it."""
        raise AssertionError


# ----------------------------------------------------------------------------------------------------- invariants


def check_level(root: Root, first: INode | None = None) -> list[Any]:
    """Check the level that begins at `first` (default: the root's) and return its S-nodes. Raises AssertionError if an
    invariant is broken. At rest only."""
    first_of_trie = first is None
    top = rdcss_read_root(root)
    found: list[Any] = []
    stack: list[tuple[INode, int, int]] = [(top if first is None else first, 0, 0)]
    while stack:
        inode, lev, path = stack.pop()
        main = gcas_read(root, inode)
        assert load(main) is None, "a committed main node names no predecessor"
        _check_main(main, lev, first_of_trie and lev == 0)
        groups = _groups(main)
        for group, child in zip(groups, branches(root, inode), strict=True):
            if isinstance(child, INode):
                below: INode = child
                assert below.gen is not top.gen or inode.gen is top.gen, "I3: of the root's generation, below an older"
                stack.append((below, lev + W, path | group << lev))
                continue
            sn: SNode = child
            known = _MASK64 if lev >= 64 else _MASK64 >> 1 >> 63 - lev  # no shift by more bits than an int has
            assert not (sn.hash ^ path) & known, f"I4: {child.key!r} is off the path of its hash"
            assert group < 0 or flag_at(sn.hash, lev) == flag_at(group, 0), f"I4: {child.key!r} is in branch {group}"
            found.append(sn)
    return found


def _check_main(main: MainNode, lev: int, first_of_trie: bool) -> None:
    if isinstance(main, CNode):
        cn: CNode = main
        held = branches_of(cn)
        assert popcount(cn.bitmap) == len(held), f"I4: bitmap {cn.bitmap:b}, {len(held)} branches"
        alone = len(held) == 1 and lev > 0 and isinstance(held[0], SNode)
        assert first_of_trie or not (alone or held == ()), f"I5: a C-node at depth {lev} should have been tombed"
    elif isinstance(main, LNode):
        ln: LNode = main
        assert lev >= HASH_BITS, f"I4: an L-node at depth {lev}"
        assert len(ln.entries) > 1, "I4: an L-node of one entry"
    else:
        assert not first_of_trie, "I5: the first I-node of the trie is tombed"


def _groups(main: MainNode) -> list[int]:
    """Return the hash group of every branch, or -1 for branches without one."""
    if isinstance(main, CNode):
        cn: CNode = main
        return groups_of(cn.bitmap)
    if isinstance(main, LNode):
        ln: LNode = main
        return [-1] * len(ln.entries)
    tn: TNode = main  # type: ignore[assignment]
    return [] if tn.sn is None else [-1]


def shape(root: Root, inode: INode | None = None) -> tuple[Any, ...]:
    """Return the nodes below `inode` (default: the root) as nested tuples: ("C", ...), ("L", ...), ("T", ...) or
    ("S", key). For tests of the structure."""
    start = rdcss_read_root(root) if inode is None else inode
    main = gcas_read(root, start)
    kind = "C" if isinstance(main, CNode) else "L" if isinstance(main, LNode) else "T"
    children = branches(root, start)
    return (kind, *[shape(root, c) if isinstance(c, INode) else ("S", c.key) for c in children])
