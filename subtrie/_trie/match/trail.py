"""Trails: how a match came to a filter. The text of the filter is made from it on request.

This is the interpreted text: a trail is the separator and a path (reading.py), or, for a whole answer, the separator
and a list of paths, of which each has its place. In the compiled twin the trail of a whole answer is characters
(`trail.h`).
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.reading import words_of


def text_of(trail: Any, at: int) -> str:
    """Return the text of the filter at a place of a trail."""
    separator, path = trail
    return separator.join(words_of(path[at] if type(path) is list else path))  # type: ignore[no-any-return]
