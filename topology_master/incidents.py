"""Events of a topology for people: the newest are retained, and each incident is reported once.

Some incidents are reported (a replaced process), others are derived from heartbeats: a long
pause, a call that does not return, a silent container.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Set
from typing import Any

from heron_core.exit_codes import ENDED_IN_ORDER
from heron_core.naming import first_of
from heron_core.operations import Requester
from heron_core.plans import PackingPlan, instance_name
from heron_core.topology_events import (
    EVENTS_MAX,
    TEXT_CHARACTERS_MAX,
    EventKind,
    TopologyEvent,
)
from heron_core.typed_json import from_json, to_json
from heron_core.wire.messages import InstanceReplaced, PauseStatistics

PAUSE_EVENT_SECS = 5.0
"""Back-pressure comes and goes many times a second; a pause that lasts so long is an event."""
LOST_QUEUES = "the tuples in its queues are lost, or have failed"
"""What the end of a stream manager costs."""
NAMED_MAX = 4
"""Paused instances that are named; the rest is a number."""


class Incidents:
    """The newest events, and ongoing incidents already reported."""

    def __init__(self, wall_clock_secs: float, kept: Iterable[Any] = ()) -> None:
        """`wall_clock_secs` plus the core's clock are seconds since 1970; `kept`: events of a
        previous master (`to_json`)."""
        self._wall_clock_secs = wall_clock_secs
        events = (from_json(TopologyEvent, each, "an event") for each in kept)
        self.newest: deque[TopologyEvent] = deque(events, maxlen=EVENTS_MAX)
        self._fresh: list[TopologyEvent] = []
        self._stuck: dict[int, float] = {}
        """task id -> how long its call has lasted, when last heard"""
        self._paused_by: dict[int, str] = {}
        """task id of a cause -> paused instances, as reported"""
        self._silent: set[int] = set()

    def to_json(self) -> list[dict[str, Any]]:
        """The newest events, for a master that takes over."""
        return [to_json(each) for each in self.newest]

    def take_fresh(self) -> list[TopologyEvent]:
        """The events since this was last asked."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def record(
        self,
        now: float,
        kind: EventKind,
        what: str,
        why: str = "",
        container: int | None = None,
        instance: tuple[int, PackingPlan] | None = None,
        requester: Requester | None = None,
    ) -> None:
        """Something has happened, to a container or an instance (task id and plan) if given, or
        was asked for by `requester`."""
        task, name = None, None
        if instance is not None:
            task, packing = instance
            name, container = instance_name(packing, task), packing.container_of[task]
        event = TopologyEvent(
            at=self._wall_clock_secs + now,
            kind=kind.value,
            what=what[:TEXT_CHARACTERS_MAX],
            why=why[:TEXT_CHARACTERS_MAX],
            container=container,
            task=task,
            instance=name,
            requester=requester,
        )
        self.newest.append(event)
        self._fresh.append(event)

    def acted(self, now: float, what: str, asked_by: Any) -> None:
        """A user has asked for something; `asked_by`: a Requester as JSON, else ProtocolError."""
        requester = from_json(Requester, asked_by, "a requester")
        self.record(now, EventKind.ACTION, what, f"asked by {requester}", requester=requester)

    # --- what is heard of -----------------------------------------------------------------------

    def instance_replaced(
        self, message: InstanceReplaced, packing: PackingPlan, now: float
    ) -> None:
        """A new process serves an instance's task."""
        if message.task not in packing.instances:
            return
        costs = []
        if message.lost:
            costs.append(f"up to {message.lost:,} received deliveries are lost")
        if message.failed:
            tuples = "tuple has" if message.failed == 1 else "tuples have"
            costs.append(f"{message.failed:,} received tracked {tuples} failed")
        self.record(
            now,
            _kind_of(message.reason),
            message.reason,
            "; ".join(costs),
            instance=(message.task, packing),
        )

    def container_replaced(
        self, container: int, reason: str, now: float, cost: str = LOST_QUEUES
    ) -> None:
        """A new process serves as a container's stream manager."""
        kind = _kind_of(reason)
        why = "" if kind is EventKind.RESTART else cost
        self.record(now, kind, f"stream manager {container} {reason}", why, container)

    # --- what heartbeats say --------------------------------------------------------------------

    def heard_of_call(self, task: int, secs: float, packing: PackingPlan, now: float) -> None:
        """Duration of the call in which an instance is stuck; 0 for none."""
        before = self._stuck.get(task)
        if secs:
            self._stuck[task] = secs
        if secs and before is None:
            what = f"is busy in one call of user code for {secs:.0f} s"
            why = f"the stack is in the log of {instance_name(packing, task)}"
            self.record(now, EventKind.STUCK, what, why, instance=(task, packing))
        elif before is not None and not secs:
            del self._stuck[task]
            what = f"its call of user code is over after {before:.0f} s or more"
            self.record(now, EventKind.RETURNED, what, instance=(task, packing))

    def heard_of_pauses(
        self, pauses: Mapping[int, PauseStatistics], packing: PackingPlan, now: float
    ) -> None:
        """Current pauses of all containers: task -> its pauses."""
        paused_by: dict[int, list[str]] = {}
        lasting: dict[int, float] = {}
        for task, pause in sorted(pauses.items()):
            for cause in pause.causes:
                if task in packing.instances and cause in packing.instances:
                    paused_by.setdefault(cause, []).append(instance_name(packing, task))
                    lasting[cause] = max(lasting.get(cause, 0.0), pause.this_pause_secs)
        for cause, names in paused_by.items():
            if lasting[cause] >= PAUSE_EVENT_SECS and cause not in self._paused_by:
                self._paused_by[cause] = first_of(names, NAMED_MAX)
                what = f"cannot keep up: it pauses {self._paused_by[cause]}"
                why = f"for {lasting[cause]:.0f} s so far"
                self.record(now, EventKind.PAUSE, what, why, instance=(cause, packing))
        for cause in self._paused_by.keys() - paused_by.keys():
            paused = self._paused_by.pop(cause)
            if cause in packing.instances:
                what = f"pauses {paused} no more"
                self.record(now, EventKind.RESUME, what, instance=(cause, packing))

    def heard_of_containers(
        self, silent: Set[int], silent_secs: float, packing: PackingPlan, now: float
    ) -> None:
        """Which of the registered stream managers have been silent for too long."""
        for container in sorted(silent - self._silent):
            why = f"its stream manager was silent for {silent_secs:.0f} s"
            instances = [
                instance_name(packing, task)
                for task, where in packing.container_of.items()
                if where == container
            ]
            what = f"is down, with {first_of(instances, NAMED_MAX)}"
            self.record(now, EventKind.DOWN, what, why, container)
        for container in sorted(self._silent - silent):
            self.record(now, EventKind.UP, "is there again", container=container)
        self._silent = set(silent)

    @property
    def stuck(self) -> Mapping[int, float]:
        """task id -> for how many seconds its call of user code has lasted."""
        return self._stuck


def _kind_of(reason: str) -> EventKind:
    return EventKind.RESTART if reason.startswith(ENDED_IN_ORDER) else EventKind.CRASH
