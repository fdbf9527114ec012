"""The executor of one container: its topology master, or its stream manager and instances.

Container 0 holds the master alone (Heron: SchedulerUtils); any other the stream manager and one
process for each instance, all forked from this one. `heron_instance`, `stream_manager` and
`topology_master` are imported before the first fork, so a child starts with them warm.
"""

import gc
import logging
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace

import heron_instance.server
import stream_manager.server
import topology_master.server
from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import MASTER_CONTAINER, InstancePlan, PackingPlan
from heron_core.topology import TopologySpec
from heron_io import container_plan
from heron_io.imports import forget_ours
from heron_io.logs import log_to
from heron_io.processes import SupervisorLink
from heron_io.security import Keys
from heronpy_compat.loading import aliases
from scheduler.container.supervisor import Job, Outcome, Supervisor

GAVE_UP_CODE = 4
"""A process of the container kept ending: the topology has failed."""
ENDED_CODE = topology_master.server.ENDED_CODE
GC_ALLOCATIONS, GC_GENERATIONS = 20_000, (20, 20)
"""A batch is a thousand containers that live for a millisecond: Python's default of 700 would look
through them again and again (20 % of a bolt's time, measured), for cycles that are not there."""
INSTANCE_GRACE_SECS = 3.0
SERVICE_GRACE_SECS = 2.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a container's processes run, and what for."""

    topology: TopologySpec
    packing: PackingPlan
    container: int
    store_url: str
    keys: Keys
    logs: str
    """Directory of the log files."""
    sockets: str
    """Directory of the socket files, only its owner may enter it."""
    console: int | None = None
    """Where printed lines go besides the log: a pipe of the command line, or nowhere."""
    bind_host: str = "127.0.0.1"


def run(place: Place, ties: SupervisorLink) -> int:
    """Supervise the container until it ends; returns the exit code, and says why."""
    log_to(_log_file(place, f"container-{place.container}"), f"container {place.container}")
    gc.freeze()  # what is shared with the children stays shared: the collector leaves it alone
    gc.set_threshold(GC_ALLOCATIONS, *GC_GENERATIONS)
    config = keys.with_defaults(place.topology.config)
    supervisor = Supervisor(
        jobs=_jobs(place),
        ties=ties,
        restart_limit=keys.whole_number(config, keys.RESTART_LIMIT, 0),
        gave_up_code=GAVE_UP_CODE,
        silent_secs=keys.seconds(config, keys.LIVENESS_TIMEOUT_SECS),
        reload=lambda: _reloaded(place, ties),
    )
    outcome: Outcome = supervisor.run()
    logging.info("container %d ends: %s", place.container, outcome.reason)
    ties.say(outcome.reason)
    return outcome.code


def _reloaded(place: Place, ties: SupervisorLink) -> list[Job]:
    """The topology is scaled. The topology master says so when the state store has another plan,
    which is for whoever runs the containers; a stream manager when it works by another plan."""
    if place.container == MASTER_CONTAINER:
        ties.reload()
        return _jobs(place)
    return _jobs(replace(place, packing=container_plan.read(_socket(place))))


def _log_file(place: Place, name: str) -> str:
    return os.path.join(place.logs, f"{name}.log")


def _jobs(place: Place) -> list[Job]:
    name = place.topology.name
    if place.container == MASTER_CONTAINER:
        master = topology_master.server.Place(place.store_url, place.keys, place.bind_host)
        return [
            Job("topology master", f"heron: topology master ({name})",
                _service(place, "topology-master", lambda ties: topology_master.server.run(
                    place.topology, place.packing, master, ties)),
                SERVICE_GRACE_SECS, True, frozenset({ENDED_CODE}))
        ]  # fmt: skip
    manager = stream_manager.server.ServerArguments(
        place.container, _socket(place), place.store_url, place.keys, place.bind_host
    )
    first = Job(
        f"stream manager {place.container}",
        f"heron: stream manager {place.container} ({name})",
        _service(place, f"stream-manager-{place.container}", lambda ties:
                 stream_manager.server.run(place.topology, place.packing, manager, ties)),
        SERVICE_GRACE_SECS, True)  # fmt: skip
    instances = place.packing.container(place.container).instances
    return [first, *(_instance_job(place, each) for each in instances)]


def _socket(place: Place) -> str:
    return os.path.join(place.sockets, f"container-{place.container}.sock")


def _service(
    place: Place, log_name: str, serve: Callable[[SupervisorLink], int]
) -> Callable[[SupervisorLink], int]:
    def main(ties: SupervisorLink) -> int:
        log_to(_log_file(place, log_name), log_name)
        try:
            return serve(ties)
        except Exception as error:
            logging.exception("%s fails", log_name)
            ties.say(_in_one_line(error))
            return 1

    return main


def _instance_job(place: Place, plan: InstancePlan) -> Job:
    label = f"{plan.component}-{plan.task}"
    where = heron_instance.server.Place(plan.task, _socket(place))

    def main(ties: SupervisorLink) -> int:
        path = _log_file(place, label)
        shown = f"{plan.component}[{plan.index}]"
        log_to(path, shown, debug=_debug(place.topology), console=place.console)
        _make_importable(place.topology)
        try:
            return heron_instance.server.run(place.topology, place.packing, where, ties)
        except HeronError as error:
            logging.error("%s", error)
            ties.say(f"{error} (log: {path})")
        except (Exception, SystemExit) as error:  # user code may call sys.exit anywhere
            logging.error("%s fails:\n%s", label, traceback.format_exc())
            ties.say(f"{_in_one_line(error)} (log: {path})")
        return 1

    title = f"heron: {plan.component}[{plan.index}] task {plan.task} ({place.topology.name})"
    name = f"component {plan.component!r} (task {plan.task})"
    return Job(name, title, main, INSTANCE_GRACE_SECS, True)


def _debug(topology: TopologySpec) -> bool:
    return keys.flag(keys.with_defaults(topology.config), keys.DEBUG)


def _in_one_line(error: BaseException) -> str:
    """What an exception says and where it was raised last, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{where}"


def _make_importable(topology: TopologySpec) -> None:
    """The user's modules come first, and win over ours of the same name."""
    forget_ours()
    aliases.install()
    sys.path[:0] = [path for path in topology.search_paths if path not in sys.path[:1]]
