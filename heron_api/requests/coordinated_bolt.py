"""CoordinatedBolt: wraps a bolt and notifies the bolt when a request is complete."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heron_api.bolt.bolt import Bolt
from heron_api.class_loading import load_class
from heron_api.method_shapes import refusal
from heron_api.requests.basic_bolt import FailedException, failure_text
from heron_api.requests.batch_bolt import BaseBatchBolt, BatchBoltExecutor
from heron_api.requests.coordination import TrackedRequest, TupleRole, shape_of
from heron_api.requests.expiring import ExpiringEntries
from heron_api.requests.inner_bolt import InnerBolt
from heron_api.requests.linear_bolts import FAILED_STREAM
from heron_core.errors import ComponentError
from heron_core.topology import DEFAULT_STREAM

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

COORDINATED_STREAM = "__coordinated"
"""Stream for tuple counts of a request, sent to each task of the next bolt."""
BOLT = "drpc.coordinated.bolt"
"""Config key: the class path of the bolt inside."""
SHAPE = "drpc.coordinated.shape"
"""Config key: the bolt's sources (heron_api.requests.coordination)."""


class CoordinatedBolt(Bolt):
    """Made by LinearDRPCTopologyBuilder. The first value of each tuple is the id of its request.

    Example:

        builder = LinearDRPCTopologyBuilder("length")
        builder.add_bolt(Length, 2)
        builder.create_remote_topology()  # with Length inside of a CoordinatedBolt
    """

    auto_fail = True
    acks_later = True

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Problem with the class of the wrapped bolt, or None."""
        try:
            kind = load_class(config[BOLT])
        except ComponentError as error:
            return str(error) if runs_here else None
        for name in ("execute", "process", "finish_batch"):
            method = getattr(kind, name, None)
            if method is not None and (problem := refusal(f"{kind.__name__}.{name}", method)):
                return problem
        return None

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Create the wrapped bolt and read the next bolt's tasks."""
        self._context = context
        self._shape = shape_of(config[SHAPE])
        self._tracked: ExpiringEntries[TrackedRequest] = ExpiringEntries(config, context)
        targets = context.get_this_targets().get(COORDINATED_STREAM, {})
        self._readers = sorted(targets)
        kind: Any = load_class(config[BOLT])
        self._batches: BatchBoltExecutor | None = None
        self._inner: InnerBolt | None = None
        if issubclass(kind, BaseBatchBolt):
            self._batches = BatchBoltExecutor(kind, config, context, self.emit_counted)
        else:
            self._inner = InnerBolt(
                kind, self, self.emit_counted, self.ack_counted, self.fail_counted
            )
            self._inner.bolt.initialize(config, context)

    # --- tuples ---------------------------------------------------------------------------------

    def process(self, tup: Any) -> None:
        """A tuple of a request, a number or an id."""
        request_id = tup.values[0]
        role = self._shape.role_of(tup.component, tup.stream, COORDINATED_STREAM)
        track = self._tracked.get(request_id)
        if track is None:
            has_id = self._shape.id_source is None
            track = self._tracked.add(request_id, TrackedRequest(has_id))
        if role is TupleRole.REGULAR:
            self._execute(tup)
            return
        if role is TupleRole.ID:
            track.has_id = True
        else:
            track.reports += 1
            track.expected += tup.values[1]
        self._check(tup, role)

    def _execute(self, tup: Any) -> None:
        try:
            if self._batches is not None:
                self._batches.execute(tup)
                self.ack_counted(tup)
            elif self._inner is not None:
                self._inner.process(tup)
        except FailedException as error:
            self.log(f"a tuple of request {tup.values[0]!r} fails: {error}", "warn")
            self.fail_counted(tup)
        except Exception as error:
            self._tell(tup.values[0], error)
            self._note_failed(tup)  # the engine fails the tuple and reports the error
            raise

    def _tell(self, request_id: Any, error: Exception) -> None:
        why = failure_text(self._context.get_component_id(), error)
        self.emit([request_id, why], FAILED_STREAM)

    def process_tick(self, tup: Any) -> None:
        """Remove expired requests, which have failed by the message timeout."""
        expired = list(self._tracked.expired())
        for request_id in expired:
            if self._batches is not None:
                self._batches.timeout_id(request_id)
        if expired:
            self.log(
                f"{len(expired)} requests were not complete within the message timeout", "warn"
            )
        if self._inner is not None:
            self._inner.process_tick(tup)

    def close(self) -> None:
        """Delegates to the wrapped bolt, if supported."""
        if self._inner is not None:
            self._inner.close()

    # --- what the bolt inside does ----------------------------------------------------------------

    def emit_counted(
        self,
        values: Sequence[Any],
        stream: str = DEFAULT_STREAM,
        anchors: Sequence[Any] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> Any:
        """Emit and count the receiving tasks."""
        if not self._readers:
            return self.emit(values, stream, anchors, direct_task, need_task_ids)
        tasks = self.emit(values, stream, anchors, direct_task, True)
        track = self._tracked.get(values[0])
        if track is not None:
            track.sent.update(tasks)
        return tasks if need_task_ids else None

    def ack_counted(self, tup: Any) -> None:
        """Count the acked tuple, possibly the last of its request."""
        track = self._tracked.get(tup.values[0])
        if track is not None:
            track.acked += 1
        if self._check(tup, TupleRole.REGULAR):
            self.fail(tup)
        else:
            self.ack(tup)

    def fail_counted(self, tup: Any) -> None:
        """Fail the tuple and the tuple's request; in an `except` clause, for that reason."""
        if isinstance(error := sys.exc_info()[1], Exception):
            self._tell(tup.values[0], error)
        self._note_failed(tup)
        self.fail(tup)

    def _note_failed(self, tup: Any) -> None:
        track = self._tracked.get(tup.values[0])
        if track is not None:
            track.failed = True
            self._check(tup, TupleRole.REGULAR)

    def _check(self, tup: Any, role: TupleRole) -> bool:
        """Finish or fail the request when due; whether the request has failed."""
        request_id = tup.values[0]
        track = self._tracked.get(request_id)
        if track is None:  # the request has failed or expired before
            return False
        is_delayed = self._shape.delays(role)
        if is_delayed:
            track.delayed.append(tup)
        if track.failed:
            self._drop(request_id, track)
        elif track.is_complete(self._shape.reports(self._context.get_component_tasks)):
            self._finish(request_id, track, tup)
        if not is_delayed and role is not TupleRole.REGULAR:
            (self.fail if track.failed else self.ack)(tup)
        return track.failed

    def _drop(self, request_id: Any, track: TrackedRequest) -> None:
        self._tracked.pop(request_id)
        if self._batches is not None:
            self._batches.timeout_id(request_id)
        for tup in track.delayed:
            self.fail(tup)

    def _finish(self, request_id: Any, track: TrackedRequest, tup: Any) -> None:
        try:
            if self._batches is not None:
                self._batches.finished_id(request_id)
        except FailedException as error:
            self.log(f"request {request_id!r} fails: {error}", "warn")
            self._tell(request_id, error)
            track.failed = True
        except Exception as error:
            self._tell(request_id, error)
            # The engine fails the current tuple and reports the error.
            track.delayed = [each for each in track.delayed if each is not tup]
            self._drop(request_id, track)
            raise
        if track.failed:
            self._drop(request_id, track)
            return
        for reader in self._readers:
            for task in self._context.get_component_tasks(reader):
                number = track.sent.get(task, 0)
                self.emit([request_id, number], COORDINATED_STREAM, [tup], task)
        self._tracked.pop(request_id)
        for delayed in track.delayed:
            self.ack(delayed)
