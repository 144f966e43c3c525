"""Whether a right verdict on a history says anything: whether an answer could have contradicted another one.

An unlocked counter whose `increment` answers None, and which nobody reads, loses updates, and every history of it is
right: in each state `increment` may answer None. So where calls change the state, some answer must depend on it: one of
the calls could not have got its answer in one of the states to which the others lead. Where only the first call changes
something, or none does, an answer other than None will do: they may all get what the first of them makes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stress.alike import Again
from stress.frozen_states import judged
from stress.history import MAIN, UNSEEN, Operation
from stress.spec import Spec, State

_WALK: Final = 400
"""Operations that are followed to find states, ..."""
_STATES: Final = 32
_ANSWERS: Final = 64
"""... and the most states and answers that are compared."""


def could_contradict(operations: Iterable[Operation], spec: Spec) -> bool:
    """Whether an answer of a history says anything. A specification that fails in a state on the way does not allow
    every answer there. Takes a few thousand steps at most, and mostly a few dozen.
    """
    walk = sorted((each for each in operations if not each.pending), key=lambda each: each.call)
    last = [each for each in walk[_WALK:] if each.thread == MAIN]
    return judged(spec, lambda its: _is_refused_somewhere(walk[:_WALK], last, its))


def _is_refused_somewhere(walk: list[Operation], last: list[Operation], spec: Spec) -> bool:
    states, answers = {spec.initial: None}, dict.fromkeys((each.op, each.args, each.result) for each in (*last, *walk))
    told = list(answers)[:_ANSWERS]
    state, later = spec.initial, set[State]()
    try:
        for each in walk:
            after = list(spec.successors(state, each.op, each.args, each.result))
            if not after:
                return True
            state = after[0]
            later.add(state)
            states.setdefault(state)
            if len(states) >= _STATES:
                break
        if len(later) == 1:
            return any(result is not None and result is not UNSEEN for _, _, result in told)
        return any(not list(spec.successors(state, *answer)) for state in states for answer in told)
    except Again:
        raise
    except Exception:  # noqa: BLE001 - the object may never have this state, so the specification need not handle it
        return True
