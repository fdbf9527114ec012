"""The bolt that runs a spout of Trident: it emits its part of a batch when the coordinator says."""

from collections.abc import Sequence
from typing import Any

from heron_api.bolt.bolt import Bolt
from heronpy_compat.trident.errors import FailedException, ReportedFailedException
from heronpy_compat.trident.execution.attempt import TransactionAttempt
from heronpy_compat.trident.execution.batch_tracker import TrackedBatch
from heronpy_compat.trident.execution.carried_plans import carried_plan
from heronpy_compat.trident.execution.coordinator import BATCHES, COMMITS, SUCCESSES
from heronpy_compat.trident.execution.row_output import RowOutput
from heronpy_compat.trident.execution.spout_executors import executor_of
from heronpy_compat.trident.plan import ComponentPlan, DataStream


class _Emission:
    """A TridentCollector for one part of a batch."""

    def __init__(self, bolt: "SpoutBolt", batch: TrackedBatch, tup: Any, width: int) -> None:
        self._bolt = bolt
        self._batch = batch
        self._tup = tup
        self._width = width

    def emit(self, values: Sequence[Any]) -> None:
        """See TridentCollector."""
        if len(values) != self._width:
            raise ValueError(
                f"the spout emitted {len(values)} values for {self._width} fields: {list(values)}"
            )
        self._bolt.output.put(self._bolt.streams, self._batch, list(values), self._tup)

    def report_error(self, error: BaseException) -> None:
        """See TridentCollector."""
        self._bolt.log(f"reported: {error!r}", "error")

    reportError = report_error


class SpoutBolt(Bolt):
    """Emits the rows of a batch, then how many messages they were."""

    outputs = []
    auto_fail = True

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Set the spout up."""
        plan: ComponentPlan = carried_plan(config)
        assert plan.spout is not None, f"{plan.name} has no spout"
        self._node = plan.spout
        (self._group,) = plan.groups
        self.output = RowOutput(self, plan, context)
        self.streams: list[DataStream] = self.output.of_node.get(plan.spout.number, [])
        self._executor = executor_of(plan.spout.txid, plan.spout.spout, config, context)

    def process(self, tup: Any) -> None:
        """A batch, a commit, a success, or what only wants an ack."""
        attempt = TransactionAttempt(tup.values[0], tup.values[1])
        self.output.begin()
        try:
            if tup.stream == COMMITS:
                self._executor.commit(attempt)
            elif tup.stream == SUCCESSES:
                self._executor.success(attempt)
            elif tup.stream == BATCHES:
                self._emit_batch(attempt, tup)
        except FailedException as error:
            self.output.discard()
            level = "error" if isinstance(error, ReportedFailedException) else "warn"
            self.log(f"{attempt} fails: {error}", level)
            self.fail(tup)
            return
        except Exception:
            self.output.discard()
            raise
        self.ack(tup)

    def _emit_batch(self, attempt: TransactionAttempt, tup: Any) -> None:
        batch, node = TrackedBatch(attempt), self._node
        emission = _Emission(self, batch, tup, len(node.fields))
        self._executor.emit_batch(attempt, tup.values[2].get(node.txid), emission)
        self.output.flush(batch, tup)
        self.output.report(self._group, batch, tup)

    def close(self) -> None:
        """Close the spout."""
        if hasattr(self, "_executor"):
            self._executor.close()
