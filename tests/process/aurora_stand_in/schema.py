"""The structures of a job file, as Aurora's and Thermos' schemas have them, of the real Pystachio.

apache.aurora.config.schema.base and apache.thermos.config.schema_base of Aurora 0.21; what no job
of ours may use (cron, Docker, Mesos containers) is left out, so a file with it is refused.
"""

import os
from typing import Any

from pystachio import (
    Boolean,
    Default,
    Float,
    Integer,
    List,
    Map,
    Ref,
    Required,
    String,
    Struct,
)


class Resources(Struct):
    """Of one instance."""

    cpu = Required(Float)
    ram = Required(Integer)
    disk = Required(Integer)


class Constraint(Struct):
    """Order of processes."""

    order = List(String)


class Process(Struct):
    """A command line."""

    cmdline = Required(String)
    name = Required(String)
    max_failures = Default(Integer, 1)
    daemon = Default(Boolean, False)
    ephemeral = Default(Boolean, False)
    min_duration = Default(Integer, 5)
    final = Default(Boolean, False)


class Task(Struct):
    """Processes of one instance."""

    name = Default(String, "{{processes[0].name}}")
    processes = List(Process)
    constraints = Default(List(Constraint), [])
    resources = Resources
    max_failures = Default(Integer, 1)
    max_concurrency = Default(Integer, 0)
    finalization_wait = Default(Integer, 30)
    user = String


class UpdateConfig(Struct):
    """How an update proceeds."""

    batch_size = Default(Integer, 1)
    watch_secs = Default(Integer, 45)
    max_per_shard_failures = Default(Integer, 0)
    max_total_failures = Default(Integer, 0)
    rollback_on_failure = Default(Boolean, True)
    wait_for_batch_completion = Default(Boolean, False)
    pulse_interval_secs = Integer


class HttpHealthChecker(Struct):
    """GET endpoint."""

    endpoint = Default(String, "/health")
    expected_response = Default(String, "ok")
    expected_response_code = Default(Integer, 0)


class ShellHealthChecker(Struct):
    """A command that succeeds."""

    shell_command = Required(String)


class HealthCheckerConfig(Struct):
    """One of both."""

    http = HttpHealthChecker
    shell = ShellHealthChecker


class HealthCheckConfig(Struct):
    """When an instance counts as healthy."""

    health_checker = Default(HealthCheckerConfig, HealthCheckerConfig(http=HttpHealthChecker()))
    initial_interval_secs = Default(Float, 15.0)
    interval_secs = Default(Float, 10.0)
    max_consecutive_failures = Default(Integer, 0)
    min_consecutive_successes = Default(Integer, 1)
    timeout_secs = Default(Float, 1.0)


class Announcer(Struct):
    """Registers an instance's ports in ZooKeeper."""

    primary_port = Default(String, "http")
    portmap = Default(Map(String, String), {"aurora": "{{primary_port}}"})
    zk_path = String


class Job(Struct):
    """MesosJob."""

    name = Default(String, "{{task.name}}")
    role = Required(String)
    contact = String
    cluster = Required(String)
    environment = Required(String)
    instances = Default(Integer, 1)
    task = Required(Task)
    announce = Announcer
    tier = String
    update_config = Default(UpdateConfig, UpdateConfig())
    constraints = Map(String, String)
    service = Default(Boolean, False)
    max_task_failures = Default(Integer, 1)
    production = Default(Boolean, False)
    priority = Default(Integer, 0)
    health_check_config = Default(HealthCheckConfig, HealthCheckConfig())


def sequential_task(**given: Any) -> Any:
    """SequentialTask of the schema's helpers: each process after the one before."""
    task = Task(**given)
    names = [each.name() for each in task.processes()]
    return task(constraints=[Constraint(order=names)])


NAMES = {
    each.__name__: each
    for each in (
        Resources, Constraint, Process, Task, UpdateConfig, HttpHealthChecker, ShellHealthChecker,
        HealthCheckerConfig, HealthCheckConfig, Announcer, Job,
    )
} | {"SequentialTask": sequential_task, "Service": Job(service=True)}  # fmt: skip
"""Names defined in a job file."""


class InvalidJob(Exception):
    """The client's text after `Error loading configuration`."""


def load_job(path: str, key: tuple[str, str, str, str], bindings: dict[str, str]) -> Any:
    """The job called `key` (cluster, role, env, name) in the file, with all names bound."""
    found: dict[str, Any] = dict(NAMES)
    try:
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), os.path.basename(path), "exec"), found)
    except (OSError, SyntaxError, NameError, AttributeError, TypeError, ValueError) as error:
        raise InvalidJob(str(error)) from None
    refs = {Ref.from_address(name): value for name, value in bindings.items()}
    jobs = [each.bind(refs) for each in found.get("jobs", ())]
    if not jobs:
        raise InvalidJob("No jobs specified!")
    for job in jobs:
        words = (job.cluster(), job.role(), job.environment(), job.name())
        if tuple(map(str, words)) == key:
            _check(job)
            return job
    raise InvalidJob(f"Could not find job {'/'.join(key)}")


def _check(job: Any) -> None:
    """Bindings of an instance are bound for the check; further unbound names are an error."""
    bound, left = instance_of(job, 0, "localhost", dict.fromkeys(ports_of(job), 1))
    checked = bound.check()
    if not checked.ok():
        raise InvalidJob(checked.message())
    if left:
        raise InvalidJob(f"unbound: {', '.join(map(str, left))}")
    primary = str(job.announce().primary_port()) if job.has_announce() else None
    if primary is not None and primary not in ports_of(job):
        raise InvalidJob("The announcer's primary port must be one that a process uses")


def ports_of(job: Any) -> set[str]:
    """The names of the ports that the processes use: {{thermos.ports[NAME]}}."""
    _, left = job.task().interpolate()
    words = {ref.address() for ref in left}
    mark = "thermos.ports["
    return {each.removeprefix(mark).rstrip("]") for each in words if each.startswith(mark)}


def instance_of(job: Any, number: int, host: str, ports: dict[str, int]) -> tuple[Any, list[Any]]:
    """The job as seen by its instance, and the unbound names."""
    context = {
        Ref.from_address("mesos.instance"): number,
        Ref.from_address("mesos.hostname"): host,
        **{Ref.from_address(f"thermos.ports[{name}]"): port for name, port in ports.items()},
    }
    bound, left = job.bind(context).interpolate()
    return bound, list(left)
