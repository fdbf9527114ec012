"""How rows leave a task: in messages of many rows, counted for each task and batch."""

from collections.abc import Iterable
from typing import Any

from heron_api.stream import Stream
from heronpy_compat.trident.execution.batch_tracker import TrackedBatch
from heronpy_compat.trident.plan import ComponentPlan, DataStream
from heronpy_compat.trident.tuples import Row

ROWS_MAX = 200
"""Of one message: enough that its cost is that of its rows, few enough that it is not a large
one."""
ATTEMPT_FIELDS = ["txid", "attempt"]


def reports_stream(group: str) -> str:
    """The stream of a batch group on which a task says how many messages it has sent."""
    return f"reports-{group}"


def streams_of(plan: ComponentPlan) -> list[Stream]:
    """The output streams of a component."""
    rows = [Stream([*ATTEMPT_FIELDS, "rows"], each.name, direct=True) for each in plan.outputs]
    groups = [group for group in plan.groups if plan.downstream(group)]
    fields = [*ATTEMPT_FIELDS, "messages"]
    return [*rows, *(Stream(fields, reports_stream(group), direct=True) for group in groups)]


class RowOutput:
    """The output of one task. What is put is sent by `flush`, anchored to the tuple of then."""

    def __init__(self, bolt: Any, plan: ComponentPlan, context: Any) -> None:
        self._bolt = bolt
        self._plan = plan
        self._context = context
        self._rows: dict[tuple[str, int], list[Row]] = {}
        self.of_node: dict[int, list[DataStream]] = {}
        for stream in plan.outputs:
            self.of_node.setdefault(stream.node, []).append(stream)
        self._tasks: dict[str, list[int]] = {}
        self.begin()

    def begin(self) -> None:
        """Before each message: the tasks may be others, as the topology was scaled."""
        tasks_of = self._context.get_component_tasks
        names = {self._context.get_component_id(), *(each.target for each in self._plan.outputs)}
        tasks = {name: tasks_of(name) for name in names}
        if tasks != self._tasks:
            self._tasks = tasks
            for stream in self._plan.outputs:
                stream.partitioner.prepare(self._context, stream.name, tasks[stream.target])

    def put(
        self, streams: Iterable[DataStream], batch: TrackedBatch, row: Row, anchor: Any
    ) -> None:
        """A row of a node, for each stream that begins there."""
        for stream in streams:
            tasks = self._tasks[stream.target]
            for partition in stream.partitioner.partitions(row, batch.attempt, len(tasks)):
                rows = self._rows.setdefault((stream.name, tasks[partition]), [])
                rows.append(row)
                if len(rows) >= ROWS_MAX:
                    self._send(stream.name, tasks[partition], batch, anchor)

    def _send(self, stream: str, task: int, batch: TrackedBatch, anchor: Any) -> None:
        rows = self._rows.pop((stream, task))
        values = [*batch.attempt, rows]
        self._bolt.emit(values, stream=stream, anchors=[anchor], direct_task=task)
        batch.sent[task] = batch.sent.get(task, 0) + 1

    def flush(self, batch: TrackedBatch, anchor: Any) -> None:
        """Send what was put."""
        for stream, task in list(self._rows):
            self._send(stream, task, batch, anchor)

    def discard(self) -> None:
        """What was put belongs to a batch that has failed."""
        self._rows.clear()

    def report(self, group: str, batch: TrackedBatch, anchor: Any) -> None:
        """The batch has no more rows from here: tell each task that reads how many messages it
        has to have."""
        for component in sorted(self._plan.downstream(group)):
            for task in self._tasks[component]:
                values = [*batch.attempt, batch.sent.get(task, 0)]
                stream = reports_stream(group)
                self._bolt.emit(values, stream=stream, anchors=[anchor], direct_task=task)
