"""`python -m scheduler.backends.yarn.master SPEC`: the application master, on YARN.

One thread and one loop: the process runs the topology master's container as its child, sends the
resource manager a heartbeat a second, follows the packing plan in the state store, and carries
out the decisions of yarn.core. When the process dies, its child and JVM die with it; the
containers continue, and the next attempt started by YARN takes them over.
"""

import json
import logging
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from glob import glob
from typing import Any

from heron_core.errors import HeronError, StateStoreError
from heron_core.exit_codes import ExitCode
from heron_core.plans import MASTER_CONTAINER, ContainerPlan, TopologyState
from heron_core.records import replace
from heron_core.state_tree import execution_path, scheduler_path, topology_path
from heron_core.topology import topology_from_json
from heron_core.typed_json import from_json
from heron_engine.scheduler.backends.yarn import events, render
from heron_engine.scheduler.backends.yarn.container_agent import (
    ID_VARIABLE,
    all_arguments,
    logs_folder,
    report,
)
from heron_engine.scheduler.backends.yarn.core import Core
from heron_engine.scheduler.backends.yarn.diagnostics import completed_words
from heron_engine.scheduler.backends.yarn.jvm import GONE, HadoopError, YarnJvm
from heron_engine.scheduler.backends.yarn.partitions import partitions
from heron_engine.scheduler.backends.yarn.render import ApplicationSpec
from heron_engine.scheduler.backends.yarn.requests import (
    CAPACITY,
    FOLDER,
    STANDBY,
    asks_of,
    number_of,
    rows,
    take_requests,
    waiting_words,
)
from heron_engine.scheduler.backends.yarn.rm import MasterSuperseded, ResourceManager
from heron_engine.scheduler.backends.yarn.slots import SlotPhase
from heron_engine.scheduler.backends.yarn.standby import is_standby
from heron_engine.scheduler.cluster_nodes import ClusterNodes, Found
from heron_engine.scheduler.container.agent import ContainerAgent
from heron_engine.scheduler.container.agent_arguments import check_python, remove_old_sockets
from heron_engine.scheduler.own_nodes import WAITING
from heron_engine.scheduler.update_plans import Packings, read_packings
from heron_io.logs import log_text_to
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_io.state_store.zookeeper_access import ACCESS_VARIABLES
from heron_io.waker import Waker

log = logging.getLogger("yarn")

HEARTBEAT_SECS = 1.0
LOG = "application-master.log"
STATES = {
    events.Status.SUCCEEDED: TopologyState.ENDED,
    events.Status.FAILED: TopologyState.FAILED,
    events.Status.KILLED: TopologyState.KILLED,
}


class YarnMaster:
    """The loop."""

    def __init__(self, spec: ApplicationSpec, store: StateStore, rm: ResourceManager) -> None:
        self._spec, self._store, self._rm = spec, store, rm
        self._name = spec.topology
        self._core = Core(spec.restart_limit, spec.standby, random.random)
        self._nodes = ClusterNodes(store, spec.topology)
        self._before: Mapping[str, Any] | None = None
        """The scheduler's node at the start of the attempt."""
        self._waker = Waker()
        self._child: ContainerAgent | None = None
        self._packings: Packings | None = None
        self._published = True
        self._to_start: list[events.Grant] = []
        self._code: int | None = None
        self._silent = False
        """Whether the resource manager does not answer now."""

    def stop(self) -> None:
        """YARN ends the attempt."""
        self._code = 128 + signal.SIGTERM
        self._waker.wake()

    def run(self) -> int:
        """Until the application has ended; returns the exit code."""
        self._follow_plan()
        self._before = self._store.get(scheduler_path(self._name))
        previous = self._rm.register(socket.gethostname())
        self._handle(events.Registered(tuple(map(self._placed, previous))))
        try:
            while self._code is None:
                self._wait()
                self._heartbeat()
                self._guarded(self._poll)
                self._handle(events.Tick())
                self._publish()
        except MasterSuperseded as error:
            log.warning("this attempt is replaced: %s", error)
            self._code = 1
        finally:
            if self._child is not None:
                self._child.close()
        return self._code

    def _wait(self) -> None:
        """For the next heartbeat, or the end of the child."""
        if self._child is None:
            time.sleep(HEARTBEAT_SECS)
            return
        end = self._child.wait(HEARTBEAT_SECS)
        if end is not None:
            self._child = None
            self._handle(self._how_it_ended(end.code, end.reason))

    def _how_it_ended(self, code: int, reason: str) -> events.MasterEnded:
        """The topology has finished, and its result is stored."""
        if code == ExitCode.ENDED:
            with suppress(StateStoreError):
                state = self._store.get(execution_path(self._name)) or {}
                if state.get("state") == TopologyState.FAILED:
                    return events.MasterEnded(ExitCode.TOPOLOGY_FAILED, state["reason"])
        return events.MasterEnded(code, reason)

    def _heartbeat(self) -> None:
        try:
            for event in self._rm.heartbeat():
                self._handle(self._explained(event))
            self._silent = False
        except HadoopError as error:
            if error.kind == GONE:
                raise  # the next attempt has another
            if not self._silent:
                log.warning("%s: the containers run on, we try again", error)
            self._silent = True

    def _explained(self, event: events.Event) -> events.Event:
        """A container's end, with the reason in one line; or its current state while running."""
        if isinstance(event, events.Recovered):
            return events.Recovered(self._placed(event.grant))
        if not isinstance(event, events.ContainerCompleted):
            return event
        if event.status:
            log.info("%s ended with %d: %s", event.id, event.status, event.reason)
        plan = self._plan_of(event.id)
        reason = completed_words(event.status, event.reason, plan, os.sysconf("SC_PAGE_SIZE"))
        return events.ContainerCompleted(event.id, event.status, reason)

    def _placed(self, grant: events.Grant) -> events.Grant:
        """A container of an earlier attempt; a standby one may be another since it was asked
        for."""
        number = number_of(self._before, grant.id)
        return grant if number is None else replace(grant, number=number)

    def _plan_of(self, container: str) -> ContainerPlan | None:
        """The planned container of a container of YARN."""
        number = self._core.number_of(container)
        if number is None or self._packings is None:
            return None
        plan = self._packings.of(number)
        return next((each for each in plan.containers if each.id == number), None)

    def _guarded(self, call: Callable[[], None]) -> None:
        """The state store may be away for a while; nothing stops because of that."""
        try:
            call()
        except HeronError as error:
            log.warning("the state store: %s", error)

    def _poll(self) -> None:
        """Look at the state store."""
        if self._nodes.poll(time.monotonic()) is Found.REMOVED:
            self._handle(events.EndRequested("the topology was removed from the state store"))
            return
        self._follow_plan()
        for request in take_requests(self._store, self._name):
            self._do(request)

    def _do(self, request: Mapping[str, Any]) -> None:
        """Execute a request of a command."""
        if "restart" in request:
            self._handle(events.RestartRequested(tuple(request["restart"])))
        if CAPACITY in request:
            self._handle(events.CapacityWanted(asks_of(request[CAPACITY])))
        if "end" in request:
            self._handle(events.EndRequested(str(request["end"])))

    def _follow_plan(self) -> None:
        """While the topology is scaled, the containers of both packing plans are to run."""
        found = read_packings(self._store, self._name)
        if found == self._packings:
            return
        self._packings = found
        asks = render.asks_while_scaled(found.current, found.wanted)
        is_settled = found.current == found.wanted
        self._handle(events.YarnPlanChanged(asks, is_settled, self._partitions(found)))

    def _partitions(self, found: Packings) -> dict[int, str]:
        """Of the containers of both plans; a container of both stays where it is."""
        topology = self._store.get(topology_path(self._name))
        if topology is None:
            raise HeronError(f"the state store has no topology {self._name!r}: has it ended?")
        spec = topology_from_json(topology)
        return {**partitions(spec, found.wanted), **partitions(spec, found.current)}

    def _handle(self, event: events.Event) -> None:
        for each in self._core.handle(event, time.monotonic()):
            _DOERS[type(each)](self, each)

    def _log(self, instruction: events.YarnLog) -> None:
        log.info("%s", instruction.text)

    def _ask(self, instruction: events.AskFor) -> None:
        where = f" in partition {instruction.partition}" if instruction.partition else ""
        log.info("container %d: asking for %s%s", instruction.number, instruction.ask, where)
        self._rm.ask(instruction.number, instruction.ask, instruction.partition)

    def _take_back(self, instruction: events.TakeBack) -> None:
        self._rm.take_back(instruction.number)

    def _start(self, instruction: events.StartContainer) -> None:
        """Only after publication: the container would otherwise find itself unlisted and end."""
        self._to_start.append(instruction.grant)

    def _release(self, instruction: events.Release) -> None:
        try:
            self._rm.release(instruction.id)
        except HadoopError as error:
            log.warning("%s", error)

    def _resize(self, instruction: events.Resize) -> None:
        try:
            self._rm.resize(instruction.id, instruction.ask, instruction.grows)
        except HadoopError as error:
            self._handle(events.NotResized(instruction.id, str(error)))

    def _is_to_be_published(self, _: events.Publish) -> None:
        self._published = False

    def _publish(self) -> None:
        if not self._published:
            self._guarded(self._write)
        if self._published:
            for grant in self._to_start:
                self._start_now(grant)
            self._to_start.clear()

    def _write(self) -> None:
        node = self._store.get(scheduler_path(self._name))
        if node is not None:
            own = {"id": os.environ[ID_VARIABLE], "phase": SlotPhase.RUNNING.value,
                   "host": f"{os.environ['NM_HOST']}:{os.environ['NM_PORT']}",
                   "http": f"{os.environ['NM_HOST']}:{os.environ['NM_HTTP_PORT']}"}  # fmt: skip
            slots = self._core.slots.values()
            containers = rows(slot for slot in slots if not is_standby(slot.number))
            known = {"containers": {str(MASTER_CONTAINER): own, **containers},
                     STANDBY: rows(slot for slot in slots if is_standby(slot.number)),
                     FOLDER: self._spec.folder}  # fmt: skip
            node.pop(WAITING, None)
            waiting = waiting_words(slots)
            if waiting:
                known[WAITING] = waiting
            self._store.put(scheduler_path(self._name), {**node, **known})
            self._nodes.keep(scheduler_path(self._name), {**node, **known})
        self._published = True

    def _start_now(self, grant: events.Grant) -> None:
        try:
            self._rm.start(grant)
        except HadoopError as error:
            self._handle(events.NotStarted(grant.id, str(error)))
        else:
            self._handle(events.ContainerStarted(grant.id))

    def _start_master(self, _: events.StartMaster) -> None:
        arguments = [
            "--store", self._spec.store_url,
            "--topology", self._name,
            "--container", str(MASTER_CONTAINER),
        ]  # fmt: skip
        remove_old_sockets()
        arguments = all_arguments(arguments, self._spec.store_url)
        self._child = ContainerAgent(arguments, self._spec.silent_secs)
        self._child.watch(self._waker.readable, self._waker.clear)
        self._child.start()

    def _end_master(self, _: events.EndMaster) -> None:
        if self._child is not None:
            self._child.stop("stopped by the application master")

    def _unregister(self, instruction: events.Unregister) -> None:
        self._publish()
        self._guarded(lambda: self._write_end(instruction))
        calls: list[Callable[[], None]] = [
            lambda: self._rm.unregister(instruction.status, instruction.reason),
            self._rm.remove_files,
        ]
        for call in calls:
            try:
                call()
            except HadoopError as error:
                log.warning("%s", error)
        self._code = 0

    def _write_end(self, instruction: events.Unregister) -> None:
        path = execution_path(self._name)
        state = self._store.get(path)
        if state is not None:
            ended = {"state": STATES[instruction.status], "reason": instruction.reason}
            self._store.put(path, {**state, **ended})


_DOERS: Mapping[type, Callable[[YarnMaster, Any], None]] = {
    events.YarnLog: YarnMaster._log,
    events.AskFor: YarnMaster._ask,
    events.TakeBack: YarnMaster._take_back,
    events.StartContainer: YarnMaster._start,
    events.Resize: YarnMaster._resize,
    events.Release: YarnMaster._release,
    events.Publish: YarnMaster._is_to_be_published,
    events.StartMaster: YarnMaster._start_master,
    events.EndMaster: YarnMaster._end_master,
    events.Unregister: YarnMaster._unregister,
}


def main(words: Sequence[str]) -> int:
    """Run the application master; returns its exit code."""
    logs = logs_folder()
    log_text_to(logging.FileHandler(os.path.join(logs, LOG), encoding="utf-8"), logging.INFO)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    logging.getLogger("kazoo").setLevel(logging.WARNING)
    try:
        with open(words[0], encoding="utf-8") as file:
            spec = from_json(ApplicationSpec, json.load(file), render.SPEC)
        check_python(spec.packed_for, "yarn")
        return _run(spec, os.path.join(logs, "hadoop.log"))
    except HeronError as error:
        log.error("%s", error)
        report(str(error))
        return ExitCode.UNSTARTED


def _run(spec: ApplicationSpec, hadoop_log: str) -> int:
    environment = dict(spec.environment)
    environment |= {
        variable: os.environ[variable] for variable in ACCESS_VARIABLES if variable in os.environ
    }
    store = open_store(spec.store_url)
    try:
        jvm = YarnJvm(sorted(glob("*.jar")), hadoop_log)
        try:
            master = YarnMaster(spec, store, ResourceManager(jvm, spec, environment))
            signal.signal(signal.SIGTERM, lambda *_: master.stop())
            code = master.run()
        finally:
            jvm.close()
    finally:
        store.close()
    if code:
        report(f"the application master ends with {code}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
