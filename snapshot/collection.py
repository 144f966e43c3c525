"""Python's cycle collector, while objects are built of which nearly all stay."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ctrie._bulk import collector_paused

HAS_GENERATIONS = getattr(sys, "_is_gil_enabled", lambda: True)()
"""The collector of a free-threaded interpreter has none."""


@contextmanager
def staying_objects() -> Iterator[None]:
    """Keep the collector from starting by itself within the block, and from looking at all the new objects at its end.

    A new object counts as young, and the collector begins with the young ones. After a million rows, that took a third
    of the time of the rows. So the new objects become old at once. If something was frozen with ``gc.freeze``, they
    stay young, since only everything can be unfrozen; then this counts what was frozen.
    """
    was_enabled = gc.isenabled()
    with collector_paused():
        try:
            yield
        finally:
            if HAS_GENERATIONS and was_enabled and gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()
