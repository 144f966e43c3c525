"""The layer that should catch mutants of the checker: its verdicts on small histories, compared with brute force."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from random import Random
from typing import Any, Final

from stress.history import UNSEEN, Operation
from tests.tries.mutants.brute_force import KINDS, UNIQUE, histories, linearizable
from tests.tries.source_copy import Change, import_privately

HISTORIES: Final = 4_000
_HURRIED: Final = (
    Change("hurried", "stress.checker.search", "max(_FIRST_SHARE, each * len(operations))", "1"),
    Change("sliced", "stress.checker.segment", "SLICE: Final = 256", "SLICE: Final = 1"),
)
"""With a first turn of one step, nothing is decided in that turn, so small histories go through everything that large
ones do.
"""

_JUDGED: Final = ("register", *UNIQUE)


def first_difference(changes: Sequence[Change], seed: int) -> tuple[int, str]:
    """The number of histories until one was found that a checker with `changes` judges wrongly, and that history; or
    the number of all histories, and an empty text.
    """
    judges = [_Judge(changes), _Judge([*changes, *_HURRIED])]
    sources = [(kind, histories(Random(f"{seed}/{kind}"), kind)) for kind in _JUDGED]
    for number, (kind, source) in enumerate(islice(cycle(sources), HISTORIES), start=1):
        history = next(source)
        right = linearizable(history, KINDS[kind][0])
        if any(judge.verdict(kind, history) != right for judge in judges):
            return number, "; ".join(each.describe() for each in history)
    return HISTORIES, ""


class _Judge:
    """A private checker with changes applied."""

    def __init__(self, changes: Sequence[Change]) -> None:
        modules = import_privately(("stress.checker.check", "stress.specs"), changes=changes)
        self._check: Any = modules["stress.checker.check"].check
        self._history: Any = modules["stress.history"]
        specs: Any = modules["stress.specs"]
        known = {kind: KINDS[kind][0] for kind in _JUDGED}
        self._specs = {kind: specs.SPECS[spec.name](**spec.options()) for kind, spec in known.items()}

    def verdict(self, kind: str, history: Sequence[Operation]) -> bool | None:
        """Whether it judges a history linearizable; None if it cannot tell."""
        unseen, operation = self._history.UNSEEN, self._history.Operation
        told = [operation(*each[:-1], unseen if each.result is UNSEEN else each.result) for each in history]
        try:
            return bool(self._check(told, self._specs[kind]))
        except Exception:  # noqa: BLE001 - a mutant may raise anything, and is wrong if it does
            return None
