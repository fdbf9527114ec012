"""What `heronpy ui` costs with 50 topologies of 20 instances, over an hour of a clock that is set.

    python -m benchmarks.service_load [--topologies N] [--hours N]

The service's own tracker, history and routes, over topology masters that are simulated: their
instances report growing numbers, which are rolled up, encoded, decoded and recorded as those of
real ones are. What sockets cost is not in it.
"""

import argparse
import asyncio
import os
import tempfile
import time
from typing import Any

import httpx
import msgpack
import psutil

from heron_core.algorithms.counted import KINDS
from heron_core.algorithms.rollup import Queue, RollUp
from heron_core.plans import packing_to_json
from heron_core.stats import EVERY_COMPONENT, RegisteredStats, TopologyStats
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
    topology_to_json,
)
from heron_tracker.application import application
from heron_tracker.core import Tracker
from heron_tracker.history_store import HistoryStore
from heron_tracker.options import Options
from heron_tracker.problems import Problem
from heron_tracker.service import Service
from heron_tracker.snapshot import Nodes, TopologySnapshot, snapshot_of
from scheduler.packing import pack

BEGAN_AT = 1_795_435_200.0
LOOK_SECS = 10
"""Between two looks at a topology, as the service leaves them while nobody asks."""
REQUESTS = 5
"""Of each route, after a first one."""
BUCKETS = range(50, 70)
"""What the histograms of a busy instance are filled with."""
HOST = "http://127.0.0.1:8889"
SLOW = "jstack"
"""A route that starts another program, which is not ours."""


def spec_of(name: str) -> TopologySpec:
    """A spout of 4 and two bolts of 8 instances."""
    outputs = (StreamSpec("default", ("word",)),)
    shuffle = GroupingSpec(GroupingKind.SHUFFLE)
    fields = GroupingSpec(GroupingKind.FIELDS, ("word",))
    return TopologySpec(
        name,
        (
            ComponentSpec("lines", True, "x.Lines", 4, outputs),
            ComponentSpec(
                "split", False, "x.Split", 8, outputs, (InputSpec("lines", "default", shuffle),)
            ),
            ComponentSpec(
                "count", False, "x.Count", 8, (), (InputSpec("split", "default", fields),)
            ),
        ),
        {"topology.stmgrs": 2},
    )


class SimulatedMaster:
    """One topology that runs and has nothing to complain of."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._spec = spec_of(name)
        self._packing = pack(self._spec)
        self._rollup = RollUp(self._spec, self._packing)
        execution = {"state": "RUNNING", "host": "here", "user": "ada"}
        self._nodes = Nodes(
            topology=topology_to_json(self._spec),
            packing=packing_to_json(self._packing),
            execution=execution,
            scheduler={"kind": "local", "host": "here", "pid": os.getpid()},
            master={"address": "tcp://127.0.0.1:1"},
        )

    def look(self, secs: float) -> TopologySnapshot:
        """What the service finds after so many seconds."""
        for task in self._packing.instances:
            self._rollup.update(task, _report(task, secs), secs)
        data = msgpack.packb(self._stats().to_json())
        stats = TopologyStats.from_json(msgpack.unpackb(data, strict_map_key=False))
        bare = snapshot_of(self.name, self._nodes, alive=True)
        return TopologySnapshot(
            **{name: getattr(bare, name) for name in bare.__dataclass_fields__}
            | {"stats": stats, "stats_at": BEGAN_AT + secs}
        )

    def _stats(self) -> TopologyStats:
        queues = {task: Queue(1000, 10, 0.01) for task in self._packing.instances}
        containers = tuple(each.id for each in self._packing.containers)
        return TopologyStats(
            topology=self.name, state="RUNNING", epoch=1, phase="running", drained=False, lost=0,
            containers=containers, containers_expected=containers,
            registered={
                each: RegisteredStats(host="here", pid=each, secs=60.0) for each in containers
            },
            components=self._rollup.components(queues), paused={}, stream_managers={}, master={},
            errors={}, instances=self._rollup.wanted_instances(EVERY_COMPONENT, queues),
        )  # fmt: skip


def _report(task: int, secs: float) -> dict[str, Any]:
    """What an instance says that does a thousand tuples a second."""
    done = int(secs * 1000) + task
    latency = {"total_secs": done / 1e4, "number": done,
               "histogram": dict.fromkeys(BUCKETS, done // 20 + 1)}  # fmt: skip
    return {
        "executed": done, "acked": done, "failed": 0, "failed_for_good": 0, "expired": 0,
        "ticks": 0, "errors": 0, "callback_errors": 0, "fenced": 0, "late": 0,
        "emitted": {"default": done}, "pending": 0, "busy_secs": secs / 4, "last_error": None,
        "finished": False, **dict.fromkeys(KINDS, latency), "at": secs, "incarnation": 1,
        "pid": 1000 + task, "user": {"words": done}, "user_totals": {"words": done},
        "stuck_secs": 0.0, "cpu_share": 0.25, "memory_bytes": 40_000_000 + done % 1000,
    }  # fmt: skip


class SimulatedCollector:
    """As heron_tracker.collector.Collector, without threads and with a clock that is set."""

    def __init__(self, masters: list[SimulatedMaster], history: HistoryStore) -> None:
        self._masters = masters
        self._history = history
        self._tracker = Tracker(Options())
        self._tracker.found([each.name for each in masters], 0.0)

    def look(self, secs: float) -> None:
        """At all of them."""
        for each in self._masters:
            found = each.look(secs)
            self._tracker.answered(found, secs, BEGAN_AT + secs)
            self._history.record(found.id, found.instances, found.stats_at)

    def snapshots(self) -> list[TopologySnapshot]:
        """The newest of each."""
        return self._tracker.snapshots()

    def snapshot(self, name: str) -> TopologySnapshot | None:
        """The newest of one."""
        return self._tracker.snapshot(name)

    def problems(self, name: str) -> list[tuple[Problem, float]]:
        """What is wrong with one."""
        return self._tracker.problems(name)


async def request_costs(service: Service) -> list[tuple[str, float, int]]:
    """Path, CPU ms and bytes of each route that reads, the client of this measurement included."""
    app = application(service, Options())
    transport = httpx.ASGITransport(app)
    now = int(service.calendar())
    fixed = {"topology_id": "topology-7", "component": "count", "host_port": "here-1"}
    query = {
        "topology": "topology-7", "component": "count", "instance": "count[0]", "container": "1",
        "metricname": "__execute-count", "starttime": str(now - 3600), "endtime": str(now),
        "query": "SUM(TS(count,*,__execute-count))", "path": ".",
    }  # fmt: skip
    rows = []
    async with httpx.AsyncClient(transport=transport, base_url=HOST) as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
        for path, methods in paths.items():
            if "get" not in methods or SLOW in path:
                continue
            wanted = {each["name"] for each in methods["get"].get("parameters", ())}
            given = {} if path == "/metrics" else {k: v for k, v in query.items() if k in wanted}
            url = path.format(**fixed)
            answer = await client.get(url, params=given)
            began = time.process_time()
            for _ in range(REQUESTS):
                answer = await client.get(url, params=given)
            cpu_ms = (time.process_time() - began) * 1000 / REQUESTS
            rows.append((f"{url} ({answer.status_code})", cpu_ms, len(answer.content)))
    return sorted(rows, key=lambda each: -each[1])


def main() -> None:
    """Simulate, and print what it costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topologies", type=int, default=50)
    parser.add_argument("--hours", type=float, default=1.0)
    given = parser.parse_args()
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as folder:
        history = HistoryStore(os.path.join(folder, "history.db"))
        masters = [SimulatedMaster(f"topology-{number}") for number in range(given.topologies)]
        collector = SimulatedCollector(masters, history)
        secs_max = int(given.hours * 3600)
        for secs in range(LOOK_SECS, secs_max + 1, LOOK_SECS):
            collector.look(float(secs))
            if secs % 600 == 0 or secs == secs_max:
                megabytes = process.memory_info().rss / 2**20
                size = sum(each.stat().st_size for each in os.scandir(folder)) / 2**20
                print(
                    f"after {secs // 60:3} min: {megabytes:6.0f} MiB of memory, {size:5.1f} MiB of "
                    f"history, {time.process_time():6.1f} s of CPU, masters included",
                    flush=True,
                )
        service = Service(
            collector,
            history,
            None,
            lambda: BEGAN_AT + secs_max,  # type: ignore[arg-type]
        )
        for path, cpu_ms, size in asyncio.run(request_costs(service)):
            print(f"{cpu_ms:8.1f} ms  {size:9,} bytes  {path}")
        history.close()


if __name__ == "__main__":
    main()
