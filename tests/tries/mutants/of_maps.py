"""Mutants of the engine, the map and the reclaimer."""

from __future__ import annotations

from typing import Any, Final

from tests.tries.mutants.mutant import (
    BRANCH,
    BULK,
    CTRIE,
    DESCENT,
    EDITS,
    NODES,
    Mutant,
)

_A_MOVE: Final = (("__setitem__", ("y3", 1001)), ("pop", ("a2", None)))
_SET_A: Final = ("__setitem__", ("a", 1001))
_CACHE_OF_LOOKUPS: Final = """\
    known = trie._root.cache.load()
    top = rdcss_read_root(trie._root).load()
    if known is not None and known[0] is top and known[1] == key:
        return known[2]
    found = find(trie, key, hash, equal)
    answer = default if found is None else found.value
    trie._root.cache.initialise((top, key, answer))
    return answer
"""
RENEWAL: Final = """\
        changed = _with_other(main, pos, copy if above is None else above.with_level(copy))
"""
RENEWAL_OF_ALL: Final = """\
        changed = main
        for n, child in enumerate(main.array if isinstance(main, CNode) else main.entries):
            if isinstance(child, INode):
                changed = _with_other(changed, n, renewed(root, child, edit.inode.gen))
            elif getattr(child, "next", None):
                changed = _with_other(changed, n, child.with_level(renewed(root, child.next, edit.inode.gen)))
"""
"""The published algorithm: it renews all I-nodes of a C-node, and those of the present generation, too."""
_COLLISIONS: Final = ("about to collide", "a collision about to shrink")


def _of_map(name: str, text: str, instead: str, module: str = NODES, **needs: Any) -> Mutant:
    return Mutant(name, "map", ((module, text, instead),), **needs)


def _of_subscriptions(name: str, module: str, text: str, instead: str, **needs: Any) -> Mutant:
    return Mutant(name, "subscriptions", ((module, text, instead),), **needs)


GCAS: Final = (
    _of_map(
        "GCAS without a look at the generation",
        "return is_present(root, inode) and not root.readonly",
        "return not root.readonly",
    ),
    _of_map(
        "GCAS commits in a read-only snapshot",
        "return is_present(root, inode) and not root.readonly",
        "return is_present(root, inode)",
        starts=("left with a pending tomb",),
    ),
    _of_map(
        "GCAS judges its success by what is there now",
        "    return load(new) is None\n",
        "    return load(inode) is new\n",
        shown_by=(
            "a tomb beside a key",
            (
                (("replace_if", ("a2", 20, 1001)),),
                (("get_or_create", ("a3", 1002)),),
                (("items", ()), ("remove_if", ("a3", 0))),
            ),
        ),
    ),
    _of_map(
        "a failed GCAS counts as done",
        "return DONE if gcas(root, edit.inode, old, new) else RESTART",
        "return DONE if gcas(root, edit.inode, old, new) or True else RESTART",
        module=EDITS,
    ),
    _of_map(
        "a read does not help",
        "    if load(main) is None:\n        return main\n    return gcas_complete(",
        "    return main\n    return gcas_complete(",
    ),
    _of_map(
        "a GCAS commits before it looks at the root",
        "    if _may_commit(root, inode) and compare_and_set(new, old, None):\n",
        "    if compare_and_set(new, old, None):\n",
    ),
    _of_map(
        "a GCAS that a helper decided counts as done",
        "    if _may_commit(root, inode) and compare_and_set(new, old, None):\n        return True\n",
        "    if _may_commit(root, inode) and (compare_and_set(new, old, None) or True):\n        return True\n",
    ),
    _of_map(
        "the look at the root takes a descriptor for the root",
        "    if is_exactly(top, INode):\n        same = gen_of",
        "    if True:\n        top = top if is_exactly(top, INode) else top.old\n        same = gen_of",
    ),
    _of_map(
        "an aborted write puts back too much",
        "if compare_and_set(inode, main, failed.wrapped):",
        "if compare_and_set(inode, main, load(failed.wrapped) or failed):",
    ),
    _of_map("GCAS waits for RDCSS", "return rdcss_read_root(root, True)", "return rdcss_read_root(root)"),
    _of_map(
        "a GCAS puts its main node in whatever is there",
        "    if not compare_and_set(inode, old, new):\n",
        "    if not compare_and_set(inode, load(inode), new):\n",
    ),
    _of_map(
        "a helper commits what has been aborted",
        "            if compare_and_set(main, prev, None):\n",
        "            if compare_and_set(main, load(main), None):\n",
        shown_by=("about to tomb", ((_SET_A,), (("get", ("a",)),), (("snapshot", ()), ("get", ("a",))))),
    ),
    _of_map(
        "a helper aborts what has been committed",
        "            compare_and_set(main, prev, _failed(prev))\n",
        "            compare_and_set(main, load(main), _failed(prev))\n",
        shown_by=("about to tomb", ((_SET_A,), (("snapshot", ()), ("get", ("a",))))),
    ),
)

SNAPSHOTS: Final = (
    _of_map(
        "RDCSS does not look at what it expects",
        "if not abort and gcas_read(root, descriptor.old) is descriptor.expected:",
        "if not abort:",
    ),
    _of_map(
        "RDCSS judges its success by what is there now",
        "        return load(descriptor) is COMMITTED\n",
        "        return rdcss_read_root(root) is new\n",
        shown_by=("about to tomb", ((("clear", ()),), (("__setitem__", ("a", 1002)), ("snapshot", ())))),
    ),
    _of_map(
        "RDCSS is decided twice",
        "    compare_and_set(descriptor, UNDECIDED, verdict)\n",
        "    compare_and_set(descriptor, load(descriptor), verdict)\n",
    ),
    _of_map(
        "a late helper carries RDCSS out again",
        "    compare_and_set(root, descriptor, chosen)\n",
        "    compare_and_set(root, load(root), chosen)\n",
    ),
    _of_map(
        "RDCSS proposes to replace whatever root there is",
        "    if compare_and_set(root, old, descriptor):\n",
        "    if compare_and_set(root, load(root), descriptor):\n",
        shown_by=("about to collide", ((("items", ()),), (("get", ("same1",)),), (("__len__", ()), ("clear", ())))),
    ),
    _of_map(
        "an empty trie is filled although another thread was first",
        "    return count - len(repeated) if done else -1\n",
        "    return count - len(repeated)\n",
        BULK,
        starts=("empty",),
        shown_by=("empty", ((("update", ("a", 10)),), (("snapshot", ()),))),
    ),
    _of_map(
        "a trie is filled whatever is in it by now",
        "    done = rdcss_root(root, old, main, new_inode(filled, gen))\n",
        "    main = gcas_read(root, old)\n    done = rdcss_root(root, old, main, new_inode(filled, gen))\n",
        BULK,
        starts=("empty",),
        shown_by=("empty", ((("update", ("a", 1001)),), (("__setitem__", ("b", 1002)),))),
    ),
    _of_map(
        "a trie is filled without a look at whether it is empty",
        "    if cn.bitmap != 0:\n        return -1\n",
        "",
        BULK,
        starts=("empty", "one key"),
        shown_by=("empty", ((("update", ("b", 1001)),), (("get", ("b",)), ("update", ("a2", 1003))))),
    ),
    _of_map(
        "filling a trie begins no generation",
        "    gen = Gen()\n    count",
        "    gen = old.gen\n    count",
        BULK,
        starts=("empty",),
        shown_by=("empty", ((("update", ("a", 1001)),), (("__setitem__", ("b", 1002)),))),
    ),
    _of_map("a snapshot begins no generation", "new_inode(main, Gen())):", "new_inode(main, old.gen)):"),
    _of_map(
        "a snapshot keeps the new root",
        "new_root(snapshot_root(root), True)",
        "new_root(snapshot_root(root) and rdcss_read_root(root), True)",
    ),
    _of_map(
        "a read-only snapshot is the trie itself",
        "return root if root.readonly else new_root(snapshot_root(root), True)",
        "return root",
    ),
    _of_map(
        "a fork is of the generation of its source",
        "new_root(new_inode(gcas_read(new_root(old, True), old), Gen()), False)",
        "new_root(old, False)",
    ),
    _of_map(
        "renewal copies what is of the present generation",
        RENEWAL,
        RENEWAL_OF_ALL,
        module=EDITS,
        shown_by=("mixed generations", ((("__setitem__", ("y1", 1001)),), (("__setitem__", ("a", 1002)),))),
    ),
    _of_map(
        "renewal keeps what is of an older generation",
        "return new_inode(gcas_read(root, inode), gen)",
        "return inode",
    ),
    _of_map(
        "a write enters nodes of older generations",
        "    if inode.gen is not edit.inode.gen:\n",
        "    if False:\n",
        module=EDITS,
    ),
    _of_map(
        "clear does not return",
        "            held[0] = old\n            return held",
        "            held[0] = old\n            continue",
    ),
    Mutant(
        "items are read one by one",
        "map",
        (
            (CTRIE, "        return ItemsView(self.readonly_snapshot())\n", "        return ItemsView(self)\n"),
            (
                CTRIE,
                "        return _contents(freeze_root(self._root), None, PAIRS)\n",
                "        return _contents(self._root, None, PAIRS)\n",
            ),
        ),
        shown_by=("mixed generations", ((("items", ()),), _A_MOVE)),
    ),
    _of_map(
        "len counts a moving trie",
        "    count = 0\n    root = freeze_root(trie._root)\n",
        "    count = 0\n    root = trie._root\n",
        CTRIE,
        shown_by=("mixed generations", ((("__len__", ()),), _A_MOVE)),
    ),
)

TOMBS: Final = (
    _of_map(
        "no removal leaves a tomb",
        "    if size > 1 or first_of_trie:\n",
        "    if size or first_of_trie:\n",
        module=EDITS,
    ),
    _of_map(
        "tombs are left where they are", "    edit.settled = True\n    return RESTART", "    return DONE", module=EDITS
    ),
    _of_map(
        "a write that meets a tomb is dropped",
        "            _bury(root, edit, main)  # type: ignore[arg-type]\n            return RESTART",
        "            _bury(root, edit, main)\n            edit.found = None\n            return DONE",
        module=EDITS,
    ),
    _of_map("whoever looks at a tomb sees nothing", "return () if tn.sn is None else (tn.sn,)", "return ()"),
    _of_map(
        "a tomb is buried where another I-node is",
        "    if child is edit.inode:\n",
        "    if isinstance(child, INode):\n",
        module=EDITS,
        shown_by=("after a snapshot", ((("__setitem__", ("a2", 1001)),), (("pop", ("a2", None)),))),
    ),
    _of_map("two keys lie in the wrong order", "(x, y) if i < j else (y, x)", "(x, y)"),
    _of_map(
        "hash bits run out early", "    if lev >= HASH_BITS:\n", "    if lev >= HASH_BITS - W:\n", starts=_COLLISIONS
    ),
    _of_map(
        "an L-node loses another key",
        "entries = removed(ln.entries, pos)",
        "entries = removed(ln.entries, 0)",
        module=EDITS,
        starts=_COLLISIONS,
    ),
    _of_map(
        "an L-node keeps its last entry",
        "new_tnode(entries[0]) if len(entries) == 1 else ",
        "",
        module=EDITS,
        starts=_COLLISIONS,
    ),
    _of_map(
        "an L-node takes a key twice",
        "return new_lnode(replaced(ln.entries, pos, branch))",
        "return new_lnode((*ln.entries, branch))",
        module=EDITS,
        starts=_COLLISIONS,
    ),
    _of_map(
        "a failed removal from an L-node counts as done",
        "        return _remove(root, edit, main, _without_snode(edit, main, pos))",
        "        outcome = _remove(root, edit, main, _without_snode(edit, main, pos))\n"
        "        return DONE if isinstance(main, LNode) else outcome",
        module=EDITS,
        starts=_COLLISIONS,
    ),
)

MAPPING: Final = (
    _of_map(
        "a conditional replacement is unconditional",
        "(mode == REPLACE_SAME and sn is self.expected)",
        "mode == REPLACE_SAME",
        CTRIE,
        shown_by=(
            "about to tomb",
            (
                (("compute", ("a", 10)), ("get", ("a2",))),
                (("__setitem__", ("a", 10)), ("readonly_snapshot", ())),
            ),
        ),
    ),
    _of_map(
        "a conditional removal is unconditional",
        "(mode == REMOVE_SAME and sn is self.expected)",
        "mode == REMOVE_SAME",
        CTRIE,
        shown_by=("one key", ((("remove_if", ("a", 10)),), (("__setitem__", ("a", 1001)),))),
    ),
    _of_map(
        "compare-and-set by equality",
        "(mode == REPLACE_SAME and sn is self.expected)",
        "(mode == REPLACE_SAME and sn.value == self.expected.value)",
        CTRIE,
        shown_by=("one key", ((("compute", ("a", 1)),), (("__setitem__", ("a", 10)),))),
    ),
    _of_map(
        "compute reads, then writes",
        "if self._edit_hashed(PUT_IF_ABSENT if sn is None else REPLACE_SAME, key, hash, value, sn) is sn:",
        "if self._edit_hashed(PUT, key, hash, value, None) is not self:",
        CTRIE,
    ),
    _of_map(
        "popitem removes whatever is there by now",
        "if self._edit_hashed(REMOVE_SAME, pair.key, pair.hash, None, pair) is pair:",
        "if self._edit_hashed(REMOVE, pair.key, pair.hash, None, None) is not None:",
        CTRIE,
        shown_by=("one key", ((("popitem", ()),), (("__setitem__", ("a", 1001)),))),
    ),
    _of_map(
        "get_or_create leaves others waiting",
        "                    mine.finish()\n",
        "                    pass\n",
        CTRIE,
        shown_by=("empty", ((("get_or_create", ("a", 1)),), (("get_or_create", ("a", 2)),))),
    ),
    _of_map(
        "a lookup reads past a pending write",
        "            if peek(main) is not borrow(None):\n                break\n",
        "",
        DESCENT,
        shown_by=("mixed generations", ((("__setitem__", ("y3", 1001)),), (("snapshot", ()), ("get", ("y3",))))),
    ),
    _of_map(
        "a plain store writes past a pending write",
        "        if peek(main) is not borrow(None) or not is_exactly(main, CNode):\n",
        "        if not is_exactly(main, CNode):\n",
        DESCENT,
        shown_by=(
            "one key",
            (
                (("__setitem__", ("a", 1001)),),
                (("__setitem__", ("b", 1002)), ("snapshot", ()), ("pop", ("a", None)), ("get", ("a",))),
            ),
        ),
    ),
    _of_map(
        "a plain store takes any GCAS for done",
        "    if not done:\n        return UNDONE\n",
        "",
        DESCENT,
    ),
    _of_map(
        "a plain store takes the place of another key",
        "            if hash_of(child) != hash:\n                break\n",
        "            if hash_of(child) != hash:\n                hash = hash_of(child)\n                break\n",
        DESCENT,
    ),
    _of_map(
        "a plain store lets one key stand for all of its hash",
        "            unpin()\n            return THERE if same else UNDONE\n",
        "            break\n",
        DESCENT,
        starts=_COLLISIONS,
    ),
    _of_map(
        "put_if_absent stores over a value",
        "            if same and not only_new:\n",
        "            if same:\n",
        DESCENT,
    ),
    Mutant(
        "a stale cache of lookups",
        "map",
        (
            (NODES, '    __slots__ = ("readonly",)\n', '    __slots__ = ("cache", "readonly")\n'),
            (
                NODES,
                "    root.readonly = readonly\n    return root\n",
                "    root.readonly = readonly\n    root.cache = Slot()\n    return root\n",
            ),
            (
                DESCENT,
                "    if end is borrow(None):\n        unpin()\n        return default\n",
                _CACHE_OF_LOOKUPS,
            ),
        ),
        shown_by=(
            "about to tomb",
            ((("get", ("a2",)), ("get", ("a2",))), (("__setitem__", ("a2", 1001)),)),
        ),
    ),
)

APPROACH: Final = (
    _of_subscriptions(
        "a change approaches past a pending write",
        EDITS,
        "        if not is_exactly(main, CNode) or peek(main) is not borrow(None):\n",
        "        if not is_exactly(main, CNode):\n",
        shown_by=(
            "words about to meet",
            ((("subscribe", ("y1.c", "x")),), (("subscribe", ("y1.d", "y")), ("snapshot", ()))),
        ),
    ),
    _of_subscriptions(
        "a change approaches along a branch of another word",
        BRANCH,
        "        if followed <= 0 or self.depth + followed >= len(self.words):\n            return borrow(None)\n",
        "        followed = abs(followed)\n"
        "        if self.depth + followed >= len(self.words):\n            return borrow(None)\n",
        shown_by=(
            "a chain above a level",
            ((("unsubscribe", ("a.b.c", "x")),), (("subscribe", ("a.c", "x")),), (("match", ("a.b.c",)),)),
        ),
    ),
    _of_subscriptions(
        "a change does not know the parent of where it stands",
        EDITS,
        "    edit.parent = parent_here\n",
        "    edit.parent = here\n",
    ),
    _of_subscriptions(
        "a change that meets a tomb takes any I-node for the first one",
        EDITS,
        "        same = top is borrow(inode)\n",
        "        same = True\n",
    ),
    _of_map(
        "a question for a key is answered by its hash",
        "        if not same or same_without_python(key_of(end), key, equal):\n",
        "        if True:\n",
        DESCENT,
        shown_by=("about to collide", ((("__contains__", ("same3",)),),)),
    ),
)


def _of_reclaimer(name: str, text: str, instead: str) -> Mutant:
    return Mutant(name, "reclaimer", (("epoch.h", text, instead),))


RECLAIMER: Final = (
    _of_reclaimer("values are released at once", "if (atomic_load(&reclaim.threads) == 1) {", "if (1) {"),
    _of_reclaimer(
        "values are released one epoch early", "static const uint64_t GRACE = 2;", "static const uint64_t GRACE = 1;"
    ),
    _of_reclaimer(
        "the epoch advances past those who are pinned", "if (pinned != UNPINNED && pinned != epoch) {", "if (0) {"
    ),
    _of_reclaimer(
        "a pin is not published",
        "    atomic_exchange_explicit(&p->pinned, epoch, memory_order_seq_cst);\n",
        "    (void)epoch;\n",
    ),
    _of_reclaimer(
        "a reader unpins before it counts",
        "    Py_INCREF(value);\n    reclaim_unpin();\n",
        "    reclaim_unpin();\n    Py_INCREF(value);\n",
    ),
    _of_reclaimer("values are never released", "if (oldest->epoch + GRACE > epoch) {", "if (1) {"),
    _of_reclaimer(
        "a failed compare-and-set keeps its count", "    Py_DECREF(desired);\n    return 0;\n", "    return 0;\n"
    ),
)
