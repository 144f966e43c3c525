"""Trails: how a match came to a filter, and from which topic. The text of the filter, and what its wildcards stood for,
are made from it on request.

This is the interpreted text: the trail of a whole answer is the dialect, a list of paths (reading.py), of which each
has its number, and the topic. In the compiled twin that is so for what reading.py has found. Any other trail is
characters (`trail.h`), and, where there are groups whose filters a dialect writes by methods of its own, the dialect
and these.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.reading import words_of


def text_of(trail: Any, at: int) -> str:
    """Return the text of the filter of a record of a trail."""
    dialect, paths, _ = trail
    return dialect.separator.join(words_of(paths[at]))  # type: ignore[no-any-return]


def group_text_of(trail: Any, at: int, group: str) -> str:
    """Return the text of the filter there, as a group has it."""
    dialect = trail[0]
    return dialect.join(dialect.share(group, (text_of(trail, at),)))  # type: ignore[no-any-return]


def topic_of(trail: Any) -> tuple[str, str, str, str | None, int]:
    """Return the topic, and what tells words and wildcards in it and in the filters: separator, the wildcards for one
    word and for many, and the least number of these."""
    dialect, _, topic = trail
    return topic, dialect.separator, dialect.one_word, dialect.many_words, dialect.many_min
