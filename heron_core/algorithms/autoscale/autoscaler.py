"""Decisions to change the parallelism of one topology, on a given clock.

    OBSERVING --a decision--> MOVING --moved()--> COOLING --time--> OBSERVING

Two changes never overlap: during a change, and during the cool-down after it, the autoscaler
decides nothing. The cool-down doubles with each failed change in a row. The rates of one window
decide on more instances; fewer instances require that the longer `shrink_window_secs` never needed
them. A bolt whose capacity did not grow with more instances is left alone for a while: its
machines, or an external service, are the limit. On one machine the idle cores limit a bolt's growth
(cores.py).
"""

from collections import deque
from collections.abc import Iterable, Mapping
from enum import Enum

from msgspec import Struct

from heron_core.algorithms.autoscale.assessment import Assessment, Threshold, assess
from heron_core.algorithms.autoscale.cores import within_cores
from heron_core.algorithms.autoscale.options import AutoscaleOptions, Policy
from heron_core.algorithms.autoscale.readings import Load, Readings, ReadingsWindow
from heron_core.records import replace
from heron_core.topology import TopologySpec

COOLDOWN_SECS_MAX = 3600.0
"""Longest cool-down after failures, short enough for a cause that was fixed meanwhile."""
GAINED_MIN = 0.2
"""Share of the predicted gain that added instances must bring; less counts as no help."""
SHRINK_SETTLED = 1.25
"""Ratio of the needs at the start of the longer window to the present needs that shows a falling
load: one change at the end of the fall is better than several during the fall.
"""
DEFERRED_COOLDOWNS = 10
"""Number of cool-downs without growth for a bolt that did not benefit from more instances."""


class AutoscalerPhase(Enum):
    """What the autoscaler does."""

    OBSERVING = "observing"
    MOVING = "moving"
    COOLING = "cooling"


NEXT_PHASES: Mapping[AutoscalerPhase, frozenset[AutoscalerPhase]] = {
    AutoscalerPhase.OBSERVING: frozenset({AutoscalerPhase.MOVING}),
    AutoscalerPhase.MOVING: frozenset({AutoscalerPhase.COOLING}),
    AutoscalerPhase.COOLING: frozenset({AutoscalerPhase.OBSERVING}),
}


class Decision(Struct, frozen=True, kw_only=True):
    """What is to be changed."""

    parallelism: Mapping[str, int]
    """component -> instances from now on."""
    what: str
    why: str


class Diagnosis(Struct, frozen=True, kw_only=True):
    """Notices without a change."""

    component: str
    why: str


class AutoscaleOutcome(Struct, frozen=True, kw_only=True):
    """Result of one sample."""

    decision: Decision | None = None
    diagnoses: tuple[Diagnosis, ...] = ()
    """New notices."""


NOTHING = AutoscaleOutcome()


class _Grown(Struct):
    """Throughput of a scaled-up bolt before the change."""

    instances: int
    rate: float


class Autoscaler:
    """The decisions of one topology."""

    def __init__(self, topology: TopologySpec, options: AutoscaleOptions, now: float) -> None:
        """Changes before `now` are unknown: the cool-down, or at least the window, precedes the
        first decision."""
        self._topology = topology
        self._options = options
        self._window = ReadingsWindow(options.window_secs)
        self._threshold = Threshold()
        self.phase = AutoscalerPhase.OBSERVING
        self._began_at = now
        self._cool_until = now
        self._failures = 0
        """Changes in a row that failed."""
        self._cost_secs = options.move_cost_secs
        self._floors: deque[tuple[float, dict[str, int]]] = deque()
        """When a look was, and how many instances each bolt needed at least."""
        self._grown: dict[str, _Grown] = {}
        self._deferred: dict[str, tuple[float, str]] = {}
        """bolt -> until when it gets no more instances, and why"""
        self._diagnoses: dict[str, str] = {}
        """bolt -> last reported objection to scaling"""
        self.assessments: tuple[Assessment, ...] = ()
        """Assessments of the last complete window."""

    @property
    def cool_until(self) -> float:
        """No change begins before."""
        return self._cool_until

    def observe(self, readings: Readings, now: float) -> AutoscaleOutcome:
        """Look at the newest readings."""
        if self.phase is AutoscalerPhase.MOVING:
            return NOTHING
        self._window.add(readings, now)
        if self.phase is AutoscalerPhase.COOLING and now >= self._cool_until:
            self._enter(AutoscalerPhase.OBSERVING)
        loads = self._window.loads()
        if not loads:
            self._threshold.clear()
            return NOTHING
        assessed = self._assess(loads, readings, now)
        if not self._window.is_full or self.phase is not AutoscalerPhase.OBSERVING:
            return NOTHING
        self.assessments = assessed
        return AutoscaleOutcome(
            decision=self._decide(now), diagnoses=self._fresh_diagnoses(assessed)
        )

    def moved(self, reason: str, now: float) -> None:
        """End the change; `reason`: cause of a failure, empty after success."""
        self._enter(AutoscalerPhase.COOLING)
        self._window.clear()
        self._threshold.clear()
        self._floors.clear()
        if reason:
            self._failures += 1
            self._grown.clear()
        else:
            self._failures = 0
            self._cost_secs = max(self._options.move_cost_secs, now - self._began_at)
        longer = self._options.cooldown_secs * 2**self._failures
        self._cool_until = now + min(COOLDOWN_SECS_MAX, longer)

    def _enter(self, phase: AutoscalerPhase) -> None:
        assert phase in NEXT_PHASES[self.phase], f"{phase} after {self.phase}"
        self.phase = phase

    def _assess(
        self, loads: Mapping[str, Load], readings: Readings, now: float
    ) -> tuple[Assessment, ...]:
        """Assess all bolts, corrected by earlier observations, and keep the needs."""
        by_rates = assess(self._topology, loads, readings, self._options)
        assessments = by_rates
        if self._options.policy is Policy.THRESHOLD:
            assessments = self._threshold.assess(by_rates, self._window.newest(), self._options)
        if self._window.is_full:
            assessments = tuple(
                self._with_experience(assessment, now) for assessment in assessments
            )
            assessments = within_cores(assessments, self._window.idle_share, readings.cores)
            self._floors.append((now, {by_rate.component: by_rate.floor for by_rate in by_rates}))
            while now - self._floors[0][0] > self._options.shrink_window_secs:
                self._floors.popleft()
        return assessments

    def _with_experience(self, assessment: Assessment, now: float) -> Assessment:
        """Without more instances if the last ones did not help."""
        name, before = assessment.component, self._grown.pop(assessment.component, None)
        if (
            before is not None
            and assessment.rate is not None
            and assessment.instances > before.instances
        ):
            had, has = before.instances * before.rate, assessment.instances * assessment.rate
            hoped = before.rate * (assessment.instances - before.instances)
            if assessment.wanted > assessment.instances and has - had < GAINED_MIN * hoped:
                why = (
                    f"{assessment.instances} instances can process {has:,.0f} tuples/s, "
                    f"{before.instances} could {had:,.0f}: more do not help, the machines or what "
                    "it waits for are the limit"
                )
                self._deferred[name] = (now + DEFERRED_COOLDOWNS * self._options.cooldown_secs, why)
        until, why = self._deferred.get(name, (now, ""))
        if now >= until:
            self._deferred.pop(name, None)
            return assessment
        return replace(assessment, wanted=min(assessment.wanted, assessment.instances), because=why)

    def _fresh_diagnoses(self, assessed: Iterable[Assessment]) -> tuple[Diagnosis, ...]:
        """Objections to scaling an overloaded bolt, reported once per episode."""
        standing = {
            assessment.component: assessment.because
            for assessment in assessed
            if assessment.because and assessment.wanted == assessment.instances
        }
        fresh = tuple(
            Diagnosis(component=name, why=why)
            for name, why in standing.items()
            if name not in self._diagnoses
        )
        self._diagnoses = standing
        return fresh

    # --- the decision -----------------------------------------------------------------------------

    def _decide(self, now: float) -> Decision | None:
        growing = [
            assessment
            for assessment in self.assessments
            if assessment.wanted > assessment.instances
        ]
        chosen = [assessment for assessment in growing if self._pays(assessment, assessment.wanted)]
        if not growing and self._options.policy is Policy.RATES:
            chosen = self._shrinking(now)
        if not chosen:
            return None
        for assessment in chosen:
            if assessment.wanted > assessment.instances and assessment.rate is not None:
                self._grown[assessment.component] = _Grown(assessment.instances, assessment.rate)
        self._enter(AutoscalerPhase.MOVING)
        self._began_at = now
        changes = (
            f"{assessment.component} {assessment.instances} -> {assessment.wanted}"
            for assessment in chosen
        )
        reasons = (f"{assessment.component}: {assessment.because}" for assessment in chosen)
        return Decision(
            parallelism={assessment.component: assessment.wanted for assessment in chosen},
            what=", ".join(changes),
            why="; ".join(reasons),
        )

    def _shrinking(self, now: float) -> list[Assessment]:
        """Bolts that needed fewer instances during the whole window, with the maximum needed."""
        fewer = [
            assessment for assessment in self.assessments if assessment.floor < assessment.instances
        ]
        secs = self._options.shrink_window_secs - self._options.window_secs
        if now - self._floors[0][0] < secs - self._options.interval_secs:
            return []
        assessments = []
        for assessment in fewer:
            floor = max(
                floors.get(assessment.component, assessment.instances) for _, floors in self._floors
            )
            is_settled = floor <= SHRINK_SETTLED * assessment.floor
            if is_settled and floor < assessment.instances and self._pays(assessment, floor):
                assessments.append(replace(assessment, wanted=floor))
        return assessments

    def _pays(self, each: Assessment, wanted: int) -> bool:
        """Whether the gain until the next possible change exceeds the cost of the change. The
        gain is work time of a bolt, or instances freed for others."""
        secs = self._options.cooldown_secs + self._options.window_secs
        if wanted > each.instances:
            return secs * (each.utilization - self._options.target_utilization) > self._cost_secs
        return secs * (1 - wanted / each.instances) > self._cost_secs
