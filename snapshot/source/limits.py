"""Spark's limits of a stream's batch, which Spark has from version 4.2 on."""

from __future__ import annotations

from typing import Any

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles, SupportsTriggerAvailableNow
except ImportError:  # Spark 4.0 and 4.1 read all that there is
    HAS_LIMITS = False

    class Limited:
        """A stream without limits."""
else:
    HAS_LIMITS = True

    class Limited(SupportsTriggerAvailableNow):  # type: ignore[no-redef]
        """A stream with limits. Otherwise ``availableNow`` with a limit would stop after the first batch."""


def at_most(versions: int | None) -> Any:
    """The limit for so many versions."""
    return ReadAllAvailable() if versions is None else ReadMaxFiles(versions)


def most_of(limit: Any) -> int | None:
    """How many versions a limit allows; None for all."""
    return limit.max_files if HAS_LIMITS and isinstance(limit, ReadMaxFiles) else None
