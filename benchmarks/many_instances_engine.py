"""One run of topologies/many_instances.py by `heronpy run`, observed in mid-run."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import tallies, usage
from benchmarks.engine_marks import ATLEAST_ONCE
from benchmarks.engine_run import EngineRun
from benchmarks.many_instances_shape import Measured, Shape, Window
from benchmarks.measure import BenchmarkError
from benchmarks.tallies import TALLIES_KEY, Tally
from benchmarks.topologies.many_instances import (
    GROUPING_VARIABLE,
    PER_CALL_KEY,
    SHAPE_VARIABLE,
)
from heron_core.stats import StreamManagerStats
from heron_io.master_client import MasterClient
from heron_io.state_store.file_store import FileStore

START_SECONDS_MAX = 90.0
"""Until every sink has something; on a busy machine 200 instances take tens of seconds."""
LOOK_SECONDS = 0.1
TOPOLOGY = "ManyInstances"


def run(shape: Shape, window: Window) -> Measured:
    """Start the topology, warm up, measure, stop; BenchmarkError on failure."""
    os.environ[SHAPE_VARIABLE] = shape.instances_text
    os.environ[GROUPING_VARIABLE] = shape.grouping
    with TemporaryDirectory(prefix="heronpy-tallies-") as folder:
        path = Path(folder, "tallies")
        tallies.create(path, shape.instances)
        cells = tallies.cells(str(path))
        with EngineRun("many_instances", config_of(shape, path), until_done=False) as engine:
            wait_for_sinks(shape, cells, engine)
            time.sleep(window.warm_up_seconds)
            return measured(shape, window, cells, engine.home)


def config_of(shape: Shape, path: Path) -> dict[str, object]:
    """What goes to the command line."""
    return {
        TALLIES_KEY: path,
        PER_CALL_KEY: shape.per_call,
        "topology.stmgrs": shape.containers,
        "topology.max.spout.pending": shape.pending,
        **(ATLEAST_ONCE if shape.acked else {}),
    }


def wait_for_sinks(shape: Shape, cells: "memoryview[int]", engine: EngineRun) -> None:
    """Until each sink has processed a tuple."""
    deadline = time.monotonic() + START_SECONDS_MAX
    columns = [(task - 1) * tallies.COLUMNS + Tally.EXECUTED for task in shape.sink_tasks]
    while not all(cells[column] for column in columns):
        if time.monotonic() > deadline:
            idle = sum(not cells[column] for column in columns)
            raise BenchmarkError(f"{shape}: {idle} sinks got nothing\n{engine.final_output()}")
        time.sleep(LOOK_SECONDS)


def measured(shape: Shape, window: Window, cells: "memoryview[int]", home: Path) -> Measured:
    """What happened between two instants."""
    counters_before = counters(home)
    began, used_before, before = time.monotonic(), usage.usage(), cells.tolist()
    time.sleep(window.seconds)
    ended, used_after, after = time.monotonic(), usage.usage(), cells.tolist()
    used = usage.used(used_before, used_after)
    tasks = range(1, shape.instances + 1)
    totals = zip(tallies.total(after, tasks), tallies.total(before, tasks), strict=True)
    return Measured(
        shape=shape,
        seconds=ended - began,
        counts=[now - then for now, then in totals],
        cpu_seconds=usage.cpu_by_role(used),
        wake_ups=usage.wake_ups_by_role(used),
        preemptions=sum(one.preemptions for one in used.values()),
        messages=difference(counters_before, counters(home)),
    )


def counters(home: Path) -> dict[str, float]:
    """The stream managers' counters as the master has them, summed up: at most a second old."""
    store = FileStore(str(home / "state"))
    with MasterClient(store, TOPOLOGY) as client:
        found = client.try_stats()
    store.close()
    return summed(found.stream_managers if found else {})


def summed(stream_managers: Mapping[int, StreamManagerStats]) -> dict[str, float]:
    """Each counter over all containers."""
    total: dict[str, float] = {}
    for manager in stream_managers.values():
        for name, value in manager.counters.items():
            if isinstance(value, int):
                total[name] = total.get(name, 0) + value
    return total


def difference(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Increments of the counters that moved."""
    found = {name: value - before.get(name, 0) for name, value in after.items()}
    return {name: value for name, value in found.items() if value > 0}
