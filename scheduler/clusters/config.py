"""Clusters by name: NAME.yaml in ~/.heronpy/clusters says how topologies get to one.

    scheduler: aurora                      local, spark, aurora or yarn
    state: zk://zk1:2181,zk2:2181/heron    or file:///folder, which only one machine sees
    packing: {algorithm: round_robin, containers: 4, container: {cpu: 4, ram: 8GB}, padding: {…}}
    resources: {cpu: 16, ram: 32GB}        the largest container that the cluster can give
    config: {topology.max.spout.pending: 500}
    archives: {folder: /mnt/heronpy, uri: https://files/heronpy, fetch: …, limit: 200MB}
    aurora: {cluster: west, role: www, env: prod, …}    only the section of the scheduler

`config` and `packing` are layers below a topology's own config. Every error names file and line.
"""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from heron_core.errors import TopologyError, UsageError
from heron_core.plans import MIB, PackingPlan
from heron_core.validation import choices
from heron_engine.scheduler.clusters.schema import SCHEDULERS, SECTIONS, read_section
from heron_engine.scheduler.user_folder import Home

ENDING = ".yaml"
FETCH = "curl -fsSL -o {file} {uri}"
"""How a worker gets one archive; curl reads file:// as well."""
PACKING_KEYS = {
    "algorithm": "topology.packing.algorithm",
    "containers": "topology.stmgrs",
    "container.cpu": "topology.container.cpu",
    "container.ram": "topology.container.ram",
    "container.disk": "topology.container.disk",
    "container.instances": "topology.container.max.instances",
    "padding.cpu": "topology.container.cpu.padding",
    "padding.ram": "topology.container.ram.padding",
    "padding.percentage": "topology.container.padding.percentage",
}
"""Key below `packing` -> key of a topology's config."""


class Archives(Struct, frozen=True):
    """Where archives are put, and how workers get them."""

    folder: str
    """Path on the submitting machine: a shared file system, or a folder served by a web server."""
    uri: str
    """URI of the folder for workers; a file is at URI/FILE."""
    fetch: str = FETCH
    """Command line of a worker's shell; {uri} and {file} stand for the archive and the new file."""
    limit_bytes: int | None = None


class ClusterConfig(Struct, frozen=True):
    """Content of a cluster's file."""

    name: str
    file: str
    scheduler: str
    store_url: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """A layer below the config of its topologies."""
    resources: Mapping[str, Any] = field(default_factory=dict)
    """cpu (cores), ram, disk (bytes) of the largest container; what is not said is not limited."""
    archives: Archives | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Section of its scheduler."""

    def lacks(self, what: str) -> UsageError:
        """Error for a file without a setting required by its scheduler."""
        return UsageError(f"{self.file}: scheduler {self.scheduler} needs {what}: add the key")

    def store_problem(self) -> str | None:
        """Why the hosts of the cluster do not see the state, in one line."""
        is_shared = self.store_url.startswith(("zk://", "kubernetes://"))
        if is_shared or self.options.get("one_machine", False):
            return None
        return (
            f"the state in {self.store_url} is visible only on this machine: use state: "
            f"zk://HOST:PORT/ROOT in {self.file}, or {self.scheduler}: one_machine: true for a "
            "cluster of one machine"
        )


def folder_of(config_path: str | None) -> str:
    """--config-path, or the user's own folder of clusters."""
    if config_path is not None:
        return os.path.abspath(os.path.expanduser(config_path))
    return os.path.join(Home.of_user().path, "clusters")


def names_in(folder: str) -> list[str]:
    """The clusters that have a file, sorted; a pod's template beside them is not a cluster."""
    try:
        files = os.listdir(folder)
    except OSError:
        return []
    return sorted(
        file.removesuffix(ENDING)
        for file in files
        if file.endswith(ENDING) and not _is_template(os.path.join(folder, file))
    )


def _is_template(path: str) -> bool:
    """Whether a file has a pod's template (kubernetes: pod_template), by its words: it has a spec,
    and names no scheduler of a cluster. One that cannot be read is for the reader of clusters."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return False
    return _SPEC.search(text) is not None and _SCHEDULER.search(text) is None


_SPEC, _SCHEDULER = re.compile(r"\bspec\b"), re.compile(r"\bscheduler\b")


def cluster_of(name: str, config_path: str | None = None) -> ClusterConfig:
    """The cluster called `name`; UsageError for an unknown name, or with file and line of an
    error."""
    folder = folder_of(config_path)
    names = names_in(folder)
    if name not in names:
        hint = choices("clusters", name, names)
        raise UsageError(f"cluster {name!r} not found in {folder}; {hint}")
    path = os.path.join(folder, name + ENDING)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return parse(text, name, path)


def parse(text: str, name: str, path: str) -> ClusterConfig:
    """The cluster that a file's text describes; UsageError with file and line."""
    from heron_frontends.flux import documents

    try:
        located = documents.parse(text, path, [])
        section = read_section(located, SECTIONS)
        scheduler = section.get("scheduler")
        if scheduler is None:
            raise located.position.wrong(
                f"the key 'scheduler' is missing ({' or '.join(SCHEDULERS)})"
            )
        for other in SCHEDULERS:
            if other != scheduler and other in section:
                position = located.value[other].position
                raise position.wrong(f"{other} has no effect: the scheduler is {scheduler}")
    except TopologyError as error:
        raise UsageError(str(error)) from None
    cluster = ClusterConfig(
        name,
        path,
        scheduler,
        _store_url(section, scheduler, path),
        {**section.get("config", {}), **_packing(section.get("packing", {}))},
        section.get("resources", {}),
        _archives(section.get("archives")),
        section.get(scheduler, {}),
    )
    _check_required(cluster)
    return cluster


def _store_url(found: Mapping[str, Any], scheduler: str, path: str) -> str:
    given = found.get("state")
    if given is None and scheduler == "kubernetes":
        raise UsageError(
            f"{path}: scheduler kubernetes needs state: kubernetes://NAMESPACE: add the key"
        )
    if given is None and scheduler in ("aurora", "yarn"):
        raise UsageError(f"{path}: scheduler {scheduler} needs state: zk://HOST:PORT/ROOT: add it")
    return given or Home.of_user().store_url


def _packing(section: Mapping[str, Any]) -> dict[str, Any]:
    flat = {
        (f"{key}.{inner}" if inner else key): value
        for key, each in section.items()
        for inner, value in (each.items() if isinstance(each, dict) else [("", each)])
    }
    return {PACKING_KEYS[key]: value for key, value in flat.items()}


def _archives(found: Mapping[str, Any] | None) -> Archives | None:
    if found is None:
        return None
    folder = os.path.abspath(os.path.expanduser(found["folder"]))
    uri = found.get("uri", Path(folder).as_uri()).rstrip("/")
    return Archives(folder, uri, found.get("fetch", FETCH), found.get("limit"))


def _check_required(cluster: ClusterConfig) -> None:
    """Some sections have keys without a default."""
    if cluster.scheduler == "kubernetes" and "image" not in cluster.options:
        raise cluster.lacks("kubernetes: image")
    if cluster.scheduler != "aurora":
        return
    for key in ("cluster", "role"):
        if key not in cluster.options:
            raise cluster.lacks(f"aurora: {key}")
    if cluster.archives is None:
        raise cluster.lacks("archives: folder")


def words_of(command: str) -> tuple[str, ...]:
    """A command line as words, ~ expanded in the first."""
    program, *rest = shlex.split(command)
    return (os.path.expanduser(program), *rest)


def check_fits(cluster: ClusterConfig, packing: PackingPlan) -> None:
    """UsageError if a container of the plan is larger than any that the cluster can give: on a
    cluster such a container would wait for ever."""
    for key, largest in cluster.resources.items():
        attribute = key if key == "cpu" else f"{key}_bytes"
        for container in packing.containers:
            wanted = getattr(container.resource, attribute)
            if wanted > largest:
                raise UsageError(
                    f"container {container.id} needs {key} {_shown(key, wanted)}, and "
                    f"{cluster.file} says that {cluster.name} gives at most "
                    f"{_shown(key, largest)}: use more containers (-w), or set "
                    f"topology.container.{key}"
                )


def _shown(key: str, amount: float) -> str:
    return f"{amount:g}" if key == "cpu" else f"{amount / MIB:.0f}MB"
