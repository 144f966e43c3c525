"""No garbage is collected while an execution runs: finalizers and callbacks of weak references would run in the middle
of any step, each time of another one. It is collected between two executions.
"""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager
from typing import Final

from stress.process_wide import COLLECTOR

__all__ = ["collect_garbage", "garbage_is_kept"]

_MANY: Final = 20_000
_OFTEN: Final = 10


def garbage_is_kept() -> AbstractContextManager[None]:
    """Within the block, garbage is collected where `collect_garbage` is called."""
    return COLLECTOR.held(False)


def collect_garbage() -> None:
    """Collect garbage if there may be much of it."""
    new, young, _ = gc.get_count()
    if new > _MANY:
        gc.collect(2 if young > _OFTEN else 0)
