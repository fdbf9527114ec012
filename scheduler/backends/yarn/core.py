"""Decisions of the application master: containers to request, start, replace and end. Pure.

Every container of the packing plan has a slot. A slot is requested with its own priority, so a
granted container belongs to one slot, and so does a container of an earlier attempt of the
master, which is retained. A lost container is requested again, alone: at once if the cluster
removed it, by the restart policy if it ended by itself. The request has the old size, which was
known to be available, even if an update has enlarged the container in the plan; a container
killed for its memory, or restarted by the user, is requested with the plan's size. A running
container is resized in place when its plan changes (sizes.py), and a standby container may
replace an added or lost one (standby.py). Containers end gracefully: the published node requests
the end (yarn.requests), and they have SHUTDOWN_SECS before YARN kills them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from heron_core.algorithms.backoff import RestartPolicy, middle
from heron_core.exit_codes import ExitCode
from heron_core.plans import MASTER_CONTAINER
from heron_core.records import replace
from heron_core.transition_log import TransitionLog
from heron_engine.scheduler.backends.yarn.diagnostics import TAKEN_AWAY, TOO_LARGE
from heron_engine.scheduler.backends.yarn.events import (
    Allocated,
    Ask,
    AskFor,
    CapacityWanted,
    ContainerCompleted,
    ContainerStarted,
    EndMaster,
    EndRequested,
    Event,
    Grant,
    Instruction,
    MasterEnded,
    NotResized,
    NotStarted,
    Publish,
    Recovered,
    Registered,
    Release,
    Resize,
    Resized,
    RestartRequested,
    StartContainer,
    StartMaster,
    Status,
    TakeBack,
    Tick,
    Unregister,
    YarnLog,
    YarnPlanChanged,
)
from heron_engine.scheduler.backends.yarn.slots import Slot, SlotPhase
from heron_engine.scheduler.backends.yarn.standby import is_standby, with_standby

SHUTDOWN_SECS = 15.0
"""Shutdown timeout: 8 s for a container's processes, plus the delay of the state store."""


@dataclass
class Core:
    """The slots, and how it all ends."""

    restart_limit: int
    standby: int = 0
    """So many containers wait, besides those of the plan."""
    chance: Callable[[], float] = middle
    """A number from 0 to 1, for the jitter of pauses."""
    slots: dict[int, Slot] = field(default_factory=dict)
    _master: RestartPolicy = field(init=False)
    _master_since: float | None = None
    _master_due: float | None = None
    _master_restart_requested: bool = False
    _end: Unregister | None = None
    _end_by: float = 0.0
    _registered: bool = False
    _now: float = 0.0
    _transition_log: TransitionLog = field(default_factory=TransitionLog)

    def __post_init__(self) -> None:
        self._master = RestartPolicy(self.restart_limit, self.chance)

    def handle(self, event: Event, now: float) -> list[Instruction]:
        """What to do about an event."""
        handler, self._now = _HANDLERS[type(event)], now
        instructions = [*handler(self, event, now), *self._ended()]
        if instructions:
            effects = [repr(each) for each in instructions if not isinstance(each, YarnLog)]
            self._transition_log.record(now, repr(event), effects)
        return instructions

    def transition_log(self) -> TransitionLog:
        """What was decided lately, and why."""
        return self._transition_log

    def validate(self) -> None:
        """AssertionError, with the transition log, if something holds that never may."""
        try:
            for number, slot in self.slots.items():
                assert number == slot.number
                slot.validate()
                needless = not slot.wanted and slot.phase is not SlotPhase.ENDING
                assert self._end is not None or not needless, slot
            ids = [slot.grant.id for slot in self.slots.values() if slot.grant is not None]
            assert len(ids) == len(set(ids)), "one container in two slots"
            assert self._master_since is None or self._master_due is None
            assert self._end is not None or self._end_by == 0.0
        except AssertionError as error:
            error.add_note(str(self._transition_log))
            raise

    def number_of(self, container: str) -> int | None:
        """Which container of the packing plan a container of YARN's is."""
        slot = self._of(container)
        return None if slot is None else slot.number

    def _of(self, container: str) -> Slot | None:
        found = (x for x in self.slots.values() if x.grant is not None and x.grant.id == container)
        return next(found, None)

    def _on_registered(self, event: Registered, now: float) -> list[Instruction]:
        self._registered = True
        done: list[Instruction] = []
        for grant in event.previous:
            done += self._adopt(grant, now)
        for slot in self.slots.values():
            if slot.grant is None and slot.phase is SlotPhase.RESTING:
                done += self._ask(slot)
        return [*done, Publish(), *self._start_master(now)]

    def _on_recovered(self, event: Recovered, now: float) -> list[Instruction]:
        return [*self._adopt(event.grant, now), Publish()]

    def _adopt(self, grant: Grant, now: float) -> list[Instruction]:
        """Adopt a running container, unless its slot is gone or occupied."""
        slot = self.slots.get(grant.number)
        if self._of(grant.id) is not None:
            return []  # it is known; one on standby may have another number by now
        if slot is None or slot.grant is not None or self._end is not None:
            return [Release(grant.id)]
        back: list[Instruction] = []
        if slot.phase is SlotPhase.ASKED:
            back.append(TakeBack(slot.number))
        slot.phase, slot.grant, slot.since = SlotPhase.RUNNING, grant, now
        slot.policy.is_up = True
        slot.granted = grant.size
        line = f"container {slot.number} still runs: {grant.id} on {grant.host}"
        return [*back, YarnLog(line)]

    def _on_allocated(self, event: Allocated, now: float) -> list[Instruction]:
        grant = event.grant
        slot = self.slots.get(grant.number)
        if self._of(grant.id) is not None:
            return []
        if slot is None or slot.phase is not SlotPhase.ASKED:
            return [Release(grant.id)]
        slot.granted = slot.request
        slot.phase, slot.grant, slot.since = SlotPhase.STARTING, grant, now
        return [TakeBack(slot.number), Publish(), StartContainer(grant)]

    def _on_started(self, event: ContainerStarted, now: float) -> list[Instruction]:
        slot = self._of(event.id)
        if slot is None or slot.phase is not SlotPhase.STARTING:
            return []
        slot.phase, slot.since = SlotPhase.RUNNING, now
        assert slot.grant is not None
        line = f"container {slot.number} runs: {event.id} on {slot.grant.host}"
        return [YarnLog(line), Publish(), *self._lend(slot)]

    def _lend(self, slot: Slot) -> list[Instruction]:
        """A running standby container replaces a waiting one: YARN may have capacity for only
        one."""
        asked = (each for each in self.slots.values() if each.phase is SlotPhase.ASKED)
        waiting = next((each for each in asked if not is_standby(each.number)), None)
        if waiting is None or not is_standby(slot.number) or self._spare(waiting) is None:
            return []
        return [TakeBack(waiting.number), *self._ask(waiting)]

    def _on_not_started(self, event: NotStarted, now: float) -> list[Instruction]:
        slot = self._of(event.id)
        if slot is None:
            return []
        if slot.phase is SlotPhase.ENDING:  # no longer needed
            return [Release(event.id), *self._vacated(slot)]
        return [Release(event.id), *self._failed(slot, f"it does not start: {event.why}", now)]

    def _on_completed(self, event: ContainerCompleted, now: float) -> list[Instruction]:
        slot = self._of(event.id)
        if slot is None:  # surplus, or of an earlier attempt
            return []
        if slot.phase is SlotPhase.ENDING:
            return self._vacated(slot)
        if event.status in TAKEN_AWAY:
            why = f"{TAKEN_AWAY[event.status]}: {event.reason}".removesuffix(": ")
            return [YarnLog(f"container {slot.number} is lost, {why}"), *self._vacated(slot)]
        if event.status == ExitCode.TOPOLOGY_FAILED:
            slot.vacate()
            return self._finish(Status.FAILED, event.reason or "a component kept failing", now)
        if event.status in TOO_LARGE:
            slot.granted = None
        return self._failed(slot, event.reason or f"its exit code was {event.status}", now)

    def _vacated(self, slot: Slot) -> list[Instruction]:
        """Handle the end of a container for which the container is not at fault."""
        slot.vacate()
        if not slot.wanted:
            del self.slots[slot.number]
            return [YarnLog(f"container {slot.number} is removed"), Publish()]
        if self._end is not None:
            return [Publish()]
        return [*self._ask(slot), Publish()]

    def _failed(self, slot: Slot, why: str, now: float) -> list[Instruction]:
        slot.vacate()
        if self._end is not None:
            return []
        pause = slot.policy.pause_secs(now - slot.since)
        if pause is None and is_standby(slot.number):  # the topology is unaffected and continues
            del self.slots[slot.number]
            return [YarnLog(f"a standby container is abandoned: {why}"), Publish()]
        if pause is None:
            text = f"container {slot.number} ended {slot.policy.failures} times in a row: {why}"
            return self._finish(Status.FAILED, text, now)
        slot.due = now + pause
        lost = YarnLog(f"container {slot.number} ended: {why}")
        return [lost, Publish(), *self._on_tick(Tick(), now)]

    def _ask(self, slot: Slot) -> list[Instruction]:
        """Fill the slot from a standby container, or by a request to YARN."""
        spare = None if is_standby(slot.number) else self._spare(slot)
        if spare is None or spare.grant is None:
            return self._ask_yarn(slot)
        slot.grant, slot.granted = replace(spare.grant, number=slot.number), spare.granted
        slot.phase, slot.since = SlotPhase.RUNNING, self._now
        line = (
            f"container {slot.number} is {slot.grant.id} on {slot.grant.host}, which was on standby"
        )
        spare.vacate()
        spare.granted = None
        return [YarnLog(line), Publish(), *self._ask_yarn(spare)]

    def _spare(self, slot: Slot) -> Slot | None:
        """A standby container that runs in the slot's partition and is large enough."""
        fitting = (
            standby
            for standby in self.slots.values()
            if is_standby(standby.number)
            and standby.is_running
            and standby.partition == slot.partition
            and (standby.granted or standby.ask).covers(slot.request)
        )
        return next(fitting, None)

    def _ask_yarn(self, slot: Slot) -> list[Instruction]:
        slot.phase = SlotPhase.ASKED
        asked = AskFor(slot.number, slot.request, slot.partition)
        if asked.ask == slot.ask:
            return [asked]
        words = f"as large as it was ({asked.ask.memory_mb} MB), its plan has {slot.ask.memory_mb}"
        return [YarnLog(f"container {slot.number} is asked for {words}"), asked]

    def _on_plan(self, event: YarnPlanChanged, now: float) -> list[Instruction]:
        if self._end is not None:
            return []
        done: list[Instruction] = []
        asks = with_standby(event.asks, self.standby)
        for number, ask in asks.items():
            of = MASTER_CONTAINER if is_standby(number) else number
            done += self._wanted(number, ask, event.partitions.get(of, ""))
            self.slots[number].size.plan_changed(event.is_settled, now)
        for number in [slot for slot in self.slots if slot not in asks]:
            done += self._unwanted(self.slots[number], now)
        return done

    def _wanted(self, number: int, ask: Ask, partition: str) -> list[Instruction]:
        slot = self.slots.get(number)
        if slot is None:
            policy = RestartPolicy(self.restart_limit, self.chance)
            slot = Slot(number, ask, policy, partition=partition)
            self.slots[number] = slot
            return self._ask(slot) if self._registered else []
        slot.wanted = True
        before = (slot.request, slot.partition)
        slot.ask, slot.partition = ask, partition
        if slot.phase is SlotPhase.ASKED and (slot.request, slot.partition) != before:
            return [TakeBack(number), *self._ask(slot)]
        return []  # it counts when the container is started again

    def _on_capacity_wanted(self, event: CapacityWanted, now: float) -> list[Instruction]:
        for number, ask in event.asks.items():
            if number in self.slots:
                self.slots[number].size.want(ask, now)
        return self._resize(now)

    def _on_resized(self, event: Resized, now: float) -> list[Instruction]:
        slot = self._of(event.id)
        if slot is None:
            return []
        slot.granted = slot.size.made(event.size)
        return [YarnLog(f"container {slot.number} has {slot.granted} now"), Publish()]

    def _on_not_resized(self, event: NotResized, now: float) -> list[Instruction]:
        slot = self._of(event.id)
        if slot is None:
            return []
        slot.size.refused()
        return [YarnLog(f"container {slot.number} keeps its size: {event.why}")]

    def _resize(self, now: float) -> list[Instruction]:
        """Sizes to change, over all running containers."""
        done: list[Instruction] = []
        for slot in self.slots.values():
            if slot.phase is not SlotPhase.RUNNING or slot.grant is None or slot.granted is None:
                continue
            wanted = slot.size.change(slot.granted, slot.ask, now)
            if wanted is not None:
                words = f"container {slot.number} should have {wanted}, but has {slot.granted}"
                grows = wanted.covers(slot.granted)
                done += [YarnLog(words), Resize(slot.grant.id, wanted, grows)]
        return done

    def _unwanted(self, slot: Slot, now: float) -> list[Instruction]:
        if slot.grant is None:
            del self.slots[slot.number]
            return [TakeBack(slot.number)] if slot.phase is SlotPhase.ASKED else []
        if not slot.wanted:
            return []
        slot.wanted = False
        return self._let_end(slot, now)

    def _let_end(self, slot: Slot, now: float) -> list[Instruction]:
        """In order; `due` says by when."""
        slot.phase, slot.due = SlotPhase.ENDING, now + SHUTDOWN_SECS
        return [Publish()]

    def _on_restart(self, event: RestartRequested, now: float) -> list[Instruction]:
        done: list[Instruction] = []
        for number in event.numbers:
            slot = self.slots.get(number)
            if slot is not None and slot.phase in (SlotPhase.RUNNING, SlotPhase.STARTING):
                slot.granted = None
                done += [
                    YarnLog(f"restart of container {number} requested"),
                    *self._let_end(slot, now),
                ]
            elif number == 0 and self._master_since is not None:
                self._master_restart_requested = True
                done += [YarnLog("restart of the topology master requested"), EndMaster()]
        return done

    def _on_end(self, event: EndRequested, now: float) -> list[Instruction]:
        return self._finish(Status.KILLED, event.why, now)

    def _on_master(self, event: MasterEnded, now: float) -> list[Instruction]:
        ran_secs = now - (self._master_since or now)
        self._master_since = None
        if self._end is not None:
            return []
        if event.code == ExitCode.ENDED:
            return self._finish(Status.SUCCEEDED, event.reason or "the topology has ended", now)
        if event.code == ExitCode.TOPOLOGY_FAILED:
            return self._finish(Status.FAILED, event.reason or "the topology master failed", now)
        pause = 0.0 if self._master_restart_requested else self._master.pause_secs(ran_secs)
        self._master_restart_requested = False
        reason = event.reason or f"its exit code was {event.code}"
        if pause is None:
            text = f"the topology master ended {self._master.failures} times: {reason}"
            return self._finish(Status.FAILED, text, now)
        self._master_due = now + pause
        return [YarnLog(f"the topology master ended: {reason}"), *self._on_tick(Tick(), now)]

    def _start_master(self, now: float) -> list[Instruction]:
        self._master_due, self._master_since = None, now
        return [StartMaster()]

    def _on_tick(self, _: Tick, now: float) -> list[Instruction]:
        done: list[Instruction] = []
        for slot in self.slots.values():
            if slot.phase is SlotPhase.RESTING and slot.due <= now and self._may_ask:
                done += [*self._ask(slot), Publish()]
            elif slot.phase is SlotPhase.ENDING and slot.due <= now and slot.grant is not None:
                slot.due = float("inf")
                done += [YarnLog(f"container {slot.number} does not end"), Release(slot.grant.id)]
        if self._may_ask:
            done += self._resize(now)
        if self._master_due is not None and self._master_due <= now and self._end is None:
            done += self._start_master(now)
        if self._end is not None and now >= self._end_by:
            done += self._abandon()
        return done

    @property
    def _may_ask(self) -> bool:
        return self._registered and self._end is None

    def _abandon(self) -> list[Instruction]:
        """The end must not wait any longer: what still runs is killed by YARN."""
        self._master_since = None
        for slot in self.slots.values():
            slot.vacate()
        return []

    def _finish(self, status: Status, reason: str, now: float) -> list[Instruction]:
        """Everything ends in order, then the application; the first reason counts."""
        if self._end is not None:
            return []
        self._end, self._end_by = Unregister(status, reason), now + SHUTDOWN_SECS
        done: list[Instruction] = [YarnLog(f"the application ends, {status.value}: {reason}")]
        for slot in self.slots.values():
            if slot.phase is SlotPhase.ASKED:
                done.append(TakeBack(slot.number))
            if slot.grant is not None:
                slot.phase, slot.due = SlotPhase.ENDING, self._end_by
            else:
                slot.phase = SlotPhase.RESTING
        return [*done, Publish(), EndMaster()]

    def _ended(self) -> list[Instruction]:
        """The last instruction, once nothing runs any more."""
        busy = self._master_since is not None or any(x.grant for x in self.slots.values())
        if self._end is None or busy or not self._registered:
            return []
        self._registered = False
        return [self._end]


_HANDLERS: Mapping[type, Callable[..., list[Instruction]]] = {
    Registered: Core._on_registered,
    Recovered: Core._on_recovered,
    Allocated: Core._on_allocated,
    ContainerStarted: Core._on_started,
    NotStarted: Core._on_not_started,
    ContainerCompleted: Core._on_completed,
    YarnPlanChanged: Core._on_plan,
    CapacityWanted: Core._on_capacity_wanted,
    Resized: Core._on_resized,
    NotResized: Core._on_not_resized,
    MasterEnded: Core._on_master,
    RestartRequested: Core._on_restart,
    EndRequested: Core._on_end,
    Tick: Core._on_tick,
}
