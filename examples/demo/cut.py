"""Judges whether an exported set is a true cut: for each writer it contains exactly a prefix of the writer's
operations.

Spark reduces the exported rows to one `Holding` for each writer. `faults` compares each with the result of a prefix
according to `steps`, and with the numbers of operations that the writer had completed right before and right after the
snapshot was taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from examples.demo.steps import Step, Writer, operations_behind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

STEP_KEY = re.compile(r"writer-(\d+)\tstep-(\d+)")
"""The key of a step in an exported set. No subscriber from a user's file is equal to it: they contain no tab."""


def step_key(subscriber: Step | str) -> str:
    """The ``key=`` function of the demo's exports: steps get `STEP_KEY`, strings stay as they are."""
    if isinstance(subscriber, str):
        return subscriber
    writer, step = subscriber
    return f"writer-{writer}\tstep-{step}"


class Holding(NamedTuple):
    """The rows of one writer in a cut.

    Args:
        rows: how many subscriptions there are.
        distinct: how many different steps they belong to.
        first: the lowest step.
        last: the highest step.
        misplaced: how many are on a filter that is not that of their step.
    """

    rows: int
    distinct: int
    first: int
    last: int
    misplaced: int

    def operations(self, slots: int) -> int | None:
        """The number of operations after which the writer has exactly these rows, or None: there is none."""
        unbroken = self.rows == self.distinct == self.last - self.first + 1
        return operations_behind(self.first, self.rows, slots) if unbroken and not self.misplaced else None


NOTHING = Holding(rows=0, distinct=0, first=0, last=-1, misplaced=0)


def faults(
    holdings: Mapping[int, Holding], slots: Sequence[int], before: Sequence[int], after: Sequence[int]
) -> list[str]:
    """The reasons why a cut is not consistent; an empty list if it is.

    Args:
        holdings: for each writer in the cut, its rows there.
        slots: each writer's number of slots.
        before: the operations that each writer had completed before the snapshot was requested.
        after: the same, once the snapshot was returned.
    """
    found = [f"there is no writer {writer}" for writer in holdings if not 0 <= writer < len(slots)]
    for writer, bounds in enumerate(zip(slots, before, after, strict=True)):
        fault = _fault(holdings.get(writer, NOTHING), *bounds)
        if fault is not None:
            found.append(f"writer {writer}: {fault}")
    return found


def _fault(held: Holding, slots: int, before: int, after: int) -> str | None:
    operations = held.operations(slots)
    if operations is None:
        return (
            f"no prefix of its operations on {slots} slots leaves {held.rows} rows of {held.distinct} steps "
            f"from {held.first} to {held.last}, {held.misplaced} of them on a wrong filter"
        )
    if not before <= operations <= after + 1:
        return f"the cut is after {operations} operations, but it was taken between {before} and {after + 1}"
    return None


def holdings_in_spark(frame: DataFrame, writers: Sequence[Writer]) -> dict[int, Holding]:
    """Let Spark reduce an exported set to the holdings of the writers."""
    from pyspark.sql import functions as F

    slots = F.get(F.array(*(F.lit(writer.slots) for writer in writers)), F.col("writer"))
    steps = (
        frame.where(is_step())
        .select("filter", _number(1).alias("writer"), _number(2).alias("step"))
        .withColumn("slot", F.col("step") % slots)
    )
    misplaced = (~F.col("filter").eqNullSafe(F.col("slot_filter"))).cast("int")
    rows = (
        steps.join(_slot_filters(frame, writers), ["writer", "slot"], "left")
        .groupBy("writer")
        .agg(F.count("*"), F.count_distinct("step"), F.min("step"), F.max("step"), F.sum(misplaced))
        .collect()
    )
    return {row[0]: Holding(*row[1:]) for row in rows}


def standing_faults(frame: DataFrame, standing: DataFrame) -> list[str]:
    """Check the subscriptions that no writer touches: the cut must contain all of them and no others.

    Args:
        frame: the exported set.
        standing: the subscriptions expected, with columns ``filter`` and ``subscriber``.
    """
    from pyspark.sql import functions as F

    held = frame.where(~is_step()).select("filter", "subscriber", F.lit(1).alias("one"))
    expected = standing.select("filter", "subscriber", F.lit(-1).alias("one"))
    surplus = held.union(expected).groupBy("filter", "subscriber").agg(F.sum("one").alias("surplus"))
    (missing, strange), *_ = surplus.agg(F.count_if(F.col("surplus") < 0), F.count_if(F.col("surplus") > 0)).collect()
    if not missing and not strange:
        return []
    return [f"{missing} standing subscriptions are missing and {strange} are unknown or double"]


def _slot_filters(frame: DataFrame, writers: Sequence[Writer]) -> DataFrame:
    import pyarrow as pa

    slots = [(writer.number, slot, filter) for writer in writers for slot, filter in enumerate(writer.filters)]
    return frame.sparkSession.createDataFrame(
        pa.table(
            {
                "writer": pa.array([writer for writer, _, _ in slots], pa.int32()),
                "slot": pa.array([slot for _, slot, _ in slots], pa.int64()),
                "slot_filter": pa.array([filter for _, _, filter in slots], pa.string()),
            }
        )
    )


def is_step() -> Column:
    """Whether a row of an exported set is one of a writer."""
    from pyspark.sql import functions as F

    return F.col("subscriber").rlike(f"^{STEP_KEY.pattern}$")


def _number(group: int) -> Column:
    from pyspark.sql import functions as F

    return F.regexp_extract("subscriber", STEP_KEY.pattern, group).try_cast("int" if group == 1 else "bigint")
