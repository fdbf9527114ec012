"""A packing plan and a master as Spark's settings and spark-submit's line. Pure.

One executor for each container on a cluster: the cluster's manager grants and enforces the
resources of the plan. Containers are alike (Spark's executors of one profile are), so each gets the
size of the largest, as in Heron on Aurora. On masters run by this machine a slot is a core,
whatever the plan requires: a laptop is not refused for its size.
"""

import math
from collections.abc import Mapping

from msgspec import Struct

from heron_core.errors import UsageError
from heron_core.plans import MIB, PackingPlan
from heron_engine.scheduler.backends.spark.masters import (
    STARTED_BY_US,
    TASK_FAILURES_MAX,
    MasterKind,
    SparkMaster,
)

CORES_MAX = 2**30
"""Standalone masters limit an application to its initial request, or give it all cores; the
number of executors is left to dynamic allocation."""
IDLE_SECS = 240
"""An executor without a container is given back after so long: more than executors may have to wait
for each other at the start (slots.REGISTER_SECS_MAX)."""
HEAP = "512m"
"""Memory of an executor's JVM, which only starts our processes outside of itself."""
JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""A JVM that idles needs neither collector threads nor the optimising compiler."""
TASK_CPUS, EXECUTOR_CORES = "spark.task.cpus", "spark.executor.cores"
OVERHEAD = "spark.executor.memoryOverhead"
"""Where memory outside of the JVM counts, which is where our processes have theirs."""
DYNAMIC, INSTANCES = "spark.dynamicAllocation.enabled", "spark.executor.instances"
DRIVER_JVM, EXECUTOR_JVM = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"
NAME_PROPERTY = "heronpy.topology"
"""Java property that identifies the JVM's owner for people."""

IMAGES = ("spark.kubernetes.container.image", "spark.kubernetes.executor.container.image")
"""Required keys, one of them: Spark has no default image."""

SPECULATION = "spark.speculation"

ALWAYS: Mapping[str, str] = {
    "spark.task.maxFailures": str(TASK_FAILURES_MAX),
    # On YARN and Kubernetes the application would end after twice its executors have failed.
    "spark.executor.maxNumFailures": str(TASK_FAILURES_MAX),
    "spark.deploy.maxExecutorRetries": "-1",
    # A second copy of a container would fight with the first.
    SPECULATION: "false",
    "spark.excludeOnFailure.enabled": "false",
    "spark.locality.wait": "0s",
    "spark.executor.memory": HEAP,
    "spark.driver.memory": HEAP,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


LIVENESS: Mapping[str, str] = {
    # A machine without power closes no connection. If the leader of standalone masters was lost
    # with the machine, Spark's timeout of two minutes, checked once a minute, is the only sign.
    "spark.executor.heartbeatInterval": "5s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "30s",
    "spark.network.timeoutInterval": "5s",
}
"""Of executors on other machines: a container starts elsewhere 35 s after its machine is gone."""


class DriverOptions(Struct, frozen=True):
    """What the command line says about Spark."""

    master: str = "local[*]"
    config: tuple[tuple[str, str], ...] = ()
    """Spark's own settings; they win over ours."""
    python: str | None = None
    """The workers' Python; None: the current interpreter."""
    is_barrier: bool = False
    """All containers start together or none does, and all start again when one is lost."""


def parsed_settings(words: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """`spark.key=value` words as pairs; UsageError naming an invalid word."""
    found = []
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key.startswith("spark."):
            raise UsageError(f"--spark-config {word!r} is not spark.KEY=VALUE")
        found.append((key, value))
    return tuple(found)


def check_image(master: SparkMaster, options: DriverOptions) -> None:
    """UsageError without an image for Kubernetes."""
    settings = dict(options.config)
    if master.kind is not MasterKind.KUBERNETES or any(key in settings for key in IMAGES):
        return
    raise UsageError(
        f"--master {master.text} needs an image with Java 17 and this Python: give it by "
        f"--spark-config {IMAGES[0]}=REPOSITORY/IMAGE:TAG"
    )


def check_speculation(options: DriverOptions) -> None:
    """UsageError if Spark is to start copies of containers."""
    if dict(options.config).get(SPECULATION, "").strip().lower() == "true":
        raise UsageError(
            f"--spark-config {SPECULATION}=true is not for --scheduler spark: a second copy of a "
            "container would conflict with the first; leave it out, or use --engine spark"
        )


def settings(
    packing: PackingPlan, master: SparkMaster, options: DriverOptions, host: str | None
) -> dict[str, str]:
    """Spark's settings; `host` is the driver's address, None leaves the choice to Spark."""
    jvm = f"{JVM_OPTIONS} -D{NAME_PROPERTY}={packing.topology}"
    return {
        **ALWAYS,
        DRIVER_JVM: jvm,
        EXECUTOR_JVM: jvm,
        **({} if host is None else {"spark.driver.host": host, "spark.driver.bindAddress": host}),
        **({} if master.kind in STARTED_BY_US else LIVENESS),
        **_sizes(packing, master, options.is_barrier),
        **dict(options.config),
    }


def with_jvm_options(chosen: Mapping[str, str], options: str) -> dict[str, str]:
    """Settings with further options for all JVMs."""
    longer = {key: f"{chosen[key]} {options}".strip() for key in (DRIVER_JVM, EXECUTOR_JVM)}
    return {**chosen, **longer}


def _sizes(packing: PackingPlan, master: SparkMaster, is_barrier: bool) -> dict[str, str]:
    """How large, and how many, executors are."""
    fixed = {DYNAMIC: "false"}
    if master.kind in STARTED_BY_US:
        return {**fixed, TASK_CPUS: "1"}
    number = len(packing.containers)
    cores = max(1, math.ceil(max(container.resource.cpu for container in packing.containers)))
    ram = max(container.resource.ram_bytes for container in packing.containers)
    sizes = {TASK_CPUS: str(cores), EXECUTOR_CORES: str(cores)}
    if master.kind is MasterKind.STANDALONE:
        sizes["spark.cores.max"] = str(number * cores if is_barrier else CORES_MAX)
    else:
        sizes[OVERHEAD] = f"{math.ceil(ram / MIB)}m"
    if not is_barrier:
        return {**sizes, **_as_many_as_tasks(number)}
    instances = {} if master.kind is MasterKind.STANDALONE else {INSTANCES: str(number)}
    return {**sizes, **fixed, **instances}


def _as_many_as_tasks(number: int) -> dict[str, str]:
    """One executor per container, plus one per added container: Spark's dynamic allocation does
    so by itself, and releases executors of removed containers. Barrier mode is incompatible.
    Without shuffles, a shuffle service is not needed."""
    return {
        DYNAMIC: "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.initialExecutors": str(number),
        "spark.dynamicAllocation.executorIdleTimeout": f"{IDLE_SECS}s",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    }


def container_size(master: SparkMaster, chosen: Mapping[str, str]) -> dict[str, float]:
    """Common size of containers, as enforced by the cluster manager: added containers get an
    equal size."""
    if master.kind in STARTED_BY_US:
        return {}
    found: dict[str, float] = {"cpu": float(chosen[TASK_CPUS])}
    overhead = chosen.get(OVERHEAD, "")
    if overhead.endswith("m") and overhead[:-1].isdigit():  # one of the user's own may be otherwise
        found["ram_bytes"] = int(overhead[:-1]) * MIB
    return found


def slots_each(master: SparkMaster, chosen: Mapping[str, str]) -> int:
    """Containers per executor."""
    cores = int(chosen.get(EXECUTOR_CORES) or master.cores or 1)
    return cores // int(chosen[TASK_CPUS])


def executor_words(master: SparkMaster, chosen: Mapping[str, str]) -> str:
    """Requested executor size, comparable with the free resources on the master's page; empty if
    irrelevant."""
    if master.kind in STARTED_BY_US:
        return ""
    overhead = chosen.get(OVERHEAD)
    memory = chosen["spark.executor.memory"] + (f" and {overhead} besides" if overhead else "")
    where = ": the master's page lists the resources of its workers" * (
        master.kind is MasterKind.STANDALONE
    )
    return f"each asks for {chosen[EXECUTOR_CORES]} cores and {memory} of memory{where}"


def submit_words(name: str, master: SparkMaster, chosen: Mapping[str, str]) -> tuple[str, ...]:
    """The words after `spark-submit` that start the driver's JVM with these settings."""
    pairs = [("--conf", f"{key}={value}") for key, value in sorted(chosen.items())]
    settings_words = [word for pair in pairs for word in pair]
    return ("--master", master.url, "--name", f"heron: {name}", *settings_words, "pyspark-shell")
