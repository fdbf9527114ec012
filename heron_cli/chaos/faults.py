"""Choice of faults, and recovery times. Pure: processes are signalled elsewhere.

Theory of operation. The seed determines each fault: time since the previous fault, kind of
process, process, action and duration. A recovering process is never chosen. Recovery is complete
when the topology reports the process up (after a kill: with a new pid), together with its
dependants: for a stream manager, the instances of the container, which must reconnect.

    up --kill--> recovering --another pid, up--> up
    up --stop, slow--> harmed --its time is over--> recovering --up--> up
    recovering --BACK_SECS_MAX--> lost
"""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["instance", "stream-manager", "topology-master", "container"]
Action = Literal["kill", "stop", "slow"]
KINDS: tuple[Kind, ...] = ("instance", "stream-manager", "topology-master", "container")
ACTIONS: tuple[Action, ...] = ("kill", "stop", "slow")
HARM_SECS = (0.5, 4.0)
"""Duration of a stop or slowdown: shorter and longer than the heartbeat timeout."""
GAP_SHARE = (0.5, 1.5)
"""Of the mean time between two faults."""
BACK_SECS_MAX = 60.0
"""Twice the default message timeout: a process that is away for longer does not come back."""


@dataclass(frozen=True, slots=True)
class HarmedProcess:
    """A process of the topology on the host."""

    kind: Kind
    name: str
    """`count[1]`, `stream manager 2`, `topology master`, `container 2`."""
    pid: int
    needs: frozenset[str] = frozenset()
    """Names of processes that must also be up for a recovery."""


@dataclass(slots=True)
class Fault:
    """An injected fault. Times are seconds since the start of the run."""

    at_secs: float
    process: HarmedProcess
    action: Action
    harm_secs: float = 0.0
    """Duration of a stop or slowdown; 0 for a kill."""
    back_secs: float | None = None
    """Recovery time since the fault; None until recovered."""
    replaced: bool = False
    """Whether a new process has taken over."""

    @property
    def over_at_secs(self) -> float:
        """When the harm ends."""
        return self.at_secs + self.harm_secs

    def __str__(self) -> str:
        what = self.action if not self.harm_secs else f"{self.action} for {self.harm_secs:.1f} s"
        return f"{self.at_secs:7.1f} s  {what:<16}  {self.process.name} (pid {self.process.pid})"


@dataclass(slots=True)
class FaultSchedule:
    """Draws faults from a seed and records the faults."""

    seed: int
    mean_gap_secs: float
    kinds: Sequence[Kind]
    actions: Sequence[Action]
    faults: list[Fault] = field(default_factory=list)
    next_at_secs: float = 0.0
    _chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self.next_at_secs = self._gap()

    def drawn(self, now_secs: float, up: Iterable[HarmedProcess]) -> Fault | None:
        """The due fault; None if no fault is due or no process is available."""
        if now_secs < self.next_at_secs:
            return None
        busy = {each.process.name for each in self.recovering()}
        by_kind: dict[str, list[HarmedProcess]] = {}
        for process in up:
            if process.kind in self.kinds and not busy & (process.needs | {process.name}):
                by_kind.setdefault(process.kind, []).append(process)
        if not by_kind:
            return None
        self.next_at_secs = now_secs + self._gap()
        process = self._chance.choice(by_kind[self._chance.choice(sorted(by_kind))])
        action = self._chance.choice(self.actions)
        harm_secs = 0.0 if action == "kill" else self._chance.uniform(*HARM_SECS)
        fault = Fault(now_secs, process, action, harm_secs)
        self.faults.append(fault)
        return fault

    def recovering(self) -> list[Fault]:
        """The faults whose processes are not back."""
        return [each for each in self.faults if each.back_secs is None]

    def lost(self, now_secs: float) -> list[Fault]:
        """Faults whose recovery exceeds the limit."""
        return [each for each in self.recovering() if now_secs > each.over_at_secs + BACK_SECS_MAX]

    def observe(self, now_secs: float, up: Mapping[str, HarmedProcess]) -> list[Fault]:
        """Record and return recovered processes, given the processes now up (by name)."""
        back = [each for each in self.recovering() if _is_back(each, now_secs, up)]
        for fault in back:
            fault.back_secs = now_secs - fault.at_secs
            fault.replaced = up[fault.process.name].pid != fault.process.pid
        return back

    def _gap(self) -> float:
        return self._chance.uniform(*GAP_SHARE) * self.mean_gap_secs


def _is_back(fault: Fault, now_secs: float, up: Mapping[str, HarmedProcess]) -> bool:
    there = up.get(fault.process.name)
    if there is None or now_secs <= fault.over_at_secs:
        return False
    is_new = fault.action != "kill" or there.pid != fault.process.pid
    return is_new and all(name in up for name in there.needs)


def chosen_kinds(names: Collection[str]) -> tuple[Kind, ...]:
    """The named kinds in order; all kinds for an empty list."""
    return tuple(kind for kind in KINDS if not names or kind in names)


def chosen_actions(names: Collection[str]) -> tuple[Action, ...]:
    """The named actions in order; all actions for an empty list."""
    return tuple(action for action in ACTIONS if not names or action in names)
