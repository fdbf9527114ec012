"""One live task: the engine's own instance, fed batch by batch.

Tuples are not tracked: a batch is done as a whole or repeated as a whole. A spout receives `ack`
for the tuples of a batch at the start of the next batch, the proof that all tasks have done the
first.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from random import Random
from typing import Any

from heron_api.incarnation import Incarnation
from heron_api.run_store import RunStore
from heron_api.state.component_state import ComponentState
from heron_api.user_errors import format_error
from heron_core.errors import ComponentError
from heron_core.instance_report import InstanceReport, to_wire
from heron_core.records import replace
from heron_core.wire.frames import Frames
from heron_frontends.adapters.construct import construct
from heron_instance.control_core import Identity
from heron_instance.core import InstanceCore
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.spout import SpoutDriver
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.factory import incarnation_number
from heron_instance.shared_state import SharedState
from heron_spark.batch_log.blocks import LevelPartition, OutgoingBlocks
from heron_spark.batch_log.checkpoint_dir import TaskOutcome
from heron_spark.compile.plan import QueryPlan
from heron_spark.worker.callback_queue import CallbackQueue
from heron_spark.worker.frame_sink import FrameSink
from heron_spark.worker.passed_watermarks import PassedWatermarks, is_watermark
from heron_spark.worker.printing import Printed, PrintedLines
from heron_spark.worker.state_snapshot import METRIC, StateSnapshot

NEVER_RAN = -1
NOT_REPEATED = Incarnation()
IDLE_WAIT_SECS = 30.0
"""How long a batch waits for a component that works on in threads; Storm's message timeout."""
POLL_SECS = 0.001
_ENGINE_CALLS = (
    "emit", "emit_batch", "ack", "fail", "finish", "emit_watermark", "call_soon", "call_later",
)  # fmt: skip
"""Attributes of a component set by the engine, outside of its state."""


@dataclass(slots=True)
class CountersAtStart:
    """Counters at the beginning of a batch."""

    executed: int = 0
    sent: int = 0
    errors: int = 0
    acked: int = 0
    abandoned: int = 0
    began: float = field(default_factory=time.monotonic)


class TaskRunner:
    """One task of a topology in the process."""

    def __init__(
        self,
        plan: QueryPlan,
        task: int,
        partition_of: dict[int, LevelPartition],
        printed: Printed,
        incarnation: Incarnation = NOT_REPEATED,
        records: RunStore | None = None,
    ) -> None:
        """`records`: where components keep what has to outlive their process at once."""
        instance_plan = plan.packing.instances[task]
        self.task = task
        self.component = instance_plan.component
        self.label = f"{instance_plan.component}[{instance_plan.index}]"
        self.batch = NEVER_RAN
        """The newest batch done by this copy of the component."""
        self._incarnation = incarnation
        self._records = records
        self._printed = printed
        self._lines = printed.lines = PrintedLines()
        self._log = logging.getLogger(self.label)
        self._callbacks = CallbackQueue(time.monotonic)
        self._outgoing = OutgoingBlocks(partition_of)
        self._watermarks = PassedWatermarks(plan, task)
        self._unacked: list[Any] = []
        self._behind = plan.topology.components_behind(self.component)
        self._own_ack: Callable[[Any], None] | None = None
        self._usual: set[str] = set()
        self._at_start = CountersAtStart()
        try:
            self._core = self._made_core(plan)
        except ComponentError:
            raise
        except (Exception, SystemExit) as error:
            raise ComponentError(f"{self.label}: {format_error(error)}") from error
        self._instance = self._core.instance
        self.driver = self._core.driver
        if isinstance(self.driver, SpoutDriver) and self._instance.adapter.coroutines:
            self._instance.adapter.coroutines.is_patient = True
        self._memory = self._made_memory()
        self.driver.begin(True, time.monotonic())

    def _made_core(self, plan: QueryPlan) -> InstanceCore:
        environment = InstanceEnvironment(
            time.monotonic,
            Random(),
            self._send,
            lambda: None,
            self._log,
            self._callbacks.soon,
            self._callbacks.later,
            self._construct,
            incarnation=self._incarnation,
            run_store=self._records,
        )
        identity = Identity(self.task, incarnation_number(), os.getpid())
        return InstanceCore(plan.topology, plan.packing, identity, environment, SharedState())

    def _send(self, messages: Iterable[Frames]) -> None:
        for each in messages:
            if is_watermark(each):
                self._watermarks.take(each)
            else:
                self._outgoing.add(each)

    def _construct(self, spec: Any, delegate: Any) -> Any:
        adapter: Any = construct(spec, delegate)
        component = adapter.driven_object
        self._delegate = delegate
        self._usual = set(vars(component))
        if spec.is_spout:
            # Without tracking the driver acks at once; here that waits until the batch is done.
            self._own_ack = adapter.ack
            self._note_ack = self._unacked.append
            component.ack = self._note_ack
        return adapter

    def _made_memory(self) -> StateSnapshot:
        instance, driver, delegate = self._instance, self.driver, self._delegate
        engine = {
            "core": driver,
            "outbox": driver.outbox,
            "collector": driver.collector,  # type: ignore[attr-defined]
            "context": instance.context,
            "config": instance.context.get_cluster_config(),
            "hooks": instance.hooks,
            "runner": self,
            "coroutines": instance.adapter.coroutines,
            "state": instance.state,
        }
        if isinstance(instance.state, ComponentState):
            named = instance.state.named
            engine["timers"] = named.timers
            engine |= {f"state.{name}": each for name, each in named.handed_out.items()}
        metrics = instance.context.metrics.items()
        engine |= {f"{METRIC}{name}": metric for name, (metric, _) in metrics}
        for owner, source in (("delegate", delegate), ("component", instance.component)):
            for name in _ENGINE_CALLS:
                if name in vars(source):
                    engine[f"{owner}.{name}"] = vars(source)[name]
        parts = {name: each for name, each in engine.items() if each is not None}
        parts["delegate"] = delegate
        return StateSnapshot(instance.component, parts, self._usual, self._log.warning)

    def restore(self, batch: int, state: bytes) -> None:
        """Be what the task was after `batch`."""
        try:
            extra = self._memory.restore(state)
        except Exception as error:
            raise ComponentError(
                f"{self.label}: its state after batch {batch} does not fit its class any more: "
                f"{format_error(error)}; start from scratch with another checkpoint"
            ) from error
        self._note_forgotten()
        self._unacked[:] = extra["unacked"]
        if "state" in extra:  # not in one that was saved before there were keyed states
            self._instance.state.restore(extra["state"])
        before = [extra.get("watermark_ms"), False]  # as it was saved once
        self._watermarks.restore(extra.get("watermarks", before))
        if isinstance(self.driver, SpoutDriver):
            self.driver.finished = extra["finished"]
        self.batch = batch

    def _note_forgotten(self) -> None:
        names = self._memory.forgotten
        self.driver.metrics.forgotten = len(names)
        if names:
            self.driver.record_error(
                "attributes are reset",
                f"{', '.join(names)} of {self.label} could not be saved: the value is lost, and "
                "initialize sets a new one. Use values that can be pickled",
            )

    # --- one batch -----------------------------------------------------------------------------

    def begin(self, batch: int, abandoning: Set[str] = frozenset()) -> None:
        """Start a batch; all tasks have done the previous batch. `abandoning`: bolts that abandoned
        tuples of the previous batch.
        """
        self._printed.lines = self._lines
        self._instance.adapter.begin_batch(batch)
        metrics = self.driver.metrics
        self._at_start = CountersAtStart(
            metrics.executed, self.driver.outbox.deliveries, metrics.errors
        )
        self._at_start.abandoned = self._abandoned
        behind = sorted(abandoning & self._behind)
        if behind and self._unacked:
            self._leave_without_ack(behind)
        self._ack()
        self._callbacks.run()

    def _ack(self) -> None:
        if self._own_ack is None:
            return
        done, self._unacked[:] = list(self._unacked), []
        for tup_id in done:
            try:
                self._own_ack(tup_id)
            except Exception:
                self.driver.user_raised(f"ack({tup_id!r})")
        self._at_start.acked = len(done)

    def _leave_without_ack(self, abandoning: list[str]) -> None:
        """Leave the whole batch without acks, because the roots of abandoned tuples are unknown, as
        natively with EFFECTIVELY_ONCE.
        """
        number = len(self._unacked)
        self._unacked.clear()
        self.driver.record_error(
            "tuples get no ack",
            f"{', '.join(abandoning)} abandoned tuples of the previous batch. Their spout tuples "
            f"are unknown, so the {number} tuples that this spout emitted in the batch are not "
            "acked",
        )

    @property
    def _abandoned(self) -> int:
        """Tuples that a bolt has failed, or whose processing has raised."""
        driver = self.driver
        return driver.collector.failed_for_good if isinstance(driver, BoltDriver) else 0

    @property
    def made(self) -> int:
        """Deliveries of the batch so far."""
        return self.driver.outbox.deliveries - self._at_start.sent

    def deliver(self, frames: Frames) -> None:
        """Run a bolt on the tuples of one message."""
        self._printed.lines = self._lines
        self.driver.deliver(frames)

    def take_rows(self, rows: Any) -> None:
        """Let a spout emit rows read by Spark; each unreadable row is an error outside of a tuple,
        as with a spout that reads by itself.
        """
        self._printed.lines = self._lines
        for error in self._instance.component.take_rows(rows):
            try:
                raise error
            except ComponentError:
                self.driver.user_raised("next_tuple")
        self.driver.outbox.flush_if_full()

    @property
    def finished(self) -> bool:
        """Whether the task is a spout that has finished."""
        return isinstance(self.driver, SpoutDriver) and self.driver.finished

    @property
    def has_whole_batch(self) -> bool:
        """Whether a spout has emitted its whole batch, by its own attribute."""
        return bool(getattr(self._instance.adapter.users_object, "has_whole_batch", False))

    def turn(self, secs: float) -> bool:
        """Let a spout emit for `secs`, or by one call for 0; returns whether the spout emitted."""
        assert isinstance(self.driver, SpoutDriver)
        self._printed.lines = self._lines
        return self.driver.turn(time.monotonic() + secs) if secs else self.driver.call_once()

    def end(self, batch: int, finishes: bool) -> TaskOutcome:
        """The batch is over; its outcome."""
        self._printed.lines = self._lines
        driver = self.driver
        self._wait_until_idle()
        if isinstance(driver, BoltDriver):
            driver.tick(time.monotonic())
            if finishes:
                driver.finish()
        driver.flush()
        self._instance.adapter.end_batch()  # what it raises makes the batch come again
        self._instance.adapter.pre_save(str(batch))
        finished = self.finished or finishes
        state = self._memory.save(
            {
                "unacked": list(self._unacked),
                "finished": finished,
                "state": self._instance.state.snapshot(),
                "watermarks": self._watermarks.state,
            }
        )
        self.batch = batch
        self._outgoing.add_all(self._watermarks.messages())
        blocks = self._outgoing.take()
        if isinstance(self._instance.component, FrameSink):
            blocks += self._instance.component.take_blocks()
        return TaskOutcome(self._results(finished, len(state)), blocks, state)

    def _wait_until_idle(self) -> None:
        """Until nothing is in the works of a component's own threads."""
        self._callbacks.run()
        driver = self.driver
        self._finish_coroutines()
        deadline = time.monotonic() + IDLE_WAIT_SECS
        while isinstance(driver, BoltDriver) and not driver.component_is_idle:
            if time.monotonic() > deadline:
                self._log.warning("still at work after %.0f s: the batch continues", IDLE_WAIT_SECS)
                return
            time.sleep(POLL_SECS)
            self._callbacks.run()

    def _finish_coroutines(self) -> None:
        """Each has a limit of its own (topology.async.timeout.ms)."""
        driver, adapter = self.driver, self._instance.adapter
        while driver.works_on and adapter.coroutines and not driver.component_is_idle:
            driver.work_on(time.monotonic())
            adapter.coroutines.wait(IDLE_WAIT_SECS, {})
            driver.work_on(time.monotonic())

    def _results(self, finished: bool, state_bytes: int) -> dict[str, Any]:
        metrics, at_start = self.driver.metrics, self._at_start
        return {
            "task": self.task,
            "component": self.component,
            "label": self.label,
            "spout": isinstance(self.driver, SpoutDriver),
            "executed": metrics.executed - at_start.executed,
            "emitted": self.driver.outbox.deliveries - at_start.sent,
            "errors": metrics.errors - at_start.errors,
            "failed": self._abandoned - at_start.abandoned,
            "acked": at_start.acked,
            "secs": round(time.monotonic() - at_start.began, 6),
            "state_bytes": state_bytes,
            "finished": finished,
            "statistics": to_wire(self._report()),
            "printed": [f"{self.label} | {line}" for line in self._lines.take()],
        }

    def _report(self) -> InstanceReport:
        unsaved = self._memory.unsaved
        self.driver.metrics.unsaved = len(unsaved)
        return replace(
            self._core.control.report(time.monotonic()),
            unsaved_attributes=unsaved,
            forgotten_by_attribute=dict.fromkeys(self._memory.forgotten, 1),
        )

    def close(self) -> None:
        """Make the final calls of user code; printed lines go to the log only, because the copy may
        belong to a void attempt, and another copy reports the batch.
        """
        self._printed.lines = None
        self._core.close_component()
