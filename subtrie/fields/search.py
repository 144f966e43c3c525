"""The search: from a message to the entries of an index of which all holds.

What a message has leads to what is filed there, and each entry says what else is to be asked. Nothing that is looked at
ever changes, so a search needs nothing but the state that it was given.

This is the interpreted text; `search.pyx` has the same with borrowed references.
"""

from __future__ import annotations

from typing import Any

from ctrie._nodes import mix
from subtrie._trie.subscribers import Entry, SetNode, iter_entries
from subtrie.fields.criteria import NOWHERE, OTHER, check_hashable, order_of
from subtrie.fields.index import Cell, Field, Filed, Index, find_cell
from subtrie.fields.intervals import Ranges, begins_by, lasts_to
from subtrie.fields.state import State, distinct


def entries_for(index: Index, message: dict[Any, Any]) -> list[Filed]:
    """Return the entries of which all holds for a message, each once. The message's values are hashed, and compared
    with those filed by `==`: users' code may run and raise."""
    found: list[Any] = []
    for name, value in list(message.items()):
        check_hashable(name, value)
        cell = find_cell(index.fields, name, mix(hash(name)))
        if cell is not None:
            _find_in_field(cell.value, value, message, found)
    for nothing in iter_entries(index.absent):
        if nothing.subscriber not in message:
            absent: Cell = nothing  # type: ignore[assignment]
            _find_among(absent.value, message, found)
    return found


def subscribers_for(state: State, message: dict[Any, Any]) -> tuple[Any, ...]:
    """Return the distinct subscribers with a subscription of which all criteria hold."""
    return distinct(state, entries_for(state.index, message))


def _find_in_field(field: Field, value: Any, message: dict[Any, Any], found: list[Any]) -> None:
    if field.values is not None:
        cell = find_cell(field.values, value, mix(hash(value)))
        if cell is not None:
            _find_among(cell.value, message, found)
    if field.ranges is not None:
        order = order_of(value)
        if order not in (OTHER, NOWHERE):
            _find_around(field.ranges[order], value, message, found)
    _find_among(field.any, message, found)


def _find_around(node: Ranges | None, value: Any, message: dict[Any, Any], found: list[Any]) -> None:
    """Append what is filed under each range around the value, which is of the ranges' order."""
    while node is not None and lasts_to(node.reach, value):
        _find_around(node.left, value, message, found)
        if not begins_by(node.span, value):
            return  # and whatever is higher begins no earlier
        if lasts_to(node.span, value):
            _find_among(node.filed, message, found)
        node = node.right


def _find_among(filed: Any, message: dict[Any, Any], found: list[Any]) -> None:
    """Append the entries of a set of which all holds."""
    if isinstance(filed, SetNode):
        for branch in filed.array:
            _find_among(branch, message, found)
    elif isinstance(filed, Entry):
        entry: Filed = filed  # type: ignore[assignment]
        if all(criterion.met_by(message) for criterion in entry.rest):
            found.append(entry)
    elif filed is not None:
        for one in filed:
            _find_among(one, message, found)
