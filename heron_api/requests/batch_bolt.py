"""BaseBatchBolt: an object per request, notified when all tuples of the request have arrived."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from heron_api.java_names import CalledByEngine
from heron_api.method_shapes import refuse_coroutine
from heron_api.stream import Outputs
from heron_core.topology import DEFAULT_STREAM

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext


class BatchOutputCollector:
    """Collector of a batch bolt. As in Storm, tuples are not anchored: the coordination fails
    the request as a whole.

    Example:

        from heronpy_compat.drpc import BaseBatchBolt

        class Count(BaseBatchBolt):
            outputs = ["id", "count"]

            def prepare(self, conf, context, collector, id):
                self.collector, self.id, self.count = collector, id, 0

            def execute(self, tup):
                self.count += 1

            def finish_batch(self):
                self.collector.emit([self.id, self.count])
    """

    def __init__(self, emit: Callable[..., Any]) -> None:
        self._emit = emit

    def emit(self, values: Sequence[Any], stream: str = DEFAULT_STREAM) -> Any:
        """Emit a tuple, whose first value is the id of the request."""
        return self._emit(values, stream)

    def emit_direct(self, task: int, values: Sequence[Any], stream: str = DEFAULT_STREAM) -> None:
        """Emit a tuple to one task."""
        self._emit(values, stream, None, task)


class BaseBatchBolt(CalledByEngine):
    """The work on one request in one task; `finish_batch` comes behind its last tuple.

    Example:

        class Count(BaseBatchBolt):
            outputs = ["id", "count"]

            def prepare(self, conf, context, collector, batch_id):
                self.collector, self.id, self.count = collector, batch_id, 0

            def execute(self, tup):
                self.count += 1

            def finish_batch(self):
                self.collector.emit([self.id, self.count])
    """

    outputs: Outputs

    def prepare(
        self,
        conf: dict[str, Any],
        context: "TopologyContext",
        collector: BatchOutputCollector,
        batch_id: Any,
    ) -> Any:
        """Called once, before the request's first tuple in the task."""

    def execute(self, tup: Any) -> Any:
        """Process one tuple of the request; the first value is the id."""
        raise NotImplementedError(f"{type(self).__name__} must define execute(self, tup)")

    def finish_batch(self) -> Any:
        """Called after all tuples of the request in the task, possibly none, were executed."""
        raise NotImplementedError(f"{type(self).__name__} must define finish_batch(self)")


class BatchBoltExecutor:
    """The batch bolts of one task, by open request."""

    def __init__(
        self,
        kind: type[BaseBatchBolt],
        conf: dict[str, Any],
        context: "TopologyContext",
        emit: Callable[..., Any],
    ) -> None:
        self._make = kind
        self._conf, self._context = conf, context
        self._collector = BatchOutputCollector(emit)
        self._open: dict[Any, BaseBatchBolt] = {}

    def execute(self, tup: Any) -> None:
        """A tuple of a request."""
        bolt = self._bolt_of(tup.values[0])
        refuse_coroutine(bolt.execute, bolt.execute(tup))

    def finished_id(self, batch_id: Any) -> None:
        """The last tuple of a request was executed."""
        bolt = self._bolt_of(batch_id)
        del self._open[batch_id]
        refuse_coroutine(bolt.finish_batch, bolt.finish_batch())

    def timeout_id(self, batch_id: Any) -> None:
        """The request has failed or has taken too long."""
        self._open.pop(batch_id, None)

    def _bolt_of(self, batch_id: Any) -> BaseBatchBolt:
        bolt = self._open.get(batch_id)
        if bolt is None:
            bolt = self._make()
            bolt.prepare(self._conf, self._context, self._collector, batch_id)
            self._open[batch_id] = bolt
        return bolt
