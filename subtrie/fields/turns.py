"""When a call that answers many messages lets signals and other threads in.

To look at the clock after each answer would take a tenth of a match. So such a call looks after 16 answers, subscribers
in them counted; after each answer, if the last ones were slow.

This is the interpreted text, in which the interpreter itself lets others in between two lines. The compiled one is in
turns.pxd.
"""

from __future__ import annotations

from typing import Any


class Turn:
    """How long a call has kept others waiting."""


def begin_turn(turn: Turn) -> None:
    """Begin to count."""


def others_may_run(turn: Turn, answers: list[tuple[Any, ...]]) -> None:
    """Let others in after an answer, if they may have waited for long."""
