"""Dropping a whole tree piece by piece: for calls that replace all that a trie holds. Other threads run meanwhile.

This is for compiled code on interpreters with a GIL, where a tree would be freed in one call (`c/release.h`). The
interpreted twin leaves it to the interpreter.
"""

from __future__ import annotations

from typing import Any


def release(dropped: list[Any], kinds: tuple[type[Any], ...]) -> None:
    """Drop the nodes in `dropped`, and what only they lead to, as far as it is of one of these types. The list has the
    only references. Whatever it still holds afterwards is dropped with it."""


def release_items(items: list[Any]) -> None:
    """Drop the items of a long list that nobody else uses. Whatever it still holds afterwards is dropped with it."""
