"""Input of autoscaling: the instances' counters at one moment, and loads between two moments.

A window has the readings of a period. It restarts whenever readings cannot be compared: a new
plan, a replaced instance, a paused topology or an update.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import pairwise

from msgspec import Struct, field

from heron_core.algorithms.autoscale.sizing import capacity, throttled, worked_secs
from heron_core.plans import Phase, TopologyState
from heron_core.stats import InstanceStats, TopologyStats

PENDING_FULL = 0.9
"""Share of pending tuples from which a spout counts as waiting for acks."""


class InstanceReading(Struct, frozen=True, kw_only=True):
    """Counters of one instance since its start."""

    component: str
    incarnation: int
    """Changes when the process is replaced."""
    executed: float
    emitted: Mapping[str, float]
    """By stream."""
    busy_secs: float
    paused_secs: float = 0.0
    is_full: bool = False
    """The limit of pending tuples blocks the spout until an ack."""
    cpu_cores: float = 0.0
    """CPU cores that the process uses at the moment, 0 if unknown."""
    core_waited_secs: float = 0.0
    """Of `busy_secs`: it could have run, and had no core."""


class HotKey(Struct, frozen=True, kw_only=True):
    """The most frequent key of a component's input."""

    key: str
    share: float
    """Share of the key in the component's input, 0 to 1."""


class Readings(Struct, frozen=True, kw_only=True):
    """All instances at one moment."""

    tasks: Mapping[int, InstanceReading]
    unsteady: str = ""
    """Reason to ignore the numbers of the moment; empty for valid numbers."""
    hot_keys: Mapping[str, tuple[HotKey, ...]] = field(default_factory=dict)
    """component -> its most frequent keys, hottest first, for components with keys."""
    fixed_state: frozenset[str] = frozenset()
    """Components whose state belongs to their instances, and cannot be divided."""
    idle_secs: float | None = None
    """Mean idle time of the machine's cores so far, in seconds; None on several machines, or if
    unknown.
    """
    cores: int | None = None
    """How many the machine has; None as `idle_secs`."""


class Load(Struct, frozen=True, kw_only=True):
    """One component over a window."""

    instances: int
    executed_per_sec: float
    emitted_per_sec: Mapping[str, float]
    """By stream."""
    rate: float | None
    """Tuples processed by one instance per second of work; None without work."""
    emit_rate: float | None
    """Tuples emitted by one instance per second of work."""
    busy: tuple[float, ...]
    """Utilisation of each instance."""
    shares: tuple[float, ...]
    """Of the component's input, by instance."""
    throttled: float
    """Throttled share of a spout's time: the maximum of its instances."""
    cpu: float | None = None
    """Cores used by an instance while working and not waiting for a core: 1 for calculations, near
    0 for calls that wait for a server. None if unknown.
    """


class ReadingsWindow:
    """The readings of the last seconds."""

    def __init__(self, secs: float) -> None:
        self._secs = secs
        self._readings: deque[tuple[float, Readings]] = deque()

    def clear(self) -> None:
        """Restart the window: earlier readings are not comparable."""
        self._readings.clear()

    def add(self, readings: Readings, now: float) -> None:
        """The next readings."""
        if readings.unsteady or not readings.tasks:
            self.clear()
            return
        if self._readings and not _goes_on(self._readings[-1][1], readings):
            self.clear()
        self._readings.append((now, readings))
        while len(self._readings) > 2 and now - self._readings[1][0] >= self._secs:
            self._readings.popleft()

    @property
    def is_full(self) -> bool:
        """Whether the window covers its period."""
        return self._span(self._readings) >= self._secs

    def loads(self) -> dict[str, Load]:
        """component -> its load over the window; empty without two readings."""
        return _loads(list(self._readings))

    def newest(self) -> dict[str, Load]:
        """component -> its load between the last two readings."""
        return _loads(list(self._readings)[-2:])

    @property
    def idle_share(self) -> float | None:
        """Idle share of the time of the machine's cores; None if unknown."""
        (began, first), (ended, last) = self._readings[0], self._readings[-1]
        if first.idle_secs is None or last.idle_secs is None or ended <= began:
            return None
        return (last.idle_secs - first.idle_secs) / (ended - began)

    @staticmethod
    def _span(readings: "deque[tuple[float, Readings]]") -> float:
        return readings[-1][0] - readings[0][0] if readings else 0.0


def _goes_on(before: Readings, after: Readings) -> bool:
    """Whether both readings have equal processes."""
    return before.tasks.keys() == after.tasks.keys() and all(
        each.incarnation == after.tasks[task].incarnation
        and each.executed <= after.tasks[task].executed
        for task, each in before.tasks.items()
    )


def _loads(readings: list[tuple[float, Readings]]) -> dict[str, Load]:
    if len(readings) < 2:
        return {}
    (began, first), (ended, last) = readings[0], readings[-1]
    tasks: dict[str, list[int]] = {}
    for task, reading in last.tasks.items():
        tasks.setdefault(reading.component, []).append(task)
    return {
        name: _load(
            [(first.tasks[task], last.tasks[task]) for task in ids],
            ended - began,
            max(
                (_full_share(readings, task) for task in ids if last.tasks[task].is_full),
                default=0.0,
            ),
            _cpu_secs(readings, ids),
        )
        for name, ids in tasks.items()
    }


def _full_share(readings: list[tuple[float, Readings]], task: int) -> float:
    """Blocked share of a spout's time, for a spout that is blocked now."""
    secs = [
        (after - before, readings_after.tasks[task].is_full)
        for (before, _), (after, readings_after) in pairwise(readings)
    ]
    return sum(each for each, is_full in secs if is_full) / sum(each for each, _ in secs)


def _cpu_secs(readings: list[tuple[float, Readings]], ids: Iterable[int]) -> float:
    """CPU-seconds used by `ids` between the readings."""
    return sum(
        (after - before) * readings_after.tasks[task].cpu_cores
        for (before, _), (after, readings_after) in pairwise(readings)
        for task in ids
    )


def _load(
    pairs: list[tuple[InstanceReading, InstanceReading]], secs: float, full: float, cpu_secs: float
) -> Load:
    executed = [after.executed - before.executed for before, after in pairs]
    busy = [after.busy_secs - before.busy_secs for before, after in pairs]
    paused = max(after.paused_secs - before.paused_secs for before, after in pairs)
    emitted = {
        stream: sum(pair[1].emitted[stream] - pair[0].emitted.get(stream, 0) for pair in pairs)
        for stream in pairs[0][1].emitted
    }
    total, work = sum(executed), sum(busy)
    waited = sum(after.core_waited_secs - before.core_waited_secs for before, after in pairs)
    return Load(
        instances=len(pairs),
        executed_per_sec=total / secs,
        emitted_per_sec={stream: number / secs for stream, number in emitted.items()},
        rate=total / work if total > 0 and work > 0 else None,
        emit_rate=sum(emitted.values()) / work if work > 0 else None,
        busy=tuple(capacity(each, secs) for each in busy),
        shares=tuple(each / total if total else 0.0 for each in executed),
        throttled=throttled(max(paused / secs, full)),
        cpu=cpu_secs / (work - waited) if cpu_secs > 0 and work > waited else None,
    )


def readings_of(stats: TopologyStats, pending_max: Mapping[str, int]) -> Readings:
    """Readings from a topology's statistics, with all instances; `pending_max`: spout -> limit of
    pending tuples per instance, for limited spouts.
    """
    rows = stats.instances or ()
    paused = {task: each.paused_secs for task, each in stats.paused.items()}
    return Readings(
        tasks={row.task: _reading(row, paused.get(row.task, 0.0), pending_max) for row in rows},
        unsteady=_unsteady(stats, rows),
        hot_keys=hot_keys(stats),
        fixed_state=frozenset(row.component for row in rows if row.fixed_state),
    )


def hot_keys(stats: TopologyStats) -> dict[str, tuple[HotKey, ...]]:
    """component -> its most frequent keys, for components with keys."""
    return {
        name: tuple(HotKey(key=key.key, share=key.share) for key in each.hot_keys)
        for name, each in stats.components.items()
        if each.hot_keys
    }


def _unsteady(stats: TopologyStats, rows: Iterable[InstanceStats]) -> str:
    if stats.state != TopologyState.RUNNING or stats.phase != Phase.RUNNING:
        return f"the topology is {stats.state}"
    if stats.update is not None and stats.update.under_way:
        return "an update is under way"
    if stats.checkpoints is not None and not stats.checkpoints.released:
        return "the topology is being restored from a checkpoint"
    down = [each.instance for each in rows if not each.up]
    return f"{', '.join(down[:3])} is not up" if down else ""


def _reading(
    instance: InstanceStats, paused_secs: float, pending_max: Mapping[str, int]
) -> InstanceReading:
    component = instance.component
    most = pending_max.get(component)
    return InstanceReading(
        component=component,
        incarnation=instance.pid or 0,
        executed=instance.executed,
        emitted=instance.emitted_by_stream,
        busy_secs=worked_secs(instance.busy_secs, instance.waited_secs),
        paused_secs=paused_secs,
        is_full=most is not None and instance.pending >= PENDING_FULL * most,
        cpu_cores=instance.cpu_share,
        core_waited_secs=instance.core_waited_secs,
    )
