"""Limits of a container's processes, by the kernel: a control group (cgroup) below our own.

A container started as a plain process (local, Spark, Aurora) enters a group of its own before its
first fork, with the cores and the memory of the packing plan; YARN and Kubernetes limit their
containers themselves. All processes of the container share the limit.

*Which group.* Version 2 of control groups lets a group have either processes or children with
limits, and groups that systemd has not delegated belong to systemd. So the parent of the
containers' groups, their base, is the first of these:

1. our own group, if its children have the controller already (the root of a container's own
   hierarchy), or if version 1 is mounted, without the rule above;
2. the parent of our group, if delegated, and if its children have the controller;
3. our group, if delegated: all its processes move into a child, `heronpy-others`, and the children
   get the controller.

*What is limited.* `cpu.max` (version 1: `cpu.cfs_quota_us`), if the container gets fewer cores than
the machine has, and `memory.high`, at which the kernel reclaims and slows down but does not kill;
version 1 lacks such a limit. `group_access` finds base and files without any change, for `heronpy
doctor`.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import MIB, Resource

PERIOD_US = 100_000
"""The kernel's default, in which the quota of CPU time is spent and renewed."""
QUOTA_US_MIN = 1_000
"""The kernel's minimum: a hundredth of a core."""
PREFIX = "heronpy-"
OTHERS = f"{PREFIX}others"
MOVES_MAX = 20
"""Rounds over the processes of a delegated group: some fork meanwhile."""
ENTRIES_MAX = 5
"""Attempts to enter a new group: another container's sweep may remove the group while empty."""
CPU, MEMORY = "cpu", "memory"
DELEGATED = ("user.delegate", "trusted.delegate")
"""Attributes of systemd on the directory of a delegated group (only root reads the second)."""
REMEDY = (
    "start heronpy in a group that systemd delegates: `systemd-run --user --scope -p Delegate=yes` "
    "or Delegate=yes in the unit"
)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Mount of a controller, and the group of this process there."""

    version: int
    mount: str
    """The directory of the topmost visible group."""
    group: str
    """The directory of our group; may be `mount`."""


@dataclass(frozen=True, slots=True)
class Base:
    """The parent of the containers' groups for one controller."""

    controller: str
    version: int
    directory: str
    empties: bool = False
    """Whether its processes have to move into a child first."""


@dataclass(frozen=True, slots=True)
class GroupAccess:
    """Limits that this process may set."""

    bases: tuple[Base, ...]
    reasons: tuple[str, ...]
    """Why a controller is missing, a line each."""

    def base(self, controller: str) -> Base | None:
        """The base of a controller; None without limits."""
        return next((each for each in self.bases if each.controller == controller), None)


@dataclass(frozen=True, slots=True)
class Granted:
    """Cores and memory that the groups around this process leave; None: all of the machine's."""

    cores: float | None
    memory_bytes: int | None


# --- pure ---------------------------------------------------------------------------------------


def hierarchies(groups: str, mounts: str) -> dict[str, Hierarchy]:
    """controller -> its hierarchy. `groups`: /proc/self/cgroup, `mounts`: /proc/self/mountinfo.

    A controller that is mounted as version 1 is not available in version 2.
    """
    paths: dict[str, str] = {}
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update(dict.fromkeys(controllers.split(","), path))
    by_controller: dict[str, Hierarchy] = {}
    for mount, root, kind, names in _mounted(mounts):
        for controller in (CPU, MEMORY):
            is_first = kind == "cgroup" and controller in names and controller in paths
            if is_first or (kind == "cgroup2" and "" in paths and controller not in by_controller):
                path = paths[controller if is_first else ""]
                directory = os.path.normpath(os.path.join(mount, os.path.relpath(path, root)))
                by_controller[controller] = Hierarchy(1 if is_first else 2, mount, directory)
    return by_controller


def _mounted(mounts: str) -> Iterable[tuple[str, str, str, list[str]]]:
    """Mount point, root in the hierarchy, kind and options of each hierarchy of control groups."""
    for line in mounts.splitlines():
        mount, _, source = line.partition(" - ")
        fields, words = mount.split(), source.split()
        if words and words[0] in ("cgroup", "cgroup2"):
            yield fields[4], fields[3], words[0], words[-1].split(",")


def cpu_files(version: int, cores: float) -> dict[str, str]:
    """File -> content, for a group of so many cores."""
    quota = max(QUOTA_US_MIN, round(cores * PERIOD_US))
    if version == 1:
        return {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota)}
    return {"cpu.max": f"{quota} {PERIOD_US}"}


def without_cpu_limit(version: int) -> dict[str, str]:
    """File -> content, for a group of all cores."""
    return {"cpu.cfs_quota_us": "-1"} if version == 1 else {"cpu.max": f"max {PERIOD_US}"}


def files_of(base: Base, resource: Resource, cores: int) -> dict[str, str]:
    """File -> content for a container's group below `base`, on a machine with so many cores."""
    if base.controller == MEMORY:
        return {"memory.high": str(resource.ram_bytes or "max")}
    if not 0 < resource.cpu < cores:
        return without_cpu_limit(base.version)
    return cpu_files(base.version, resource.cpu)


def limits_text(access: GroupAccess, resource: Resource, cores: int) -> str:
    """The limits of a container, and reasons for missing limits, in one line."""
    parts = []
    if access.base(CPU) is not None:
        is_all = not 0 < resource.cpu < cores
        parts.append(f"all {cores} cores" if is_all else f"{resource.cpu:g} of {cores} cores")
    if access.base(MEMORY) is not None:
        parts.append(f"{resource.ram_bytes // MIB} MiB of memory")
    return "; ".join(filter(None, (", ".join(parts), *access.reasons)))


# --- access ---------------------------------------------------------------------------------------


def group_access() -> GroupAccess:
    """Limits that this process may set; changes nothing."""
    try:
        known = hierarchies(_content("/proc/self/cgroup"), _content("/proc/self/mountinfo"))
    except (OSError, ValueError) as error:
        return GroupAccess((), (f"CPU and memory are not limited: {error}",))
    return access_by(known)


def access_by(known: Mapping[str, Hierarchy]) -> GroupAccess:
    """Limits by these hierarchies."""
    bases, reasons = [], []
    for controller, subject in ((CPU, "CPU is"), (MEMORY, "memory is")):
        try:
            bases.append(_base_of(controller, known.get(controller)))
        except HeronError as error:
            reasons.append(f"{subject} not limited: {error}")
    if len(reasons) > 1 and reasons[0].partition(": ")[2] == reasons[1].partition(": ")[2]:
        reasons = [reasons[0].replace("CPU is", "CPU and memory are")]
    return GroupAccess(tuple(bases), tuple(reasons))


def _base_of(controller: str, hierarchy: Hierarchy | None) -> Base:
    """HeronError in words without a base."""
    if hierarchy is None:
        raise HeronError("control groups are not mounted (/sys/fs/cgroup)")
    group = hierarchy.group
    if hierarchy.version == 1:
        if controller == MEMORY:
            raise HeronError("control groups are of version 1, which has no memory.high")
        _check_writable(group)
        return Base(controller, 1, group)
    parent = os.path.dirname(group)
    if _gives(group, controller):
        _check_writable(group)
        return Base(controller, 2, group)
    if group != hierarchy.mount and _is_delegated(parent) and _gives(parent, controller):
        _check_writable(parent)
        return Base(controller, 2, parent)
    if controller not in _words(group, "cgroup.controllers"):
        raise HeronError(f"{group} has no controller {controller}: {REMEDY}")
    if not _is_delegated(group):
        raise HeronError(f"{group} is not delegated to heronpy: {REMEDY}")
    _check_writable(group)
    return Base(controller, 2, group, empties=True)


def _gives(group: str, controller: str) -> bool:
    """Whether the children of a group have the controller."""
    return controller in _words(group, "cgroup.subtree_control")


def _is_delegated(group: str) -> bool:
    for attribute in DELEGATED:
        with suppress(OSError):
            if os.getxattr(group, attribute) == b"1":
                return True
    with suppress(OSError):  # before its release 251 systemd gave delegated groups only an owner
        return 0 != os.stat(group).st_uid == os.getuid()
    return False


def _check_writable(group: str) -> None:
    if not os.access(group, os.W_OK) or os.statvfs(group).f_flag & os.ST_RDONLY:
        raise HeronError(f"{group} is not writable: {REMEDY}")


def check_limits() -> None:
    """HeronError unless this process may limit both CPU and memory."""
    if reasons := group_access().reasons:
        raise HeronError(
            f"{keys.CONTAINER_LIMITS} is {keys.LIMITS_REQUIRED}, and {'; '.join(reasons)}"
        )


def granted() -> Granted:
    """The least cores and memory that our group or an ancestor grants: the limit of a group is a
    limit of all processes below."""
    try:
        known = hierarchies(_content("/proc/self/cgroup"), _content("/proc/self/mountinfo"))
    except (OSError, ValueError):
        return Granted(None, None)
    return granted_by(known)


def granted_by(known: Mapping[str, Hierarchy]) -> Granted:
    """The grant by these hierarchies."""
    cores = [_cores_of(group, each.version) for each, group in _around(known.get(CPU))]
    sizes = [_memory_of(group, each.version) for each, group in _around(known.get(MEMORY))]
    return Granted(
        min((each for each in cores if each is not None), default=None),
        min((each for each in sizes if each is not None), default=None),
    )


def _around(hierarchy: Hierarchy | None) -> Iterable[tuple[Hierarchy, str]]:
    """Our group and its ancestors, up to the topmost visible group."""
    if hierarchy is None:
        return
    group = hierarchy.group
    while group.startswith(hierarchy.mount):
        yield hierarchy, group
        group = os.path.dirname(group)


def _cores_of(group: str, version: int) -> float | None:
    if version == 1:
        words = _words(group, "cpu.cfs_quota_us") + _words(group, "cpu.cfs_period_us")
    else:
        words = _words(group, "cpu.max")
    if len(words) != 2 or not all(map(str.isdigit, words)):
        return None  # `max`, -1, or the root group, which has no such file
    return int(words[0]) / int(words[1])


def _memory_of(group: str, version: int) -> int | None:
    words = _words(group, "memory.limit_in_bytes" if version == 1 else "memory.max")
    return int(words[0]) if words and words[0].isdigit() else None


# --- limiting -------------------------------------------------------------------------------------


class ContainerGroup:
    """The groups of one container, one for each hierarchy."""

    def __init__(self, topology: str, container: int) -> None:
        """Nothing is made, and nothing limited, before `enter`."""
        self._bases: tuple[Base, ...] = ()
        self._name = f"{PREFIX}{topology}-{container}-{os.getpid()}"
        """With the process id: a successor has another group than processes that still end."""
        self._cores = os.cpu_count() or 1

    def enter(self, access: GroupAccess, resource: Resource) -> str:
        """Move this process, without children yet, into groups with these limits; returns the
        limits in one line. HeronError if the kernel refuses."""
        self._bases = access.bases
        try:
            for base in access.bases:
                if base.empties:
                    _give_controllers(base)
            for directory in dict.fromkeys(each.directory for each in access.bases):
                _sweep(directory)
                self._enter_below(directory)
            self._limit(resource)
        except OSError as error:
            raise HeronError(f"CPU and memory cannot be limited: {error}") from None
        return limits_text(access, resource, self._cores)

    def change(self, resource: Resource) -> None:
        """Other limits, from now on: the container has other instances. Without effect before
        `enter`. HeronError if the kernel refuses."""
        try:
            self._limit(resource)
        except OSError as error:
            raise HeronError(f"CPU and memory keep their limits: {error}") from None

    def _limit(self, resource: Resource) -> None:
        for base in self._bases:
            for file, content in files_of(base, resource, self._cores).items():
                _write(os.path.join(base.directory, self._name, file), content)

    def leave(self) -> None:
        """Remove the groups, once all children have ended; the next container's sweep removes a
        group whose processes still end."""
        for base in self._bases:
            with suppress(OSError):
                refuge = os.path.join(base.directory, OTHERS)
                to = refuge if os.path.isdir(refuge) else base.directory
                _write(os.path.join(to, "cgroup.procs"), str(os.getpid()))
        for directory in {each.directory for each in self._bases}:
            with suppress(OSError):
                os.rmdir(os.path.join(directory, self._name))

    def _enter_below(self, directory: str) -> None:
        group = os.path.join(directory, self._name)
        for attempt in range(1, ENTRIES_MAX + 1):
            os.makedirs(group, exist_ok=True)
            try:
                return _write(os.path.join(group, "cgroup.procs"), str(os.getpid()))
            except FileNotFoundError:
                if attempt == ENTRIES_MAX:
                    raise
        return None


def _give_controllers(base: Base) -> None:
    """Give the children of a delegated group the controller, after its processes have left;
    another container may have come first."""
    if _gives(base.directory, base.controller):
        return
    others = os.path.join(base.directory, OTHERS)
    os.makedirs(others, exist_ok=True)
    for _ in range(MOVES_MAX):
        pids = _words(base.directory, "cgroup.procs")
        if not pids:
            break
        for pid in pids:
            with suppress(ProcessLookupError):  # just ended
                _write(os.path.join(others, "cgroup.procs"), pid)
    _write(os.path.join(base.directory, "cgroup.subtree_control"), f"+{base.controller}")


def _sweep(directory: str) -> None:
    """Remove the groups of killed containers: the kernel refuses groups with processes."""
    for name in os.listdir(directory):
        if name.startswith(PREFIX) and name != OTHERS:
            with suppress(OSError):
                os.rmdir(os.path.join(directory, name))


def _write(path: str, content: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(content)


def _words(group: str, file: str) -> list[str]:
    try:
        return _content(os.path.join(group, file)).split()
    except OSError:
        return []


def _content(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
