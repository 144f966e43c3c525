"""Mutants of the subscription trie and of who observes it: notices, the index, caches, groups."""

from __future__ import annotations

from typing import Any, Final

from tests.tries.mutants.mutant import (
    BRANCH,
    CACHE,
    DUTIES,
    EDITS,
    INDEX,
    INTEREST,
    INTERLEAVED,
    KEYED,
    MATCHING,
    NODES,
    PATHS,
    TEXT_NODE,
    Mutant,
)

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


def _of_exclusions(name: str, module: str, text: str, instead: str) -> Mutant:
    return Mutant(name, "exclusions", ((f"subtrie._trie.{module}", text, instead),))


def _of_shares(name: str, module: str, text: str, instead: str, **needs: Any) -> Mutant:
    return Mutant(name, "shares", ((f"subtrie._trie.{module}", text, instead),), **needs)


def _of_subscriptions(name: str, module: str, text: str, instead: str, **needs: Any) -> Mutant:
    return Mutant(name, "subscriptions", ((module, text, instead),), **needs)


SUBSCRIPTIONS: Final = (
    _of_subscriptions(
        "a match has no second pass", MATCHING, "not still_holds(t, root, first)", "False", shown_by=_A_TORN_MATCH
    ),
    _of_subscriptions(
        "the second pass looks at the root only",
        MATCHING,
        "if peek(as_node(seen[at])) is not as_node(seen[at + 1]):",
        "if False:",
        shown_by=_A_TORN_MATCH,
    ),
    _of_subscriptions(
        "I-nodes inside a level are not looked at again",
        MATCHING,
        "main = note(ends, node, 0)",
        "main = peek(node)",
        shown_by=_A_MATCH_TORN_INSIDE,
    ),
    _of_subscriptions(
        "topics side by side have no second pass",
        INTERLEAVED,
        "not still_holds(t, root, first)",
        "False",
        shown_by=_A_TORN_MATCH_OF_MANY,
    ),
    _of_subscriptions(
        "topics side by side look at the first level only once more",
        INTERLEAVED,
        "    if not note_read(t, s.node, main):\n",
        "    if False:\n",
        shown_by=_A_TORN_MATCH_OF_MANY,
    ),
    _of_subscriptions(
        "topics side by side go past a pending write",
        INTERLEAVED,
        "    if is_exactly(main, CNode) and peek(main) is borrow(None):\n",
        "    if is_exactly(main, CNode):\n",
        shown_by=(
            "words about to meet",
            ((("subscribe", ("y1.c", "x")),), (("snapshot", ()), ("match_many", ("y1.c",)), ("match", ("y1.c",)))),
        ),
    ),
    _of_subscriptions(
        "has_match says no after one pass",
        MATCHING,
        "outcome == THROUGH and OTHERS",
        "outcome == THROUGH and not t.only_first and OTHERS",
        shown_by=(
            "a wildcard beside words that meet",
            ((("has_match", ("a.y1",)),), (("subscribe", ("*.y1", "y")), ("unsubscribe", ("a.y1", "x")))),
        ),
    ),
    _of_subscriptions(
        "an answer is recalled whatever has changed",
        CACHE,
        "and _still_hold(found)",
        "",
        starts=("an answer remembered",),
    ),
    _of_subscriptions(
        "an answer is recalled whatever root there is",
        CACHE,
        "is_exactly(first, INode) and peek(first) is item_of(remembered, FIRST_MAIN)",
        "True",
        starts=("an answer remembered before a snapshot",),
    ),
    _of_subscriptions(
        "a prune takes whatever level it finds",
        BRANCH,
        "        if self.next is not edit.inode:\n            return self\n",
        "",
        starts=("a subscriber above", "left with a pending tomb"),
        shown_by=("left with a pending tomb", ((("subscribe", ("a.c", "x")),), (("subscribe", ("a.c", "x")),))),
    ),
    _of_subscriptions(
        "a prune takes the subscribers along",
        BRANCH,
        "            return changed_branch(self, subscribers_of(self), None) if is_wanted(self) else None",
        "            return None",
    ),
    _of_subscriptions(
        "branches are joined over the subscribers between them",
        BRANCH,
        "        if is_wanted(self):  # there is a subscriber",
        "        if False:  # there is a subscriber",
        starts=("left with a tomb to roll up",),
    ),
    _of_subscriptions(
        "branches are joined without the first one's words",
        BRANCH,
        "separator.join((self.key, branch.key))",
        "separator.join((branch.key, branch.key))",
    ),
    _of_subscriptions(
        "a last branch goes with its level",
        BRANCH,
        "        if last is None:",
        "        if True:",
    ),
    _of_subscriptions(
        "a chain is followed wherever it leads",
        TEXT_NODE,
        "        if wanted is not None and word != wanted:",
        "        if False:",
    ),
    _of_subscriptions(
        "a chain that parts loses its subscribers",
        BRANCH,
        "lower_hash, subscribers_of(branch), branch.next)",
        "lower_hash, None, branch.next)",
    ),
    _of_subscriptions(
        "a chain that parts takes a copy of its level down",
        BRANCH,
        "lower_hash, subscribers_of(branch), branch.next)",
        "lower_hash, subscribers_of(branch), branch.next and"
        " new_inode(new_inode.__globals__['load'](branch.next), self.inode.gen))",
        starts=("a chain above a level",),
        shown_by=(
            "a chain above a level",
            ((("subscribe", ("a.c", "x")),), (("unsubscribe", ("a.b.c", "x")), ("count", ("a.b.c",)))),
        ),
    ),
    _of_subscriptions(
        "of a tomb with a branch, a match sees nothing",
        MATCHING,
        "    return THROUGH if node is borrow(None) else",
        "    return THROUGH if True else",
        starts=("left with a tomb to roll up",),
    ),
    _of_subscriptions(
        "the last subscriber takes longer filters along",
        BRANCH,
        "if left is None and branch.next is None:",
        "if left is None:",
        starts=("a subscriber above",),
    ),
    _of_subscriptions(
        "a branch without subscribers stays",
        BRANCH,
        "        if left is None and branch.next is None:\n            return None\n",
        "",
        starts=("one filter", "a subscriber above"),
    ),
    _of_subscriptions(
        "a level that has emptied is not tombed", EDITS, "        return new_tnode(None)\n", "        return cn\n"
    ),
    _of_subscriptions(
        "a renewed branch keeps the old level",
        BRANCH,
        "        return changed_branch(self, subscribers_of(self), level)\n",
        "        return self\n",
    ),
    _of_subscriptions(
        "a subscribe writes into a level about to be pruned",
        EDITS,
        "        else:\n            _bury(root, edit, main)",
        "        elif not edit.settled and main.sn is None and (added := _created(edit)) is not None:\n"
        "            flag = flag_at(edit.hash, 0)\n"
        "            return _commit(root, edit, main, new_cnode(flag, (added,)))\n"
        "        else:\n            _bury(root, edit, main)",
        shown_by=("a subscriber above", ((("unsubscribe", ("a.b", "x")),), (("subscribe", ("a.c", "x")),))),
    ),
    _of_subscriptions(
        "whether somebody is subscribed above is not looked at again",
        EDITS,
        "edit.emptied or _is_one_snode(edit, new)):",
        "edit.emptied or _is_one_snode(edit, new) and edit.rolls_up()):",
        shown_by=(
            "a subscriber above a neighbour",
            ((("unsubscribe", ("a.b", "x")),), (("unsubscribe", ("a", "x")),)),
        ),
    ),
    _of_subscriptions(
        "whether somebody is subscribed above is looked at again but once",
        EDITS,
        "        return gcas_read(root, edit.parent) is not edit.parent_main",
        "        return False",
        shown_by=(
            "a subscriber above words that meet",
            ((("subscribe", ("a.y2", "x")),), (("unsubscribe", ("a", "x")),), (("unsubscribe", ("a.y1", "x")),)),
        ),
    ),
    _of_subscriptions(
        "who asked for the topic by name is not found beside wildcards",
        MATCHING,
        "    outcome = _literal(t, ends, level, main, address(t.whole), bit(t.size))\n    if",
        "    outcome = THROUGH\n    if",
        starts=("exact, a filter of each kind",),
    ),
    _of_subscriptions(
        "filters behind the mark are not looked at",
        MATCHING,
        "    return _visit(t, ends, _wild(main, bitmap, MARKED), 0, 1)\n",
        "    return outcome\n",
        starts=("exact, a filter of each kind",),
    ),
    _of_subscriptions(
        "the mark is told as a word",
        PATHS,
        "    if branch.hash != MARKED:",
        "    if True:",
        starts=("exact, a filter behind the mark about to go",),
    ),
    _of_subscriptions(
        "a set of subscribers is changed in place",
        KEYED,
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

_COMES_AND_IS_SOUGHT: Final = (
    "indexed, one filter",
    ((("subscribe", ("a.b", "x")),), (("unsubscribe", ("a.b", "x")), ("match", ("a.b",)), ("filters", ("x",)))),
)
_TWO_COME_AND_ONE_IS_SOUGHT: Final = (
    "indexed, one filter",
    ((("subscribe", ("a.b", "x")),), (("subscribe", ("a.b", "x")),), *_COMES_AND_IS_SOUGHT[1][1:]),
)

_TWO_COME: Final = ("listened to, empty", ((("subscribe", ("a.b", "x")),), (("subscribe", ("a.c", "x")),)))

OBSERVERS: Final = (
    _of_subscriptions(
        "a filter is put on the list for the listener in the place of others",
        DUTIES,
        "            if compare_and_set(self._first, first, duty):\n",
        "            if compare_and_set(self._first, load(self._first), duty):\n",
        starts=_LISTENED_TO,
        shown_by=_TWO_COME,
    ),
    _of_subscriptions(
        "two threads tell the listener",
        INTEREST,
        "        return compare_and_set(self._deliverer, doer, me)\n",
        "        return compare_and_set(self._deliverer, load(self._deliverer), me)\n",
        starts=_LISTENED_TO,
        shown_by=_TWO_COME,
    ),
    _of_subscriptions(
        "whoever leaves takes the place from another",
        INTEREST,
        "        compare_and_set(self._deliverer, me, None)\n",
        "        compare_and_set(self._deliverer, load(self._deliverer), None)\n",
        starts=_LISTENED_TO,
        shown_by=_TWO_COME,
    ),
    _of_subscriptions(
        "what was put on the list meanwhile is forgotten",
        DUTIES,
        "        return compare_and_set(self._first, first, None)\n",
        "        return compare_and_set(self._first, load(self._first), None)\n",
        starts=_LISTENED_TO,
        shown_by=_TWO_COME,
    ),
    _of_subscriptions(
        "whoever leaves the place does not look again",
        INTEREST,
        "        while self.is_any_left():\n",
        "        for _ in range(self.is_any_left()):\n",
        starts=_LISTENED_TO,
        shown_by=_TWO_COME,
    ),
    _of_subscriptions(
        "a filing that is pending is struck",
        INDEX,
        "            if compare_and_set(filing.state, PENDING, TOUCHED) or load(filing.state) is TOUCHED:\n",
        "            if False:\n",
        starts=_INDEXED,
        shown_by=_COMES_AND_IS_SOUGHT,
    ),
    _of_subscriptions(
        "a filing is confirmed although it was touched",
        INDEX,
        "        untouched = compare_and_set(filing.state, PENDING, CONFIRMED)\n",
        "        untouched = compare_and_set(filing.state, load(filing.state), CONFIRMED)\n",
        starts=_INDEXED,
        shown_by=_COMES_AND_GOES,
    ),
    _of_subscriptions(
        "a filing that was touched is never confirmed",
        INDEX,
        "            compare_and_set(filing.state, TOUCHED, CONFIRMED)\n",
        "            compare_and_set(filing.state, TOUCHED, TOUCHED)\n",
        starts=_INDEXED,
        shown_by=_COMES_AND_GOES,
    ),
    _of_subscriptions(
        "the filing of another thread is forgotten",
        INDEX,
        " for one in filings_of(find_filed(pair.value, self.key)) if ",
        " for one in () if ",
        starts=_INDEXED,
        shown_by=_TWO_COME_AND_ONE_IS_SOUGHT,
    ),
    _of_subscriptions(
        "a filing is replaced that is pending",
        INDEX,
        "        if not filings or [one for one in filings if not _is_confirmed(one)]:\n",
        "        if not filings:\n",
        starts=_INDEXED,
        shown_by=_TWO_COME_AND_ONE_IS_SOUGHT,
    ),
    _of_subscriptions(
        "a strike takes out of any pair",
        INDEX,
        "        self.done = pair is self.expected\n",
        "        self.done = True\n",
        starts=_INDEXED,
        shown_by=_COMES_AND_GOES,
    ),
    _of_subscriptions(
        "a strike that finds another pair is the last",
        "subtrie._trie.changeable",
        "            if index.strike(owner, hash, key, pair):\n",
        "            if index.strike(owner, hash, key, pair) or True:\n",
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
        "match.matching",
        "(not q.shared or len(match(trie, topic)) > 0)",
        "True",
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
        "changeable",
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
    _of_shares(
        "who comes to a group, or leaves it, changes nothing",
        "groups",
        "    group.members = members\n",
        "    group.members = members if present is None else present.members\n",
        starts=("two in the group",),
    ),
)

SHAPES: Final = (
    _of_subscriptions(
        "whoever leaves a level with one branch leaves it at that",
        EDITS,
        "    if not (isinstance(new, TNode) or edit.emptied or _is_one_snode(edit, new)):",
        "    if not (isinstance(new, TNode) or edit.emptied):",
    ),
    _of_subscriptions(
        "the last subscriber above a level with one branch leaves it at that",
        EDITS,
        "    if not (isinstance(new, TNode) or edit.emptied or _is_one_snode(edit, new)):",
        "    if not (isinstance(new, TNode) or _is_one_snode(edit, new)):",
        shown_by=("a subscriber above", ((("unsubscribe", ("a", "x")),), (("match", ("a.b",)),))),
    ),
    _of_subscriptions(
        "a level that has emptied stays as it is",
        EDITS,
        "    if size == 0:\n        return new_tnode(None)\n",
        "    if size == 0:\n        return cn\n",
    ),
    _of_subscriptions(
        "a chain that parts keeps no subscriber below",
        BRANCH,
        "lower_hash, subscribers_of(branch), branch.next)",
        "lower_hash, None, branch.next)",
    ),
    _of_subscriptions(
        "the last subscriber takes the longer filters along",
        BRANCH,
        "        if left is None and branch.next is None:",
        "        if left is None:",
    ),
    _of_subscriptions(
        "a commit does not look at the root's generation",
        NODES,
        "    return is_present(root, inode) and not root.readonly",
        "    return True",
        shown_by=("left with a tomb", ((("snapshot", ()),), (("subscribe", ("a.b", "x")), ("match", ("a.b",))))),
    ),
)
