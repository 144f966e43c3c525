"""Refutes a history in one pass: an answer shows a value that no operation had brought by the time it was given.

This needs neither an order of the operations nor states, so many overlapping operations take no longer than few.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from stress.history import Operation, calls_and_returns
from stress.spec import EVERYTHING, Spec, State


def first_without_origin(operations: Sequence[Operation], spec: Spec, starts: Sequence[State]) -> Operation | None:
    """Of the operations whose answer shows something that was not there at the start and that no operation called by
    then brings, the one that returns first. O(n log n).
    """
    known: set[Hashable] = {each for state in starts for each in spec.content(state)}
    for is_return, operation in calls_and_returns(operations):
        if is_return:
            if any(each not in known for each in spec.shows(operation)):
                return operation
        elif (brought := spec.brings(operation)) is EVERYTHING:
            return None
        else:
            known.update(brought)
    return None
