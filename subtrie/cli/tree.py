"""Draws a trie as text: `python -m subtrie tree`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from subtrie import SubscriptionTrie

_GO_ON, _LAST, _BAR, _ROOM = "├── ", "└── ", "│   ", "    "
_MOST_NAMED = 8


class _Node:
    """A word, or the common beginning of the filters: the subscribers of the filter that ends here, and the next
    words."""

    def __init__(self) -> None:
        self.subscribers: list[str] = []
        self.words: dict[str, _Node] = {}

    def size(self) -> int:
        """Return the number of subscriptions at this node and below."""
        total, nodes = 0, [self]
        while nodes:
            node = nodes.pop()
            total += len(node.subscribers)
            nodes.extend(node.words.values())
        return total


def tree_lines(trie: SubscriptionTrie, depth: int | None = None) -> Iterator[str]:
    """Yield a drawing of the subscriptions of one instant, one line for each word, with the subscribers of the filters
    that end there. Words below `depth` are only counted."""
    root = _Node()
    for filter, subscriber, options in trie.subscriptions():
        node = root
        for word in trie.dialect.split_filter(filter):
            node = node.words.setdefault(word, _Node())
        shown = dict(options)
        node.subscribers.append(f"{subscriber} {json.dumps(shown, default=str)}" if shown else str(subscriber))
    size = root.size()
    yield f"{trie.dialect.name}, {size:,} subscription{'s' * (size != 1)}{_named(root)}"
    stack = _below(root, "")
    while stack:
        word, node, lead, last, level = stack.pop()
        line = f"{lead}{_LAST if last else _GO_ON}{word or '(empty)'}{_named(node)}"
        if depth is not None and level == depth and node.words:
            yield f"{line}  … {node.size() - len(node.subscribers):,} more"
        else:
            yield line
            stack.extend(_below(node, lead + (_ROOM if last else _BAR), level + 1))


def _below(node: _Node, lead: str, level: int = 1) -> list[tuple[str, _Node, str, bool, int]]:
    """Return the nodes below a node, the last first."""
    words = sorted(node.words.items(), reverse=True)
    return [(word, child, lead, at == 0, level) for at, (word, child) in enumerate(words)]


def _named(node: _Node) -> str:
    names: list[Any] = sorted(node.subscribers)
    if not names:
        return ""
    more = f", … {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return f"  ← {', '.join(names[:_MOST_NAMED])}{more}"
