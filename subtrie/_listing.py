"""What a subscription trie holds at one instant, listed: the walks over a read-only root, and what they tell.

A path spells a filter from its end: (path of the level, word), None above the first level; see _matching.py.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

if not cython.compiled:
    from ctrie._nodes import INode, Root, branches, rdcss_read_root
    from subtrie._subscribers import find_entry
    from subtrie._words import MANY_WORDS, ONE_WORD
else:
    from cython.cimports.ctrie._nodes import INode, Root, branches, rdcss_read_root
    from cython.cimports.subtrie._subscribers import find_entry
    from cython.cimports.subtrie._words import MANY_WORDS, ONE_WORD

from ctrie._nodes import differences, snodes
from subtrie._groups import changed_members, everybody, group_count, sets_of, total
from subtrie._matching import branch_in, words_of
from subtrie.dialects import Dialect

_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class Subscription(NamedTuple):
    """That `subscriber` is on `filter`, with `options`, a read-only mapping."""

    filter: str
    subscriber: Any
    options: Mapping[str, Any] = _NO_OPTIONS


class Change(NamedTuple):
    """A difference of two instants: `kind` is "added", "removed" or "updated" (other options)."""

    subscription: Subscription
    kind: str


# A subscription before it is shown: its filter's text, its group or None, its entry.
Spelled: TypeAlias = tuple[str, Any, Any]


# --------------------------------------------------------------------------------------------------------------- walks


def walk(root: Root) -> Iterator[tuple[Any, Any]]:
    """Yield (branch, path) for every branch of one instant with subscribers."""
    stack: list[tuple[Any, Any]] = [(rdcss_read_root(root), None)]
    while stack:
        level, path = stack.pop()
        for branch in snodes(root, [level]):
            here = (path, branch.key)
            if branch.value is not None:
                yield branch, here
            if branch.next is not None:
                stack.append((branch.next, here))


def literal_filters(root: Root, dialect: Dialect) -> Iterator[str]:
    """Yield every filter of one instant without a wildcard; levels behind one are not entered."""
    stack: list[tuple[Any, Any]] = [(rdcss_read_root(root), None)]
    while stack:
        level, path = stack.pop()
        for branch in snodes(root, [level]):
            if branch.hash in (ONE_WORD, MANY_WORDS):
                continue
            here = (path, branch.key)
            if branch.value is not None:
                yield dialect.join(words_of(here))
            if branch.next is not None:
                stack.append((branch.next, here))


def branch_at(root: Root, words: Iterable[str], hashes: Iterable[int]) -> Any:
    """Return the branch where a filter ends, or None. Linearizes as `find` in ctrie/_nodes.py."""
    level: Any = rdcss_read_root(root)
    branch = None
    for word, hash in zip(words, hashes, strict=True):
        branch = None if level is None else branch_in(root, level, word, hash)
        if branch is None:
            return None
        level = branch.next
    return branch


# ----------------------------------------------------------------------------------------------------------- spelling


def spelled(found: Iterable[tuple[Any, Any]], dialect: Dialect) -> Iterator[Spelled]:
    """Yield every subscription of the branches found."""
    for branch, path in found:
        words = words_of(path)
        for group, entry in everybody(branch.value):
            yield _text(dialect, group, words), group, entry


def spelled_for(found: Iterable[tuple[Any, Any]], dialect: Dialect, subscriber: Any, hash: int) -> Iterator[Spelled]:
    """`spelled`, for one subscriber."""
    for branch, path in found:
        for group, members in sets_of(branch.value):
            entry = find_entry(members, subscriber, hash)
            if entry is not None:
                yield _text(dialect, group, words_of(path)), group, entry


def _text(dialect: Dialect, group: str | None, words: tuple[str, ...]) -> str:
    return dialect.join(words if group is None else dialect.share(group, words))


def shown(found: Iterable[Spelled]) -> Iterator[Subscription]:
    """Yield the subscriptions that were spelled."""
    for filter, _, entry in found:
        yield _subscription(filter, entry)


def _subscription(filter: str, entry: Any) -> Subscription:
    options = _NO_OPTIONS if entry.options is None else MappingProxyType(entry.options)
    return Subscription(filter, entry.subscriber, options)


def changes(older: Root, newer: Root, dialect: Dialect) -> Iterator[Change]:
    """Yield the differences of two instants; what both share is passed over."""
    pairs: list[tuple[Any, Any, Any]] = [(rdcss_read_root(older), rdcss_read_root(newer), None)]
    while pairs:
        old_level, new_level, path = pairs.pop()
        for old, new in differences(older, newer, None, [(old_level, new_level)]):
            here = (path, (old if new is None else new).key)
            old_set, old_next = (None, None) if old is None else (old.value, old.next)
            new_set, new_next = (None, None) if new is None else (new.value, new.next)
            if old_next is not new_next:
                pairs.append((old_next, new_next, here))
            for group, before, after in changed_members(old_set, new_set):
                if before is not None and after is not None and before.options == after.options:
                    continue  # taken off and put back
                filter = _text(dialect, group, words_of(here))
                kind = "added" if before is None else "removed" if after is None else "updated"
                yield Change(_subscription(filter, before if after is None else after), kind)


# ------------------------------------------------------------------------------------------------------------ counting


def subscription_count(root: Root) -> int:
    """Return the number of subscriptions. O(number of filters)."""
    return sum(total(branch.value) for branch, _ in walk(root))


def statistics(root: Root) -> dict[str, int]:
    """Return the counts that `SubscriptionTrie.stats` lists."""
    names = ("filters", "subscriptions", "groups", "branches", "nodes", "depth", "widest_level", "widest_fanout")
    counts = dict.fromkeys(names, 0)
    for level, level_branches, depth in _levels(root):
        counts["branches"] += len(level_branches)
        counts["nodes"] += 2 * _inode_count(root, level) + len(level_branches)
        counts["widest_level"] = max(counts["widest_level"], len(level_branches))
        for branch in level_branches:
            size = total(branch.value)
            counts["depth"] = max(counts["depth"], depth if size else 0)
            counts["filters"] += size > 0
            counts["subscriptions"] += size
            counts["groups"] += group_count(branch.value)
            counts["widest_fanout"] = max(counts["widest_fanout"], size)
    return counts


def _inode_count(root: Root, level: Any) -> int:
    """Return the number of I-nodes of one level."""
    inodes = [level]
    for inode in inodes:
        inodes.extend(child for child in branches(root, inode) if isinstance(child, INode))
    return len(inodes)


def _levels(root: Root) -> Iterator[tuple[Any, list[Any], int]]:
    """Yield the first I-node and the branches of every level of one instant, and its depth, the first being 1."""
    stack: list[tuple[Any, int]] = [(rdcss_read_root(root), 1)]
    while stack:
        level, depth = stack.pop()
        found = list(snodes(root, [level]))
        yield level, found, depth
        stack.extend((branch.next, depth + 1) for branch in found if branch.next is not None)
