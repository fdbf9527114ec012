"""A user's SparkSession: checks and settings before a topology runs."""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from heron_api.class_loading import load_class
from heron_api.user_errors import format_error
from heron_core import validation
from heron_core.dead_letters import routed
from heron_core.errors import TopologyError, UsageError
from heron_core.records import replace
from heron_core.storm_settings import settled
from heron_core.topology import TopologySpec
from heron_frontends.loading.topology_sources import topology_from
from heron_spark.compile.columns import with_columns
from heron_spark.compile.plan import QueryPlan, compile_topology
from heron_spark.driver.session import REMEDY, check_pandas, is_local, is_one_machine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTLED_SECS = 2.0
EXECUTORS_SECS = 30.0
"""Time for an executor to register; afterwards Spark's default decides the partitions."""
POLL_SECS = 0.1
CONNECT = "pyspark.sql.connect."


def check_session(spark: Any) -> None:
    """UsageError in one line for another object, a stopped session, or a session of Spark
    Connect.
    """
    if type(spark).__module__.startswith(CONNECT):
        raise UsageError(
            "a session of Spark Connect cannot run topologies, because its driver is another "
            "process without the topology's code: create a classic session, with "
            "SparkSession.builder.master(...).getOrCreate()"
        )
    if not hasattr(spark, "sparkContext"):
        raise UsageError(f"a SparkSession is needed here, not a {type(spark).__name__}")
    if spark.sparkContext._jsc is None or spark.sparkContext._jsc.sc().isStopped():
        raise UsageError(
            "the SparkSession has been stopped: make another one with "
            "SparkSession.builder.getOrCreate()"
        )
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UsageError(f"topologies on Spark need pyarrow: {REMEDY}") from None
    check_pandas()
    _let_workers_run_this_python(spark.sparkContext)


def _let_workers_run_this_python(context: Any) -> None:
    """Set the workers' Python on one machine, unless the user has chosen one: imports then agree.

    PySpark takes the `python3` of PATH, perhaps another Python than a virtual environment's called
    by path.
    """
    if "PYSPARK_PYTHON" not in os.environ and is_one_machine(str(context.master)):
        context.pythonExec = sys.executable


def planned(source: Any, config: Mapping[str, Any] | None) -> QueryPlan:
    """The plan of the user's topology, whose classes must be loadable.

    TopologyError names the component that cannot run.
    """
    loaded = topology_from(source, None, None, config or {}).with_config(config or {})
    topology = routed(settled(loaded), os.path.abspath)
    validation.check(topology)
    for component in topology.components:
        try:
            load_class(component.class_path)
        except Exception as error:
            kind = "spout" if component.is_spout else "bolt"
            raise TopologyError(
                f"{kind} {component.name!r}: {format_error(error)}: define a component's class "
                "in the main module or in a module that this program and the executors import"
            ) from None
    return compile_topology(_with_search_paths(with_columns(topology)))


def _with_search_paths(topology: TopologySpec) -> TopologySpec:
    """Add this program's search paths, for the hosts on the machine."""
    prefixes = tuple({os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix)})
    paths = (os.path.abspath(path) for path in sys.path)
    ours = [
        path
        for path in paths
        if os.path.isdir(path) and not os.path.realpath(path).startswith(prefixes)
    ]
    merged = tuple(dict.fromkeys((*topology.search_paths, *ours)))
    return replace(topology, search_paths=merged)


def slots_of(spark: "SparkSession") -> int:
    """Number of tasks run by the session at once, after its executors have registered."""
    context = spark.sparkContext
    if not is_local(str(context.master)):
        _await_executors(context)
    return max(1, context.defaultParallelism)


def _await_executors(context: Any) -> None:
    scala, begun = context._jsc.sc(), time.monotonic()
    seen, changed = 1, begun  # the driver is one
    while time.monotonic() - begun < EXECUTORS_SECS:
        number = int(scala.getExecutorMemoryStatus().size())
        if number != seen:
            seen, changed = number, time.monotonic()
        if seen > 1 and time.monotonic() - changed >= SETTLED_SECS:
            return
        if seen > 1 and changed == begun:
            return
        time.sleep(POLL_SECS)


def local_path(location: str) -> str | None:
    """Local path of a checkpoint location; None for another file system."""
    if "://" not in location and not location.startswith("file:"):
        return os.path.abspath(location)
    parsed = urlparse(location)
    return unquote(parsed.path) if parsed.scheme == "file" else None


def default_checkpoint(spark: "SparkSession", name: str) -> str | None:
    """A folder below the session's own checkpoint location, if the location is local."""
    location = spark.conf.get("spark.sql.streaming.checkpointLocation", None)
    path = local_path(location) if location else None
    return None if path is None else str(Path(path, name))
