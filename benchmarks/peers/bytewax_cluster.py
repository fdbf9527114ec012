"""Common parts of both bytewax peers: a cluster of two processes, a batching source, a reporting
sink.

bytewax lacks an option to start several processes from one command (`-p` belongs to
`bytewax.testing`), so the module starts the processes and calls `cluster_main`, as `bytewax.run -i
-a` does.
"""

import multiprocessing
import os
import socket
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import cluster_main

from benchmarks import workload

PROCESSES = 2


class Partition(StatefulSourcePartition[Any, int]):
    """Hands out the records in batches; marks the moment when it is first asked."""

    def __init__(self, records: Iterator[Any], batch_size: int, results: Any) -> None:
        self._records = records
        self._batch_size = batch_size
        self._results = results
        self._asked = False

    def next_batch(self) -> list[Any]:
        """The next records, StopIteration at the end."""
        if not self._asked:
            self._asked = True
            self._results.put(("first", workload.mark("first")))
        batch = list(islice(self._records, self._batch_size))
        if not batch:
            raise StopIteration
        return batch

    def snapshot(self) -> int:
        """Recovery is not configured, so the state is empty."""
        return 0


class Source(FixedPartitionedSource[Any, int]):
    """A single partition, like the benchmark's single spout."""

    def __init__(self, records: Iterator[Any], batch_size: int, results: Any) -> None:
        self._make = (records, batch_size, results)

    def list_parts(self) -> list[str]:
        """The single partition, known to all workers."""
        return ["only"]

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> Partition:
        """Called on the reading worker."""
        return Partition(*self._make)


class SinkPartition(StatelessSinkPartition[Any]):
    """Gives each batch to `take`, and at the end the outcome of its worker to the parent."""

    def __init__(self, take: Callable[[list[Any]], None], outcome: Any, results: Any) -> None:
        self._take = take
        self._outcome = outcome
        self._results = results

    def write_batch(self, items: list[Any]) -> None:
        """Take one batch of the worker's results."""
        self._take(items)

    def close(self) -> None:
        """The dataflow has ended on this worker: everything is counted."""
        last = workload.mark("last")
        self._results.put(((os.getpid(), last), self._outcome))


class Sink(DynamicSink[Any]):
    """A sink on every worker; `make` returns the function to call with its result."""

    def __init__(
        self, make: Callable[[], tuple[Callable[[list[Any]], None], Any]], results: Any
    ) -> None:
        self._make = make
        self._results = results

    def build(self, step_id: str, worker_index: int, worker_count: int) -> SinkPartition:
        """Called once on each worker."""
        return SinkPartition(*self._make(), self._results)


def run_cluster(build: Callable[[Any], Dataflow]) -> tuple[float, float, list[Any]]:
    """Run the flow in two processes: instants of the first and last record, outcome per worker."""
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    addresses = free_addresses(PROCESSES)
    processes = [
        context.Process(target=worker, args=(build, results, addresses, index))
        for index in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    answers = dict(results.get() for _ in range(1 + PROCESSES))
    for process in processes:
        process.join()
    first = answers.pop("first")
    return first, max(last for _, last in answers), list(answers.values())


def worker(
    build: Callable[[Any], Dataflow], results: Any, addresses: list[str], index: int
) -> None:
    """A process of the cluster with a single worker thread."""
    cluster_main(build(results), addresses, index)


def free_addresses(number: int) -> list[str]:
    """Local addresses free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses
