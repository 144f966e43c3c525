"""What the wildcards of a filter stood for in a topic that it matches.

Several answers may be possible if wildcards for many words stand before others: `#.b.#` matches `a.b.c.b`, and the
first `#` stands for `a`, or for `a.b.c`. Then each one, from the first on, stands for as few words as it can. So no
answer is tried and given up: the filter is followed from its end, to learn from which positions of the topic the rest
of it leads to the topic's end, and then once from its beginning.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.reading import positions_of_words


def stood_for(
    filter: str, topic: str, separator: str, one_word: str, many_words: str | None, many_min: int
) -> tuple[Any, ...]:
    """Return, for each wildcard of the filter in order, the word for one, a tuple of words for many. The filter matches
    the topic; both are plain texts, and the empty one has no words. O(words of the filter x words of the topic)."""
    parts = filter.split(separator) if filter else []
    if one_word not in parts and many_words not in parts:
        return ()
    words = tuple(topic.split(separator)) if topic else ()
    positions = positions_of_words(words)
    # The positions of the topic, as bits, from which the filter's words after this one lead to the topic's end.
    after = [1 << len(words)]
    for part in reversed(parts[1:]):
        if part == one_word:
            after.append(after[-1] >> 1)
        elif part == many_words:
            after.append((1 << max(after[-1].bit_length() - many_min, 0)) - 1)
        else:
            after.append(after[-1] >> 1 & positions.get(part, 0))
    found: list[Any] = []
    at = 0
    for part in parts:
        ends = after.pop()
        if part == one_word:
            found.append(words[at])
            at += 1
        elif part == many_words:
            fewest = at + many_min
            rest = ends >> fewest
            end = fewest + (rest & -rest).bit_length() - 1
            found.append(words[at:end])
            at = end
        else:
            at += 1
    return tuple(found)
