"""A SparkContext of a JVM of its own, and the few things that only the JVM can be asked."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.spark.masters import MasterKind, SparkMaster
from heron_engine.scheduler.backends.spark.spark_home import linked_home
from heron_io.java import java_home_for_spark
from heron_io.processes import signal_process

if TYPE_CHECKING:
    from pyspark import SparkContext

JVM_END_SECS = 4.0
REASON_CHARACTERS_MAX = 500


@contextmanager
def spark_context(
    words: Sequence[str], environment: Mapping[str, str], master: str
) -> Iterator["SparkContext"]:
    """Start what `spark-submit WORDS` starts; the JVM has ended when the block is left.

    HeronError in one line if Spark does not start.
    """
    os.environ.update(environment)
    os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join(words)
    from pyspark import SparkConf, SparkContext

    try:
        context = SparkContext(conf=SparkConf())
    except Exception as error:
        text = text_of(error)  # from the JVM, which is about to end
        _end_jvm()
        raise HeronError(f"Spark does not start at {master}: {reason_of(text)}") from None
    try:
        yield context
    finally:
        with suppress(Exception):  # its JVM may be gone already
            context.stop()
        _end_jvm()


def _end_jvm() -> None:
    """End the JVM by the end of stdin; kill a JVM that does not end."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is None:
        return
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(JVM_END_SECS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def kill_children() -> None:
    """Kill a JVM whose start was interrupted before its process id was known (Linux; elsewhere
    the JVM ends on a closed stdin)."""
    main = f"/proc/self/task/{os.getpid()}/children"
    with suppress(OSError), open(main, encoding="ascii") as file:
        for each in map(int, file.read().split()):
            signal_process(each, signal.SIGKILL)
            os.waitpid(each, 0)


def environment_of(
    folder: str, master: SparkMaster, python: str | None, address: str | None
) -> dict[str, str]:
    """Environment of the driver's JVM: all its files are inside of `folder`."""
    environment = {
        "PYSPARK_PYTHON": python or os.environ.get("PYSPARK_PYTHON") or sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": os.path.join(folder, "local"),
        **java_home_for_spark(folder),
    }
    if master.kind is MasterKind.LOCAL_CLUSTER:
        environment["SPARK_HOME"] = linked_home(folder)
    if address is not None:
        environment["SPARK_LOCAL_IP"] = address
    return environment


GIVEN_BACK = "killed by driver"
"""Part of Spark's reason for an idle executor."""


def reason_of(text: str) -> str:
    """The informative line of a Spark error: the last cause."""
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    causes = [each.removeprefix("Caused by:") for each in lines if each.startswith("Caused by:")]
    python = [each for each in lines if each.startswith(("pyspark.errors", "ModuleNotFoundError"))]
    best = (python or causes or lines or ["no reason given"])[-1 if python or causes else 0]
    return " ".join(best.split())[:REASON_CHARACTERS_MAX]


def text_of(error: BaseException) -> str:
    """Text of an error; py4j asks the JVM, which may be gone."""
    try:
        return str(error)
    except Exception:
        return f"{type(error).__name__}, and its JVM cannot say why any more"


def lost_executors(context: "SparkContext") -> tuple[int, str]:
    """How many executors have ended by themselves so far, and why the last one did."""
    number, reason = 0, ""
    with suppress(Exception):  # the JVM is gone: the job will end as well
        store: Any = context._jsc.sc().statusStore()
        every = store.executorList(False)
        for executor in (every.apply(index) for index in range(every.size())):
            if executor.isActive() or not executor.removeReason().isDefined():
                continue
            why = str(executor.removeReason().get())
            if GIVEN_BACK not in why:
                number, reason = number + 1, reason_of(why)
    return number, reason


def executors(context: "SparkContext") -> int:
    """Registered executors; in local mode the driver counts as one."""
    scala: Any = context._jsc.sc()
    number = int(scala.getExecutorMemoryStatus().size())
    return number if scala.isLocal() else number - 1


def request_executors(context: "SparkContext", number: int) -> None:
    """Tell the cluster manager again how many executors the application needs in all.

    Spark's allocation manager tells a changed number alone. A standalone master that takes over
    after the death of the leader begins with 0, so lost executors would never be replaced.
    """
    virtual_machine: Any = context._jvm
    without_preference = virtual_machine.PythonUtils.toScalaMap(virtual_machine.java.util.HashMap())
    scala: Any = context._jsc.sc()
    scala.requestTotalExecutors(number, 0, without_preference)


def failures(context: "SparkContext", group: str) -> tuple[int, str]:
    """How many tasks of a job group have failed so far, and what the last one said."""
    tracker = context.statusTracker()
    number, reason = 0, ""
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info is not None else ():
            stage_info = tracker.getStageInfo(stage)
            if stage_info is not None and stage_info.numFailedTasks:
                number += stage_info.numFailedTasks
                reason = _last_error(context, stage) or reason
    return number, reason


def _last_error(context: "SparkContext", stage: int) -> str:
    store: Any = context._jsc.sc().statusStore()
    with suppress(Exception):  # py4j drops the object first, and fails afterwards
        attempt = store.lastStageAttempt(stage).attemptId()
        tasks = store.taskList(stage, attempt, 100)
        errors = [tasks.apply(number).errorMessage() for number in range(tasks.size())]
        texts = [each.get() for each in errors if each.isDefined()]
        return reason_of(str(texts[-1])) if texts else ""
    return ""
