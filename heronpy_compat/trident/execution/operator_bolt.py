"""The bolt that runs the operations between two repartitionings, batch by batch."""

from collections.abc import Callable
from typing import Any

from heron_api.bolt.bolt import Bolt
from heronpy_compat.trident.errors import FailedException, ReportedFailedException
from heronpy_compat.trident.execution.attempt import TransactionAttempt
from heronpy_compat.trident.execution.batch_tracker import BatchArrival, BatchTracker, TrackedBatch
from heronpy_compat.trident.execution.carried_plans import carried_plan
from heronpy_compat.trident.execution.coordinator import COMMITS
from heronpy_compat.trident.execution.processors import BatchProcessor, ProcessorSetting
from heronpy_compat.trident.execution.row_output import RowOutput, reports_stream
from heronpy_compat.trident.graph import ProcessorNode
from heronpy_compat.trident.operations import TridentOperationContext
from heronpy_compat.trident.plan import ComponentPlan, DataStream, Receiver
from heronpy_compat.trident.tuples import Row


class OperatorPlan:
    """Settings of a bolt of operations."""

    def __init__(
        self, component: ComponentPlan, late: dict[str, frozenset[str]], batches_max: dict[str, int]
    ) -> None:
        """`late`: batch group -> the components that send rows while a batch is committed;
        `batches_max`: batch group -> how many batches are under way at most."""
        self.component = component
        self.late = late
        self.batches_max = batches_max


class TasksThatReport:
    """The senders of a batch group as current task ids."""

    def __init__(self, plan: ComponentPlan, group: str, late: frozenset[str], context: Any) -> None:
        upstream = plan.upstream(group)
        self._early, self._late = upstream - late, upstream & late
        self._context = context

    def early(self) -> frozenset[int]:
        """See Senders."""
        return self._tasks(self._early)

    def late(self) -> frozenset[int]:
        """See Senders."""
        return self._tasks(self._late)

    def _tasks(self, components: frozenset[str]) -> frozenset[int]:
        tasks = self._context.get_component_tasks
        return frozenset(task for component in components for task in tasks(component))


class OperatorBolt(Bolt):
    """Applies the operations to the rows of each batch and detects complete batches."""

    outputs = []
    auto_fail = True
    failed_by: Exception | None = None
    """Failure cause of the newest message's batch."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Set the operations up."""
        self._config, self._context = config, context
        self._partitions = 0
        self._set_up()

    def _tasks(self) -> int:
        return len(self._context.get_component_tasks(self._context.get_component_id()))

    def _set_up(self) -> None:
        """Create the operations for the current number of partitions. State of open batches is
        lost: the batches fail at the commit."""
        self.close()
        plan: OperatorPlan = carried_plan(self._config)
        self._plan = component = plan.component
        self._output = RowOutput(self, component, self._context)
        self._anchor: Any = None
        self._trackers = {
            group: self._tracker(component, group, plan) for group in component.groups
        }
        self._streams = {(stream.source, stream.name): stream for stream in component.inputs}
        self._reports = {
            (stream.source, reports_stream(stream.group)): stream.group
            for stream in component.inputs
        }
        partitions = self._tasks()
        self._set_up_processors(partitions)
        self._partitions = partitions

    def _tracker(self, component: ComponentPlan, group: str, plan: OperatorPlan) -> BatchTracker:
        senders = TasksThatReport(component, group, plan.late[group], self._context)
        return BatchTracker(senders, group in component.committing, plan.batches_max[group])

    def _set_up_processors(self, partitions: int) -> None:
        nodes, links, context = self._plan.nodes, self._plan.links(), self._context
        where = TridentOperationContext(context, context.get_this_task_index(), partitions)
        setting = ProcessorSetting(self._config, where, {}, self._report)
        self._processors: dict[int, BatchProcessor] = {
            node.number: node.processor for node in nodes
        }
        self._of_group: dict[str, list[BatchProcessor]] = {group: [] for group in self._plan.groups}
        groups = self._groups_of_nodes(nodes, links)
        for node in nodes:
            streams = self._output.of_node.get(node.number, [])
            take = self._take(links[node.number], streams)
            node.processor.set_up(node.number, take, setting, len(node.fields))
            self._of_group[groups[node.number]].append(node.processor)

    def _groups_of_nodes(self, nodes: tuple[ProcessorNode, ...], links: Any) -> dict[int, str]:
        groups = {
            receiver.number: stream.group
            for stream in self._plan.inputs
            for receiver in stream.receivers
        }
        for node in nodes:
            for receiver in links[node.number]:
                groups.setdefault(receiver.number, groups[node.number])
        return groups

    def _take(
        self, receivers: tuple[Receiver, ...], streams: list[DataStream]
    ) -> Callable[[TrackedBatch, Row], None]:
        following = [
            (self._processors[receiver.number].execute, receiver.parent) for receiver in receivers
        ]
        if len(following) == 1 and not streams:  # as most are
            ((execute_only, parent_only),) = following
            return lambda batch, row: execute_only(batch, row, parent_only)

        def take(batch: TrackedBatch, row: Row) -> None:
            for execute, parent in following:
                execute(batch, row, parent)
            if streams:
                self._output.put(streams, batch, row, self._anchor)

        return take

    def _report(self, error: BaseException) -> None:
        self.log(f"reported: {error!r}", "error")

    def process(self, tup: Any) -> None:
        """Rows, a report, or a commit."""
        if self._tasks() != self._partitions:
            self._set_up()
        self._output.begin()
        attempt, group = TransactionAttempt(tup.values[0], tup.values[1]), self._group_of(tup)
        tracker = self._trackers[group]
        batch, outdated = tracker.batch_of(attempt)
        for outdated_batch in outdated:
            self._settle(outdated_batch)
        if batch is not None and not self._advance(tracker, group, batch, tup):
            self.fail(tup)
        elif batch is None or batch.delayed is not tup:
            self.ack(tup)

    def _group_of(self, tup: Any) -> str:
        if tup.stream == COMMITS:
            return str(tup.component.rpartition("-")[2])
        stream = self._streams.get((tup.component, tup.stream))
        return self._reports[tup.component, tup.stream] if stream is None else stream.group

    def _settle(self, batch: TrackedBatch) -> None:
        """An outdated attempt: its tree is of no interest, and is completed."""
        if batch.delayed is not None:
            self.ack(batch.delayed)

    def _advance(self, tracker: BatchTracker, group: str, batch: TrackedBatch, tup: Any) -> bool:
        """Process a message; False if the batch fails."""
        self._anchor, self.failed_by = tup, None
        try:
            arrival = self._taken(tracker, group, batch, tup)
            if arrival is BatchArrival.COMPLETE:
                self._finish(tracker, group, batch, tup)
            elif arrival is BatchArrival.OPEN:
                self._output.flush(batch, tup)
                if self._is_counted(tup) and tracker.delays(batch):
                    batch.delayed = tup
        except FailedException as error:
            level = "error" if isinstance(error, ReportedFailedException) else "warn"
            self.log(f"{batch.attempt} fails: {error}", level)
            arrival, self.failed_by = BatchArrival.FAIL, error
        except Exception:
            self._discard(batch)
            raise
        if arrival is BatchArrival.FAIL:
            self._discard(batch)
        return arrival is not BatchArrival.FAIL

    def _discard(self, batch: TrackedBatch) -> None:
        batch.is_failed = True
        self._output.discard()

    def _is_counted(self, tup: Any) -> bool:
        """Whether the message is a report or a commit, not rows."""
        return (tup.component, tup.stream) not in self._streams

    def _taken(
        self, tracker: BatchTracker, group: str, batch: TrackedBatch, tup: Any
    ) -> BatchArrival:
        self._start(group, batch)
        if tup.stream == COMMITS:
            return tracker.committed(batch)
        stream = self._streams.get((tup.component, tup.stream))
        if stream is None:
            return tracker.reported(batch, tup.task, tup.values[2])
        batch.received += 1
        if not batch.is_failed:
            self._execute_rows(stream, batch, tup.values[2])
        return BatchArrival.FAIL if batch.is_failed else BatchArrival.OPEN

    def _start(self, group: str, batch: TrackedBatch) -> None:
        if not batch.is_started:
            batch.is_started = True
            for processor in self._of_group[group]:
                processor.start(batch)

    def _execute_rows(self, stream: DataStream, batch: TrackedBatch, rows: list[Row]) -> None:
        for receiver in stream.receivers:
            execute = self._processors[receiver.number].execute
            for row in rows:
                execute(batch, row, receiver.parent)

    def _finish(self, tracker: BatchTracker, group: str, batch: TrackedBatch, tup: Any) -> None:
        for processor in self._of_group[group]:
            processor.finish(batch)
        self._output.flush(batch, tup)
        self._output.report(group, batch, tup)
        tracker.remove(batch)
        self._settle(batch)

    def close(self) -> None:
        """The operations' last calls."""
        for processor in getattr(self, "_processors", {}).values():
            processor.cleanup()
