"""A topology in micro-batches without a Spark: its hosts, level by level, as Spark calls them."""

import io
from collections import defaultdict
from pathlib import Path
from typing import Any

from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.batch_log.job import Job
from heron_spark.compile.plan import compile_topology
from heron_spark.driver.query import is_last
from heron_spark.worker.printing import Printed
from heron_spark.worker.task_host import TaskHost
from heron_tester.sources import topology_of

ATTEMPTS = 4
"""Of a batch: Spark's."""
BATCHES_MAX = 200


class MicroBatches:
    """The hosts of two partitions at most. What an attempt raises ends none of them."""

    def __init__(self, topology: Any, folder: Path) -> None:
        """`topology`: whatever a tester takes."""
        spec = topology_of(topology, None, None, {})
        self._plan = compile_topology(spec)
        self._folder = CheckpointDir(str(folder))
        self._job = Job(spec, 2, 1000, 0.2, False)
        self._hosts: dict[tuple[int, int], TaskHost] = {}
        self.failures: list[str] = []
        """What attempts have raised."""
        self.restarts_hosts = False
        """Whether each batch is one of new processes."""

    def run(self) -> int:
        """To the end of the topology; the number of batches."""
        for batch in range(BATCHES_MAX):
            if self.restarts_hosts:
                self._hosts.clear()
            if is_last(self._plan, self._folder, None, batch, self._done(batch)):
                for host in self._hosts.values():
                    host.close()
                return batch + 1
        raise AssertionError(f"{BATCHES_MAX} batches, and no end")

    def _done(self, batch: int) -> list[dict[str, Any]]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._attempt(batch)
            except Exception as error:
                self.failures.append(str(error))
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    def _attempt(self, batch: int) -> list[dict[str, Any]]:
        waiting: dict[tuple[int, int], list[bytes]] = defaultdict(list)
        results = []
        for level in range(len(self._plan.levels)):
            for partition in range(self._plan.partitions(level, self._job.slots)):
                host = self._host(level, partition)
                blocks = iter(waiting.pop((level, partition), []))
                for task in host.run(level, partition, batch, blocks):
                    for to_level, to_partition, data in self._folder.blocks(task, batch):
                        waiting[to_level, to_partition].append(data)
                    results.append(self._folder.results(task, batch))
        return results

    def _host(self, level: int, partition: int) -> TaskHost:
        if (level, partition) not in self._hosts:
            printed = Printed(io.StringIO(), False)
            self._hosts[level, partition] = TaskHost(self._folder, self._job, self._plan, printed)
        return self._hosts[level, partition]
