"""The JVM of the process's session: fast start, and end."""

import logging
import subprocess
import sys
from types import TracebackType
from typing import Any

from heron_engine.scheduler.backends.spark.class_archive import ClassArchive
from heron_engine.scheduler.backends.spark.spark_home import spark_home
from heron_io.java import find_java

log = logging.getLogger("heron_spark")

END_SECS = 20.0
ARCHIVE_SECS = 120.0
"""Time limit for writing the archive; an idle machine needs 10 s."""
GONE_SECS = 2.0
"""Time between the last word on the connection and the end of a killed process."""
COMPILER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Spark's JVMs plan batches and move blocks. Without the optimising compiler they start in two
thirds of the time, and a million words of a word count cost 2.2 CPU-seconds instead of 2.7.
"""


class Jvm:
    """Has ended when its block is left."""

    def __init__(self, at_home: bool) -> None:
        """`at_home`: the jars are at Spark's own path, not behind links of one session."""
        self._archive = ClassArchive(find_java(), spark_home())
        reading = self._archive.reading()
        writing = self._archive.writing() if at_home and not reading else ""
        self._may_write = bool(writing)
        self.options = f"{COMPILER} {reading}{writing}".strip()
        self.executors_options = f"{COMPILER} {reading}".strip()
        """Options for executors, which ignore an archive that is missing or does not fit their
        machine.
        """

    def __enter__(self) -> "Jvm":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _end()

    def end_at_leisure(self) -> None:
        """End without a waiting user: let the JVM write its archive of classes first, if
        missing.
        """
        if self._may_write:
            note = "keeping Java's classes, this once: Spark will start in half the time"
            print(f"heronpy: {note}", file=sys.stderr, flush=True)
            gateway = _gateway()
            _silence(gateway)
            self._archive.write(gateway.proc.pid, ARCHIVE_SECS)


def _gateway() -> Any:
    """Py4J's gateway to the JVM; None without a JVM."""
    from pyspark import SparkContext

    return SparkContext._gateway


def _silence(gateway: Any) -> None:
    """It would say on our stdout where the archive is."""
    java = gateway.jvm.java
    java.lang.System.setOut(java.io.PrintStream(java.io.OutputStream.nullOutputStream()))


def is_gone() -> bool:
    """Whether the session's JVM has ended, or does so now."""
    process: Any = getattr(_gateway(), "proc", None)
    try:
        return process is None or process.wait(GONE_SECS) is not None
    except subprocess.TimeoutExpired:
        return False


def _end() -> None:
    """Stop the session, if started, and end its JVM, by force after a time limit."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway = _gateway()
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    try:
        if SparkSession._instantiatedSession is not None:
            SparkSession._instantiatedSession.stop()
        gateway.shutdown()
    except Exception as error:  # a JVM that is gone cannot be told to go
        log.debug("%s", error)
    SparkContext._gateway = SparkContext._jvm = None
    try:
        process.stdin.close()
        process.wait(END_SECS)
    except subprocess.TimeoutExpired:
        log.debug("the JVM is killed")
    finally:
        process.kill()
        process.wait()
