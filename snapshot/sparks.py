"""What differs between the versions of Spark that this package runs with: 3.5 to 4.3.

Spark 3.5 has no data frames from Arrow tables. These are made of what it has. It has no Python data sources and no SQL
functions either; what needs them raises `UnsupportedError`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class UnsupportedError(NotImplementedError):
    """This version of Spark lacks what a call needs; the message names the first version that has it.

    Args:
        what: what needs it.
        since: the first version of Spark.
    """

    def __init__(self, what: str, since: str) -> None:
        super().__init__(f"{what} needs Spark {since} or later, and this is {extra('pyspark').__version__}")


@cache
def release() -> tuple[int, int]:
    """The version of pyspark: its first two numbers."""
    major, minor, *_ = extra("pyspark").__version__.split(".")
    return int(major), int(minor)


def is_remote(spark: SparkSession) -> bool:
    """Whether this is a session of Spark Connect, whose driver is another process."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def struct_of(schema: pa.Schema) -> Any:
    """An Arrow schema as Spark's."""
    return extra("pyspark.sql.pandas.types").from_arrow_schema(schema)


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a data frame.

    Raises:
        UnsupportedError: a session of Spark Connect before 4.0.
    """
    if release() >= (4, 0):
        # Spark makes a record batch of the columns, which may have no chunk at all if there is no row.
        return spark.createDataFrame(table if len(table) else table.schema.empty_table())
    _refuse_connect(spark)
    return _frame_of_batches(spark, table)


def _frame_of_batches(spark: Any, table: pa.Table) -> DataFrame:
    """The same in Spark 3.5, which makes data frames of pandas by these calls, from batches of Arrow, too."""
    frames = extra("pyspark.sql.dataframe")
    serializer = extra("pyspark.sql.pandas.serializers").ArrowStreamSerializer()
    functions = spark._jvm.PythonSQLUtils
    schema = struct_of(table.schema)
    batches = table.to_batches(max_chunksize=max(1, spark._jconf.arrowMaxRecordsPerBatch()))
    if not batches:
        return spark.createDataFrame([], schema)  # type: ignore[no-any-return]
    sent = spark._sc._serialize_to_jvm(
        batches, serializer, functions.readArrowStreamFromFile, spark._jvm.ArrowIteratorServer
    )
    frame: DataFrame = frames.DataFrame(functions.toDataFrame(sent, schema.json(), spark._jsparkSession), spark)
    return frame


def table_from(frame: DataFrame) -> pa.Table:
    """The rows of a data frame, collected as Arrow.

    Raises:
        UnsupportedError: a session of Spark Connect before 4.0.
    """
    if release() >= (4, 0):
        return frame.toArrow()
    _refuse_connect(frame.sparkSession)
    schema = extra("pyspark.sql.pandas.types").to_arrow_schema(frame.schema)
    batches: list[Any] = frame._collect_as_arrow()  # type: ignore[operator]
    return extra("pyarrow").Table.from_batches(batches, schema).cast(schema)


def _refuse_connect(spark: Any) -> None:
    if is_remote(spark):
        raise UnsupportedError("Arrow in Spark Connect", "4.0")
