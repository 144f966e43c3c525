"""A local Spark session for the demonstration. It looks for Java first, and keeps Spark's log off the terminal."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

from subtrie.cli import CannotStart

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
INSTALL_JAVA = (
    f"Spark needs Java {OLDEST_JAVA} or later. Install it and run this again; "
    "on Debian or Ubuntu: sudo apt-get install openjdk-17-jre-headless"
)
INSTALL_SPARK = "Spark and Arrow are not installed: pip install 'subtrie[spark]'"
SHORT_LIVED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Java options for a session of seconds: half the processor time, since Java compiles quickly instead of well."""
LOG_TAIL = 2_000
"""Characters of Spark's log that are shown if Spark does not start."""


@contextmanager
def local_spark(threads: int = 2) -> Iterator[SparkSession]:
    """A Spark session on this machine, without network, stopped at the end.

    Args:
        threads: how many tasks run at a time.

    Raises:
        CannotStart: Java or pyspark is missing, or Spark did not start.
    """
    require_java()
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        spark = _started(threads, log)
        try:
            yield spark
        finally:
            spark.stop()


def _started(threads: int, log: IO[str]) -> SparkSession:
    try:
        with _interrupt_held_back():
            import pyarrow  # noqa: F401
            from pyspark import SparkConf, SparkContext
            from pyspark.java_gateway import launch_gateway
            from pyspark.sql import SparkSession
    except ImportError as missing:
        raise CannotStart(f"{INSTALL_SPARK} ({missing})") from missing
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # An error in a call to Java is raised; a log entry as well would only spoil the terminal.
    logging.getLogger().addHandler(logging.NullHandler())
    # Spark warns about every version of pandas that leaves a free-threaded interpreter's GIL off.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    conf = (
        SparkConf()
        .setMaster(f"local[{threads}]")
        .setAppName("subtrie")
        .setAll(
            [
                ("spark.ui.enabled", "false"),
                ("spark.driver.host", "127.0.0.1"),
                ("spark.driver.bindAddress", "127.0.0.1"),
                ("spark.sql.shuffle.partitions", str(threads)),
                ("spark.driver.extraJavaOptions", SHORT_LIVED),
            ]
        )
    )
    try:
        with _interrupt_held_back():
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
        context = SparkContext(conf=conf, gateway=gateway)
    except Exception as error:
        log.seek(0)
        raise CannotStart(f"Spark did not start ({error}). Its log ends:\n{log.read()[-LOG_TAIL:]}") from error
    return SparkSession(context)


@contextmanager
def _interrupt_held_back() -> Iterator[None]:
    """Delay the first Ctrl-C until the end; a second one is not delayed.

    An import may lose it: the import system removes its locks in callbacks of weak references, and these cannot raise.
    If pyspark is interrupted while it starts Java, it removes the folder in which Java reports that it has started.
    Java then runs for ever. Once it has reported, it ends with this process.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    held_back: list[FrameType | None] = []

    def hold_back(number: int, frame: FrameType | None) -> None:
        if held_back:
            handler(number, frame)
        held_back.append(frame)

    signal.signal(signal.SIGINT, hold_back)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if held_back:
        handler(signal.SIGINT, held_back[0])


def require_java() -> None:
    """Find Java in the way that Spark does.

    Raises:
        CannotStart: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        raise CannotStart(f"Java was not found. {INSTALL_JAVA}")
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotStart(f"{java} is no working Java ({error}). {INSTALL_JAVA}") from error
    version = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise CannotStart(f"{java} is too old: {answer.stderr.splitlines()[0]}. {INSTALL_JAVA}")
