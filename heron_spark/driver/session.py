"""A SparkSession with fitting settings, or one line with the obstacle."""

import importlib.metadata
import logging
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heron_core.errors import HeronError, JavaMissing, UsageError
from heron_engine.scheduler.backends.spark.spark_home import linked_home
from heron_io.java import find_java, java_home_for_spark
from heron_spark.driver.jvm import Jvm
from heron_spark.options import Archive, SparkOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("heron_spark")

REMEDY = "pip install 'heronpy-topologies[spark]'"
PANDAS_MIN = (2, 2)
"""Of pyspark 4."""
CONNECT_SECS = 5.0
LOCAL = re.compile(r"local(\[(\*|\d+)\])?")
LOCAL_CLUSTER = re.compile(r"local-cluster\[ *\d+ *, *\d+ *, *(\d+) *\]")
LOOPBACK = re.compile(r"spark://(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+")
ATTEMPTS = 4
"""Attempts of a task, Spark's default on a cluster; local mode would try once."""
EXECUTOR_SECS = 60.0
"""Time for the start of a JVM on a busy machine."""
QUEUE_SECS = 180.0
"""On clusters that have queues."""
SETTLED_SECS = 2.0
POLL_SECS = 0.1
ERROR_CHARACTERS = 500
WORKER_ERROR = re.compile(
    r"^(?:pyspark\.errors\.\S+: |ModuleNotFoundError|ImportError).+"
    r"|Cannot run program \"[^\"]+\"[^\n]*",
    re.MULTILINE,
)
"""Why a worker's Python does not run, in what Spark says."""
NO_LOG = """status = off
appender.nothing.type = Null
appender.nothing.name = nothing
rootLogger.level = warn
rootLogger.appenderRef.nothing.ref = nothing
"""
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.speculation": "false",
    # Rows are blocks of up to a megabyte, so the limit bounds the memory of one Arrow batch in the
    # JVM.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    # A batch reads the previous batch's output from memory, never a schema or statistics.
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "1",
    "spark.sql.streaming.minBatchesToRetain": "3",
    "spark.python.worker.reuse": "true",
}
"""Ours; the user's own win."""


def check_environment(options: SparkOptions) -> None:
    """HeronError or UsageError in one line if Spark cannot start here."""
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise HeronError(f"--engine spark needs {error.name}: {REMEDY}") from None
    check_pandas()
    try:
        find_java()
    except JavaMissing as error:
        raise HeronError(f"--engine spark needs Java: {error}") from None
    check_master(options.master)
    if is_one_machine(options.master) and shutil.which(options.python) is None:
        raise UsageError(f"the workers' Python {options.python!r} is not a program: see --python")


def check_pandas() -> None:
    """Check the version of pandas, which Pyspark would report at the first batch by a page of
    traceback. Importing pandas would take half a second.
    """
    try:
        version = importlib.metadata.version("pandas")
    except importlib.metadata.PackageNotFoundError:
        raise HeronError(f"--engine spark needs pandas: {REMEDY}") from None
    parts = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if parts < PANDAS_MIN:
        wanted = ".".join(map(str, PANDAS_MIN))
        raise HeronError(f"--engine spark needs pandas {wanted}, not {version}: {REMEDY}")


def check_master(master: str) -> None:
    """UsageError if the master's configuration is missing, HeronError if the master does not
    answer.
    """
    if master == "yarn":
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            raise UsageError("--master yarn needs HADOOP_CONF_DIR, the folder of yarn-site.xml")
        return
    if not master.startswith("spark://"):
        return
    addresses = master.removeprefix("spark://").split(",")
    if not any(_is_reachable(address) for address in addresses):
        raise HeronError(f"no Spark master answers at {master}")


def _is_reachable(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), CONNECT_SECS):
            return True
    except (OSError, ValueError):
        return False


def master_url(master: str) -> str:
    """The master with several attempts for each task in local mode, too."""
    if LOCAL.fullmatch(master) is None:
        return master
    cores = master.removeprefix("local").strip("[]") or "1"
    return f"local[{cores},{ATTEMPTS}]"


def is_local(master: str) -> bool:
    """Whether everything runs in one JVM, a child process."""
    return re.match(r"local(\[|$)", master) is not None


def is_one_machine(master: str) -> bool:
    """Whether all workers are on this machine, as with a loopback address."""
    patterns = (LOCAL_CLUSTER, LOOPBACK)
    return is_local(master) or any(each.fullmatch(master) for each in patterns)


@contextmanager
def session(
    name: str, options: SparkOptions, at_leisure: Callable[[], bool] = lambda: False
) -> Iterator["SparkSession"]:
    """A session with its own JVM, which ends with the block.

    Without `options.archives` workers are on this machine and share this process's imports. At the
    end, `at_leisure` decides whether the JVM may spend some seconds, once, on an archive of its
    classes.
    """
    os.environ["PYSPARK_PYTHON"] = options.python
    if not options.archives:
        os.environ["PYTHONPATH"] = os.pathsep.join(_search_path())
    if is_one_machine(options.master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with tempfile.TemporaryDirectory(prefix="heronpy-spark-", dir=options.scratch) as folder:
        linked = LOCAL_CLUSTER.fullmatch(options.master) is not None
        jvm = Jvm(at_home=not linked)
        os.environ.update(java_home_for_spark(folder))
        if linked:
            os.environ["SPARK_HOME"] = linked_home(folder)
        with jvm:
            spark = _started(name, options, folder, jvm)
            if not is_local(options.master):
                _await_executors(spark, options.master)
            yield spark
            if at_leisure():
                jvm.end_at_leisure()


def _await_executors(spark: "SparkSession", master: str) -> None:
    """Wait until executors have registered and their number is stable: their number determines the
    partitions of levels. HeronError if none registers.
    """
    scala: Any = spark.sparkContext._jsc.sc()
    patience_secs = QUEUE_SECS if master == "yarn" or master.startswith("k8s:") else EXECUTOR_SECS
    seen, changed = 1, time.monotonic()  # the driver is one
    while seen == 1 or time.monotonic() - changed < SETTLED_SECS:
        if seen == 1 and time.monotonic() - changed > patience_secs:
            raise HeronError(
                f"no executor at {master} after {patience_secs:.0f} s: has it workers with free "
                "cores and memory (--spark-config spark.executor.memory=...)?"
            )
        time.sleep(POLL_SECS)
        number = int(scala.getExecutorMemoryStatus().size())
        if number != seen:
            seen, changed = number, time.monotonic()


def _search_path() -> list[str]:
    """Where our packages are, for workers on this machine."""
    ours = str(Path(__file__).resolve().parents[2])
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return list(dict.fromkeys([*filter(None, given), ours]))


def _started(name: str, options: SparkOptions, folder: str, jvm: Jvm) -> "SparkSession":
    from pyspark.sql import SparkSession

    settings = {
        **SETTINGS,
        "spark.local.dir": folder,
        "spark.driver.extraJavaOptions": f"{jvm.options} "
        f"-Dlog4j2.configurationFile={_log_settings(folder)}",
        "spark.executor.extraJavaOptions": jvm.executors_options,
        **_archive_settings(options.archives, folder),
        **_executor_memory(options.master),
        **dict(options.config),
    }
    builder = SparkSession.builder.master(master_url(options.master)).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    # Py4J's connections tell of a JVM that has died by a page of Python each.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        spark: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise HeronError(f"Spark does not start at {options.master}: {first_line(error)}") from None
    accumulators: Any = spark.sparkContext._accumulatorServer
    accumulators.handle_error = lambda *_: None
    return spark


def _executor_memory(master: str) -> dict[str, str]:
    """Memory of an executor: the worker's on a local cluster, otherwise Spark's default."""
    found = LOCAL_CLUSTER.fullmatch(master)
    return {"spark.executor.memory": f"{found[1]}m"} if found else {}


def _archive_settings(archives: Sequence[Archive], folder: str) -> dict[str, str]:
    """Settings by which executors unpack the archives into their working folder, also the current
    folder of their Python.
    """
    if not archives:
        return {"spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"]}
    words: list[str] = []
    for archive in archives:
        link = os.path.join(folder, f"{archive.name}.tar.gz")  # Spark goes by the ending
        os.symlink(archive.path, link)
        words.append(f"{link}#{archive.name}")
    paths = [archive.inside for archive in archives if archive.on_path]
    return {
        "spark.archives": ",".join(words),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(paths),
    }


def _log_settings(folder: str) -> str:
    """Whatever goes wrong comes as an exception as well, so the driver's JVM logs nothing: Spark
    tells of each stop by a page of Java."""
    path = os.path.join(folder, "log4j2.properties")
    Path(path).write_text(NO_LOG)
    return path


def first_line(error: BaseException) -> str:
    """The most useful line of a Spark error: the error of a worker's Python, or the innermost
    cause, or the first line other than py4j's announcement of an error.
    """
    text = str(error)
    python = WORKER_ERROR.findall(text)
    lines = [line.strip() for line in text.splitlines()]
    causes = [line.removeprefix("Caused by:") for line in lines if line.startswith("Caused by:")]
    others = [line for line in lines if line and not line.startswith("An error occurred while")]
    chosen = (python[-1:] or causes[-1:] or others[:1] or [type(error).__name__])[0]
    chosen = re.sub(r"^pyspark\.errors\.\S+: ", "", chosen)
    return " ".join(chosen.strip(": ").split())[:ERROR_CHARACTERS]
