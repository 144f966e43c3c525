"""The locked trie: a trie of words under one lock, the plain way to match topics.

A node's children are keyed by the words of filters, including wildcards. A topic is followed word by word, from all
nodes reached so far at once: to the literal child and the wildcard children of each. A node entered by the wildcard for
many words also stays reached for any number of further words. The nodes reached are a set, so the search visits each
pair of a node and a position in the topic once.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any

from subtrie.dialects import AMQP, Dialect, Words
from subtrie.matcher import checked_filter


class _Node:
    __slots__ = ("children", "stays", "subscribers")

    def __init__(self, stays: bool) -> None:
        self.stays = stays
        """Whether it stays reached for further words of a topic: the node of a wildcard for many words."""
        self.children: dict[str, _Node] = {}
        self.subscribers: set[Any] = set()


class LockedTrie:
    """A trie of words under one lock.

    Thread-safe by that lock, held throughout each operation: ``__hash__`` and ``__eq__`` of subscribers run under it
    and must not call the matcher. Blocking. Every operation takes effect at one instant while it holds the lock.

    Args:
        dialect: how filters and topics are written.

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
        """Add a subscription and tell whether it is new. O(length of the filter)."""
        words = checked_filter(self.dialect, filter, subscriber)
        with self._lock:
            path = self._path(words)
            if path and subscriber in path[-1].subscribers:
                return False
            self._path(words, grows=True)[-1].subscribers.add(subscriber)
            self._size += 1
            return True

    def unsubscribe(self, filter: str, subscriber: Any) -> bool:
        """Remove a subscription, and the nodes that only it needed. O(length of the filter)."""
        words = checked_filter(self.dialect, filter, subscriber)
        with self._lock:
            path = self._path(words)
            if not path or subscriber not in path[-1].subscribers:
                return False
            path[-1].subscribers.remove(subscriber)
            self._size -= 1
            for parent, word, child in reversed(list(zip(path, words, path[1:], strict=False))):
                if child.children or child.subscribers:
                    break
                del parent.children[word]
            return True

    def match(self, topic: str) -> tuple[Any, ...]:
        """Return the subscribers that want the topic.

        O(nodes on the topic's paths), and never more than O(nodes x words of the topic).
        """
        words = self.dialect.split_topic(topic)
        with self._lock:
            return tuple(set().union(*(node.subscribers for node in self._reached(words))))

    def has_match(self, topic: str) -> bool:
        """Return whether any subscriber wants the topic: stops at the first subscriber found."""
        words = self.dialect.split_topic(topic)
        with self._lock:
            return any(node.subscribers for node in self._reached(words))

    def __len__(self) -> int:
        with self._lock:
            return self._size

    def check(self) -> None:
        """Check that every leaf has subscribers, and that the size is the sum over all sets of subscribers."""
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

    def _path(self, words: Words, *, grows: bool = False) -> list[_Node]:
        """Return the nodes of a filter, from the root on; if it is not there, make them, or return an empty list."""
        path = [self._root]
        for word in words:
            children = path[-1].children
            if word not in children:
                if not grows:
                    return []
                children[word] = _Node(stays=word == self.dialect.many_words)
            path.append(children[word])
        return path

    def _reached(self, topic: Words) -> Iterable[_Node]:
        """Return the nodes of all filters that match the topic."""
        dialect = self.dialect
        one, many = dialect.one_word, dialect.many_words
        wild = not dialect.is_reserved(topic)
        may_be_none = dialect.many_min == 0
        nodes = {self._root: None}
        if wild and may_be_none:
            self._add_empty_runs(nodes)
        for word in topic:
            following: dict[_Node, None] = {}
            for node in nodes:
                if node.stays:
                    following[node] = None
                children = node.children
                if word in children and word != one and word != many:
                    following[children[word]] = None
                if wild:
                    if one in children:
                        following[children[one]] = None
                    if many in children and not may_be_none:
                        following[children[many]] = None
            if may_be_none:
                self._add_empty_runs(following)
            nodes, wild = following, True
        return nodes

    def _add_empty_runs(self, nodes: dict[_Node, None]) -> None:
        """Add the nodes reached by wildcards for many words that stand for zero words."""
        many = self.dialect.many_words
        for node in list(nodes):
            while many in node.children:
                node = node.children[many]
                nodes[node] = None
