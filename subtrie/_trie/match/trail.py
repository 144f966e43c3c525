"""Trails: how a match came to a filter, from which its text is made when somebody asks for it.

This is the interpreted text: a trail is the separator and a path (reading.py), and there is no place in it to tell. The
compiled twin also has trails of whole answers (`trail.h`).
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.reading import words_of


def text_of(trail: Any, at: int) -> str:
    """Return the text of the filter at a place of a trail."""
    separator, path = trail
    return separator.join(words_of(path))  # type: ignore[no-any-return]
