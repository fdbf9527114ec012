"""The executor of one container: its topology master, or its stream manager and instances.

Container 0 has only the master (Heron: SchedulerUtils); any other container the stream manager
and one process for each instance, all forked from the executor. `heron_instance` is imported
before the first fork, so instances start with it loaded; the one process that needs
`stream_manager` or `topology_master` imports the package itself, so all others are smaller and
start earlier.
"""

import gc
import logging
import os
import traceback
from collections.abc import Callable

from msgspec import Struct

import heron_instance.server
from heron_api.user_errors import location, show_paths_from, users_traceback
from heron_core import config as keys
from heron_core.errors import HeronError, TopologyStopped
from heron_core.exit_codes import ExitCode
from heron_core.native import HOT_PATH
from heron_core.plans import MASTER_CONTAINER, InstancePlan, PackingPlan, packing_from_json
from heron_core.records import replace
from heron_core.state.backup import BackupRule
from heron_core.supervision import PACKING
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.container.control_groups import (
    ContainerGroup,
    check_limits,
    group_access,
)
from heron_engine.scheduler.container.heavy_modules import import_heavy
from heron_engine.scheduler.container.rehearsal import rehearse
from heron_engine.scheduler.container.run_mark import RunMark, begin_states
from heron_engine.scheduler.container.shutdown_timeouts import (
    INSTANCE_SHUTDOWN_SECS,
    SERVICE_SHUTDOWN_SECS,
)
from heron_engine.scheduler.container.supervisor import PlanMessage, Supervisor
from heron_engine.scheduler.container.supervisor_events import ProcessSpec
from heron_engine.scheduler.packing.resources import component_bytes
from heron_engine.scheduler.savepoints import absolute_url, run_of, store_url
from heron_io.imports import put_on_search_path
from heron_io.logs import log_to
from heron_io.processes import SupervisorLink, raise_file_limit
from heron_io.security import Keys
from heronpy_compat import aliases

log = logging.getLogger("container")

GC_ALLOCATIONS, GC_GENERATIONS = 20_000, (20, 20)
"""Garbage collection threshold: a batch is a thousand containers that live for a millisecond.
Python's default of 700 would scan the batch repeatedly (20 % of a bolt's time, measured), for
cycles that do not exist.
"""


class ContainerSpec(Struct, frozen=True):
    """A container to run: topology, plan, and file locations."""

    topology: TopologySpec
    packing: PackingPlan
    container: int
    store_url: str
    keys: Keys
    logs: str
    """Directory of the log files."""
    sockets: str
    """Directory of the socket files, accessible only to its owner."""
    console: int | None = None
    """Where printed lines go besides the log: a pipe of the command line, or nowhere."""
    bind_host: str = "127.0.0.1"
    predecessor: str = ""
    """End of the replaced executor; empty for the first."""
    was_up: bool = False
    """Whether the topology has run before: a start failure then does not end the topology."""
    relocate: Callable[[TopologySpec], TopologySpec] = lambda each: each
    """A topology with local paths; HeronError if its code is unavailable."""
    limited_by: str = ""
    """The cluster that itself limits the container's CPU and memory; empty without limits."""
    mark: RunMark = RunMark.THERE
    """Duties of the processes for the run's mark in the checkpoint store."""


def run(spec: ContainerSpec, link: SupervisorLink) -> int:
    """Supervise the container until it ends; returns the exit code, and says why."""
    settings = keys.log_settings(spec.topology.config)
    name = f"container {spec.container}"
    log_to(_log_file(spec, f"container-{spec.container}"), name, settings=settings)
    spec = replace(spec, predecessor=link.predecessor or spec.predecessor)
    spec = replace(spec, mark=_begin_states(spec))
    log.info("hot path: %s", HOT_PATH)
    try:
        limits = container_limits(spec)
    except HeronError as error:
        log.error("%s", error)
        link.report(str(error))
        return ExitCode.TOPOLOGY_FAILED
    if spec.container != MASTER_CONTAINER:
        rehearse()
        import_heavy(spec.topology)
    _compute_lookups(spec)
    gc.freeze()  # what is shared with the children stays shared: the collector leaves it alone
    gc.set_threshold(GC_ALLOCATIONS, *GC_GENERATIONS)
    config = keys.with_defaults(spec.topology.config)
    supervisor = Supervisor(
        specs=process_specs(spec),
        link=link,
        restart_limit=keys.restart_limit(config),
        silent_secs=keys.seconds(config, keys.LIVENESS_TIMEOUT_SECS),
        read_specs=lambda message: changed_specs(spec, message, link, limits),
        kills_orphans=True,
        was_up=spec.was_up or bool(spec.predecessor),
    )
    link.came_up()
    outcome = supervisor.run()
    limits.leave()
    log.info("container %d ends: %s", spec.container, outcome.reason)
    link.report(f"{outcome.reason}{_unwritten(spec, outcome.code)}")
    return outcome.code


def _unwritten(spec: ContainerSpec, code: int) -> str:
    """For the reason of a failed topology: recorded input without an incident."""
    if code != ExitCode.TOPOLOGY_FAILED or spec.container == MASTER_CONTAINER:
        return ""
    folder = os.path.join(spec.logs, heron_instance.recording_files.FOLDER)
    tasks = [each.task for each in spec.packing.container(spec.container).instances]
    text = heron_instance.recording_files.without_incident(folder, spec.packing, tasks)
    if text:
        log.warning("%s", text)
    return f"; {text}" if text else ""


def _compute_lookups(spec: ContainerSpec) -> None:
    """Compute look-ups before the fork, shared by all processes instead of private pages in
    each.
    """
    topology, packing = spec.topology, spec.packing
    for each in (topology, packing.topology_of(topology)):
        _ = (each.by_name, each.consumers, each.feeders)
    _ = (packing.instances, packing.tasks_of, packing.container_of)


def _begin_states(spec: ContainerSpec) -> RunMark:
    was_here = bool(spec.was_up or spec.predecessor or spec.keys.run)
    url = _checkpoint_store(spec)
    return begin_states(spec.topology, spec.keys, spec.container, url, was_here)


def container_limits(spec: ContainerSpec) -> ContainerGroup:
    """Enter the control groups that limit the container, if limits apply here.

    HeronError if limits are required and missing.
    """
    mode = keys.value_of(keys.with_defaults(spec.topology.config), keys.CONTAINER_LIMITS)
    group = ContainerGroup(spec.topology.name, spec.container)
    if spec.container == MASTER_CONTAINER or mode == keys.OFF:
        return group
    if spec.limited_by:
        log.info("CPU and memory: limited by %s", spec.limited_by)
        return group
    if mode == keys.LIMITS_REQUIRED:
        check_limits()
    resource = spec.packing.container(spec.container).resource
    try:
        log.info("CPU and memory: %s", group.enter(group_access(), resource))
    except HeronError as error:
        if mode == keys.LIMITS_REQUIRED:
            raise
        log.warning("%s", error)
    return group


def changed_specs(
    spec: ContainerSpec,
    message: PlanMessage | None,
    link: SupervisorLink,
    limits: ContainerGroup | None = None,
) -> list[ProcessSpec]:
    """Processes of the container after a rescale; HeronError without a plan.

    A report of the topology master concerns the container runner: the state store has a new
    plan; a report of the stream manager names its current plan.
    """
    if spec.container == MASTER_CONTAINER:
        link.request_reload()
        return process_specs(spec)
    if message is None or PACKING not in message:
        raise HeronError("the packing plan is missing")
    packing = packing_from_json(message[PACKING])
    if limits is not None:
        limits.change(packing.container(spec.container).resource)
    topology = spec.topology if packing.changed is None else spec.relocate(packing.changed)
    return process_specs(replace(spec, packing=packing, topology=topology))


def _log_file(spec: ContainerSpec, name: str) -> str:
    return os.path.join(spec.logs, f"{name}.log")


def _checkpoint_store(spec: ContainerSpec) -> str:
    return absolute_url(store_url(spec.topology, spec.logs))


def _socket(spec: ContainerSpec) -> str:
    return os.path.join(spec.sockets, f"container-{spec.container}.sock")


def process_specs(spec: ContainerSpec) -> list[ProcessSpec]:
    """The processes of a container, last to end first."""
    if spec.container == MASTER_CONTAINER:
        return [_master_spec(spec)]
    instances = spec.packing.container(spec.container).instances
    limits = component_bytes(spec.topology, keys.RAM_MAP)
    return [
        _stream_manager_spec(spec),
        *(_instance_spec(spec, each, limits.get(each.component)) for each in instances),
    ]


def _master_spec(spec: ContainerSpec) -> ProcessSpec:
    def serve(link: SupervisorLink) -> int:
        from heron_engine.topology_master import server

        where = server.MasterArguments(
            spec.store_url,
            spec.keys,
            spec.bind_host,
            spec.logs,
            _checkpoint_store(spec),
            run_of(spec.keys) if spec.mark is RunMark.OWED else "",
        )
        return server.run(spec.topology, spec.packing, where, link)

    return ProcessSpec(
        "topology master",
        f"heron: topology master ({spec.topology.name})",
        _service(spec, "topology-master", serve),
        SERVICE_SHUTDOWN_SECS,
        killed_with_parent=True,
        final_codes=frozenset({ExitCode.ENDED}),
    )


def _stream_manager_spec(spec: ContainerSpec) -> ProcessSpec:
    number = spec.container

    def serve(link: SupervisorLink) -> int:
        from heron_engine.stream_manager import server

        where = server.StreamManagerArguments(
            number, _socket(spec), spec.store_url, spec.keys, spec.bind_host, spec.logs
        )
        return server.run(spec.topology, spec.packing, where, link)

    return ProcessSpec(
        f"stream manager {number}",
        f"heron: stream manager {number} ({spec.topology.name})",
        _service(spec, f"stream-manager-{number}", serve),
        SERVICE_SHUTDOWN_SECS,
        killed_with_parent=True,
        final_codes=frozenset({ExitCode.SUPERSEDED, ExitCode.ENDED}),
    )


def _service(
    spec: ContainerSpec, log_name: str, serve: Callable[[SupervisorLink], int]
) -> Callable[[SupervisorLink], int]:
    settings = keys.log_settings(spec.topology.config)

    def main(link: SupervisorLink) -> int:
        log_to(_log_file(spec, log_name), log_name, settings=settings)
        link.predecessor = link.predecessor or spec.predecessor
        raise_file_limit()
        try:
            return serve(link)
        except Exception as error:
            log.exception("%s fails", log_name)
            link.report(_in_one_line(error))
            return ExitCode.FAILED

    return main


def _instance_spec(
    spec: ContainerSpec, plan: InstancePlan, memory_bytes_max: int | None
) -> ProcessSpec:
    label = f"{plan.component}-{plan.task}"
    where = heron_instance.server.InstanceArguments(
        plan.task,
        _socket(spec),
        _checkpoint_store(spec),
        run_of(spec.keys),
        spec.keys.states_key,
        begins_run=spec.mark is RunMark.OWED,
        awaits_run=spec.mark is RunMark.AWAITED,
        recordings=os.path.join(spec.logs, heron_instance.recording_files.FOLDER),
        keys=None if BackupRule.of(spec.topology.config) is None else spec.keys,
    )

    path = _log_file(spec, label)
    shown = f"{plan.component}[{plan.index}]"
    settings, debug = keys.log_settings(spec.topology.config), _debug(spec.topology)
    level = keys.console_log_level(spec.topology.config)

    def main(link: SupervisorLink) -> int:
        log_to(
            path, shown, debug=debug, console=spec.console, console_level=level, settings=settings
        )
        make_importable(spec.topology)
        try:
            enter_folder(spec.topology.by_name[plan.component])
            mine = where.after(link.predecessor)
            return heron_instance.server.run(spec.topology, spec.packing, mine, link)
        except HeronError as error:
            log.error("%s", error)
            link.report(f"{error} (log: {path})")
            if isinstance(error, TopologyStopped):
                return ExitCode.TOPOLOGY_FAILED
        except (Exception, SystemExit) as error:  # user code may call sys.exit anywhere
            text = users_traceback(error, debug)
            log.error("%s fails:\n%s", label, text)
            link.report(f"{_in_one_line(error)} (log: {path})")
        return ExitCode.FAILED

    title = f"heron: {plan.component}[{plan.index}] task {plan.task} ({spec.topology.name})"
    name = f"{plan.component}[{plan.index}] (task {plan.task})"
    return ProcessSpec(
        name,
        title,
        main,
        INSTANCE_SHUTDOWN_SECS,
        killed_with_parent=True,
        memory_bytes_max=memory_bytes_max,
        is_urgent=False,
        final_codes=frozenset({ExitCode.TOPOLOGY_FAILED}),
    )


def _debug(topology: TopologySpec) -> bool:
    return keys.flag(keys.with_defaults(topology.config), keys.DEBUG)


def _in_one_line(error: BaseException) -> str:
    """Text and location of an exception, in the user's code if involved."""
    frames = traceback.extract_tb(error.__traceback__)
    last = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    where = location(error) or last
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" + (f" ({where})" if where else "")


def enter_folder(component: ComponentSpec) -> None:
    """Run where Storm would run the component; HeronError if that folder is gone."""
    if component.folder:
        show_paths_from(os.getcwd())
        try:
            os.chdir(component.folder)
        except OSError as error:
            raise HeronError(
                f"{component.label} runs in {component.folder}, as in Storm, and that cannot be"
                f" entered: {error.strerror}"
            ) from None


def make_importable(topology: TopologySpec) -> None:
    """The user's modules are found."""
    os.environ.update(keys.environment(topology.config))
    aliases.install()
    put_on_search_path(topology.search_paths)
