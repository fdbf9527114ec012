"""`heronpy ui` over fifty topologies, one with a thousand instances, without their processes.

`python -m tests.browser.large_site` prints the address and serves until a signal. Numbers change at
each look, like numbers of running topologies; service, pages and history are real.
"""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resource,
    packing_to_json,
    physical_to_json,
)
from heron_core.records import replace
from heron_core.stats import InstanceStats, RegisteredStats
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
    topology_to_json,
)
from heron_io.listening import listen_on
from heron_io.state_store.file_store import FileStore
from heron_tracker.model.collector import TrackerCollector
from heron_tracker.model.history_store import HistoryStore
from heron_tracker.model.snapshot import Nodes, TopologySnapshot, snapshot_of
from heron_tracker.options import TrackerOptions
from heron_tracker.server import address_of, run
from heron_tracker.service import Service
from tests.unit.heron_tracker.tracker_support import NODES, component, instance, stats

TOPOLOGIES = 50
LARGE = "large"
LARGE_PARALLELISM = {"lines": 100, "split": 300, "count": 600}
PARALLELISM = {"lines": 4, "split": 8, "count": 8}
PER_CONTAINER = 20
RESOURCE = Resource(1.0, 2**30, 2**30)
OUTPUT = (StreamSpec("default", ("word",)),)
SOURCES = {"split": "lines", "count": "split"}
BACKLOG = 128


def spec_of(name: str, parallelism: Mapping[str, int]) -> TopologySpec:
    """A spout and two bolts in a row."""
    shuffle = GroupingSpec(GroupingKind.SHUFFLE)
    components = [
        ComponentSpec(
            each, each == "lines", "x.X", number, OUTPUT if each != "count" else (),
            (InputSpec(SOURCES[each], "default", shuffle),) if each in SOURCES else (),
        )
        for each, number in parallelism.items()
    ]  # fmt: skip
    return TopologySpec(name, tuple(components), {})


def packing_of(name: str, parallelism: Mapping[str, int]) -> PackingPlan:
    """Containers of PER_CONTAINER instances, filled in order."""
    instances = [(each, index) for each, number in parallelism.items() for index in range(number)]
    plans = [InstancePlan(task, *each, RESOURCE) for task, each in enumerate(instances, 1)]
    parts = [plans[at : at + PER_CONTAINER] for at in range(0, len(plans), PER_CONTAINER)]
    containers = [ContainerPlan(at, tuple(part), RESOURCE) for at, part in enumerate(parts, 1)]
    return PackingPlan(name, tuple(containers))


class MadeTopology:
    """A topology with growing numbers."""

    def __init__(self, name: str) -> None:
        parallelism = LARGE_PARALLELISM if name == LARGE else PARALLELISM
        packing = packing_of(name, parallelism)
        addresses = {each.id: f"tcp://127.0.0.1:{each.id}" for each in packing.containers}
        self._parallelism, self._packing = parallelism, packing
        nodes = Nodes(
            topology=topology_to_json(spec_of(name, parallelism)),
            packing=packing_to_json(packing),
            physical=physical_to_json(PhysicalPlan(name, 1, "RUNNING", packing, addresses)),
            execution=NODES.execution, scheduler=NODES.scheduler, master=NODES.master,
        )  # fmt: skip
        self._bare = snapshot_of(name, nodes, alive=True)

    def look(self) -> TopologySnapshot:
        """The snapshot of this moment."""
        now = time.time()
        rows = [
            self._row(plan, container.id, now)
            for container in self._packing.containers
            for plan in container.instances
        ]
        ids = tuple(each.id for each in self._packing.containers)
        found = stats(
            instances_given=rows, topology=self._bare.name, containers=ids,
            containers_expected=ids,
            registered={each: RegisteredStats(host="here", pid=each, secs=60.0) for each in ids},
        )  # fmt: skip
        components = {
            name: component(
                "spout" if name == "lines" else "bolt", instances=number, up=number,
                executed_per_sec=100.0 * number + now % 7, capacity=0.5,
            )
            for name, number in self._parallelism.items()
        }  # fmt: skip
        return replace(self._bare, stats=replace(found, components=components), stats_at=now)

    def _row(self, plan: InstancePlan, container: int, now: float) -> InstanceStats:
        """An instance with new rates at each look."""
        return replace(
            instance(1, pid=plan.task), task=plan.task,
            instance=f"{plan.component}[{plan.index}]", container=container,
            executed=int(100 * now) + plan.task, executed_per_sec=100.0 + (now + plan.task) % 9,
            capacity=(now * 7 + plan.task) % 100 / 100,
        )  # fmt: skip


def main() -> None:
    """Serve until a signal."""
    options = TrackerOptions(port=0)
    made = {name: MadeTopology(name) for name in names()}
    with tempfile.TemporaryDirectory() as folder, listen_on("127.0.0.1", 0, BACKLOG) as listener:
        store = FileStore(str(Path(folder, "state")))
        history = HistoryStore(str(Path(folder, "history.sqlite")))

        def record(found: TopologySnapshot) -> None:
            history.record(found.id, found.instances, found.stats_at)

        collector = TrackerCollector(
            options, lambda: list(made), lambda name: made[name].look(), record, lambda name: None
        )
        service = Service(collector, history, store)
        collector.start()
        print(address_of(listener, is_secure=False), flush=True)
        try:
            run(service, options, listener)
        finally:
            collector.stop()
            history.close()
            store.close()


def names() -> list[str]:
    """Of all topologies."""
    return [LARGE, *(f"small-{at}" for at in range(1, TOPOLOGIES))]


if __name__ == "__main__":
    main()
