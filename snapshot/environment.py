"""Whether Spark's workers can run this package: their interpreter, and what is installed there.

A worker that lacks something fails with a traceback of thirty lines, which hides the cause. So one worker of each
application is asked first, by a function that needs nothing but pyarrow installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.sparks import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class WorkersError(RuntimeError):
    """Spark's Python workers cannot run this package; the message says why, and what to do."""


Answer = tuple[str, str, str] | str
"""A worker's interpreter, its version and what it lacks; or why it could not answer."""

_asked: dict[str, Answer] = {}
"""Applications whose workers were asked, with what one of them answered."""


def require_workers(spark: SparkSession) -> None:
    """Ask the workers, unless they were asked before.

    Raises:
        WorkersError: they lack something.
    """
    name = spark.session_id if is_remote(spark) else spark.sparkContext.applicationId  # type: ignore[attr-defined]
    if name not in _asked:
        _asked[name] = _ask(spark)
    answer, driver = _asked[name], f"{sys.version_info[0]}.{sys.version_info[1]}"
    cure = (
        f"set PYSPARK_PYTHON to an interpreter that has it (the driver's is {sys.executable}) before the session "
        "starts, or send the environment along (docs/spark.md, Deploying)"
    )
    if isinstance(answer, str):
        raise WorkersError(f"Spark's Python workers cannot run this package: {answer}; {cure}")
    executable, version, lacks = answer
    if lacks:
        raise WorkersError(f"Spark's Python workers run {executable}, which lacks {lacks}; {cure}")
    if version != driver:
        raise WorkersError(
            f"Spark's Python workers run {executable}, Python {version}, and the driver Python {driver}; {cure}"
        )


def require_session(spark: Any) -> None:
    """Refuse anything but a running session.

    Raises:
        ImportError: pyspark is not installed.
        TypeError: it is not a session.
        RuntimeError: it was stopped.
    """
    extra("pyspark.sql")
    if not hasattr(spark, "createDataFrame"):
        raise TypeError(
            f"spark must be a SparkSession, not {type(spark).__name__}; SparkSession.builder.getOrCreate() makes one"
        )
    if spark.is_stopped if is_remote(spark) else spark.sparkContext._jsc is None:
        raise RuntimeError("the Spark session was stopped; SparkSession.builder.getOrCreate() makes a new one")


_PROBE = """
def probe(batches):
    import sys
    import pyarrow as pa
    lacks = []
    for name in ("numpy", "subtrie", "snapshot.worker"):
        try:
            __import__(name)
        except ImportError as error:
            lacks.append(f"{name} ({error})")
    for batch in batches:
        values = sys.executable, "%d.%d" % sys.version_info[:2], "; ".join(lacks)
        columns = [pa.array([value] * batch.num_rows) for value in values]
        yield pa.record_batch(columns, names=["executable", "version", "lacks"])
"""
"""A function that tells the interpreter, its version and what it lacks. It is text, since Spark sends only the name of
a function of an installed module."""


def _ask(spark: SparkSession) -> Answer:
    code: dict[str, Any] = {"__name__": "__main__"}
    exec(_PROBE, code)
    try:
        row = spark.range(1).mapInArrow(code["probe"], "executable string, version string, lacks string").first()
    except Exception as error:  # noqa: BLE001 (Spark's, or of what it calls Java with)
        return _last_line(str(error))
    assert row is not None
    return row["executable"], row["version"], row["lacks"]


def _last_line(text: str) -> str:
    """The line that says what happened: the last line of Python's traceback, or the first line if there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told: Iterator[str] = (line for line in reversed(lines) if "Error" in line.split(":")[0] and " " not in line[:12])
    return next(told, lines[0] if lines else "no reason given")
