"""The bolt of a stage: rows in, rows out, time and checkpoints (stage_task.py has the rest)."""

import os
import time
from collections.abc import Iterable
from typing import Any

from apache_beam.portability.api import metrics_pb2
from apache_beam.utils.timestamp import MAX_TIMESTAMP

from heron_api.bolt.bolt import Bolt
from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heron_api.topology_context import TopologyContext
from heron_io.atomic_files import replace_whole
from heronpy_compat.beam.groups import NEVER
from heronpy_compat.beam.plans import (
    DATA,
    EVERYONE,
    FINALIZES,
    REPORTS,
    WATERMARK,
    EdgePlan,
    StagePlan,
    unpacked,
)
from heronpy_compat.beam.rows import Divider
from heronpy_compat.beam.stage_task import Source, StageTask, context_of


class StageBolt(Bolt, TwoPhaseStatefulComponent):
    """A stage whose work is done when its input has ended."""

    outputs = ()

    def init_state(self, stateful_state: Any) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Make Beam's processor of the stage; DoFns are unpickled, and `setup` called."""
        plan: StagePlan = unpacked(config)
        self.plan, self._reports = plan, config.get(REPORTS)
        self._finalizes_at_once = config[FINALIZES]
        self._task_id = context.get_task_id()
        coders = context_of(plan).coders
        self._edges: dict[str, list[tuple[EdgePlan, Divider]]] = {}
        for edge in plan.edges:
            divider = Divider(edge, coders[edge.coder])
            self._edges.setdefault(edge.transform, []).append((edge, divider))
        writers: dict[Source, Iterable[int]] = {
            source: tuple(context.get_component_tasks(source[0])) for source in plan.reads
        }
        self.task = StageTask(plan, self._state, writers, self._send)
        self._woken_at = NEVER
        self._retained: list[Any] = []
        """Rows of the last watermark, until the stage's work is done."""
        self._wake_later()

    def process(self, tup: Any) -> None:
        """Take a row."""
        kind, _, data = tup.values
        source = (tup.component, tup.stream)
        self._retain(tup)
        if kind == WATERMARK:
            self.task.promise(source, tup.task, data)
        else:
            self.task.take(source, data)
        self._settle()

    def _retain(self, tup: Any) -> None:
        self.ack(tup)

    def _send(self, transform: str, data: bytes) -> None:
        for edge, divider in self._edges[transform]:
            for slot, encoded in divider.rows(data):
                self.emit([DATA, slot, encoded], stream=edge.stream)

    def _settle(self) -> None:
        if self._finalizes_at_once:
            self.task.bundles.finalize()
        if self.task.advance():
            micros = self.task.output_watermark.micros
            for edge in self.plan.edges:
                self.emit([WATERMARK, EVERYONE, micros], stream=edge.stream)
        self._wake_later()

    def _wake_later(self) -> None:
        due = self.task.next_due
        if due < self._woken_at:
            self._woken_at = due
            self.delegate.call_later(max(0.0, due - time.time()), self._wake)

    def _wake(self) -> None:
        self._woken_at = NEVER
        self.task.wake(time.time())
        self._settle()

    def on_finish(self) -> None:
        """The end of a finite run: the metrics are complete."""
        self._report()

    def pre_save(self, checkpoint_id: Any) -> None:
        """Write what has changed into the state."""
        self.task.save()

    def post_save(self, checkpoint_id: Any) -> None:
        """Outputs before the checkpoint are durable: call finalizers."""
        self.task.bundles.finalize()

    def pre_restore(self, checkpoint_id: Any) -> None:
        """Another object goes on."""
        self.task.bundles.close()

    def close(self) -> None:
        """Call `teardown` of the DoFns."""
        self.task.bundles.close()
        self._report()

    def _report(self) -> None:
        if self._reports:
            infos = metrics_pb2.MonitoringInfo
            totals = self.task.bundles.metrics.infos
            lines = [infos.SerializeToString(each).hex().encode() for each in totals]
            path = os.path.join(self._reports, f"{self.plan.name}.{self._task_id}")
            replace_whole(path, [b"\n".join(lines)], f"{path}~")


class ResumingStageBolt(StageBolt):
    """A stage that may have work left when its input has ended.

    Rows of the last watermark are acked when all work is done: until then the engine counts them as
    in flight, and does not end the run.
    """

    acks_later = True

    def _retain(self, tup: Any) -> None:
        self._retained.append(tup)

    def _settle(self) -> None:
        super()._settle()
        kept = []
        for tup in self._retained:
            is_last = tup.values[0] == WATERMARK and not self.task.is_over
            if is_last and tup.values[2] >= MAX_TIMESTAMP.micros:
                kept.append(tup)
            else:
                self.ack(tup)
        self._retained = kept
