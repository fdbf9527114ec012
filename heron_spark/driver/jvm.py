"""The JVM of this process's session: how it starts fast, and how it ends."""

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
"""It takes 10 s where nobody else works."""
GONE_SECS = 2.0
"""Between the last word on its connection and the end of a process that was killed."""
COMPILER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Spark's JVMs plan batches and move blocks. Without its optimising compiler they start in two
thirds of the time, and a million words of a word count cost 2.2 CPU-seconds instead of 2.7."""


class Jvm:
    """Has ended when its block is left."""

    def __init__(self, at_home: bool) -> None:
        """`at_home`: its jars are found where Spark has them, not by links that nobody else has."""
        self._archive = ClassArchive(find_java(), spark_home())
        reading = self._archive.reading()
        writing = self._archive.writing() if at_home and not reading else ""
        self._may_write = bool(writing)
        self.options = f"{COMPILER} {reading}{writing}".strip()
        self.executors_options = f"{COMPILER} {reading}".strip()
        """On another machine it may not be there, or not fit: then it is ignored."""

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
        """Nobody waits for its end: let it write its archive of classes first, if there is none."""
        if self._may_write:
            note = "keeping Java's classes, this once: Spark will start in half the time"
            print(f"heronpy: {note}", file=sys.stderr, flush=True)
            gateway = _gateway()
            _silence(gateway)
            self._archive.write(gateway.proc.pid, ARCHIVE_SECS)


def _gateway() -> Any:
    """Py4J's way to the JVM; None without one."""
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
    """Stop the session, if it has started, and end its JVM, which is killed if it does not."""
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
