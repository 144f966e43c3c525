"""Trails: how a match came to a filter, and from which topic. The text of the filter, and what its wildcards stood for,
are made from it on request.

This is the interpreted text: a trail is the dialect, a path (reading.py) and the topic; for a whole answer, it has a
list of paths, of which each has its place. In the compiled twin the trail of a whole answer is characters (`trail.h`),
and, where there are groups whose filters a dialect writes by methods of its own, the dialect and these.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.reading import words_of


def text_of(trail: Any, at: int) -> str:
    """Return the text of the filter at a place of a trail."""
    dialect, path, _ = trail
    return dialect.separator.join(words_of(path[at] if type(path) is list else path))  # type: ignore[no-any-return]


def group_text_of(trail: Any, at: int, group: str) -> str:
    """Return the text of the filter there, as a group has it."""
    dialect = trail[0]
    return dialect.join(dialect.share(group, (text_of(trail, at),)))  # type: ignore[no-any-return]


def topic_of(trail: Any) -> tuple[str, str, str, str | None, int]:
    """Return the topic, and what tells words and wildcards in it and in the filters: separator, the wildcards for one
    word and for many, and the least number of these."""
    dialect, _, topic = trail
    return topic, dialect.separator, dialect.one_word, dialect.many_words, dialect.many_min
