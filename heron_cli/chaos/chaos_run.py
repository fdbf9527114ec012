"""Faults in a running topology until the time is over, and then until it has recovered."""

import random
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heron_cli.chaos.faults import Action, Fault, FaultSchedule, HarmedProcess, Kind
from heron_cli.chaos.harm import Harm
from heron_cli.chaos.processes import processes_up
from heron_cli.chaos.report import ChaosReport, Tuples
from heron_cli.running_topology import RunningTopology, not_running
from heron_core.errors import HeronError
from heron_core.plans import TopologyState
from heron_core.state_tree import topology_path
from heron_core.stats import TopologyStats
from heron_engine.scheduler.outcomes import last_numbers_of, outcome_of
from heron_engine.scheduler.stored_outcomes import stored_outcomes
from heron_engine.scheduler.user_folder import Home
from heron_io.state_store.protocol import StateStore

POLL_SECS = 0.2
FIRST_SECS_MAX = 30.0
"""Until all of the topology is up, before anything is harmed."""
SEEDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosSettings:
    """Faults to inject, and the duration."""

    secs: float
    mean_gap_secs: float
    seed: int
    kinds: Sequence[Kind]
    actions: Sequence[Action]


def any_seed() -> int:
    """Seed for a run without --seed; the report names the seed."""
    return random.SystemRandom().randrange(SEEDS)


class ChaosRun:
    """One run. `say` gets a line for each fault and each recovery."""

    def __init__(
        self, topology: RunningTopology, settings: ChaosSettings, say: Callable[[str], None]
    ) -> None:
        self._topology, self._settings, self._say = topology, settings, say
        self._plan = FaultSchedule(
            settings.seed, settings.mean_gap_secs, settings.kinds, settings.actions
        )
        self._began_at = time.monotonic()
        self._tuples = Tuples()
        """The latest known statistics."""

    def run(self) -> ChaosReport:
        """Until the time is over and all is up again, a process does not come back, or the topology
        ends. HeronError if there is nothing here to harm."""
        before = Tuples.of(self._wait_until_up())
        self._began_at = time.monotonic()
        with Harm(self._now) as harm:
            problem = self._until_over(harm)
        tuples = self._tuples.since(before)
        name, seed = self._topology.name, self._settings.seed
        return ChaosReport(name, seed, self._now(), self._plan.faults, tuples, problem)

    def _now(self) -> float:
        return time.monotonic() - self._began_at

    def _until_over(self, harm: Harm) -> str:
        """The problem that ended the run; empty if all processes recovered, or a finite
        topology has ended."""
        while self._now() < self._settings.secs or self._plan.recovering():
            up, stats = processes_up(self._topology)
            if (
                stats is None
                and self._topology.store.get(topology_path(self._topology.name)) is None
            ):
                return self._end()
            if stats is not None:
                self._tuples = Tuples.of(stats)
            for fault in self._plan.observe(self._now(), up):
                self._say(recovered(fault))
            if late := self._plan.lost(self._now()):
                what = f"{late[0].action} at {late[0].at_secs:.1f} s"
                return f"{late[0].process.name} is not back: {what}"
            self._maybe_harm(harm, list(up.values()))
            time.sleep(POLL_SECS)
        return ""

    def _end(self) -> str:
        """The problem of a topology without nodes; its last numbers count."""
        name = self._topology.name
        last = last_numbers_of(Home.of_user(), name)
        if last is not None:
            self._tuples = Tuples.of(last.stats)
        if problem := problem_of_end(self._topology.store, name):
            return problem
        self._say(f"{self._now():7.1f} s  {name} has ended: its spouts have finished")
        return ""

    def _maybe_harm(self, harm: Harm, up: Sequence[HarmedProcess]) -> None:
        if self._now() >= self._settings.secs:
            return
        fault = self._plan.drawn(self._now(), up)
        if fault is None:
            return
        if harm.begin(fault):
            self._say(str(fault))
        else:  # the topology has ended since the last request
            self._plan.faults.remove(fault)

    def _wait_until_up(self) -> TopologyStats:
        late_at = time.monotonic() + FIRST_SECS_MAX
        while True:
            up, stats = processes_up(self._topology)
            if stats is not None and all(c.up == c.instances for c in stats.components.values()):
                break
            if time.monotonic() > late_at:
                name = self._topology.name
                raise HeronError(
                    f"{name} is not up after {FIRST_SECS_MAX:g} s: `heronpy stats {name}`"
                )
            time.sleep(POLL_SECS)
        kinds = {each.kind for each in up.values()}
        if not kinds & set(self._settings.kinds):
            raise HeronError(self._nothing_here(stats))
        return stats

    def _nothing_here(self, stats: TopologyStats) -> str:
        hosts = ", ".join(sorted({each.host for each in stats.registered.values()})) or "none"
        wanted = " or ".join(self._settings.kinds)
        return (
            f"{self._topology.name} has nothing to harm on {socket.gethostname()} that is yours "
            f"({wanted}): it runs on {hosts}"
        )


def problem_of_end(store: StateStore, name: str) -> str:
    """Why a topology without nodes is over; empty after the regular end of a finite topology."""
    outcome = outcome_of(Home.of_user(), name) or stored_outcomes(store).get(name, {})
    return "" if outcome.get("state") == TopologyState.ENDED else str(not_running(store, name))


def recovered(fault: Fault) -> str:
    """The line for a recovered process."""
    assert fault.back_secs is not None
    how = "is back, as another process" if fault.replaced else "is back"
    at_secs = fault.at_secs + fault.back_secs
    return f"{at_secs:7.1f} s  {fault.process.name} {how} after {fault.back_secs:.1f} s"
