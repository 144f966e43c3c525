"""The catalogue: the change of the source that makes each mutant.

Most are faults that other implementations had. A text that no longer occurs is an error: the mutant must follow the
source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from stress.explorer.scenario import Program
from stress.tries.source_copy import Change

__all__ = ["MUTANTS", "Mutant", "find"]


@dataclass(frozen=True)
class Mutant:
    """A fault, by name. `of` is the part that it is in: a target of the explorer, "checker" or "reclaimer". `edits` are
    (module or file, text, replacement). `starts` are the starts that it needs, if others would only waste time.
    `shown_by` is a scenario, as start and calls, if a random search takes long to find the fault.
    """

    name: str
    of: str
    edits: tuple[tuple[str, str, str], ...]
    starts: tuple[str, ...] = ()
    shown_by: tuple[str, Program] | tuple[()] = ()

    @property
    def changes(self) -> list[Change]:
        """The changes of the source."""
        return [Change(self.name, *edit) for edit in self.edits]


def find(name: str) -> Mutant:
    """The mutant of that name; LookupError if there is none."""
    for mutant in MUTANTS:
        if mutant.name == name:
            return mutant
    raise LookupError(f"there is no mutant {name!r}")


_NODES: Final = "ctrie._nodes"
_CTRIE: Final = "ctrie._ctrie"
_DESCENT: Final = "ctrie._descent"
_BRANCH: Final = "subtrie._trie.branch"
_BULK: Final = "ctrie._bulk"
_CHOOSING: Final = "subtrie._trie.choosing"
_INDEX: Final = "subtrie._trie.reverse_index"
_DUTIES: Final = "subtrie._trie.duties"
_INTEREST: Final = "subtrie._trie.interest"
_CACHE: Final = "subtrie._trie.match.answer_cache"
_TEXT_NODE: Final = "subtrie._trie.packed_key"
_MATCHING: Final = "subtrie._trie.match.traversal"
_INTERLEAVED: Final = "subtrie._trie.match.interleaved"
_PATHS: Final = "subtrie._trie.match.reading"
_KEYED: Final = "subtrie._trie.keyed"
_A_MOVE: Final = (("__setitem__", ("y3", 1001)), ("pop", ("a2", None)))
_SET_A: Final = ("__setitem__", ("a", 1001))
_A_TORN_MATCH: Final = (
    "a wildcard beside words that meet",
    ((("match", ("a.y1",)),), (("subscribe", ("*.y1", "y")), ("unsubscribe", ("a.y1", "x")))),
)
_A_TORN_MATCH_OF_MANY: Final = (
    "a wildcard beside words that meet",
    ((("match_many", ("a.y1",)),), (("subscribe", ("*.y1", "y")), ("unsubscribe", ("a.y1", "x")))),
)
_A_MATCH_TORN_INSIDE: Final = (
    "words that meet below a wildcard",
    ((("match", ("y1",)),), (("subscribe", ("y1", "x")), ("unsubscribe", ("#.y1", "x")))),
)
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
        below = main.array if isinstance(main, CNode) else main.entries
        copies = tuple(
            renewed(root, child, edit.inode.gen)
            if isinstance(child, INode)
            else child.with_level(renewed(root, child.next, edit.inode.gen))
            if getattr(child, "next", None)
            else child
            for child in below
        )
        changed = new_cnode(main.bitmap, copies) if isinstance(main, CNode) else new_lnode(copies)
"""
"""The published algorithm: it renews all I-nodes of a C-node, and those of the present generation, too."""
_COLLISIONS: Final = ("about to collide", "a collision about to shrink")


def _of_map(name: str, text: str, instead: str, module: str = _NODES, **needs: Any) -> Mutant:
    return Mutant(name, "map", ((module, text, instead),), **needs)


def _of_exclusions(name: str, module: str, text: str, instead: str) -> Mutant:
    return Mutant(name, "exclusions", ((f"subtrie._trie.{module}", text, instead),))


def _of_shares(name: str, module: str, text: str, instead: str, **needs: Any) -> Mutant:
    return Mutant(name, "shares", ((f"subtrie._trie.{module}", text, instead),), **needs)


def _of_subscriptions(name: str, module: str, text: str, instead: str, **needs: Any) -> Mutant:
    return Mutant(name, "subscriptions", ((module, text, instead),), **needs)


_GCAS: Final = (
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
    ),
    _of_map(
        "a failed GCAS counts as done",
        "return DONE if gcas(root, edit.inode, old, new) else RESTART",
        "return DONE if gcas(root, edit.inode, old, new) or True else RESTART",
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

_SNAPSHOTS: Final = (
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
    ),
    _of_map(
        "an empty trie is filled although another thread was first",
        "    return rdcss_root(root, old, main, new_inode(filled, gen))\n",
        "    rdcss_root(root, old, main, new_inode(filled, gen))\n    return True\n",
        _BULK,
        starts=("empty",),
    ),
    _of_map(
        "a trie is filled whatever is in it by now",
        "    return rdcss_root(root, old, main, new_inode(filled, gen))\n",
        "    main = gcas_read(root, old)\n    return rdcss_root(root, old, main, new_inode(filled, gen))\n",
        _BULK,
        starts=("empty",),
        shown_by=("empty", ((("update", ("a", 1001)),), (("__setitem__", ("b", 1002)),))),
    ),
    _of_map(
        "a trie is filled without a look at whether it is empty",
        "    if cn.bitmap != 0:\n        return False\n",
        "",
        _BULK,
        starts=("empty", "one key"),
    ),
    _of_map(
        "filling a trie begins no generation",
        "    gen = Gen()\n    count",
        "    gen = old.gen\n    count",
        _BULK,
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
        shown_by=("mixed generations", ((("__setitem__", ("y1", 1001)),), (("__setitem__", ("a", 1002)),))),
    ),
    _of_map(
        "renewal keeps what is of an older generation",
        "return new_inode(gcas_read(root, inode), gen)",
        "return inode",
    ),
    _of_map(
        "a write enters nodes of older generations", "    if inode.gen is not edit.inode.gen:\n", "    if False:\n"
    ),
    _of_map(
        "clear does not return",
        "new_cnode(0, ()), Gen())):\n            return",
        "new_cnode(0, ()), Gen())):\n            continue",
    ),
    Mutant(
        "items are read one by one",
        "map",
        (
            (_CTRIE, "        return ItemsView(self.readonly_snapshot())\n", "        return ItemsView(self)\n"),
            (
                _CTRIE,
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
        _CTRIE,
        shown_by=("mixed generations", ((("__len__", ()),), _A_MOVE)),
    ),
)

_TOMBS: Final = (
    _of_map("no removal leaves a tomb", "    if size > 1 or first_of_trie:\n", "    if size or first_of_trie:\n"),
    _of_map("tombs are left where they are", "    edit.settled = True\n    return RESTART", "    return DONE"),
    _of_map(
        "a write that meets a tomb is dropped",
        "            _bury(root, edit, main)  # type: ignore[arg-type]\n            return RESTART",
        "            _bury(root, edit, main)\n            edit.found = None\n            return DONE",
    ),
    _of_map("whoever looks at a tomb sees nothing", "return () if tn.sn is None else (tn.sn,)", "return ()"),
    _of_map(
        "a tomb is buried where another I-node is",
        "    if child is edit.inode:\n",
        "    if isinstance(child, INode):\n",
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
        starts=_COLLISIONS,
    ),
    _of_map(
        "an L-node keeps its last entry", "new_tnode(entries[0]) if len(entries) == 1 else ", "", starts=_COLLISIONS
    ),
    _of_map(
        "an L-node takes a key twice",
        "return new_lnode(replaced(ln.entries, pos, branch))",
        "return new_lnode((*ln.entries, branch))",
        starts=_COLLISIONS,
    ),
    _of_map(
        "a failed removal from an L-node counts as done",
        "        return _remove(root, edit, main, _without_snode(edit, main, pos))",
        "        outcome = _remove(root, edit, main, _without_snode(edit, main, pos))\n"
        "        return DONE if isinstance(main, LNode) else outcome",
        starts=_COLLISIONS,
    ),
)

_MAPPING: Final = (
    _of_map(
        "a conditional replacement is unconditional",
        "(mode == REPLACE_SAME and sn is self.expected)",
        "mode == REPLACE_SAME",
        _CTRIE,
    ),
    _of_map(
        "a conditional removal is unconditional",
        "(mode == REMOVE_SAME and sn is self.expected)",
        "mode == REMOVE_SAME",
        _CTRIE,
        shown_by=("one key", ((("remove_if", ("a", 10)),), (("__setitem__", ("a", 1001)),))),
    ),
    _of_map(
        "compare-and-set by equality",
        "(mode == REPLACE_SAME and sn is self.expected)",
        "(mode == REPLACE_SAME and sn.value == self.expected.value)",
        _CTRIE,
        shown_by=("one key", ((("compute", ("a", 1)),), (("__setitem__", ("a", 10)),))),
    ),
    _of_map(
        "compute reads, then writes",
        "if self._edit_hashed(PUT_IF_ABSENT if sn is None else REPLACE_SAME, key, hash, value, sn) is sn:",
        "if self._edit_hashed(PUT, key, hash, value, None) is not self:",
        _CTRIE,
    ),
    _of_map(
        "popitem removes whatever is there by now",
        "if self._edit_hashed(REMOVE_SAME, pair.key, pair.hash, None, pair) is pair:",
        "if self._edit_hashed(REMOVE, pair.key, pair.hash, None, None) is not None:",
        _CTRIE,
        shown_by=("one key", ((("popitem", ()),), (("__setitem__", ("a", 1001)),))),
    ),
    _of_map(
        "get_or_create leaves others waiting",
        "                    mine.finish()\n",
        "                    pass\n",
        _CTRIE,
        shown_by=("empty", ((("get_or_create", ("a", 1)),), (("get_or_create", ("a", 2)),))),
    ),
    _of_map(
        "a lookup reads past a pending write",
        "            if peek(main) is not borrow(None):\n                break\n",
        "",
        _DESCENT,
        shown_by=("mixed generations", ((("__setitem__", ("y3", 1001)),), (("snapshot", ()), ("get", ("y3",))))),
    ),
    _of_map(
        "a plain store writes past a pending write",
        "        if peek(main) is not borrow(None) or not is_exactly(main, CNode):\n",
        "        if not is_exactly(main, CNode):\n",
        _DESCENT,
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
        "    if not gcas(cython.cast(Root, root_of(trie)), inode, cn, changed):\n        return UNDONE\n",
        "    gcas(cython.cast(Root, root_of(trie)), inode, cn, changed)\n",
        _DESCENT,
    ),
    _of_map(
        "a plain store takes the place of another key",
        "            if hash_of(child) != hash:\n                break\n",
        "            if hash_of(child) != hash:\n                hash = hash_of(child)\n                break\n",
        _DESCENT,
    ),
    _of_map(
        "a plain store lets one key stand for all of its hash",
        "            unpin()\n            return THERE if same else UNDONE\n",
        "            break\n",
        _DESCENT,
        starts=_COLLISIONS,
    ),
    _of_map(
        "put_if_absent stores over a value",
        "            if same and not only_new:\n",
        "            if same:\n",
        _DESCENT,
    ),
    Mutant(
        "a stale cache of lookups",
        "map",
        (
            (_NODES, '    __slots__ = ("readonly",)\n', '    __slots__ = ("cache", "readonly")\n'),
            (
                _NODES,
                "    root.readonly = readonly\n    return root\n",
                "    root.readonly = readonly\n    root.cache = Slot()\n    return root\n",
            ),
            (
                _DESCENT,
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

_APPROACH: Final = (
    _of_subscriptions(
        "a change approaches past a pending write",
        _NODES,
        "        if not is_exactly(main, CNode) or peek(main) is not borrow(None):\n",
        "        if not is_exactly(main, CNode):\n",
        shown_by=(
            "words about to meet",
            ((("subscribe", ("y1.c", "x")),), (("subscribe", ("y1.d", "y")), ("snapshot", ()))),
        ),
    ),
    _of_subscriptions(
        "a change approaches along a branch of another word",
        _BRANCH,
        "        if taken <= 0 or self.depth + taken >= len(self.words):\n            return borrow(None)\n",
        "        taken = abs(taken)\n"
        "        if self.depth + taken >= len(self.words):\n            return borrow(None)\n",
    ),
    _of_subscriptions(
        "a change does not know the parent of where it stands",
        _NODES,
        "    edit.parent = parent_here\n",
        "    edit.parent = here\n",
    ),
    _of_subscriptions(
        "a change that meets a tomb takes any I-node for the first one",
        _NODES,
        "        same = top is borrow(inode)\n",
        "        same = True\n",
    ),
    _of_map(
        "a question for a key is answered by its hash",
        "        if not same or same_without_python(key_of(end), key, equal):\n",
        "        if True:\n",
        _DESCENT,
    ),
)

_SUBSCRIPTIONS: Final = (
    _of_subscriptions(
        "a match has no second pass", _MATCHING, "not still_holds(t, root, first)", "False", shown_by=_A_TORN_MATCH
    ),
    _of_subscriptions(
        "the second pass looks at the root only",
        _MATCHING,
        "if peek(as_node(seen[at])) is not as_node(seen[at + 1]):",
        "if False:",
        shown_by=_A_TORN_MATCH,
    ),
    _of_subscriptions(
        "I-nodes inside a level are not looked at again",
        _MATCHING,
        "main = note(ends, node, 0)",
        "main = peek(node)",
        shown_by=_A_MATCH_TORN_INSIDE,
    ),
    _of_subscriptions(
        "topics side by side have no second pass",
        _INTERLEAVED,
        "not still_holds(t, root, first)",
        "False",
        shown_by=_A_TORN_MATCH_OF_MANY,
    ),
    _of_subscriptions(
        "topics side by side look at the first level only once more",
        _INTERLEAVED,
        "    if not note_read(t, s.node, main):\n",
        "    if False:\n",
        shown_by=_A_TORN_MATCH_OF_MANY,
    ),
    _of_subscriptions(
        "topics side by side go past a pending write",
        _INTERLEAVED,
        "    if is_exactly(main, CNode) and peek(main) is borrow(None):\n",
        "    if is_exactly(main, CNode):\n",
        shown_by=(
            "words about to meet",
            ((("subscribe", ("y1.c", "x")),), (("snapshot", ()), ("match_many", ("y1.c",)), ("match", ("y1.c",)))),
        ),
    ),
    _of_subscriptions(
        "has_match says no after one pass",
        _MATCHING,
        "outcome == THROUGH and OTHERS",
        "outcome == THROUGH and not t.only_first and OTHERS",
        shown_by=(
            "a wildcard beside words that meet",
            ((("has_match", ("a.y1",)),), (("subscribe", ("*.y1", "y")), ("unsubscribe", ("a.y1", "x")))),
        ),
    ),
    _of_subscriptions(
        "an answer is recalled whatever has changed",
        _CACHE,
        "and _still_hold(found)",
        "",
        starts=("an answer remembered",),
    ),
    _of_subscriptions(
        "an answer is recalled whatever root there is",
        _CACHE,
        "is_exactly(first, INode) and peek(first) is item_of(remembered, FIRST_MAIN)",
        "True",
        starts=("an answer remembered before a snapshot",),
    ),
    _of_subscriptions(
        "a prune takes whatever level it finds",
        _BRANCH,
        "        if self.next is not edit.inode:\n            return self\n",
        "",
        starts=("a subscriber above", "left with a pending tomb"),
    ),
    _of_subscriptions(
        "a prune takes the subscribers along",
        _BRANCH,
        "            return changed_branch(self, subscribers_of(self), None) if is_wanted(self) else None",
        "            return None",
    ),
    _of_subscriptions(
        "branches are joined over the subscribers between them",
        _BRANCH,
        "        if is_wanted(self):  # there is a subscriber",
        "        if False:  # there is a subscriber",
        starts=("left with a tomb to roll up",),
    ),
    _of_subscriptions(
        "branches are joined without the first one's words",
        _BRANCH,
        "separator.join((self.key, branch.key))",
        "separator.join((branch.key, branch.key))",
    ),
    _of_subscriptions(
        "a last branch goes with its level",
        _BRANCH,
        "        if last is None:",
        "        if True:",
    ),
    _of_subscriptions(
        "a chain is followed wherever it leads",
        _TEXT_NODE,
        "        if wanted is not None and word != wanted:",
        "        if False:",
    ),
    _of_subscriptions(
        "a chain that parts loses its subscribers",
        _BRANCH,
        "lower_hash, subscribers_of(branch), branch.next)",
        "lower_hash, None, branch.next)",
    ),
    _of_subscriptions(
        "a chain that parts takes a copy of its level down",
        _BRANCH,
        "lower_hash, subscribers_of(branch), branch.next)",
        "lower_hash, subscribers_of(branch), branch.next and"
        " new_inode(new_inode.__globals__['load'](branch.next), self.inode.gen))",
        starts=("a chain above a level",),
    ),
    _of_subscriptions(
        "of a tomb with a branch, a match sees nothing",
        _MATCHING,
        "    return THROUGH if node is borrow(None) else",
        "    return THROUGH if True else",
        starts=("left with a tomb to roll up",),
    ),
    _of_subscriptions(
        "the last subscriber takes longer filters along",
        _BRANCH,
        "if left is None and branch.next is None:",
        "if left is None:",
        starts=("a subscriber above",),
    ),
    _of_subscriptions(
        "a branch without subscribers stays",
        _BRANCH,
        "        if left is None and branch.next is None:\n            return None\n",
        "",
        starts=("one filter", "a subscriber above"),
    ),
    _of_subscriptions(
        "a level that has emptied is not tombed", _NODES, "        return new_tnode(None)\n", "        return cn\n"
    ),
    _of_subscriptions(
        "a renewed branch keeps the old level",
        _BRANCH,
        "        return changed_branch(self, subscribers_of(self), level)\n",
        "        return self\n",
    ),
    _of_subscriptions(
        "a subscribe writes into a level about to be pruned",
        _NODES,
        "        else:\n            _bury(root, edit, main)",
        "        elif not edit.settled and main.sn is None and (added := _created(edit)) is not None:\n"
        "            flag = flag_at(edit.hash, 0)\n"
        "            return _commit(root, edit, main, new_cnode(flag, (added,)))\n"
        "        else:\n            _bury(root, edit, main)",
        shown_by=("a subscriber above", ((("unsubscribe", ("a.b", "x")),), (("subscribe", ("a.c", "x")),))),
    ),
    _of_subscriptions(
        "whether somebody is subscribed above is not looked at again",
        _NODES,
        "edit.emptied or _is_one_snode(edit, new)):",
        "edit.emptied or _is_one_snode(edit, new) and edit.rolls_up()):",
        shown_by=(
            "a subscriber above a neighbour",
            ((("unsubscribe", ("a.b", "x")),), (("unsubscribe", ("a", "x")),)),
        ),
    ),
    _of_subscriptions(
        "whether somebody is subscribed above is looked at again but once",
        _NODES,
        "        return gcas_read(root, edit.parent) is not edit.parent_main",
        "        return False",
        shown_by=(
            "a subscriber above words that meet",
            ((("subscribe", ("a.y2", "x")),), (("unsubscribe", ("a", "x")),), (("unsubscribe", ("a.y1", "x")),)),
        ),
    ),
    _of_subscriptions(
        "who asked for the topic by name is not found beside wildcards",
        _MATCHING,
        "    outcome = _literal(t, ends, level, main, whole_of(t), bit(t.size))\n    if",
        "    outcome = THROUGH\n    if",
        starts=("exact, a filter of each kind",),
    ),
    _of_subscriptions(
        "filters behind the mark are not looked at",
        _MATCHING,
        "    return _visit(t, ends, _wild(main, bitmap, MARKED), 0, 1)\n",
        "    return outcome\n",
        starts=("exact, a filter of each kind",),
    ),
    _of_subscriptions(
        "the mark is told as a word",
        _PATHS,
        "    if branch.hash != MARKED:",
        "    if True:",
        starts=("exact, a filter behind the mark about to go",),
    ),
    _of_subscriptions(
        "a set of subscribers is changed in place",
        _KEYED,
        "        return _new_node(node.bitmap | flag, inserted(node.array, pos, member), node.size + 1)",
        "        node.bitmap, node.array = node.bitmap | flag, inserted(node.array, pos, member)\n"
        "        node.size += 1\n        return node",
        starts=("eight subscribers", "nine subscribers"),
    ),
)


_LISTENED_TO: Final = ("listened to, empty", "listened to, one filter")
_GROUPS_LISTENED_TO: Final = ("listened to, one in the group", "listened to, one of each")
_INDEXED: Final = ("indexed, empty", "indexed, one filter")
_COMES_AND_GOES: Final = (
    "indexed, one filter",
    ((("subscribe", ("a.b", "x")),), (("unsubscribe", ("a.b", "x")),)),
)

_TWO_COME: Final = ("listened to, empty", ((("subscribe", ("a.b", "x")),), (("subscribe", ("a.c", "x")),)))

_OBSERVERS: Final = (
    _of_subscriptions(
        "a filter is put on the list for the listener in the place of others",
        _DUTIES,
        "            if compare_and_set(self._first, first, duty):\n",
        "            if compare_and_set(self._first, load(self._first), duty):\n",
        starts=_LISTENED_TO,
        shown_by=_TWO_COME,
    ),
    _of_subscriptions(
        "two threads tell the listener",
        _INTEREST,
        "        if not compare_and_set(self._place, doer, me):\n",
        "        if not compare_and_set(self._place, load(self._place), me):\n",
        starts=_LISTENED_TO,
        shown_by=_TWO_COME,
    ),
    _of_subscriptions(
        "whoever leaves takes the place from another",
        _INTEREST,
        "        compare_and_set(self._place, me, None)\n",
        "        compare_and_set(self._place, load(self._place), None)\n",
        starts=_LISTENED_TO,
        shown_by=_TWO_COME,
    ),
    _of_subscriptions(
        "what was put on the list meanwhile is forgotten",
        _DUTIES,
        "        return compare_and_set(self._first, first, None)\n",
        "        return compare_and_set(self._first, load(self._first), None)\n",
        starts=_LISTENED_TO,
        shown_by=_TWO_COME,
    ),
    _of_subscriptions(
        "whoever leaves the place does not look again",
        _INTEREST,
        "            while self.waits and self._take_place(me):\n",
        "            if self.waits and self._take_place(me):\n",
        starts=_LISTENED_TO,
        shown_by=_TWO_COME,
    ),
    _of_subscriptions(
        "a filing that is pending is struck",
        _INDEX,
        "        if compare_and_set(filing.state, PENDING, TOUCHED) or load(filing.state) is TOUCHED:\n",
        "        if False:\n",
        starts=_INDEXED,
        shown_by=_COMES_AND_GOES,
    ),
    _of_subscriptions(
        "a filing is settled although it was touched",
        _INDEX,
        "    if compare_and_set(filing.state, PENDING, SETTLED):\n",
        "    if compare_and_set(filing.state, load(filing.state), SETTLED):\n",
        starts=_INDEXED,
        shown_by=_COMES_AND_GOES,
    ),
    _of_subscriptions(
        "a filing that was touched is never settled",
        _INDEX,
        "    compare_and_set(filing.state, TOUCHED, SETTLED)\n",
        "",
        starts=_INDEXED,
        shown_by=_COMES_AND_GOES,
    ),
    _of_subscriptions(
        "a strike takes out any filing",
        _INDEX,
        "        if present is not filing:\n",
        "        if present is None:\n",
        starts=_INDEXED,
        shown_by=_COMES_AND_GOES,
    ),
    _of_exclusions(
        "exclusions that are gone are counted on",
        "groups",
        " - isinstance(gone, Excepting)",
        "",
    ),
    _of_exclusions(
        "new exclusions of a subscriber that is there get lost",
        "branch",
        "entry = entry_of(present.key, entry)",
        "entry = new_entry(present.key, entry.hash, entry.options)",
    ),
    _of_exclusions(
        "exclusions are not asked for",
        "match.audience",
        " and not self.excludes(alive)",
        "",
    ),
    _of_exclusions(
        "the first subscribers that a topic reaches are taken to get it",
        "match.questions",
        "return not s.shared or len(match(trie, topic, False)) > 0",
        "return True",
    ),
    _of_shares(
        "the first member of a group that has been there is told of again",
        "branch",
        "        self.crossed_group = members is None\n",
        "        self.crossed_group = audience is None\n",
        starts=_GROUPS_LISTENED_TO,
    ),
    _of_shares(
        "the last member of a group leaves without a notice",
        "branch",
        "        self.crossed_group = others is None\n",
        "        self.crossed_group = left is None\n",
        starts=_GROUPS_LISTENED_TO,
    ),
    _of_shares(
        "a group is wanted as long as its filter is",
        "trie",
        "        return members_of(subscribers_of(branch), watched[1]) is not None\n",
        "        return is_wanted(branch)\n",
        starts=_GROUPS_LISTENED_TO,
    ),
    _of_shares(
        "the members of a group are all subscribers of the filter",
        "trie",
        "return shown_members(members_of(audience, group), self.dialect, group, words)",
        "return shown_members(members_of(audience, None), self.dialect, group, words)",
        starts=_GROUPS_LISTENED_TO,
    ),
    _of_shares(
        "an own delivery is looked for outside of groups",
        "match.deliveries",
        "        for group, members in sets_of(_value(one)):\n            entry = find_keyed(",
        "        for group, members in [*sets_of(_value(one))][:1]:\n            entry = find_keyed(",
    ),
    _of_subscriptions(
        "own deliveries are those of everybody",
        "subtrie._trie.match.deliveries",
        "            entry = find_keyed(members, subscriber, hash)\n            alive = None",
        "            entry = next(iter_keyed(members), None)\n            alive = None",
    ),
    Mutant(
        "a join sees what is stored while it looks",
        "topics",
        (
            (
                "subtrie._trie.topic_store",
                "        root = frozen_root(self)\n        filters",
                "        root = self._root\n        filters",
            ),
        ),
        shown_by=(
            "words about to meet",
            (
                (("joined", ()),),
                tuple(("__setitem__", each) for each in (("y1.b", 1001), ("a.y1", 1002), ("y1.b", 1003))),
            ),
        ),
    ),
    Mutant(
        "two get the same turn",
        "shares",
        (
            (
                _CHOOSING,
                "    return compare_and_set(turn, number, key << 32 | following)\n",
                "    return compare_and_set(turn, load(turn), key << 32 | following)\n",
            ),
        ),
        starts=("two in the group",),
    ),
)

_CHANGED: Final = "            if changed is state or compare_and_set(self._slot, state, changed):\n"
_COUNTED: Final = "            if compare_and_set(self._slot, state, known):\n"


def _of_fields(name: str, text: str, instead: str, module: str = "matcher", of: str = "fields", **needs: Any) -> Mutant:
    return Mutant(name, of, ((f"subtrie.fields.{module}", text, instead),), **needs)


_FIELDS: Final = (
    _of_fields(
        "a change of fields that came too late is taken for made",
        _CHANGED,
        _CHANGED.replace("changed):", "changed) or True:"),
    ),
    _of_fields(
        "a change of fields takes the place of whatever is there",
        _CHANGED,
        _CHANGED.replace("self._slot, state,", "self._slot, load(self._slot),"),
    ),
    _of_fields(
        "a change of fields that came too late is made of the state that it lost to",
        "                changed, answer = step(state, *arguments)\n",
        "                changed, answer = step(state, *arguments)\n                state = load(self._slot)\n",
    ),
    _of_fields(
        "rows of an older state take the place of a newer one",
        _COUNTED,
        _COUNTED.replace("self._slot, state,", "self._slot, load(self._slot),"),
        shown_by=("empty", ((("hits", ("f=1",)),), (("subscribe", ("f=1", "x")),))),
    ),
    _of_fields(
        "what changed while rows were made is not added to them",
        "            known = with_rows(state, known)\n",
        "            known = with_rows(state, known) if known is NO_ROWS else known\n",
        shown_by=("empty", ((("hits", ("f=1",)),), (("subscribe", ("f=1", "x")),))),
    ),
    _of_fields(
        "several messages are matched at several instants",
        "            answers.append(subscribers_for(state, as_dict(message)))\n",
        "            answers.append(subscribers_for(load(self._slot), as_dict(message)))\n",
        shown_by=("empty", ((("match_many", ("f=1",)),), (("subscribe", ("f=1", "x")),))),
    ),
    _of_fields(
        "a snapshot of fields is the matcher itself",
        "        return self if self._readonly else self._with_state(state_of(self), True)\n",
        "        return self\n",
    ),
    _of_fields(
        "several subscriptions are made one by one",
        "        added: int = self._change(with_many, (several,))\n",
        "        added = sum(self._change(with_subscription, each) for each in several)\n",
        shown_by=("empty", ((("subscribe_many", ((("f=1", "x"), ("f=1", "z")),)),), (("match", ("f=1",)),))),
    ),
    _of_fields(
        "criteria of one hash are one criterion",
        "        if subscribed.hash == hash and asks(subscribed, criteria):\n",
        "        if True:\n",
        "state",
    ),
    _of_fields(
        "a range is found after it ends",
        "        if not lasts_at(node, i, point):\n",
        "        if False:\n",
        "search",
    ),
    _of_fields(
        "whatever the words before a wildcard lead to matches the topic",
        "        return access.place == VALUES and access.name is WORDS\n",
        "        return True\n",
        "criteria",
        of="routes",
        shown_by=("a filter of each kind", ((("subscribe", ("@a.b.*", "w")), ("match", ("@a.b f=1",))),)),
    ),
)


def _of_checker(name: str, module: str, text: str, instead: str) -> Mutant:
    return Mutant(name, "checker", ((f"stress.{module}", text, instead),))


_CHECKER: Final = (
    _of_checker(
        "a blind write is taken at once",
        "specs.registers",
        'return op == "read" or (op == "cas" and result is False)',
        'return op in ("read", "write") or (op == "cas" and result is False)',
    ),
    _of_checker(
        "what is pending must happen",
        "checker.segment",
        "                    if not left and state not in ended and state not in halves:\n",
        "                    if not left and taken.bit_count() == len(moves) - completed and state not in ended:\n",
    ),
    _of_checker(
        "what is pending never happens",
        "checker.segment",
        "        self.operations = completed + pending\n",
        "        pending = []\n        self.operations = completed + pending\n",
    ),
    _of_checker(
        "a return at the tick of a call comes first",
        "checker.segment",
        "events = [(each.call, 0, number) for number, each",
        "events = [(each.call, 2, number) for number, each",
    ),
    _of_checker(
        "a cut at the tick of a return",
        "checker.search",
        "        if operation.call > busy_until:\n",
        "        if operation.call >= busy_until:\n",
    ),
    _of_checker(
        "answers do not count",
        "outcomes",
        "        if fits(result, answer) or _fits_frozen(self, state, (op, args), result, answer):\n",
        "        if True:\n",
    ),
    _of_checker(
        "what was tried is forgotten to be of a state",
        "checker.segment",
        "                known = tried[state]\n",
        "                known = tried[0]\n",
    ),
    _of_checker(
        "real time does not count",
        "checker.segment",
        "        for _, is_return, number in sorted(events):\n",
        "        for _, is_return, number in sorted(events, key=lambda event: event[1:]):\n",
    ),
    # A wrong order derived from the times (stress/specs/fifo.py and the like) gives no wrong verdict, only a slow one:
    # the result of a glance is still searched for, in a narrower object or a shorter history.
    _of_checker(
        "a queue of a known order has any length",
        "specs.buffers",
        "if result in (UNSEEN, put - got) else ()",
        "if True else ()",
    ),
    _of_checker(
        "a queue of some of the values has the length of all",
        "specs.buffers",
        "return operation if result == 0 else None",
        "return operation",
    ),
    _of_checker(
        "a stack of a known order has any length",
        "specs.buffers",
        "return (state,) if result in (UNSEEN, self._sizes[state]) else ()",
        "return (state,)",
    ),
    _of_checker(
        "a set of a known order has any length",
        "specs.collections",
        "return (state,) if result is UNSEEN or result == self._sizes[state] else ()",
        "return (state,)",
    ),
    _of_checker(
        "a register of a known order lets a failed compare-and-set pass",
        "specs.registers",
        "return (state,) if result in (False, UNSEEN) and here != args[0] else ()",
        "return (state,) if result in (False, UNSEEN) else ()",
    ),
)


def _of_reclaimer(name: str, text: str, instead: str) -> Mutant:
    return Mutant(name, "reclaimer", (("epoch.h", text, instead),))


_RECLAIMER: Final = (
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

_SHAPES: Final = (
    _of_subscriptions(
        "whoever leaves a level with one branch leaves it at that",
        _NODES,
        "    if not (isinstance(new, TNode) or edit.emptied or _is_one_snode(edit, new)):",
        "    if not (isinstance(new, TNode) or edit.emptied):",
    ),
    _of_subscriptions(
        "the last subscriber above a level with one branch leaves it at that",
        _NODES,
        "    if not (isinstance(new, TNode) or edit.emptied or _is_one_snode(edit, new)):",
        "    if not (isinstance(new, TNode) or _is_one_snode(edit, new)):",
    ),
    _of_subscriptions(
        "a level that has emptied stays as it is",
        _NODES,
        "    if size == 0:\n        return new_tnode(None)\n",
        "    if size == 0:\n        return cn\n",
    ),
    _of_subscriptions(
        "a chain that parts keeps no subscriber below",
        _BRANCH,
        "lower_hash, subscribers_of(branch), branch.next)",
        "lower_hash, None, branch.next)",
    ),
    _of_subscriptions(
        "the last subscriber takes the longer filters along",
        _BRANCH,
        "        if left is None and branch.next is None:",
        "        if left is None:",
    ),
    _of_subscriptions(
        "a commit does not look at the root's generation",
        _NODES,
        "    return is_present(root, inode) and not root.readonly",
        "    return True",
    ),
)

MUTANTS: Final[tuple[Mutant, ...]] = (
    *_GCAS,
    *_SNAPSHOTS,
    *_TOMBS,
    *_MAPPING,
    *_APPROACH,
    *_SUBSCRIPTIONS,
    *_OBSERVERS,
    *_FIELDS,
    *_CHECKER,
    *_RECLAIMER,
    *_SHAPES,
)
