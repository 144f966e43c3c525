"""The topics of a store that a filter matches, found by a walk along the filter.

All words of what is stored are literal, and the filter has the wildcards: a word of its own leads to one branch of a
level, `one_word` to all of them, and `many_words` at its end to everything below. The pairs of topic and value stand
in the branches (topic_edits.py), so an answer takes no text: the walk collects the pairs.

A filter that has `many_words` before its end (AMQP's `a.#.b`) is walked as far as that word, and what is found is then
compared as a whole.

In a store of a million topics the walk waits for memory most of its time. So it goes through a few levels at a time,
and before it looks at their nodes, it has all of them fetched, side by side, as `warm` in ctrie/_descent.py.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

if not cython.compiled:
    from ctrie._arrays import W, flag_at, popcount
    from ctrie._cnode import CNode, bitmap_of, branch_at, child_at
    from ctrie._descent import prefetch_child, prefetch_node
    from ctrie._nodes import INode, Root, branches, gcas_read, hash_of, rdcss_read_root, value_of
    from ctrie._slot import borrow, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import Branch, Chain, is_wanted, next_of
    from subtrie._trie.packed_key import key_begins, words_followed
else:
    from cython.cimports.ctrie._arrays import W, flag_at, popcount
    from cython.cimports.ctrie._cnode import CNode, bitmap_of, branch_at, child_at
    from cython.cimports.ctrie._descent import prefetch_child, prefetch_node
    from cython.cimports.ctrie._native import borrow, is_exactly, peek, pin, unpin
    from cython.cimports.ctrie._nodes import INode, Root, branches, gcas_read, hash_of, rdcss_read_root, value_of
    from cython.cimports.subtrie._trie.branch import Branch, Chain, is_wanted, next_of
    from cython.cimports.subtrie._trie.packed_key import key_begins, words_followed


if not cython.compiled:  # in topics_matching.pxd, a size of C arrays
    GROUP = 16  # levels that are gone through together: more would not wait less


class Walk:
    """One walk of a read-only root, along the words of a filter (None: any word)."""

    __slots__ = (
        "found",
        "hashes",
        "least",
        "levels",
        "open",
        "reserved",
        "root",
        "separator",
        "size",
        "wordless",
        "words",
    )
    root: Root
    found: list[Any]  # the pairs
    separator: str
    words: tuple[str | None, ...]
    hashes: tuple[int, ...]
    size: int  # how many words
    least: int  # how many words a topic has at least
    open: bool  # it may have more of them
    reserved: str | None  # topics do not count whose first word begins so
    wordless: bool  # the empty text is a topic of no words, kept as one empty word
    levels: list[Any]  # to go through: I-node and depth in turn

    def run(self, first: INode) -> None:
        """Go through the levels from the first one on."""
        self.levels = [first, 0]
        while self.levels:
            group = self.levels[-2 * GROUP :]
            del self.levels[-2 * GROUP :]
            if len(group) > 2:
                self._warm(group)
            for i in range(0, len(group), 2):
                depth = group[i + 1]
                if depth >= self.size or self.words[depth] is None:
                    self._any_word(group[i], depth)
                else:
                    self._own_word(group[i], depth)

    def _warm(self, group: list[Any]) -> None:
        """Have fetched what the look at several levels is going to read."""
        if not cython.compiled:
            nodes: list[Any] = [None] * GROUP
            hashes = [0] * GROUP
            places = [0] * GROUP
        count = left = len(group) // 2
        for i in range(count):
            depth = group[2 * i + 1]
            nodes[i] = borrow(group[2 * i])
            if depth >= self.size or self.words[depth] is None:
                nodes[i] = borrow(None)
            else:
                hashes[i] = self.hashes[depth]
        pin()
        lev = 0
        while left:
            for i in range(count):
                if nodes[i] is not borrow(None):
                    nodes[i] = peek(nodes[i])
                    prefetch_node(nodes[i])
            for i in range(count):
                if nodes[i] is not borrow(None):
                    if is_exactly(nodes[i], CNode) and bitmap_of(nodes[i]) & flag_at(hashes[i], lev):
                        places[i] = popcount(bitmap_of(nodes[i]) & (flag_at(hashes[i], lev) - 1))
                        prefetch_child(nodes[i], places[i])
                    else:
                        nodes[i] = borrow(None)
            for i in range(count):
                if nodes[i] is not borrow(None):
                    nodes[i] = child_at(nodes[i], places[i])
                    prefetch_node(nodes[i])
            left = 0
            for i in range(count):
                if nodes[i] is not borrow(None):
                    if is_exactly(nodes[i], INode):
                        left += 1
                    else:
                        if hash_of(nodes[i]) == hashes[i]:
                            prefetch_node(next_of(nodes[i]))
                            prefetch_node(value_of(nodes[i]))
                        nodes[i] = borrow(None)
            lev += W
        unpin()

    def _own_word(self, level: INode, depth: int) -> None:
        """Go on with the one branch of a level that begins with the filter's next word. As `find_below` in
        ctrie/_nodes.py."""
        hash = self.hashes[depth]
        inode = level
        lev = 0
        while True:
            main = gcas_read(self.root, inode)
            if not isinstance(main, CNode):
                break
            cn: CNode = main
            flag = flag_at(hash, lev)
            if not cn.bitmap & flag:
                return
            child = branch_at(cn, popcount(cn.bitmap & (flag - 1)))
            if not isinstance(child, INode):
                self._step_if_own(child, depth, hash)
                return
            inode = child
            lev += W
        for sn in branches(self.root, inode):
            self._step_if_own(sn, depth, hash)

    def _step_if_own(self, branch: Branch, depth: int, hash: int) -> None:
        if branch.hash == hash and key_begins(branch, self.words[depth], self.separator):  # type: ignore[arg-type]
            self._step(branch, depth)

    def _any_word(self, level: INode, depth: int) -> None:
        """Go on with every branch of a level."""
        inodes = [level]
        while inodes:
            inode = inodes.pop()
            main = gcas_read(self.root, inode)
            if isinstance(main, CNode):
                cn: CNode = main
                _warm_children(borrow(cn))
                for i in range(popcount(cn.bitmap)):
                    child = branch_at(cn, i)
                    if isinstance(child, INode):
                        inodes.append(child)
                    else:
                        self._take_any(child, depth)
            else:
                for sn in branches(self.root, inode):
                    self._take_any(sn, depth)

    def _take_any(self, branch: Branch, depth: int) -> None:
        """Go on with a branch, whatever its first word."""
        if depth >= self.size and depth > 0:  # all that is below counts
            if is_wanted(branch):
                self.found.append(branch.value)
            if branch.next is not None:
                self.levels.append(branch.next)
                self.levels.append(depth)
        elif depth > 0 or self.reserved is None or not branch.key.startswith(self.reserved):
            self._step(branch, depth)

    def _step(self, branch: Branch, depth: int) -> None:
        """Follow a branch, whose first word is one that the filter takes."""
        reached = depth + 1
        if isinstance(branch, Chain):
            followed = words_followed(branch, self.words, depth, self.separator)
            if followed > 0:
                reached = depth + followed
            elif self.open and depth - followed == self.size:
                reached = self.size + 1  # or more
            else:
                return
        fits = reached >= self.least and (self.open or reached == self.size)
        if fits and is_wanted(branch) and (depth > 0 or not self._is_no_words(branch)):
            self.found.append(branch.value)
        if branch.next is not None and (self.open or reached < self.size):
            self.levels.append(branch.next)
            self.levels.append(reached)

    def _is_no_words(self, branch: Branch) -> bool:
        """Tell whether a branch of the first level is the topic of no words, and the filter wants some."""
        return self.wordless and self.size > 0 and branch.key == ""


def _warm_children(cn: Any) -> None:
    """Have all that a C-node leads to fetched, and where that leads to."""
    pin()
    size = popcount(bitmap_of(cn))
    for i in range(size):
        prefetch_node(child_at(cn, i))
    for i in range(size):
        child = child_at(cn, i)
        if is_exactly(child, INode):
            prefetch_node(peek(child))
        else:
            prefetch_node(value_of(child))
            prefetch_node(next_of(child))
    unpin()


def topics_along(
    root: Root,
    words: tuple[str | None, ...],
    hashes: tuple[int, ...],
    separator: str,
    open: bool,
    least: int,
    reserved: str | None,
    wordless: bool,
) -> list[tuple[str, Any]]:
    """Return the pairs of the topics in a read-only root that begin with `words`, None being any word.

    They have exactly these words, or, if `open`, more of them; `least` in all. O(levels that the words reach, and what
    is below the last of them).
    """
    walk: Walk = Walk.__new__(Walk)
    walk.root = root
    walk.found = []
    walk.separator = separator
    walk.words = words
    walk.hashes = hashes
    walk.size = len(words)
    walk.open = open
    walk.least = least
    walk.reserved = reserved
    walk.wordless = wordless
    walk.run(rdcss_read_root(root))
    return walk.found
