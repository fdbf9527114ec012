"""What heartbeats tell: the instances' reports, the stream managers' counters, pauses, errors."""

import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from typing import Any

from msgspec import Struct

from heron_core.algorithms.covered_counts import CoveredCounts
from heron_core.algorithms.minimum_clock import Location, MinimumClock
from heron_core.algorithms.rollup import QueueNumbers, RollUp, are_numbers
from heron_core.errors import ProtocolError
from heron_core.instance_report import InstanceReport, report_of
from heron_core.plans import PackingPlan, instance_name, leaving
from heron_core.records import replace
from heron_core.stats import ComponentStats, InstanceStats, PauseStats, StreamManagerStats
from heron_core.topology import TopologySpec
from heron_core.typed_json import from_json, to_json
from heron_core.wire.messages import (
    Heartbeat,
    InstanceFailed,
    InstanceReplaced,
    Json,
    PauseStatistics,
)
from heron_engine.topology_master.awaited_reports import FirstReports, OverdueReports
from heron_engine.topology_master.minimum_clock import ages_of, locations_of
from heron_engine.topology_master.next_tries import NextTries
from heron_engine.topology_master.physical_plan import CurrentPlan

OPTIONAL = (
    "waiting_tuples", "waiting_secs", "task_bytes_in", "task_bytes_out", "peer_bytes_in",
    "peer_bytes_out", "caused_ms", "oldest_message_secs", "oldest_root_secs", "oldest_link_secs",
)  # fmt: skip
"""What a stream manager may say by task or by container: numbers whose sums fit into a message."""


class Losses(Struct):
    """Losses with replaced instances."""

    instances: int = 0
    """Instances that were replaced after a crash."""
    stream_managers: int = 0
    """Losses with replaced stream managers."""
    deliveries: int = 0
    """Losses without replay."""


class Measurements:
    """The newest of each, by container and by task."""

    def __init__(self, topology: TopologySpec, packing: PackingPlan, tracked: bool = False) -> None:
        """`tracked`: whether tuples are acked."""
        self._submitted = topology
        self._tracked = tracked
        self._rollup = RollUp(topology, packing)
        self.minimum_clock = MinimumClock(self._locations(packing))
        self._packing = packing
        self._paused: dict[int, dict[int, PauseStatistics]] = {}
        """container -> instances that were ever paused"""
        self._stream_managers: dict[int, StreamManagerStats] = {}
        """container -> the counters of its stream manager"""
        self._errors: dict[int, str] = {}
        """task id -> why it could not start"""
        self._next_tries = NextTries()
        self._first_reports = FirstReports()
        self._overdue_reports = OverdueReports()
        self.losses = Losses()

    def rescale(self, packing: PackingPlan, now: float) -> None:
        """The topology runs by another packing plan now."""
        self._rollup.apply_packing(packing)
        self.minimum_clock.expect(self._locations(packing), now)
        self._first_reports.expected(leaving(packing, self._packing), now)
        self._packing = packing
        self._first_reports.keep(packing.instances.keys())
        self._overdue_reports.keep(packing.instances.keys())
        self._errors = {
            task: error for task, error in self._errors.items() if task in packing.instances
        }
        self._next_tries.keep(packing.instances.keys())
        # A heartbeat may name tasks of the plan before; the plan before that is not known any more.
        self._paused = {
            container: {task: each for task, each in paused.items() if task in packing.instances}
            for container, paused in self._paused.items()
        }

    def _locations(self, packing: PackingPlan) -> set[Location]:
        return locations_of(packing.topology_of(self._submitted), packing, self._tracked)

    def dismiss(self, containers: Set[int]) -> None:
        """Drop the data of removed containers."""
        for container in containers:
            self._paused.pop(container, None)
            self._stream_managers.pop(container, None)

    def failed(self, message: InstanceFailed, now: float) -> None:
        """An instance could not start."""
        self._errors[message.task] = message.error
        self._next_tries.said(message.task, message.next_try_ms / 1000, now)

    def replaced(self, message: InstanceReplaced, now: float) -> None:
        """Another process serves a task."""
        self._next_tries.said(message.task, message.next_try_ms / 1000, now)
        self._first_reports.expected((message.task,), now)

    def take_stream_manager(
        self, heartbeat: Heartbeat, packings: Iterable[PackingPlan], now: float
    ) -> None:
        """A stream manager's report; `packings`: plans with valid tasks. ProtocolError for an
        unknown task, or without queued bytes per task."""
        counters = stream_manager_stats(heartbeat.metrics)
        paused = {task: PauseStatistics(*each) for task, each in heartbeat.paused.items()}
        named = {*paused, *(cause for each in paused.values() for cause in each.causes)}
        if named and not all(any(x in each.instances for each in packings) for x in named):
            raise ProtocolError("a heartbeat with pauses of tasks that are not in the packing plan")
        self._paused[heartbeat.container] = paused
        self._stream_managers[heartbeat.container] = counters
        self.minimum_clock.heard(ages_of(heartbeat.container, counters), now)
        self._overdue_reports.queues(counters.waiting_tuples, now)
        self._overdue_reports.keep(self._packing.instances.keys())

    def take_report(
        self, container: int, task: int, data: Json, plan: CurrentPlan, now: float
    ) -> InstanceReport | None:
        """An instance's report; None for a late report from before the last update.
        ProtocolError if malformed, or of an instance outside of the container."""
        if plan.packing.container_of.get(task) != container:
            if plan.previous.container_of.get(task) == container:
                return None
            raise ProtocolError(f"a report of task {task}, which is not in {container}")
        report = report_of(data)
        self._rollup.update(task, report, now)
        self._errors.pop(task, None)
        self._next_tries.heard_of(task, now)
        self._first_reports.heard_of(task)
        self._overdue_reports.heard_of(task)
        return report

    def fresh(self, since: float, silent: Set[int]) -> set[int]:
        """The tasks that were heard of since then, and are in none of the `silent` containers."""
        return self._rollup.fresh(since, silent)

    def starting(
        self, fresh: Set[int], registered_at: Mapping[int, float], now: float
    ) -> dict[int, float]:
        """Task -> seconds without a first report of the present process; `fresh`: live tasks,
        `registered_at`: container -> registration time of its stream manager, if live."""
        since = {
            task: registered_at[container]
            for task, container in self._packing.container_of.items()
            if task not in fresh and container in registered_at and task not in self._errors
        }
        return self._first_reports.missing(since, now)

    def unheard(self, report_secs: float, now: float) -> dict[int, float]:
        """Task -> seconds of queued tuples without a report, if above `report_secs`; without
        instances that start."""
        overdue = self._overdue_reports.secs(report_secs, now)
        return {
            task: secs for task, secs in overdue.items() if self._first_reports.has_reported(task)
        }

    def components(
        self, fresh: Set[int], covered: CoveredCounts | None, now: float
    ) -> dict[str, ComponentStats]:
        """component -> statistics; `fresh`: live tasks; `covered`: counts at the newest
        completed checkpoint, None without checkpoints."""
        return self._rollup.components(self._queues(), fresh, covered, now)

    def instances(
        self, component: str | None, fresh: Set[int], now: float
    ) -> tuple[InstanceStats, ...] | None:
        """The instances of a component, or of EVERY_COMPONENT; None for an unknown component."""
        rows = self._rollup.wanted_instances(component, self._queues(), fresh)
        if rows is None or not self._next_tries:
            return rows
        return tuple(
            instance
            if instance.up and instance.task not in self._errors
            else replace(instance, next_try_secs=self._next_tries.secs(instance.task, now))
            for instance in rows
        )

    def in_flight(self) -> int | None:
        """Deliveries that were sent, are not processed, and not known to be lost."""
        found = self._rollup.in_flight()
        return None if found is None else max(0, found - self.losses.deliveries)

    def pauses(self) -> dict[int, PauseStatistics]:
        """task id -> its pauses, if any."""
        return dict(self._pauses())

    def to_json(self) -> dict[str, Any]:
        """Data for a master that takes over: counts and losses."""
        return {"counts": self._rollup.to_json(), "losses": to_json(self.losses)}

    def remember(self, data: Json) -> None:
        """Restore the `to_json` of a previous master; ProtocolError if invalid."""
        try:
            self._rollup.remember(data["counts"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProtocolError(f"no counts of a topology: {error!r}") from None
        self.losses = from_json(Losses, data.get("losses"), "losses")

    def paused(self, packing: PackingPlan) -> dict[int, PauseStats]:
        """task id -> its pauses with the names of instance and causes, for tasks of `packing` with
        pauses."""
        return {
            task: PauseStats(
                instance=instance_name(packing, task),
                **pauses._asdict(),
                because_of=tuple(
                    instance_name(packing, cause)
                    for cause in pauses.causes
                    if cause in packing.instances
                ),
            )
            for task, pauses in self._pauses()
            if task in packing.instances
        }

    def stream_managers(self) -> dict[int, StreamManagerStats]:
        """container -> the counters of its stream manager."""
        return dict(self._stream_managers)

    def errors(self) -> dict[int, str]:
        """task id -> why it could not start."""
        return dict(self._errors)

    def _pauses(self) -> Iterable[tuple[int, PauseStatistics]]:
        for paused in self._paused.values():
            yield from paused.items()

    def _queues(self) -> dict[int, QueueNumbers]:
        """task id -> tuples queued or delivered by its stream manager, and the time of
        back-pressure caused at any stream manager."""
        caused = Counter[int]()
        for stream_manager in self._stream_managers.values():
            caused.update(stream_manager.caused_ms)
        return {
            task: QueueNumbers(
                size_bytes,
                stream_manager.waiting_tuples.get(task, 0),
                stream_manager.waiting_secs.get(task, 0.0),
                stream_manager.task_bytes_in.get(task, 0),
                stream_manager.task_bytes_out.get(task, 0),
                caused[task],
            )
            for stream_manager in self._stream_managers.values()
            for task, size_bytes in stream_manager.waiting_bytes.items()
        }

    def validate(self, containers: Set[int], tasks: Set[int]) -> None:
        """AssertionError if something is kept of `containers` or `tasks` that never were."""
        assert self._stream_managers.keys() <= containers, "counters of no container"
        assert self._paused.keys() <= containers, "pauses of no container"
        assert self._errors.keys() <= tasks, "an error of no task"
        assert {task for task, _ in self._pauses()} <= tasks, "a pause of no task"
        assert self._rollup.tasks <= tasks, "a report of no task"


def stream_manager_stats(metrics: Mapping[str, Any]) -> StreamManagerStats:
    """A stream manager's counters; ProtocolError if it does not say how many bytes wait for each
    task, or if sums of them would not fit into a message."""
    waiting = metrics.get("waiting_bytes")
    if not are_numbers(waiting):
        raise ProtocolError(f"a heartbeat whose waiting_bytes are {reprlib.repr(waiting):.200}")
    for key in OPTIONAL:
        if not are_numbers(metrics.get(key, {})):
            raise ProtocolError(f"a heartbeat whose {key} are {reprlib.repr(metrics[key]):.200}")
    return from_json(StreamManagerStats, metrics, "a heartbeat")
