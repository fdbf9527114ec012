"""A SparkSession that fits, or one line that says why there is none."""

import logging
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heron_core.errors import HeronError, UsageError
from heron_spark.options import SparkOptions
from heron_spark.shipping import zipped_modules, zipped_packages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("heron_spark")

JAVA_MIN = 17
CONNECT_SECS = 5.0
MASTER = re.compile(
    r"local(\[(\*|\d+)(, *\d+)?\])?|local-cluster\[\d+, *\d+, *\d+\]|yarn|k8s://.+|spark://.+"
)
LOCAL = re.compile(r"local(\[(\*|\d+)\])?")
ATTEMPTS = 4
"""Of a task, as Spark has it on a cluster; its local mode would try once."""
JVM_END_SECS = 20.0
ERROR_CHARACTERS = 500
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The driver's JVM plans batches and moves blocks. Without its optimising compiler it starts in two
thirds of the time, and a million words of a word count cost 2.2 CPU-seconds instead of 2.7."""
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
    # Rows are blocks of up to a megabyte: this bounds what one Arrow batch holds in the JVM.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    # A batch reads what the one before left in memory, never a schema or statistics.
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
        raise HeronError(
            f"--engine spark needs {error.name}: pip install 'heronpy-topologies[spark]'"
        ) from None
    check_java()
    check_master(options.master)
    if shutil.which(options.python) is None:
        raise UsageError(f"the workers' Python {options.python!r} is no program: see --python")


def check_java() -> None:
    """HeronError if there is no Java, or one that is too old."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    cure = f"install Java {JAVA_MIN} or later, or let JAVA_HOME name it"
    try:
        found = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        raise HeronError(f"Spark needs Java, and {java} is not there: {cure}") from None
    version = java_version(found.stderr)
    if version is not None and version < JAVA_MIN:
        raise HeronError(f"Spark needs Java {JAVA_MIN}, and {java} is version {version}: {cure}")


def java_version(text: str) -> int | None:
    """The major version in what `java -version` says; 1.8 is 8."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def check_word(master: str) -> None:
    """UsageError for a word that is no master."""
    if MASTER.fullmatch(master) is None:
        raise UsageError(
            f"--master {master!r} is none: local[2], spark://HOST:7077, yarn or k8s://HTTPS://..."
        )


def check_master(master: str) -> None:
    """UsageError without what is needed to find it, HeronError if nobody answers there."""
    if master == "yarn":
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            raise UsageError("--master yarn needs HADOOP_CONF_DIR, the folder of yarn-site.xml")
        return
    if not master.startswith("spark://"):
        return
    addresses = master.removeprefix("spark://").split(",")
    if not any(_answers(address) for address in addresses):
        raise HeronError(f"no Spark master answers at {master}")


def _answers(address: str) -> bool:
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
    """Whether everything runs in one JVM, a child of this process."""
    return re.match(r"local(\[|$)", master) is not None


@contextmanager
def session(
    name: str, options: SparkOptions, search_paths: Sequence[str] = ()
) -> Iterator["SparkSession"]:
    """A session of its own JVM, which has ended when the block is left.

    Workers on other machines are sent our packages and what lies on `search_paths`.
    """
    os.environ["PYSPARK_PYTHON"] = options.python
    os.environ["PYTHONPATH"] = os.pathsep.join(_search_path())
    if is_local(options.master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with tempfile.TemporaryDirectory(prefix="heronpy-spark-") as folder:
        files = list(options.files)
        if not is_local(options.master):
            files += [zipped_packages(folder), zipped_modules(folder, search_paths)]
        spark = _started(name, options, folder, files)
        try:
            yield spark
        finally:
            _end(spark)


def _search_path() -> list[str]:
    """Where our packages are, for the workers."""
    ours = str(Path(__file__).resolve().parents[1])
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return list(dict.fromkeys([*filter(None, given), ours]))


def _started(name: str, options: SparkOptions, folder: str, files: Sequence[str]) -> "SparkSession":
    from pyspark.sql import SparkSession

    java = f"{JAVA} -Dlog4j2.configurationFile={_log_settings(folder)}"
    settings = {
        **SETTINGS,
        "spark.local.dir": folder,
        "spark.driver.extraJavaOptions": java,
        **dict(options.config),
    }
    builder = SparkSession.builder.master(master_url(options.master)).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    try:
        spark: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise HeronError(f"Spark does not start at {options.master}: {first_line(error)}") from None
    for path in files:
        spark.sparkContext.addPyFile(path)
    return spark


def _log_settings(folder: str) -> str:
    """Whatever goes wrong comes as an exception as well, so the driver's JVM logs nothing: Spark
    tells of each stop by a page of Java."""
    path = os.path.join(folder, "log4j2.properties")
    Path(path).write_text(NO_LOG)
    return path


def first_line(error: BaseException) -> str:
    """The one line of a Spark error that is worth telling: the innermost cause, else the first
    that is no more than py4j saying that there is an error."""
    lines = [line.strip() for line in str(error).splitlines()]
    causes = [line.removeprefix("Caused by:") for line in lines if line.startswith("Caused by:")]
    others = [line for line in lines if line and not line.startswith("An error occurred while")]
    chosen = (causes[-1:] or others[:1] or [type(error).__name__])[0]
    return " ".join(chosen.strip(": ").split())[:ERROR_CHARACTERS]


def _end(spark: "SparkSession") -> None:
    """Stop the session and its JVM; a JVM that does not end is killed."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    for last_call in (spark.stop, gateway.shutdown):
        try:
            last_call()
        except Exception as error:  # a JVM that is gone cannot be told to go
            log.debug("%s", error)
    SparkContext._gateway = SparkContext._jvm = None
    if process is None:
        return
    process.stdin.close()
    try:
        process.wait(JVM_END_SECS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
