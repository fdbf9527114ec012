"""Output of rows: messages of many rows, counted per task and batch."""

from collections.abc import Iterable
from typing import Any

from heron_api.stream import Stream
from heronpy_compat.trident.execution.batch_tracker import TrackedBatch
from heronpy_compat.trident.plan import ComponentPlan, DataStream
from heronpy_compat.trident.tuples import Row

ROWS_MAX = 200
"""Rows per message: enough to amortise the message's cost, few enough for a small message."""
ATTEMPT_FIELDS = ["txid", "attempt"]


def reports_stream(group: str) -> str:
    """The stream of a batch group for reports of message counts."""
    return f"reports-{group}"


def streams_of(plan: ComponentPlan) -> list[Stream]:
    """The output streams of a component."""
    rows = [Stream([*ATTEMPT_FIELDS, "rows"], each.name, direct=True) for each in plan.outputs]
    groups = [group for group in plan.groups if plan.downstream(group)]
    fields = [*ATTEMPT_FIELDS, "messages"]
    return [*rows, *(Stream(fields, reports_stream(group), direct=True) for group in groups)]


class RowOutput:
    """The output of one task. Rows passed to `put` are sent by `flush`, anchored to the current
    tuple."""

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
        """Called before each message: scaling may have changed the tasks."""
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
        """Add a row of a node to each stream of the node."""
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
        """Send the collected rows."""
        for stream, task in list(self._rows):
            self._send(stream, task, batch, anchor)

    def discard(self) -> None:
        """Discard the collected rows of a failed batch."""
        self._rows.clear()

    def report(self, group: str, batch: TrackedBatch, anchor: Any) -> None:
        """End of a batch's rows: report its number of messages to each reading task."""
        for component in sorted(self._plan.downstream(group)):
            for task in self._tasks[component]:
                values = [*batch.attempt, batch.sent.get(task, 0)]
                stream = reports_stream(group)
                self._bolt.emit(values, stream=stream, anchors=[anchor], direct_task=task)
