"""Steps of operations: generators that do one step, report progress, and are resumed.

A step never blocks longer than a query to the topology master, so one loop carries out several
operations at a time. Each operation may be restarted at any point by another process: completed
steps are detected first.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from typing import Any, Protocol

from msgspec import Struct, field

from heron_core.errors import HeronError, StateStoreError
from heron_core.naming import first_of
from heron_core.operations import Operation, OperationKind
from heron_core.plans import (
    MASTER_CONTAINER,
    PackingPlan,
    TopologyState,
    UpdateStage,
    packing_from_json,
    packing_to_json,
    physical_from_json,
)
from heron_core.state_tree import (
    checkpoints_path,
    execution_path,
    keys_path,
    master_path,
    packing_path,
    physical_path,
    scheduler_path,
    topology_path,
)
from heron_core.stats import TopologyStats, UpdateStats
from heron_core.topology import topology_from_json
from heron_engine.scheduler.container.engines import Choice
from heron_engine.scheduler.container_sizes import check_fits
from heron_engine.scheduler.savepoints import Taking, check_is_free, store_url
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.checkpoint_store.signatures import savepoint_key
from heron_io.master_client import MasterClient, NoAnswer
from heron_io.security import Keys
from heron_io.state_store.protocol import StateStore

ANSWER_SECS = 1.0
"""For one question to the master: the others' steps wait meanwhile."""
SILENT_SECS = 60.0
"""A master that was killed is replaced within seconds, on a cluster within a minute."""
STORED_SECS = 5.0
"""Until what the master has done stands in the state store."""
BACK_SECS = 120.0
"""How long a container that was restarted on a cluster may take to be back."""
CAPACITY_SECS = 60.0
"""Timeout of enlarging running containers; a cluster with capacity grants at once."""
QUIET_SECS = 300.0
"""Time without further checkpoints after a savepoint's, which may take long to copy. If the
topology is not ended, checkpoints resume afterwards."""
SAVEPOINT, SAVING = "savepoint", "saving"
"""Of a kill: folder of its savepoint; start of the copy; and, in the result, its completion."""
UPDATE_STEPS: Mapping[str, str] = {
    UpdateStage.CONTAINERS: "waiting for added containers",
    UpdateStage.DRAIN: "waiting until tuples in flight are processed",
    UpdateStage.SAVE: "waiting until states are saved",
    UpdateStage.CHECKPOINT: "waiting for a checkpoint",
    UpdateStage.INSTANCES: "waiting for instances",
}
WAITING_FOR_MASTER = "waiting for the topology master"


class OperationProgress(Struct, frozen=True):
    """How far an operation is after one step."""

    text: str = ""
    """What is waited for now."""
    note: str = ""
    """What people are to be told once."""
    result: Mapping[str, Any] = field(default_factory=dict)
    """Data for a process that takes over."""


Steps = Generator[OperationProgress, None, Mapping[str, Any]]
"""Returns the result; HeronError says why it is aborted."""


def stepped(request: Operation, steps: Steps) -> Operation:
    """Advance a request by one step, to be noted in the state store before the next step.
    StateStoreError without an answer of the store: the request is unchanged then.
    """
    try:
        progress = next(steps)
    except StopIteration as end:
        return request.done(end.value)
    except StateStoreError:
        raise
    except HeronError as error:
        return request.failed(str(error))
    return request.running(progress.text, progress.result, progress.note)


Service = tuple[str, int]
"""Host and pid of a container's topology master or stream manager."""


class Containers(Protocol):
    """Container operations needed by the steps."""

    @property
    def back_secs(self) -> float:
        """How long a container that was restarted may take to be back."""

    def restart(self, container: int, service: Service) -> None:
        """Stop a container gracefully and have it restarted; `service` serves the container now.
        HeronError if impossible.
        """

    def reserve_capacity(self, plan: PackingPlan | None) -> None:
        """Start to enlarge running containers for `plan`, if supported; None: no longer needed.
        HeronError if a container exceeds the maximum."""

    def too_small(self, plan: PackingPlan) -> str:
        """Pending enlargements, in words; empty if none."""

    def waiting(self) -> str:
        """Containers not granted by the cluster, in its words; empty if none is known."""

    def unstartable(self, containers: Sequence[int]) -> str:
        """Why some of the containers cannot start however long a step waits, in the cluster's
        words; empty while that is not sure."""

    def scale(self, added: Sequence[int], removed: Sequence[int]) -> None:
        """Start the `added` containers, or end the `removed` ones; no action for a back end that
        follows the plans in the state store. HeronError on failure."""

    def end(self, reason: str) -> None:
        """End all containers."""

    def choose(self, container: int, choice: Choice) -> Choice:
        """Set the engine of a container from its next start on; returns the previous one.
        HeronError without an own engine."""

    def stop(self, container: int) -> None:
        """End a container gracefully, connected or not; the container restarts."""


class OperationSteps(Struct, frozen=True):
    """The operations on one topology."""

    store: StateStore
    name: str
    client: MasterClient
    containers: Containers
    clock: Callable[[], float] = time.monotonic

    # --- activate and deactivate ----------------------------------------------------------------

    def change_state(self, command: str) -> Steps:
        """Let the spouts emit, or not."""
        answer = yield from self._answer(command)
        return {"changed": bool(answer["changed"])}

    def _answer(self, command: str, arguments: dict[str, Any] | None = None) -> Steps:
        """The topology master's answer, as soon as a master is available."""
        late_at = self.clock() + SILENT_SECS
        while True:
            try:
                return self.client.ask(command, arguments, wait_secs=ANSWER_SECS)
            except NoAnswer:
                if self.clock() > late_at:
                    raise
            yield OperationProgress(WAITING_FOR_MASTER)

    # --- checkpoint -----------------------------------------------------------------------------

    def checkpoint(self, quiet_secs: float = 0.0) -> Steps:
        """Request a checkpoint and wait for completion; HeronError on failure. `quiet_secs`:
        time without a further automatic checkpoint; the checkpoint then has states only: its
        barriers do not overtake input."""
        asked = {"hold_secs": quiet_secs, "is_aligned": True} if quiet_secs else {}
        number = int((yield from self._answer(OperationKind.CHECKPOINT, asked))["number"])
        while True:
            answer = yield from self._answer("stats")
            checkpoints = TopologyStats.from_json(answer).checkpoints
            if checkpoints is None:
                raise HeronError(f"{self.name} takes no checkpoints")
            if checkpoints.completed >= number:
                size, secs = checkpoints.size_bytes, checkpoints.secs
                done = {"number": checkpoints.completed, "size_bytes": size, "secs": secs}
                return {**done, "alignment_ms": dict(checkpoints.alignment_ms)}
            if checkpoints.latest >= number and checkpoints.failure:
                raise HeronError(f"checkpoint {number} failed: {checkpoints.failure}")
            yield OperationProgress(
                f"waiting for {', '.join(checkpoints.waiting_for) or 'its beginning'}"
            )

    def savepoint(self, url: str, is_begun: bool = False) -> Steps:
        """Take a checkpoint and copy it into a folder; HeronError on failure, without any
        change. `is_begun`: an earlier process may have written there."""
        if not is_begun:
            check_is_free(url)
        yield OperationProgress(result={SAVING: True})
        try:
            taken = yield from self.checkpoint(QUIET_SECS)
            for text in self._copied(int(taken["number"]), url):
                yield OperationProgress(text)
        except HeronError:
            self.client.try_ask(OperationKind.CHECKPOINT)  # or none would follow for a while
            raise
        return {SAVEPOINT: url}

    def _copied(self, number: int, url: str) -> Iterator[str]:
        topology = topology_from_json(self.store.get(topology_path(self.name)) or {})
        logs = str((self.store.get(execution_path(self.name)) or {}).get("logs", ""))
        completed = (self.store.get(checkpoints_path(self.name)) or {}).get("completed", ())
        at = next((float(each["at"]) for each in completed if each["number"] == number), 0.0)
        states = self._states_key()
        store, key = open_checkpoint_store(store_url(topology, logs), states), savepoint_key(states)
        return Taking(topology, self._running_plan(), store, number, at, url, key).copied()

    def _states_key(self) -> bytes:
        """Key that signs the topology's states, checked before the savepoint signs the states with
        its own.
        """
        pair = self.store.get(keys_path(self.name))
        if pair is None:
            raise HeronError(f"the state store has lost {keys_path(self.name)}: try again")
        return Keys.stored(pair).states_key

    # --- kill -----------------------------------------------------------------------------------

    def kill_with_savepoint(self, request: Operation) -> Steps:
        """Like `kill`, after a savepoint if requested: without the savepoint the topology is not
        killed."""
        url, done = str(request.arguments.get(SAVEPOINT) or ""), request.result
        wait_secs = float(request.arguments["wait_secs"])
        if url and SAVEPOINT not in done:
            yield OperationProgress(result=(yield from self.savepoint(url, SAVING in done)))
        # Input processed after the savepoint is processed again by its user.
        return (yield from self.kill(0.0 if url else wait_secs, str(request.requester)))

    def kill(self, wait_secs: float, requester: str) -> Steps:
        """End everything, after a drain of at most `wait_secs`."""
        state = (self.store.get(execution_path(self.name)) or {}).get("state")
        if wait_secs and state not in TopologyState.OVER:
            yield from drain(self.client, wait_secs, self.clock)
        self.containers.end(f"killed by {requester}")
        return {}

    # --- update ---------------------------------------------------------------------------------

    def update(self, target: PackingPlan, touched: Set[int] = frozenset()) -> Steps:
        """Run the topology by another packing plan; UpdateAborted if the master aborts. `touched`:
        the containers of both plans. If the topology runs by the plan already, because a previous
        process has come so far, only `touched` tells the containers to be stopped.
        """
        before, after = containers_of(self._running_plan()), containers_of(target)
        added, removed = sorted(after - before), sorted((before | touched) - after)
        yield from self._reserve_capacity(target)
        number = yield from self._begin_update(target)
        self._add(added)
        try:
            yield from self._follow_update(target, number, added)
        except UpdateAborted:
            self.containers.scale([], added)
            raise
        self.containers.scale([], removed)
        return {}

    def cancel_update(self, requester: str) -> Steps:
        """Cancel the update under way, and wait until the previous plan is active; HeronError
        without an update, or if the new plan already processes tuples.
        """
        if not _is_under_way(self.client.stats()):
            raise HeronError(f"{self.name} has neither a running nor a scheduled update")
        asked = containers_of(self.stored_plan(), self._running_plan())
        self.client.ask("cancel", {"reason": f"cancelled by {requester}"})
        heard_at = self.clock()
        while (stats := self.client.try_stats(ANSWER_SECS)) is None or _is_under_way(stats):
            if stats is not None:
                heard_at = self.clock()
            elif self.clock() - heard_at > SILENT_SECS:
                raise HeronError(f"the topology master of {self.name} does not answer any more")
            yield OperationProgress(
                "the update is aborted" if stats is not None else WAITING_FOR_MASTER
            )
        yield from self._end_added(asked)
        return {"cancelled": [str(OperationKind.UPDATE)]}

    def _end_added(self, asked: Set[int]) -> Generator[OperationProgress, None, None]:
        """End the additions of an aborted update: its command may have died. `asked`: the
        containers of both plans."""
        late_at = self.clock() + STORED_SECS
        while (plan := self.stored_plan()) != self._running_plan():
            if self.clock() > late_at:
                raise HeronError(
                    f"the update of {self.name} is cancelled, and the state store does not say so "
                    f"after {STORED_SECS:g} s: containers that it has added may still run"
                )
            yield OperationProgress("waiting for the state store")
        added = asked - containers_of(plan)
        self.containers.scale([], sorted(added))

    def _reserve_capacity(self, target: PackingPlan) -> Generator[OperationProgress, None, None]:
        """Enlarge the running containers as needed, before any change of the topology."""
        if self.stored_plan() == target:
            return  # the update is under way, so there was room
        check_fits(self.name, self.store.get(scheduler_path(self.name)), target)
        self.containers.reserve_capacity(target)
        late_at = self.clock() + CAPACITY_SECS
        while words := self.containers.too_small(target):
            if self.clock() > late_at:
                self.containers.reserve_capacity(None)
                raise HeronError(
                    f"{self.name} is not updated: the cluster does not enlarge {words} within "
                    f"{CAPACITY_SECS:g} s: use more containers, or ask for less"
                )
            yield OperationProgress(f"waiting for room: {words}")

    def _add(self, added: Sequence[int]) -> None:
        try:
            self.containers.scale(added, [])
        except HeronError as error:
            self.client.try_ask("cancel", {"reason": str(error)})
            raise

    def _begin_update(self, target: PackingPlan) -> Generator[OperationProgress, None, int | None]:
        """Send the plan to the master, the source of update numbers. None if the master already has
        the plan: from an earlier process, or stored by a master that died before its answer.
        """
        late_at = self.clock() + SILENT_SECS
        while self.stored_plan() != target:
            try:
                answer = self.client.ask("update", {"packing": packing_to_json(target)})
                return int(answer["number"])
            except NoAnswer:
                if self.clock() > late_at:
                    raise
            yield OperationProgress(WAITING_FOR_MASTER)
        return None

    def _follow_update(
        self, target: PackingPlan, number: int | None, added: Sequence[int]
    ) -> Steps:
        """Until the topology runs by the plan."""
        heard_at, waiting, unstartable = self.clock(), "", ""
        while True:
            stats = self.client.try_stats(ANSWER_SECS)
            last = None if stats is None else stats.update
            if last is not None:
                heard_at = self.clock()
                if not last.under_way:
                    break
                if last.stage == UpdateStage.CONTAINERS:
                    waiting = self.containers.waiting() or waiting
                    unstartable = unstartable or self._cancelled_as_unstartable(added)
                yield OperationProgress(_waiting_for(last))
            elif self.clock() - heard_at > SILENT_SECS:
                raise HeronError(
                    f"the topology master of {self.name} does not answer any more; its successor "
                    f"resumes the update: see `heronpy stats {self.name}`"
                )
            else:
                yield OperationProgress(WAITING_FOR_MASTER)
        waiting = "" if unstartable else waiting
        reason = last.reason if last.number == number else ""
        # A master that took over may not know the update; the active plan decides.
        late_at = self.clock() + STORED_SECS
        while reason or self._running_plan() != target:
            if reason or self.clock() > late_at:
                reason = last.reason or "another update came in between"
                reason += f" ({waiting})" * bool(waiting and last.reason)
                raise UpdateAborted(f"{self.name} is not updated: {reason}")
            yield OperationProgress()
        return {}

    def _cancelled_as_unstartable(self, added: Sequence[int]) -> str:
        """Cancel the update if added containers cannot start; returns why they cannot."""
        reason = self.containers.unstartable(added) if added else ""
        if reason:
            self.client.try_ask("cancel", {"reason": f"what it adds cannot start: {reason}"})
        return reason

    def running_containers(self) -> list[int]:
        """All but the topology master's."""
        return [each.id for each in self._running_plan().containers]

    def _running_plan(self) -> PackingPlan:
        physical = self.store.get(physical_path(self.name))
        return self.stored_plan() if physical is None else physical_from_json(physical).packing

    def stored_plan(self) -> PackingPlan:
        """The packing plan that is to be."""
        packing = self.store.get(packing_path(self.name))
        if packing is None:
            raise HeronError(
                f"{self.name} is still starting, or has just ended: try again in a few seconds"
            )
        return packing_from_json(packing)

    # --- restart --------------------------------------------------------------------------------

    def restart(self, containers: Sequence[int], done: Sequence[int] = ()) -> Steps:
        """Restart the containers that are not `done` one at a time, each after full recovery."""
        restarted = list(done)
        for container in [each for each in containers if each not in restarted]:
            before = yield from self.served(container)
            self.containers.restart(container, before)
            yield from self.back(container, before)
            restarted.append(container)
            yield OperationProgress(result={"restarted": list(restarted)})
        return {}

    def served(self, container: int) -> Generator[OperationProgress, None, Service]:
        """Process of the container, as soon as available."""
        late_at = self.clock() + self.containers.back_secs
        while (service := self.service(container)) is None:
            if self.clock() > late_at:
                raise not_up(self.name, container)
            yield OperationProgress(f"waiting for container {container}")
        return service

    def back(self, container: int, before: Service | None) -> Steps:
        """Wait until another process than `before` serves the container, and all is there."""
        late_at = self.clock() + self.containers.back_secs
        while not self._is_back(container, before):
            if reason := self.containers.unstartable([container]):
                raise CannotStart(self.name, container, reason)
            if self.clock() > late_at:
                raise HeronError(
                    f"container {container} of {self.name} is not back after "
                    f"{self.containers.back_secs:.0f} s: look at `heronpy tail {self.name}`"
                )
            yield OperationProgress(f"waiting for container {container}")
        return {}

    def service(self, container: int) -> Service | None:
        """The container's topology master or stream manager, or None."""
        if container == MASTER_CONTAINER:
            node = self.store.get(master_path(self.name))
            return None if node is None else (str(node["host"]), int(node["pid"]))
        stats = self.client.try_stats(ANSWER_SECS)
        registered = None if stats is None else stats.registered.get(container)
        return None if registered is None else (registered.host, registered.pid)

    def _is_back(self, container: int, before: Service | None) -> bool:
        """Another process serves the container, and every container and instance is there."""
        now = self.service(container)
        stats = self.client.try_stats(ANSWER_SECS)
        if stats is None or now is None or now == before:
            return False
        complete = stats.containers == stats.containers_expected
        return complete and all(each.up == each.instances for each in stats.components.values())


def drain(
    client: MasterClient, wait_secs: float, clock: Callable[[], float] = time.monotonic
) -> Steps:
    """Pause the spouts and wait until nothing is in flight, as long as counts are available."""
    if client.try_ask("drain") is None:
        yield OperationProgress(note="the topology master does not answer: ending without a drain")
        return {}
    late_at = clock() + wait_secs
    while (stats := client.try_stats(ANSWER_SECS)) is not None and not stats.drained:
        if clock() > late_at:
            yield OperationProgress(note=f"still busy after {wait_secs:g} s: ending anyway")
            return {}
        yield OperationProgress()
    return {}


def containers_of(*plans: PackingPlan) -> set[int]:
    """The numbers of the containers of all these plans, without the topology master's."""
    return {each.id for plan in plans for each in plan.containers}


class CannotStart(HeronError):
    """A container cannot start, for a reason of its cluster that waiting does not cure."""

    def __init__(self, name: str, container: int, reason: str) -> None:
        super().__init__(f"container {container} of {name} cannot start ({reason})")
        self.reason = reason


class UpdateAborted(HeronError):
    """The master has given the update up: all is as it was."""


def not_up(name: str, container: int) -> HeronError:
    """The error of a container without a process."""
    return HeronError(f"container {container} of {name} is not up: look at `heronpy tail {name}`")


def _is_under_way(stats: TopologyStats) -> bool:
    return stats.update is not None and stats.update.under_way


def _waiting_for(update: UpdateStats) -> str:
    text, names = UPDATE_STEPS[update.stage or UpdateStage.CONTAINERS], update.waiting_for
    return text + (f": {first_of(names)}" if names else "")
