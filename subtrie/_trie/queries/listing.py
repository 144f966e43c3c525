# distutils: extra_compile_args = SMALL
"""Lists the content of a subscription trie at one instant: walks over a read-only root, and their results.

A path spells a filter from its end: (path of the level, word), and None above the first level; see reading.py. Instead
of one word, a path may hold several in one text, or the mark of exact_layout.py, which is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import cython

if not cython.compiled:
    from ctrie._machine import EVERY, check_signals, release_items
    from ctrie._nodes import INode, Root, branches, compare_next, rdcss_read_root
    from subtrie._trie.branch import Branch, Chain, is_wanted, subscribers_of, words_in
    from subtrie._trie.groups import Shared
    from subtrie._trie.keyed import SetNode, changed_listed, find_keyed
    from subtrie._trie.match.deliveries import new_told
    from subtrie._trie.match.reading import branch_in, extended, words_of
    from subtrie._trie.packed_key import words_followed
    from subtrie._trie.subscribers import Entry, Excepting, living
    from subtrie._trie.words import MARKED

from ctrie._nodes import snodes
from subtrie._trie.exact_layout import filter_words
from subtrie._trie.exclusions import leave_a_topic
from subtrie._trie.groups import changed_members, everybody, group_count, sets_of, total
from subtrie._trie.keyed import iter_keyed
from subtrie._trie.match.deliveries import Subscription
from subtrie.dialects import Dialect, Words


class Change(NamedTuple):
    """A difference between two instants. `kind` is "added", "removed" or "updated" (other options)."""

    subscription: Subscription
    kind: str


_new_change = tuple.__new__  # Change(...) takes twice the time

# A subscription before it is shown: its filter's text, its group or None, its entry.
Spelled: TypeAlias = tuple[str, Any, Any]


# --------------------------------------------------------------------------------------------------------------- walks


def walk(root: Root) -> Iterator[tuple[Any, Any]]:
    """Yield (branch, path) for every branch of one instant with subscribers."""
    stack: list[tuple[Any, Any]] = [(rdcss_read_root(root), None)]
    while stack:
        level, path = stack.pop()
        for branch in snodes(root, [level]):
            here = extended(path, branch)
            if is_wanted(branch):
                yield branch, here
            if branch.next is not None:
                stack.append((branch.next, here))


def dead_among(root: Root) -> list[Any]:
    """Return the references to dead subscribers at one instant. All subscribers are weakly held. O(n)."""
    sets = (members for branch, _ in walk(root) for _, members in sets_of(subscribers_of(branch)))
    return [entry.key for members in sets for entry in iter_keyed(members) if entry.key() is None]


def literal_filters(root: Root, dialect: Dialect) -> Iterator[str]:
    """Yield every filter of one instant without a wildcard. Levels below a wildcard are not entered."""
    stack: list[tuple[Any, Any]] = [(rdcss_read_root(root), None)]
    while stack:
        level, path = stack.pop()
        for branch in snodes(root, [level]):
            if branch.hash == MARKED or any(map(dialect.is_wild, filter_words(branch, dialect.separator))):
                continue
            here = extended(path, branch)
            if is_wanted(branch):
                yield dialect.join(words_of(here))
            if branch.next is not None:
                stack.append((branch.next, here))


def branch_at(root: Root, words: tuple[str, ...], hashes: tuple[int, ...], separator: str) -> Any:
    """Return the branch where a filter ends, or None. Linearizes as `find` in ctrie/_descent.py."""
    if len(words) == 0 or len(hashes) != len(words):
        raise ValueError("a filter has words, and a hash for each")
    level: Any = rdcss_read_root(root)
    depth = 0
    while level is not None:
        branch = branch_in(root, level, words[depth], hashes[depth], separator)
        if branch is None:
            return None
        followed = words_followed(branch, words, depth, separator) if isinstance(branch, Chain) else 1
        if followed < 0:
            return None
        depth += followed
        if depth == len(words):
            return branch
        level = branch.next
    return None


# ----------------------------------------------------------------------------------------------------------- spelling


def spelled(found: Iterable[tuple[Any, Any]], dialect: Dialect) -> Iterator[Spelled]:
    """Yield every subscription of these branches."""
    for branch, path in found:
        words = words_of(path)
        for group, entry in everybody(_audience(branch)):
            yield _text(dialect, group, words), group, entry


def spelled_for(found: Iterable[tuple[Any, Any]], dialect: Dialect, subscriber: Any, hash: int) -> Iterator[Spelled]:
    """The same as `spelled`, for one subscriber."""
    for branch, path in found:
        for group, members in sets_of(_audience(branch)):
            entry = find_keyed(members, subscriber, hash)
            alive = None if entry is None else living(entry)
            if alive is not None:
                yield _text(dialect, group, words_of(path)), group, alive


def _audience(branch: Branch | None) -> Any:
    """Return the subscribers of a branch. Anyone can call these generators, with None for one."""
    if branch is None:
        raise TypeError("None is no branch")
    return subscribers_of(branch)


def _text(dialect: Dialect, group: str | None, words: tuple[str, ...]) -> str:
    return dialect.join(words if group is None else dialect.share(group, words))


def shown(found: Iterable[Spelled]) -> Iterator[Subscription]:
    """Yield these subscriptions in the form that users get."""
    for filter, _, entry in found:
        yield _subscription(filter, entry)


def shown_all(found: Iterable[tuple[Any, Any]], dialect: Dialect, given: Words | None = None) -> Iterator[Any]:
    """Yield every subscription of these branches in the form that users get. With a `given` filter, leave out those
    whose exclusions have all topics that both share."""
    for branch, path in found:
        audience = _audience(branch)
        words = words_of(path)
        if isinstance(audience, Entry):
            alive = living(audience)
            if alive is not None:
                yield new_told(False, alive, 0, None, dialect.join(words), 0)
        else:
            for group, entry in everybody(audience):
                if given is None or not isinstance(entry, Excepting) or _leaves(dialect, words, given, entry):
                    yield new_told(False, entry, 0, None, _text(dialect, group, words), 0)


def shown_members(members: Any, dialect: Dialect, group: str, words: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the subscriptions of those members of a group that are alive in the form that users get."""
    filter = _text(dialect, group, words)
    answer: list[Any] = []
    for entry in iter_keyed(members):
        alive = living(entry)
        if alive is not None:
            answer.append(_subscription(filter, alive))
    return tuple(answer)


def _leaves(dialect: Dialect, texts: tuple[str, ...], given: Words, entry: Any) -> bool:
    excepting: Excepting = entry
    words = tuple(dialect.separator.join(texts).split(dialect.separator))
    return leave_a_topic(dialect, [words, given], excepting.parts)


def _subscription(filter: str, entry: Any) -> Any:
    return new_told(False, entry, 0, None, filter, 0)


def changes(older: Root, newer: Root, dialect: Dialect) -> Iterator[Change]:
    """Yield the differences of two instants. Parts that both share are skipped."""
    for rows in _changed_rows(older, newer, dialect):
        for filter, _, before, after in rows:
            kind = "added" if before is None else "removed" if after is None else "updated"
            yield _new_change(Change, (_subscription(filter, before if after is None else after), kind))


def changed(older: Root, newer: Root, dialect: Dialect) -> Iterator[tuple[str, str | None, Any, Any]]:
    """Yield (filter, group, old entry, new entry) for each difference; None for an instant without an entry."""
    for rows in _changed_rows(older, newer, dialect):
        yield from rows


def _changed_rows(older: Root, newer: Root, dialect: Dialect) -> Iterator[list[tuple[str, str | None, Any, Any]]]:
    """Yield what `changed` does, in short lists."""
    separator = dialect.separator if type(dialect).join is Dialect.join else None
    for steps in _changed_steps(older, newer, dialect.separator):
        check_signals()
        rows: list[tuple[str, str | None, Any, Any]] = []
        for path, old, new in steps:
            found = _changed_sets(old, new)
            if isinstance(found, (list, tuple)):
                _add_rows(rows, path, found, dialect, separator)
                continue
            while some := list(islice(found, EVERY)):
                check_signals()
                many: list[tuple[str, str | None, Any, Any]] = []
                _add_rows(many, path, some, dialect, separator)
                yield many
        yield rows


def _add_rows(
    rows: list[tuple[str, str | None, Any, Any]], path: Any, found: Any, dialect: Dialect, separator: str | None
) -> None:
    """Add what `changed` yields for one filter. `separator`: that of a dialect that joins words by it."""
    for group, one, other in found:
        before = None if one is None else living(one)
        after = None if other is None else living(other)
        if before is None and after is None:
            continue  # the subscriber is dead
        if before is not None and after is not None and _are_same_options(before.options, after.options):
            continue  # unsubscribed and subscribed again
        words = words_of(path)
        plain = separator is not None and group is None
        text = separator.join(words) if plain else _text(dialect, group, words)  # type: ignore[union-attr]
        rows.append((text, group, before, after))


def _changed_sets(old: Any, new: Any) -> Any:
    """Return (group, old entry, new entry) for each subscriber whose entry differs; a few, in a list or tuple."""
    if old is new:
        return ()
    if old is None and isinstance(new, Entry):
        return ((None, None, new),)
    if new is None and isinstance(old, Entry):
        return ((None, old, None),)
    if isinstance(old, Entry) and isinstance(new, Entry) and old.key is new.key:
        return ((None, old, new),)
    if isinstance(old, (Shared, SetNode)) or isinstance(new, (Shared, SetNode)):
        return changed_members(old, new)
    return [(None, one, other) for one, other in changed_listed(_as_list(old), _as_list(new), None)]


def _as_list(members: Any) -> list[Any]:
    return [] if members is None else list(members) if isinstance(members, tuple) else [members]


def value_changes(older: Root, newer: Root, separator: str, absent: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield (topic, old, new) for the differences of two instants of a topic store (topic_store.py)."""
    for before, after in entry_changes(older, newer, separator):
        if before is not None and after is not None and (before[1] is after[1] or _are_same(before[1], after[1])):
            continue
        some = after if before is None else before
        yield some[0], absent if before is None else before[1], absent if after is None else after[1]


def entry_changes(older: Root, newer: Root, separator: str) -> Iterator[tuple[Any, Any]]:
    """Yield (old, new) entries for the topics that were stored or removed between two instants of a topic store."""
    for steps in _changed_steps(older, newer, separator):
        for _, *both in steps:
            before, after = [None if entry is None else entry.key for entry in both]
            if before is not after:
                yield before, after


def _changed_steps(older: Root, newer: Root, separator: str) -> Iterator[list[tuple[Any, Any, Any]]]:
    """Yield (path, old subscribers, new subscribers) for every filter whose subscribers may differ, in short lists."""
    pairs: list[tuple[Any, Any, Any]] = [(rdcss_read_root(older), rdcss_read_root(newer), None)]
    while pairs:
        old_level, new_level, path = pairs.pop()
        left: list[Any] = []  # branches that only one of the levels has, each with None for the other side
        try:
            if isinstance(old_level, INode) and isinstance(new_level, INode):
                stack: list[Any] = [old_level, new_level]
                while stack:
                    yield _compare_some(older, newer, stack, path, pairs, left)
            elif old_level is None and isinstance(new_level, INode):
                left += [(None, branch) for branch in snodes(newer, [new_level])]
            elif new_level is None and isinstance(old_level, INode):
                left += [(branch, None) for branch in snodes(older, [old_level])]
            else:
                yield _of_words(_step_differences(older, old_level, newer, new_level, separator), path, pairs)
            if _is_of_both_sides(left):  # a branch of one side and one of the other may begin with the same words
                yield _of_words(_first_differences(left, separator), path, pairs)
                continue
            for start in range(0, len(left), EVERY):
                check_signals()
                yield _of_one_side(left, start, min(start + EVERY, len(left)), path, pairs)
        finally:
            release_items(left)  # of a wide level, also if who asks wants no more


def _compare_some(
    older: Root, newer: Root, stack: list[Any], path: Any, pairs: list[tuple[Any, Any, Any]], left: list[Any]
) -> list[tuple[Any, Any, Any]]:
    """Compare two levels, of which the stack has what is to do, until some differences are found. Levels below that
    differ are added to the pairs."""
    found: list[Any] = []
    while stack and len(found) < EVERY:
        compare_next(older, newer, None, stack, found)
    steps: list[tuple[Any, Any, Any]] = []
    for both in found:
        if both[0] is None or both[1] is None:
            left.append(both)
            continue
        one: Branch = both[0]
        other: Branch = both[1]
        here = extended(path, other)
        if one.next is not other.next:
            pairs.append((one.next, other.next, here))
        before, after = subscribers_of(one), subscribers_of(other)
        if before is not after:
            steps.append((here, before, after))
    return steps


def _is_of_both_sides(left: list[Any]) -> bool:
    """Tell whether each of two levels has a branch that the other lacks."""
    removed = added = False
    for at, (one, other) in enumerate(left):
        if at % EVERY == 0:
            check_signals()
        removed, added = removed or other is None, added or one is None
        if removed and added:
            return True
    return False


def _of_one_side(
    left: list[Any], start: int, end: int, path: Any, pairs: list[tuple[Any, Any, Any]]
) -> list[tuple[Any, Any, Any]]:
    """Return the differences that some branches are which only one of the levels has."""
    steps: list[tuple[Any, Any, Any]] = []
    for at in range(start, end):
        one, other = left[at]
        branch: Branch = other if one is None else one
        here = extended(path, branch)
        if branch.next is not None:
            pairs.append((None, branch.next, here) if one is None else (branch.next, None, here))
        if is_wanted(branch):
            audience = subscribers_of(branch)
            steps.append((here, None, audience) if one is None else (here, audience, None))
    return steps


def _of_words(
    found: Iterable[tuple[Any, _Step, _Step]], path: Any, pairs: list[tuple[Any, Any, Any]]
) -> list[tuple[Any, Any, Any]]:
    """Return the differences of what words lead to on the two sides."""
    steps: list[tuple[Any, Any, Any]] = []
    for word, old, new in found:
        here = (path, word)
        if old.below is not new.below:
            pairs.append((old.below, new.below, here))
        steps.append((here, old.subscribers, new.subscribers))
    return steps


def _are_same_options(before: Any, after: Any) -> bool:
    """Return whether two sets of options have the same values."""
    if before is None or after is None or before is after:
        return before is after
    if len(before) != len(after):
        return False
    return all(name in after and _are_same(value, after[name]) for name, value in before.items())


def _are_same(before: Any, after: Any) -> bool:
    """Return whether values are equal, and would be stored alike: 1 and True are not. Values that do not compare, such
    as arrays, count as changed."""
    if before is after:
        return True
    try:
        are_equal = bool(before == after)
    except Exception:  # noqa: BLE001 (users' code, about one subscription of many)
        are_equal = False
    if not are_equal:
        return False
    kind = type(before)
    if kind is type(after) and (kind in _TOLD or (kind is float and before)):
        return True
    from subtrie.tagged import have_same_form  # it imports types that few programs need

    return have_same_form(before, after)


_TOLD = frozenset((str, int, bool, bytes))
"""Types whose equal values cannot be told apart."""


class _Step(NamedTuple):
    """What follows a word: the subscribers of the filter that ends there, and what is below: the I-node of a level,
    None, or within a chain the next word and its step."""

    subscribers: Any = None
    below: Any = None


_NOWHERE = _Step()


def _first_step(branch: Any, separator: str) -> tuple[str | None, _Step]:
    words = words_in(branch, separator)
    step = _Step(subscribers_of(branch), branch.next)
    for word in reversed(words[1:]):
        step = _Step(None, (word, step))
    return None if branch.hash == MARKED else words[0], step


def _step_differences(
    older: Root, old: Any, newer: Root, new: Any, separator: str
) -> Iterator[tuple[str | None, _Step, _Step]]:
    """Yield the words with different steps on the two sides, and these steps.

    `old` and `new` are the `below` of a step on either side, at most one of them a level. So one side has at most a
    single word, and all others are differences.
    """
    before, after = _steps(older, old, separator), _steps(newer, new, separator)
    for word in before.keys() | after.keys():
        yield word, before.get(word, _NOWHERE), after.get(word, _NOWHERE)


def _first_differences(left: list[tuple[Any, Any]], separator: str) -> Iterator[tuple[str | None, _Step, _Step]]:
    """The same for the branches that only one of two levels has."""
    before: dict[str | None, _Step] = {}
    after: dict[str | None, _Step] = {}
    for one, other in left:
        before.update(() if one is None else (_first_step(one, separator),))
        after.update(() if other is None else (_first_step(other, separator),))
    for word in before.keys() | after.keys():
        yield word, before.get(word, _NOWHERE), after.get(word, _NOWHERE)


def _steps(root: Root, below: Any, separator: str) -> dict[str | None, _Step]:
    if isinstance(below, INode):
        return dict(_first_step(branch, separator) for branch in snodes(root, [below]))
    return {} if below is None else dict((below,))


# ------------------------------------------------------------------------------------------------------------ counting


def subscription_count(root: Root) -> int:
    """Return the number of subscriptions. O(number of filters)."""
    return sum(total(subscribers_of(branch)) for branch, _ in walk(root))


def filter_count(root: Root) -> int:
    """Return the number of filters. O(number of filters)."""
    return sum(1 for _ in walk(root))


def statistics(root: Root, separator: str) -> dict[str, int]:
    """Return the counts that `SubscriptionTrie.stats` lists."""
    names = ("filters", "subscriptions", "groups", "branches", "nodes", "depth", "widest_level", "widest_fanout")
    counts = dict.fromkeys(names, 0)
    for level, level_branches, above in _levels(root, separator):
        counts["branches"] += len(level_branches)
        counts["nodes"] += 2 * _inode_count(root, level) + len(level_branches)
        counts["widest_level"] = max(counts["widest_level"], len(level_branches))
        for branch in level_branches:
            size = total(subscribers_of(branch))
            counts["depth"] = max(counts["depth"], above + _length(branch, separator) if size else 0)
            counts["filters"] += size > 0
            counts["subscriptions"] += size
            counts["groups"] += group_count(subscribers_of(branch))
            counts["widest_fanout"] = max(counts["widest_fanout"], size)
    return counts


def _inode_count(root: Root, level: INode) -> int:
    """Return the number of I-nodes of one level."""
    inodes: list[Any] = [level]
    for inode in inodes:
        inodes.extend(child for child in branches(root, inode) if isinstance(child, INode))
    return len(inodes)


def _levels(root: Root, separator: str) -> Iterator[tuple[Any, list[Any], int]]:
    """Yield the first I-node and the branches of every level of one instant, and the number of words above it."""
    stack: list[tuple[Any, int]] = [(rdcss_read_root(root), 0)]
    while stack:
        level, above = stack.pop()
        found = list(snodes(root, [level]))
        yield level, found, above
        stack.extend((branch.next, above + _length(branch, separator)) for branch in found if branch.next is not None)


def _length(branch: Any, separator: str) -> int:
    return len(filter_words(branch, separator))
