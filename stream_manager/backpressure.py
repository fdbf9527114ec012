"""Record of back-pressure: current causes, and the local instances paused by them.

A cause is a task with a queue above its high-water mark, here or at another stream manager. A
cause pauses only the local instances that send to the task's component: their own queues then
fill and become causes in turn, up to the spouts, each step only when needed. An instance resumes
when its last cause is lifted.

A component fed by the cause (a cycle) is never paused by the cause: it would wait for itself.
Components that feed the cycle from outside are paused, so the cycle drains (upstream.py).
"""

from collections import deque
from collections.abc import Iterable, Set
from typing import NamedTuple

from msgspec import Struct, field

from heron_core.config import STAGE
from heron_core.plans import PackingPlan
from heron_core.stats import AGGREGATED_MS, INITIATED_MS
from heron_core.topology import TopologySpec
from heron_core.wire.messages import PauseStatistics
from heron_engine.stream_manager.upstream import PAUSED_BY_MODE

NO_TASKS: frozenset[int] = frozenset()
TIMES = (INITIATED_MS, AGGREGATED_MS)


SHARE_SECS = 10.0
"""The window of a share: busy time is measured between two reports, so blocked time is, too."""
SAMPLED_SECS = 1.0
"""Time between two samples of an instance: eleven are kept."""


class QueueOrigin(NamedTuple):
    """Which queue a cause comes from."""

    announcer: int
    """The container whose stream manager holds the queue."""
    queue: int = 0
    """For a local queue: the target container, or the own container for queues of instances. 0
    for queues of other stream managers, whose announcements lack the target."""


Cause = tuple[QueueOrigin, int]
"""The queue, and the task named by the queue."""


class Pauses(Struct):
    """The pauses of one local instance."""

    causes: set[Cause] = field(default_factory=set)
    since: float = 0.0
    total_secs: float = 0.0
    """Of the pauses that have ended."""
    seen: float | None = None
    """Time of the first process of the task; None: not yet."""
    samples: deque[tuple[float, float]] = field(default_factory=deque)
    """Time of a sample and total pause by then, for samples in the window."""

    def this_secs(self, now: float) -> float:
        """Paused for so long without a break until now."""
        return now - self.since if self.causes else 0.0

    def secs(self, now: float) -> float:
        """Paused for so long in all."""
        return self.total_secs + self.this_secs(now)

    def share(self, now: float) -> float:
        """Paused share of the last SHARE_SECS, or of the time since the first process: 0 to 1.

        A task without a process is paused, too, so the quotient may be above 1.
        """
        if self.seen is None:
            return 0.0
        began, before = self.samples[0] if self.samples else (self.seen, 0.0)
        return min(1.0, (self.secs(now) - before) / (now - began)) if now > began else 0.0

    def sample(self, now: float) -> None:
        """Note the total pause by now: shares are between this sample and an older one."""
        if self.seen is None:
            return
        if not self.samples:
            self.samples.append((self.seen, 0.0))
        if now - self.samples[-1][0] >= SAMPLED_SECS:
            self.samples.append((now, self.secs(now)))
        while len(self.samples) > 1 and now - self.samples[1][0] >= SHARE_SECS:
            self.samples.popleft()

    def statistics(self, now: float) -> PauseStatistics:
        """For the master."""
        self.sample(now)
        causes = tuple(sorted({task for _, task in self.causes}))
        return PauseStatistics(causes, self.secs(now), self.this_secs(now), self.share(now))

    def add(self, cause: Cause, now: float) -> bool:
        """Add a cause; whether it is the first."""
        is_first = not self.causes
        if is_first:
            self.since = now
        self.causes.add(cause)
        return is_first

    def remove(self, causes: Set[Cause], now: float) -> bool:
        """Remove causes; whether the last ones are removed."""
        if not self.causes & causes:
            return False
        self.causes -= causes
        if self.causes:
            return False
        self.total_secs += now - self.since
        return True


class CausedTime(Struct):
    """Time during which queues name a task as a cause, or any task."""

    since: float | None = None
    """None: there is no cause now."""
    total_secs: float = 0.0
    """Of the times that have ended."""

    def begin(self, now: float) -> None:
        """A queue names a cause; further queues make no difference."""
        if self.since is None:
            self.since = now

    def end(self, now: float) -> None:
        """The last queue has lifted the cause."""
        if self.since is not None:
            self.total_secs, self.since = self.total_secs + now - self.since, None

    def milliseconds(self, now: float) -> int:
        """The whole until now."""
        this_secs = 0.0 if self.since is None else now - self.since
        return round((self.total_secs + this_secs) * 1000)


class BackPressure:
    """Causes, local and remote, and the local instances paused by them."""

    def __init__(
        self, topology: TopologySpec, packing: PackingPlan, container: int, mode: str = STAGE
    ) -> None:
        self._container = container
        self._submitted = topology
        self._upstream_by = PAUSED_BY_MODE[mode]
        self._causes: dict[QueueOrigin, set[int]] = {}
        """The tasks that each queue names: all causes that stand. No set is empty."""
        self._caused: dict[int, CausedTime] = {}
        """task -> time as a cause by our own queues, for tasks that ever were one."""
        self._initiated, self._aggregated = CausedTime(), CausedTime()
        """Time of causes of our own queues, and of all stream managers."""
        self._pauses: dict[int, Pauses] = {}
        """Of the local instances. Their causes follow from `_causes`."""
        self._paused_by: dict[int, list[int]] = {}
        """task -> local instances paused when the task is a cause."""
        self._assign(packing)

    def _assign(self, packing: PackingPlan) -> None:
        local = packing.container(self._container).instances
        upstream = self._upstream_by(packing.topology_of(self._submitted))
        self._paused_by = {
            task: [
                other.task
                for other in local
                if other.component in upstream.get(instance.component, ())
            ]
            for task, instance in packing.instances.items()
        }
        self._pauses = {each.task: self._pauses.get(each.task) or Pauses() for each in local}

    # --- changes ------------------------------------------------------------------------------

    def on(self, origin: QueueOrigin, tasks: Iterable[int], now: float) -> list[int]:
        """A queue names causes; returns the local instances that have to pause now.

        Several queues may name the same task: each has to lift it.
        """
        paused = []
        for task in sorted(tasks):
            if task not in self._paused_by:
                continue
            self._causes.setdefault(origin, set()).add(task)
            self._aggregated.begin(now)
            if origin.announcer == self._container:
                self._initiated.begin(now)
                self._caused.setdefault(task, CausedTime()).begin(now)
            paused += [
                instance
                for instance in self._paused_by[task]
                if self._pauses[instance].add((origin, task), now)
            ]
        return paused

    def off(self, origin: QueueOrigin, tasks: Iterable[int], now: float) -> list[int]:
        """A queue lifts causes; returns the local instances that may run again."""
        return self._lift({(origin, task) for task in tasks}, now)

    def forget(self, announcer: int, now: float) -> list[int]:
        """Lift all causes named by a failed stream manager (`announcer`, a container id); returns
        the tasks of resumed instances."""
        return self._lift({cause for cause in self._all() if cause[0].announcer == announcer}, now)

    def apply_packing(self, packing: PackingPlan, now: float) -> list[int]:
        """After a rescale: lift the causes of removed tasks; returns resumed instances. New
        instances are paused by existing causes when they register."""
        containers = {each.id for each in packing.containers}
        gone = {
            (origin, task)
            for origin, task in self._all()
            if task not in packing.instances or origin.announcer not in containers
        }
        released = self._lift(gone, now)
        self._caused = {x: each for x, each in self._caused.items() if x in packing.instances}
        before = set(self._pauses)
        self._assign(packing)
        for origin, task in self._all():
            for instance in set(self._paused_by[task]) - before:
                self._pauses[instance].add((origin, task), now)
        return [task for task in released if task in self._pauses]

    def _lift(self, lifted: set[Cause], now: float) -> list[int]:
        for origin, task in lifted:
            named = self._causes.get(origin, set())
            named.discard(task)
            if not named:
                self._causes.pop(origin, None)
        own = self.own()
        for task in self._caused.keys() & {task for _, task in lifted} - own:
            self._caused[task].end(now)
        if not own:
            self._initiated.end(now)
        if not self._causes:
            self._aggregated.end(now)
        return [task for task, pauses in self._pauses.items() if pauses.remove(lifted, now)]

    def seen(self, task: int, now: float) -> None:
        """A process of a local task registers: shares of time count from the first one on."""
        if self._pauses[task].seen is None:
            self._pauses[task].seen = now

    # --- questions ----------------------------------------------------------------------------

    def _all(self) -> list[Cause]:
        return [(origin, task) for origin, tasks in self._causes.items() for task in tasks]

    def named_by(self, queue: int) -> Set[int]:
        """The tasks that our queue to a container names, or those of our instances."""
        if not self._causes:  # as nearly always
            return NO_TASKS
        return self._causes.get(QueueOrigin(self._container, queue), NO_TASKS)

    def own(self) -> set[int]:
        """The tasks that our queues name."""
        return {task for origin, task in self._all() if origin.announcer == self._container}

    def is_paused(self, task: int) -> bool:
        """Whether a local instance is to pause."""
        return bool(self._pauses[task].causes)

    def paused_secs(self, task: int, now: float) -> float:
        """How long back-pressure has held a local instance in all."""
        return self._pauses[task].secs(now)

    def statistics(self, now: float) -> dict[int, PauseStatistics]:
        """local instance -> its pauses, if ever paused."""
        return {
            task: pauses.statistics(now)
            for task, pauses in self._pauses.items()
            if pauses.secs(now) > 0 or pauses.causes
        }

    def caused_ms(self, now: float) -> dict[int, int]:
        """task -> milliseconds during which a queue of ours named it: Heron's
        `__time_spent_back_pressure_by_compid`. Tasks that were never a cause are left out."""
        return {task: each.milliseconds(now) for task, each in self._caused.items()}

    def times_ms(self, now: float) -> dict[str, int]:
        """Counter -> milliseconds with a cause: of a queue here (Heron's
        `__time_spent_back_pressure_initiated`), or of any stream manager (`…_aggr`)."""
        times = zip(TIMES, (self._initiated, self._aggregated), strict=True)
        return {name: each.milliseconds(now) for name, each in times}

    def validate(self, now: float, containers: Set[int]) -> None:
        """AssertionError unless the pauses follow from the causes."""
        assert all(self._causes.values()), "a queue that names nothing has an entry"
        causes = set(self._all())
        for origin, task in causes:
            assert origin.announcer in containers, f"{origin} has no container"
            assert (origin.queue in containers) == (origin.announcer == self._container)
            assert task in self._paused_by, f"cause {task} is not a task"
        counting = {task for task, each in self._caused.items() if each.since is not None}
        assert counting == self.own(), f"time counts for {counting}, causes are {self.own()}"
        assert (self._initiated.since is not None) == bool(self.own())
        assert (self._aggregated.since is not None) == bool(self._causes)
        for instance, pauses in self._pauses.items():
            expected = {cause for cause in causes if instance in self._paused_by[cause[1]]}
            assert pauses.causes == expected, f"task {instance}: {pauses.causes} != {expected}"
            assert not pauses.causes or pauses.since <= now
            assert pauses.total_secs >= 0
