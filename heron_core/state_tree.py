"""Paths of the state store's nodes: the tree that all processes use (Heron: statemgr)."""

import re

from heron_core.errors import UsageError

SEGMENT_BYTES_MAX = 200  # file systems allow 255 and the file store adds a suffix
# A file's name must tell a value from a directory, a lock or a half-written file.
_SEGMENT = re.compile(r"(?!\.)[^/\x00-\x1f\x7f-\x9f\ud800-\udfff]+(?<!\.json)(?<!\.ephemeral)")

IDENTITY_PATH = "/identity"
"""Node with the state store's own name: an emptied store has no name, or another one. Written where
a cluster runs topologies by itself (scheduler.cluster_nodes)."""


def topology_path(name: str) -> str:
    """Node of the topology; it exists until the topology is killed."""
    return _named("topologies", name)


def packing_path(name: str) -> str:
    """Where the packing plan stands."""
    return _named("packingplans", name)


def physical_path(name: str) -> str:
    """Where the physical plan stands."""
    return _named("pplans", name)


def execution_path(name: str) -> str:
    """Node of the execution state: the user, time and place of the submission."""
    return _named("executionstate", name)


def master_path(name: str) -> str:
    """Where the topology master stands; ephemeral."""
    return _named("tmasters", name)


def fences_path(name: str) -> str:
    """Above the fence of the newest topology master."""
    return _named("fences", name)


def fence_path(name: str, token: str) -> str:
    """Fence of one topology master: as long as the node exists, the master's writes count."""
    return check_path(f"{fences_path(name)}/{token}")


def scheduler_path(name: str) -> str:
    """Where the scheduler's location stands."""
    return _named("schedulers", name)


def restart_requests_path(name: str) -> str:
    """Node with the container that Spark's driver is to restart, and parent of the requests of
    YARN's application master, which removes these."""
    return _named("wishes", name)


def restart_request_path(name: str, number: int) -> str:
    """One request, which the application master removes: a restart of containers, more room for
    containers, or an end."""
    return check_path(f"{restart_requests_path(name)}/{number}")


def operations_path(name: str) -> str:
    """Above the requests of operations on the topology."""
    return _named("operations", name)


def operation_path(name: str, number: int) -> str:
    """Node of one request of an operation; numbers follow the order of the requests."""
    return check_path(f"{operations_path(name)}/{number}")


def carrier_path(name: str, kind: str) -> str:
    """Node of a command that carries out an operation of this kind, because a cluster runs the
    topology and no process of the topology's own can; ephemeral."""
    return check_path(f"{_named('carriers', name)}/{kind}")


def keys_path(name: str) -> str:
    """Node of the topology's key pair; a process that may read the node may talk to the topology's
    processes."""
    return _named("keys", name)


def checkpoints_path(name: str) -> str:
    """Node with the complete checkpoints."""
    return _named("statefulcheckpoints", name)


def code_path(name: str) -> str:
    """Parent of the archives of code that the topology got while it ran."""
    return _named("code", name)


def code_archive_path(name: str, digest: str) -> str:
    """Node with the number of an archive's parts."""
    return check_path(f"{code_path(name)}/{digest}")


def code_part_path(name: str, digest: str, number: int) -> str:
    """Where a part of an archive stands."""
    return check_path(f"{code_archive_path(name, digest)}/{number}")


OUTCOMES_PATH = "/outcomes"
"""Above how topologies have ended."""


def outcome_path(name: str) -> str:
    """Node with the end of a topology's last run; it outlives the topology's nodes."""
    return _named(OUTCOMES_PATH[1:], name)


def lock_path(name: str) -> str:
    """Node of a lock; Heron names it TOPOLOGY__LOCK."""
    return _named("locks", name)


def _named(folder: str, name: str) -> str:
    path = f"/{folder}/{name}"
    if path.count("/") != 2:
        raise UsageError(f"{name!r} cannot name a node of the state store: leave out the '/'")
    return check_path(path)


def check_path(path: str) -> str:
    """`path` itself if it is absolute and both stores can have each of its names; UsageError
    otherwise."""
    names = path.split("/")
    if names[0] or len(names) < 2 or not all(_is_segment(each) for each in names[1:]):
        raise UsageError(
            f"{path!r} is not a path of the state store: use /folder/name, names not starting "
            f"with '.', not ending in .json or .ephemeral, at most {SEGMENT_BYTES_MAX} bytes long"
        )
    return path


def _is_segment(name: str) -> bool:
    return _SEGMENT.fullmatch(name) is not None and len(name.encode()) <= SEGMENT_BYTES_MAX
