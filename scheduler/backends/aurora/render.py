"""A packing plan and a cluster as an Aurora job file and the values bound in it. Pure.

The job is that of Heron (heron.aurora): one service with an instance for each container, instance 0
the topology master; processes fetch and unpack archives, then start the container. What Heron binds
on the command line (AuroraField) is bound here as well; the rest stands in the file. Instances are
alike, so each gets what the largest container needs (AuroraLauncher).

Only the port `health` is asked of Aurora: our processes bind ports of their own choice and tell
them through the state store, so nothing else has to know them before they run.
"""

import re
import shlex
from collections.abc import Mapping

from msgspec import Struct

from heron_core.errors import UsageError
from heron_core.placement import Labels
from heron_core.plans import PackingPlan, Resource
from heron_core.records import replace

PORT = "health"
FETCH_FAILURES_MAX = 3
"""Retries of downloads: a short outage of a file server must not cost the instance its machine."""
HEALTH_INITIAL_SECS, HEALTH_INTERVAL_SECS, HEALTH_FAILURES_MAX = 30, 10, 2
"""Heron's heron.aurora."""
PRODUCTION_ENVIRONMENT = "prod"
PYTHON = "python3"
"""The workers' own, found by their PATH."""
PREFERRED, PREEMPTIBLE = "preferred", "preemptible"
_IDENTIFIER = re.compile(r"[\w.-]+", re.ASCII)


class JobKey(Struct, frozen=True):
    """How Aurora names a job."""

    cluster: str
    role: str
    environment: str
    name: str

    def __str__(self) -> str:
        return f"{self.cluster}/{self.role}/{self.environment}/{self.name}"


class FetchedArchive(Struct, frozen=True):
    """An archive needed by every container."""

    file: str
    uri: str
    folder: str
    """Target folder below the sandbox."""


class AuroraOptions(Struct, frozen=True):
    """Job settings of the cluster's file."""

    tier: str | None = None
    production: bool = False
    constraints: tuple[tuple[str, str], ...] = ()
    python: str = PYTHON
    environment_file: str | None = None
    """On the workers: a shell file that is read before a container starts."""
    fetch: str = ""
    """Command line with {uri} and {file}."""

    def on_nodes(self, node_labels: Labels) -> "AuroraOptions":
        """The options with labels of a topology, which override labels of the cluster's file."""
        constraints = {**dict(self.constraints), **dict(node_labels)}
        return replace(self, constraints=tuple(constraints.items()))


class JobSpec(Struct, frozen=True):
    """Common start parameters of a topology's containers."""

    store_url: str
    silent_secs: float
    python: str
    """Python version of the runtime's compiled parts."""
    runtime: FetchedArchive
    code: tuple[tuple[str, FetchedArchive], ...]
    """(folder at the submission, its archive)"""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables of the submitting shell with an effect on components."""


def check_name(name: str) -> None:
    """UsageError if Aurora takes no job of this name (ConfigurationManager's identifiers)."""
    if not _IDENTIFIER.fullmatch(name):
        raise UsageError(
            f"Aurora takes no job called {name!r}: only letters, digits, '_', '-' and '.'; choose "
            "another name with -N"
        )


def instances(packing: PackingPlan) -> int:
    """One per container, plus one for the topology master."""
    return 1 + len(packing.containers)


def largest(packing: PackingPlan) -> Resource:
    """Maximum of each resource over the containers."""
    every = [each.resource for each in packing.containers]
    return Resource(
        max(each.cpu for each in every),
        max(each.ram_bytes for each in every),
        max(each.disk_bytes for each in every),
    )


def bindings(key: JobKey, packing: PackingPlan, options: AuroraOptions) -> dict[str, str]:
    """Names for `aurora job create --bind`; bytes and cores in Heron's units."""
    needed = largest(packing)
    preferred = key.environment == PRODUCTION_ENVIRONMENT
    return {
        "CLUSTER": key.cluster,
        "CPUS_PER_CONTAINER": f"{needed.cpu:g}",
        "DISK_PER_CONTAINER": str(needed.disk_bytes),
        "ENVIRON": key.environment,
        "NUM_CONTAINERS": str(instances(packing)),
        "RAM_PER_CONTAINER": str(needed.ram_bytes),
        "ROLE": key.role,
        "TIER": options.tier or (PREFERRED if preferred else PREEMPTIBLE),
        "TOPOLOGY_NAME": key.name,
    }


def job_file(key: JobKey, options: AuroraOptions, spec: JobSpec) -> str:
    """The job file's text, in Aurora's language (Pystachio), valid in Python 2 and 3.

    UsageError for a path or address with {{, which Aurora would expand.
    """
    _check_braces(options, spec)
    archives = (spec.runtime, *(each for _, each in spec.code))
    processes = [_fetching(archive, options.fetch) for archive in archives]
    names = ", ".join([*(_variable(archive) for archive in archives), "container"])
    return _FILE.format(
        name=key.name,
        processes="\n".join(processes),
        command_line=_literal(_command_line(options, spec)),
        names=names,
        port=PORT,
        health_initial_secs=HEALTH_INITIAL_SECS,
        health_interval_secs=HEALTH_INTERVAL_SECS,
        health_failures_max=HEALTH_FAILURES_MAX,
        more=_more(options),
    )


_FILE = """\
# The topology {name}, written by heronpy. Instance 0 is the topology master, any other is the
# container of its number. What stands in {{{{ }}}} in capitals is bound on the command line.

{processes}
container = Process(
  name = 'container',
  cmdline = {command_line},
)

task = SequentialTask(
  name = '{{{{TOPOLOGY_NAME}}}}',
  processes = [{names}],
  resources = Resources(
    cpu = '{{{{CPUS_PER_CONTAINER}}}}',
    ram = '{{{{RAM_PER_CONTAINER}}}}',
    disk = '{{{{DISK_PER_CONTAINER}}}}',
  ),
)

jobs = [
  Job(
    cluster = '{{{{CLUSTER}}}}',
    role = '{{{{ROLE}}}}',
    environment = '{{{{ENVIRON}}}}',
    name = '{{{{TOPOLOGY_NAME}}}}',
    service = True,
    instances = '{{{{NUM_CONTAINERS}}}}',
    tier = '{{{{TIER}}}}',
    task = task,
    announce = Announcer(primary_port = '{port}'),
    health_check_config = HealthCheckConfig(
      health_checker = HealthCheckerConfig(
        http = HttpHealthChecker(endpoint = '/health', expected_response = 'ok'),
      ),
      initial_interval_secs = {health_initial_secs},
      interval_secs = {health_interval_secs},
      max_consecutive_failures = {health_failures_max},
    ),
    update_config = UpdateConfig(
      batch_size = 1,
      watch_secs = {health_initial_secs},
      rollback_on_failure = True,
    ),
{more}  ),
]
"""


def _more(options: AuroraOptions) -> str:
    """Settings required by some clusters."""
    lines = []
    if options.production:
        lines.append("production = True")
    if options.constraints:
        pairs = ", ".join(
            f"{_literal(key)}: {_literal(value)}" for key, value in options.constraints
        )
        lines.append(f"constraints = {{{pairs}}}")
    return "".join(f"    {line},\n" for line in lines)


def _variable(archive: FetchedArchive) -> str:
    return f"fetch_{archive.folder}"


def _fetching(archive: FetchedArchive, fetch: str) -> str:
    """The process that downloads and unpacks one archive."""
    file, folder = shlex.quote(archive.file), shlex.quote(archive.folder)
    got = fetch.replace("{uri}", shlex.quote(archive.uri)).replace("{file}", file)
    line = f"{got} && mkdir -p {folder} && tar -xzf {file} -C {folder} && rm {file}"
    return (
        f"{_variable(archive)} = Process(\n"
        f"  name = '{_variable(archive)}',\n"
        f"  cmdline = {_literal(line)},\n"
        f"  max_failures = {FETCH_FAILURES_MAX},\n"
        ")\n"
    )


def _command_line(options: AuroraOptions, spec: JobSpec) -> str:
    """The shell command that becomes the container."""
    project = f'"$PWD"/{spec.runtime.folder}/project'
    words = [
        f"exec env PYTHONPATH={project}",
        *(f"{name}={shlex.quote(value)}" for name, value in spec.environment),
        shlex.quote(options.python),
        "-m heron_engine.scheduler.backends.aurora.container_agent",
        f"--health-port {{{{thermos.ports[{PORT}]}}}}",
        f"--python {shlex.quote(spec.python)}",
        f"--silent-secs {spec.silent_secs:g}",
        "--",
        f"--store {shlex.quote(spec.store_url)}",
        "--topology {{TOPOLOGY_NAME}}",
        "--container {{mesos.instance}}",
        '--logs "$PWD"/logs',
        *(
            f'--relocated {shlex.quote(root)} "$PWD"/{archive.folder}/project'
            for root, archive in spec.code
        ),
    ]
    read = f". {shlex.quote(options.environment_file)} && " if options.environment_file else ""
    return read + " ".join(words)


def _literal(text: str) -> str:
    """`text` as a literal that Python 2 and Python 3 read alike."""
    return ascii(text) if text.isascii() else f"u{text!a}"


def _check_braces(options: AuroraOptions, spec: JobSpec) -> None:
    words: Mapping[str, str] = {
        "the state store": spec.store_url,
        "python": options.python,
        "environment_file": options.environment_file or "",
        "fetch": options.fetch,
        "the archives' uri": spec.runtime.uri,
        **{f"the folder {root}": root for root, _ in spec.code},
        **dict(spec.environment),
    }
    for what, word in words.items():
        if "{{" in word:
            raise UsageError(
                f"{what} contains {{{{, which starts a template in Aurora: use another name"
            )
