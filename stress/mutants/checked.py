"""The layer that is to catch mutants of the checker: its verdicts on small histories, held to those by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from stress.explorer.private import Change, import_privately
from stress.history import UNSEEN, Operation
from stress.mutants.brute_force import histories, linearizable
from stress.specs import Register

__all__ = ["HISTORIES", "first_difference"]

HISTORIES: Final = 2_000


def first_difference(changes: Sequence[Change], seed: int) -> tuple[int, str]:
    """How many histories it took to find one about which a checker with `changes` in it is wrong, and which; or how
    many there were, and nothing.
    """
    theirs: Any = import_privately(("stress",), changes=changes)["stress"]
    spec, ours = theirs.Register(), Register()
    for number, history in enumerate(histories(Random(f"{seed}/checker"), Operation, UNSEEN), start=1):
        told = [theirs.Operation(*each[:-1], theirs.UNSEEN if each.result is UNSEEN else each.result)
                for each in history]  # fmt: skip
        if _verdict(theirs, told, spec) != linearizable(history, ours):
            return number, "; ".join(each.describe() for each in history)
        if number == HISTORIES:
            return number, ""
    raise AssertionError("histories end")


def _verdict(theirs: Any, history: Sequence[Any], spec: Any) -> bool | None:
    try:
        return bool(theirs.check(history, spec))
    except Exception:  # noqa: BLE001 - a mutant may raise anything, and is wrong if it does
        return None
