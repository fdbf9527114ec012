"""Cost of `heronpy ui` with 50 topologies of 20 instances, over an hour of simulated time.

    python -m benchmarks.service_load [--topologies N] [--hours N]

The service's own tracker, history and routes, over simulated topology masters: their instances
report growing numbers, which are rolled up, encoded, decoded and recorded like real ones. The cost
of sockets is excluded.
"""

import argparse
import asyncio
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import psutil

from benchmarks.simulated_masters import BEGAN_AT, SimulatedMaster
from heron_tracker.application import application
from heron_tracker.model.core import Tracker
from heron_tracker.model.history_store import HistoryStore
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.tracker_problem import TrackerProblem
from heron_tracker.options import TrackerOptions
from heron_tracker.service import Service

POLL_SECS = 10
"""Poll interval of a topology while the service has no client."""
REQUESTS = 5
"""Of each route, after a first one."""
HOST = "http://127.0.0.1:8889"
NOT_OURS = re.compile("jstack|/profiling/")
"""Routes that start another program."""


class SimulatedCollector:
    """As heron_tracker.model.collector.Collector, without threads and with a clock that is set."""

    def __init__(self, masters: list[SimulatedMaster], history: HistoryStore) -> None:
        self._masters = masters
        self._history = history
        self._tracker = Tracker(TrackerOptions())
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

    def problems(self, name: str) -> list[tuple[TrackerProblem, float]]:
        """Problems of one topology."""
        return self._tracker.problems(name)


def questions(
    paths: Mapping[str, Any], topology: str, now: int
) -> Iterator[tuple[str, dict[str, str]]]:
    """Address and arguments of each route that reads, out of the service's OpenAPI."""
    fixed = {"topology_id": topology, "component": "count", "host_port": "here-1"}
    query = {
        "topology": topology, "component": "count", "instance": "count[0]", "container": "1",
        "metricname": "__execute-count", "starttime": str(now - 3600), "endtime": str(now),
        "query": "SUM(TS(count,*,__execute-count))", "path": ".",
    }  # fmt: skip
    for path, methods in paths.items():
        if "get" not in methods or NOT_OURS.search(path):
            continue
        wanted = {each["name"] for each in methods["get"].get("parameters", ())}
        given = {} if path == "/metrics" else {k: v for k, v in query.items() if k in wanted}
        yield path.format(**fixed), given


async def request_costs(service: Service) -> list[tuple[str, float, int]]:
    """Path, CPU ms and bytes of each read route, including the measuring client."""
    app = application(service, TrackerOptions())
    transport = httpx.ASGITransport(app)
    rows = []
    async with httpx.AsyncClient(transport=transport, base_url=HOST) as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
        for url, given in questions(paths, "topology-7", int(service.calendar())):
            answer = await client.get(url, params=given)
            began = time.process_time()
            for _ in range(REQUESTS):
                answer = await client.get(url, params=given)
            cpu_ms = (time.process_time() - began) * 1000 / REQUESTS
            rows.append((f"{url} ({answer.status_code})", cpu_ms, len(answer.content)))
    return sorted(rows, key=lambda each: -each[1])


def main() -> None:
    """Simulate, and print the costs."""
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
        for secs in range(POLL_SECS, secs_max + 1, POLL_SECS):
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
