"""The locked trie: a trie of words under one lock, the plain way to match topics.

A node's children are keyed by the words of filters, wildcards among them. A topic is led down the literal
child and the wildcard children at each level; a node entered through the wildcard for many words is also
where it stays for any number of further words, so that the search visits each pair of a node and a position
in the topic once.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any

from subtrie.dialects import AMQP, Dialect, Words
from subtrie.matcher import checked_filter


class _Node:
    __slots__ = ("children", "stays", "subscribers")

    def __init__(self, stays: bool) -> None:
        self.stays = stays
        """Whether further words of a topic may pass here: the node of a wildcard for many words."""
        self.children: dict[str, _Node] = {}
        self.subscribers: set[Any] = set()


class LockedTrie:
    """A trie of words under one lock.

    Thread-safe by that lock, held throughout each operation: ``__hash__`` and ``__eq__`` of subscribers run
    under it and must not call the matcher. Blocking; every operation takes effect at one instant while it
    holds the lock.

    :param dialect: how filters and topics are written

    >>> trie = LockedTrie()
    >>> trie.subscribe("*.stock.#", "ann")
    True
    >>> trie.match("usd.stock.db"), trie.match("stock.nasdaq")
    (('ann',), ())
    """

    def __init__(self, dialect: Dialect = AMQP) -> None:
        self.dialect = dialect
        self._lock = Lock()
        self._root = _Node(stays=False)
        self._size = 0

    def subscribe(self, filter: str, subscriber: Any) -> bool:
        """Add a subscription and say whether it is new. O(length of the filter)."""
        words = checked_filter(self.dialect, filter, subscriber)
        with self._lock:
            node = self._find(words)
            if node is not None and subscriber in node.subscribers:
                return False
            self._grow(words).subscribers.add(subscriber)
            self._size += 1
            return True

    def unsubscribe(self, filter: str, subscriber: Any) -> bool:
        """Remove a subscription, and the nodes that only it needed. O(length of the filter)."""
        words = checked_filter(self.dialect, filter, subscriber)
        with self._lock:
            node = self._find(words)
            if node is None or subscriber not in node.subscribers:
                return False
            node.subscribers.remove(subscriber)
            self._size -= 1
            self._prune(words)
            return True

    def match(self, topic: str) -> tuple[Any, ...]:
        """Return the subscribers that want the topic.

        O(nodes on the topic's paths), and never more than O(nodes x words of the topic).
        """
        words = self.dialect.split_topic(topic)
        with self._lock:
            return tuple(set().union(*(node.subscribers for node in self._reached(words))))

    def has_match(self, topic: str) -> bool:
        """Say whether anybody wants the topic: stops at the first subscriber found."""
        words = self.dialect.split_topic(topic)
        with self._lock:
            return any(node.subscribers for node in self._reached(words))

    def __len__(self) -> int:
        with self._lock:
            return self._size

    def check(self) -> None:
        """Check that every leaf has subscribers, and that the size is that of all sets of subscribers."""
        size = 0
        pending = [self._root]
        while pending:
            node = pending.pop()
            size += len(node.subscribers)
            pending.extend(node.children.values())
            assert node.children or node.subscribers or node is self._root, "a leaf without a subscriber"
            for word, child in node.children.items():
                assert child.stays == (word == self.dialect.many_words), f"{word!r} leads to the wrong kind"
        assert size == self._size, f"{size} subscriptions found, {self._size} counted"

    def _find(self, words: Words) -> _Node | None:
        node: _Node | None = self._root
        for word in words:
            if node is None:
                break
            node = node.children.get(word)
        return node

    def _grow(self, words: Words) -> _Node:
        node = self._root
        for word in words:
            child = node.children.get(word)
            if child is None:
                child = node.children[word] = _Node(stays=word == self.dialect.many_words)
            node = child
        return node

    def _prune(self, words: Words) -> None:
        path = [self._root]
        for word in words:
            path.append(path[-1].children[word])
        for parent, word, child in reversed(list(zip(path, words, path[1:], strict=False))):
            if child.children or child.subscribers:
                return
            del parent.children[word]

    def _reached(self, topic: Words) -> Iterator[_Node]:
        """Yield the nodes of all filters that match the topic."""
        end = len(topic)
        pending = [(self._root, 0)]
        seen: set[tuple[int, int]] = set()
        while pending:
            node, position = pending.pop()
            if node.stays:
                if (id(node), position) in seen:
                    continue
                seen.add((id(node), position))
                if position < end:
                    pending.append((node, position + 1))
            if position == end:
                yield node
            pending.extend(self._next(node, position, topic))

    def _next(self, node: _Node, position: int, topic: Words) -> Iterator[tuple[_Node, int]]:
        """Yield the children to visit from a node, and the position in the topic at which to go on."""
        dialect, children = self.dialect, node.children
        wild = node is not self._root or not dialect.is_reserved(topic)
        if wild and dialect.many_words is not None and position + dialect.many_min <= len(topic):
            many = children.get(dialect.many_words)
            if many is not None:
                yield many, position + dialect.many_min
        if position < len(topic):
            one = children.get(dialect.one_word) if wild else None
            if one is not None:
                yield one, position + 1
            if not dialect.is_wild(topic[position]):
                literal = children.get(topic[position])
                if literal is not None:
                    yield literal, position + 1
