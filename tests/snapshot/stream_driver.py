"""The driver of a stream that a test kills and restarts: messages from files, matches to files.

    python -m tests.snapshot.stream_driver FOLDER

Matches ``FOLDER/messages`` with the set published in ``FOLDER/published`` until all messages are done.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import snapshot
from tests.snapshot.support import SHORT_LIVED


def main(folder: Path) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.extraJavaOptions", SHORT_LIVED)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    messages = (
        spark.readStream.schema("id int, topic string").option("maxFilesPerTrigger", 1).json(str(folder / "messages"))
    )
    query = (
        snapshot.match_stream(messages, folder / "published", mode="PERMISSIVE")
        .writeStream.format("parquet")
        .option("path", str(folder / "matched"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
