"""Roll-up of the instances' reports to components: sums, merged histograms, rates, capacity.

A restarted instance counts from zero: the counts of its predecessor are kept as a base, so a
component's numbers never fall. With checkpoints the numbers of HISTORY do fall: a restore takes
back the counts of undone work (heron_core/algorithms/covered_counts.py).
"""

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, NamedTuple

from heron_core.algorithms.autoscale.sizing import capacity, worked_secs
from heron_core.algorithms.clocks import clock_stats, slowest
from heron_core.algorithms.counted import DELIVERIES, SUMS, Counted
from heron_core.algorithms.covered_counts import METRIC, CoveredCounts
from heron_core.algorithms.histogram import percentile_secs
from heron_core.algorithms.hot_keys import joined
from heron_core.algorithms.recent_counts import RecentGrowth
from heron_core.algorithms.user_metrics import rolled_up
from heron_core.clock_stats import ClockStats
from heron_core.instance_report import (
    DISTRIBUTIONS,
    EMPTY,
    HISTORY,
    NOTHING_REPORTED,
    NUMBER_MAX,
    Distribution,
    InstanceNumbers,
    InstanceReport,
    Summed,
    SummedNumbers,
    measures_of,
)
from heron_core.plans import PackingPlan, instance_name, leaving
from heron_core.stats import (
    EVERY_COMPONENT,
    ComponentLatencies,
    ComponentStats,
    HotKeyStats,
    InstanceStats,
    LatencyStats,
)
from heron_core.topology import TopologySpec

_OF_PRESENT: Mapping[Summed, Callable[[Iterable[float]], float]] = {
    Summed.NOW: sum,
    Summed.MOST: lambda numbers: max(numbers, default=0),
}
LEVELS = {
    name: _OF_PRESENT[measure.summed]
    for name, measure in measures_of(SummedNumbers).items()
    if measure.summed in _OF_PRESENT
}
"""Component statistics of present processes -> their derivation from instances."""
OF_INSTANCE: tuple[str, ...] = InstanceNumbers.__struct_fields__
"""Fields copied unchanged to an instance's row."""


def are_numbers(value: object) -> bool:
    """Whether it is a mapping whose values can be rolled up."""
    return type(value) is dict and all(
        type(each) in (int, float) and 0 <= each <= NUMBER_MAX for each in value.values()
    )


class QueueNumbers(NamedTuple):
    """Deliveries in transit to an instance."""

    size_bytes: int
    tuples: int
    secs: float
    """How long the instance needs for it."""
    received_bytes: int = 0
    """Bytes sent to the instance's process by its stream manager."""
    sent_bytes: int = 0
    """Bytes received from the instance by its stream manager."""
    caused_ms: int = 0
    """Time as a cause of back-pressure."""


EMPTY_QUEUE = QueueNumbers(0, 0, 0.0)


class Rates:
    """Growth per second of numbers that are looked at now and then."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[float, float, float, float]] = {}
        self._rates: dict[int, tuple[float, float, float]] = {}

    def update(self, task: int, now: float, emitted: float, executed: float, worked: float) -> None:
        """The task's counters at `now`, in seconds."""
        then = self._before.get(task)
        self._before[task] = (now, emitted, executed, worked)
        if then is None or now <= then[0] or emitted < then[1] or executed < then[2]:
            return
        elapsed = now - then[0]
        self._rates[task] = (
            (emitted - then[1]) / elapsed,
            (executed - then[2]) / elapsed,
            capacity(worked - then[3], elapsed),
        )

    def of(self, task: int) -> tuple[float, float, float]:
        """(emitted per second, executed per second, share of time busy) of a task."""
        return self._rates.get(task, (0.0, 0.0, 0.0))


class RollUp:
    """The newest report of each task, and the counts of its earlier processes."""

    def __init__(self, topology: TopologySpec, packing: PackingPlan) -> None:
        self._submitted = topology
        self._packing = packing
        self._newest: dict[int, InstanceReport] = {}
        self._heard_at: dict[int, float] = {}
        """task id -> time of its newest report, on the master's clock"""
        self._bases: dict[int, Counted] = {}
        """task id -> counts of its ended processes"""
        self._remembered: dict[int, tuple[int, Counted]] = {}
        """task id -> incarnation and counts of the process that a master before us knew"""
        self._gone: dict[str, Counted] = {}
        """component -> counts of instances removed by a rescale"""
        self._counts: dict[int, Counted] = {}
        """task id -> `_counted`, until that changes: of two hundred instances most stand still"""
        self._rates = Rates()
        self._emits: dict[int, tuple[int, float]] = {}
        """task id -> emitted tuples of its process, and time of the last change, on the master's
        clock"""
        self._settled: dict[int, tuple[int, float]] = {}
        """task id -> acked and failed tuples of its process, and the time of the last change while
        the process held tuples, on our clock
        """
        self._recent: dict[str, RecentGrowth] = {}
        """component -> recent counts"""

    @property
    def tasks(self) -> set[int]:
        """Tasks with a report."""
        return set(self._newest)

    def apply_packing(self, packing: PackingPlan) -> None:
        """The topology is rescaled. What instances that end had counted stays in their component's
        numbers."""
        for task in leaving(self._packing, packing):
            counted = self._counted(task)
            for by_task in (
                self._bases,
                self._newest,
                self._remembered,
                self._heard_at,
                self._counts,
                self._emits,
                self._settled,
            ):
                by_task.pop(task, None)
            if task in packing.instances:
                self._bases[task] = counted
            else:
                component = self._packing.instances[task].component
                self._gone.setdefault(component, Counted()).join(counted)
        self._packing = packing

    def update(self, task: int, report: InstanceReport, now: float) -> None:
        """Take a task's report."""
        self._counts.pop(task, None)
        before = self._newest.get(task)
        remembered = self._remembered.pop(task, None)
        if remembered is not None and remembered[0] != report.incarnation:
            self._bases.setdefault(task, Counted()).join(remembered[1])
        if before is not None and before.incarnation != report.incarnation:
            self._bases.setdefault(task, Counted()).add(before)
        elif before is not None and before.at >= report.at:
            return
        self._add_growth(task, report, before, remembered is not None, now)
        self._newest[task] = report
        self._heard_at[task] = now
        emitted = sum(report.emitted_by_stream.values())
        if task not in self._emits or self._emits[task][0] != emitted:
            self._emits[task] = (emitted, now)
        settled = report.acked + report.failed
        if report.executed <= settled or self._settled.get(task, (-1, now))[0] != settled:
            self._settled[task] = (settled, now)
        worked = worked_secs(report.busy_secs, report.waited_secs)
        self._rates.update(task, report.at, emitted, report.executed, worked)

    def _add_growth(
        self,
        task: int,
        report: InstanceReport,
        before: InstanceReport | None,
        was_remembered: bool,
        now: float,
    ) -> None:
        """Add the growth in a report. A process known to a previous master may contribute none."""
        if was_remembered and before is None:
            return
        component = self._packing.instances[task].component
        is_same = before is not None and before.incarnation == report.incarnation
        self._recent_of(component).add(report, before if is_same else None, now)

    # --- what a successor has to know -----------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Counts of all processes, including ended processes."""
        newest = {
            str(task): {"incarnation": report.incarnation, **Counted.of((report,)).to_json()}
            for task, report in self._newest.items()
        }
        for task, (incarnation, counted) in self._remembered.items():
            newest[str(task)] = {"incarnation": incarnation, **counted.to_json()}
        return {
            "newest": newest,
            "ended": {str(task): each.to_json() for task, each in self._bases.items()},
            "gone": {component: each.to_json() for component, each in self._gone.items()},
        }

    def remember(self, data: Mapping[str, Any]) -> None:
        """Restore the `to_json` of a previous master; KeyError, TypeError, ValueError if
        invalid."""
        tasks = self._packing.instances
        self._counts.clear()
        for word, counted in data["newest"].items():
            if (task := int(word)) in tasks:
                self._remembered[task] = (int(counted["incarnation"]), Counted.from_json(counted))
        for word, base in data["ended"].items():
            if (task := int(word)) in tasks:
                self._bases[task] = Counted.from_json(base)
        for component, totals in data["gone"].items():
            self._gone[component] = Counted.from_json(totals)

    # --- the numbers ----------------------------------------------------------------------------

    def fresh(self, since: float, silent: Set[int]) -> set[int]:
        """Tasks with a report since `since`, outside of the `silent` containers."""
        return {
            task
            for task, heard_at in self._heard_at.items()
            if heard_at >= since and self._packing.container_of.get(task) not in silent
        }

    def components(
        self,
        queues: Mapping[int, QueueNumbers],
        fresh: Set[int] | None = None,
        covered: CoveredCounts | None = None,
        now: float | None = None,
    ) -> dict[str, ComponentStats]:
        """component -> statistics, in order of the topology; `queues`: queued tuples by task;
        `fresh`: live tasks, None for all known; `covered`: counts at the newest completed
        checkpoint, None without checkpoints; `now`: on the clock of `update`, None if reports
        are irregular and silence has no meaning."""
        alive = self._newest.keys() if fresh is None else fresh
        return {
            component.name: self._component(
                component.name, component.is_spout, queues, alive, covered, now
            )
            for component in self._packing.topology_of(self._submitted).components
        }

    def _component(
        self,
        name: str,
        is_spout: bool,
        queues: Mapping[int, QueueNumbers],
        alive: Set[int],
        covered: CoveredCounts | None,
        now: float | None,
    ) -> ComponentStats:
        tasks = self._packing.tasks_of[name]
        waiting = [queues.get(task, EMPTY_QUEUE) for task in tasks]
        counted = Counted()
        for counts in (*map(self._counted, tasks), self._gone.get(name, Counted())):
            counted.join(counts)
        newest = [self._newest[task] for task in tasks if task in self._newest]
        rates = [self._rates.of(task) for task in tasks if task in alive]
        errors = [each.last_error for each in newest if each.last_error]
        numbers = {key: counted.sums.get(key, 0) for key in SUMS}
        for key, total in LEVELS.items():
            numbers[key] = total(getattr(each, key) for each in newest)
        if covered is not None:
            self._take_back(name, numbers, counted.user_totals, covered)
        if is_spout:  # replays of an ended process are known to its source only
            numbers["failed_for_good"] = sum(each.failed_for_good for each in newest)
        return ComponentStats(
            type="spout" if is_spout else "bolt",
            instances=len(tasks),
            up=sum(task in alive for task in tasks),
            emitted=counted.emitted,  # type: ignore[arg-type]
            emitted_by_stream=counted.streams.get("emitted", {}),  # type: ignore[arg-type]
            executed_by_input=counted.streams.get("inputs", {}),  # type: ignore[arg-type]
            unsaved_attributes=tuple(
                sorted({name for each in newest for name in each.unsaved_attributes})
            ),
            forgotten_by_attribute=counted.streams.get("forgotten", {}),  # type: ignore[arg-type]
            **numbers,  # type: ignore[arg-type]
            queue_bytes=sum(each.size_bytes for each in waiting),
            queue_tuples=sum(each.tuples for each in waiting),
            queue_secs=max((each.secs for each in waiting), default=0.0),
            emitted_per_sec=sum(each[0] for each in rates),
            executed_per_sec=sum(each[1] for each in rates),
            capacity=max((each[2] for each in rates), default=0.0),
            latency=self._latencies(name, counted, now),
            last_error=errors[-1] if errors else None,
            user=rolled_up(each.user for each in newest),
            user_totals=counted.user_totals,
            user_net=tuple(sorted({metric for each in newest for metric in each.tuple_counts})),
            processes=counted.processes,
            recent=None if now is None else self._recent_of(name).counts(now),
            silent_secs=None if now is None or not is_spout else self._silent_secs(tasks, now),
            **({} if is_spout else self._unsettled(tasks, now)),  # type: ignore[arg-type]
            clock=slowest(self._clock(task) for task in tasks),
            hot_keys=_hot_keys(newest),
        )

    def _latencies(self, name: str, counted: Counted, now: float | None) -> ComponentLatencies:
        recent = {} if now is None else self._recent_of(name).histograms(now)
        return ComponentLatencies(
            **{
                kind: _latency(counted.latencies.get(kind, EMPTY), recent.get(kind))
                for kind in DISTRIBUTIONS
            }
        )

    def _recent_of(self, name: str) -> RecentGrowth:
        return self._recent.setdefault(name, RecentGrowth())

    def _silent_secs(self, tasks: Iterable[int], now: float) -> float | None:
        """Time since the last emit among the spouts; None if all have finished, or none is
        known."""
        known = [task for task in tasks if task in self._newest]
        if all(self._newest[task].finished for task in known):
            return None
        return max(0.0, now - max(self._emits[task][1] for task in known))

    def _unsettled(self, tasks: Iterable[int], now: float | None) -> dict[str, float]:
        """Tuples held by instances of a bolt, and the longest time beyond the allowed time. A tick
        may come just before a tuple, and the next tick settle the tuple: twice the interval.
        """
        known = [task for task in tasks if task in self._newest]
        reports = {task: self._newest[task] for task in known}
        held = {task: each.executed - each.acked - each.failed for task, each in reports.items()}
        secs = [
            now - self._settled[task][1] - 2 * reports[task].settle_secs_max
            for task in known
            if now is not None and held[task] > 0
        ]
        return {
            "unsettled_tuples": sum(max(0, each) for each in held.values()),
            "unsettled_secs": max(0.0, *secs, 0.0),
        }

    def _take_back(
        self,
        name: str,
        numbers: dict[str, float],
        user_totals: dict[str, Any],
        covered: CoveredCounts,
    ) -> None:
        """Take back the counts that ended processes of a component added after the checkpoint."""
        tasks = self._packing.tasks_of[name]
        newest = {task: self._newest[task] for task in tasks if task in self._newest}
        now = covered.now(name, newest)
        undone = numbers["calls_given_up"] - now["calls_given_up"]
        numbers["callback_errors"] = max(0, numbers["callback_errors"] - max(0, int(undone)))
        numbers.update({key: int(now[key]) for key in HISTORY})
        for metric in user_totals:
            if f"{METRIC}{metric}" in now:
                user_totals[metric] = int(now[f"{METRIC}{metric}"])

    def _clock(self, task: int) -> ClockStats | None:
        state = self._newest.get(task, NOTHING_REPORTED).clock
        return None if state is None else clock_stats(self._packing, task, state)

    def _counted(self, task: int) -> Counted:
        """Counts of all processes of a task; read-only."""
        if (known := self._counts.get(task)) is not None:
            return known
        counted = self._counts[task] = Counted()
        if task in self._bases:
            counted.join(self._bases[task])
        if task in self._newest:
            counted.add(self._newest[task])
        elif task in self._remembered:
            counted.join(self._remembered[task][1])
        return counted

    def in_flight(self) -> int | None:
        """Deliveries sent and not processed, counted over all processes ever; None if counts are
        incomplete."""
        if len(self._newest) < len(self._packing.instances):
            return None
        ended = [each.sums for each in (*self._bases.values(), *self._gone.values())]
        sent, processed = (
            sum(int(getattr(each, key)) for each in self._newest.values())
            + sum(int(each.get(key, 0)) for each in ended)
            for key in DELIVERIES
        )
        return max(0, sent - processed)

    def wanted_instances(
        self, wanted: str | None, queues: Mapping[int, QueueNumbers], fresh: Set[int] | None = None
    ) -> tuple[InstanceStats, ...] | None:
        """Like `instances`, or for EVERY_COMPONENT; None for an unknown component."""
        if wanted is None or wanted not in (*self._packing.tasks_of, EVERY_COMPONENT):
            return None
        names = [wanted] if wanted in self._packing.tasks_of else self._packing.tasks_of
        return tuple(each for name in names for each in self.instances(name, queues, fresh))

    def instances(
        self, component: str, queues: Mapping[int, QueueNumbers], fresh: Set[int] | None = None
    ) -> tuple[InstanceStats, ...]:
        """The instances of one component; arguments as for `components`."""
        alive = self._newest.keys() if fresh is None else fresh
        tasks = self._packing.tasks_of[component]
        return tuple(
            self._instance(task, queues.get(task, EMPTY_QUEUE), task in alive) for task in tasks
        )

    def _instance(self, task: int, queue: QueueNumbers, is_up: bool) -> InstanceStats:
        newest = self._newest.get(task)
        report = newest or NOTHING_REPORTED
        emitted, executed, busy = self._rates.of(task) if is_up else (0.0, 0.0, 0.0)
        base = self._bases.get(task)
        return InstanceStats(
            instance=instance_name(self._packing, task),
            task=task,
            up=is_up,
            container=self._packing.container_of[task],
            pid=newest.pid if newest else None,
            restarts=base.processes if base else 0,
            emitted_per_sec=emitted,
            executed_per_sec=executed,
            capacity=busy,
            queue_bytes=queue.size_bytes,
            queue_tuples=queue.tuples,
            queue_secs=queue.secs,
            **{key: getattr(report, key) for key in OF_INSTANCE},
            emitted=sum(report.emitted_by_stream.values()),
            emitted_by_stream=report.emitted_by_stream,
            executed_by_input=report.executed_by_input,
            clock=self._clock(task),
            received_bytes=queue.received_bytes,
            sent_bytes=queue.sent_bytes,
            backpressure_caused_ms=queue.caused_ms,
            latency_secs=_by_kind(report, "total_secs"),
            latency_samples=_by_kind(report, "number"),
        )


def _by_kind(report: InstanceReport, what: str) -> dict[str, Any]:
    """Kind of latency -> a number of it, where any was measured."""
    distributions = ((kind, getattr(report, kind)) for kind in DISTRIBUTIONS)
    return {kind: getattr(each, what) for kind, each in distributions if each.number}


def _hot_keys(newest: Iterable[InstanceReport]) -> tuple[HotKeyStats, ...]:
    samples = ((each.hot_keys, each.executed) for each in newest if each.hot_keys is not None)
    return tuple(HotKeyStats(key=text, share=share) for text, share in joined(samples))


def _latency(whole: Distribution, recent: Mapping[int, int] | None) -> LatencyStats:
    """In milliseconds; None without samples. Percentiles use `recent` if given."""
    shown = whole.histogram if recent is None else recent
    p50, p99 = percentile_secs(shown, 0.5), percentile_secs(shown, 0.99)
    return LatencyStats(
        mean_ms=whole.total_secs / whole.number * 1000 if whole.number else None,
        p50_ms=None if p50 is None else p50 * 1000,
        p99_ms=None if p99 is None else p99 * 1000,
        buckets=whole.histogram,
    )
