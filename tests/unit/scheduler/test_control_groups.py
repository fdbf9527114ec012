"""Control groups of containers, and their limits. The trees are folders in the form of the kernel's
hierarchy; tests/process/test_limits.py uses the kernel's own."""

import os
from pathlib import Path

import pytest

from heron_core.errors import HeronError
from heron_core.plans import Resource
from heron_engine.scheduler.container.control_groups import (
    CPU,
    MEMORY,
    OTHERS,
    Base,
    ContainerGroup,
    Granted,
    GroupAccess,
    Hierarchy,
    access_by,
    files_of,
    granted_by,
    hierarchies,
    limits_text,
)

HALF = Resource(0.5, 256 << 20, 0)
UNIFIED = "29 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
OLD = """31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""
SERVICE = "/user.slice/user-1000.slice/worker.service"


def test_one_hierarchy_of_version_2_has_all_controllers() -> None:
    known = hierarchies(f"0::{SERVICE}\n", UNIFIED)
    mine = Hierarchy(2, "/sys/fs/cgroup", f"/sys/fs/cgroup{SERVICE}")
    assert known == {CPU: mine, MEMORY: mine}


def test_a_controller_of_version_1_is_not_one_of_version_2() -> None:
    groups = "9:memory:/jobs/7\n1:cpu,cpuacct:/\n0::/\n"
    assert hierarchies(groups, OLD) == {
        CPU: Hierarchy(1, "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct"),
        MEMORY: Hierarchy(1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/jobs/7"),
    }


def test_a_container_engine_shows_a_part_of_the_hierarchy() -> None:
    """The mount begins at the engine's group: paths of /proc are relative to the real root."""
    shown = UNIFIED.replace("0:26 /", "0:26 /docker/abc")
    assert hierarchies("0::/docker/abc/init\n", shown)[CPU].group == "/sys/fs/cgroup/init"


@pytest.mark.parametrize(
    ("controller", "version", "files"),
    [
        (CPU, 2, {"cpu.max": "50000 100000"}),
        (CPU, 1, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}),
        (MEMORY, 2, {"memory.high": str(256 << 20)}),
    ],
)
def test_the_limits_are_the_packing_plans(
    controller: str, version: int, files: dict[str, str]
) -> None:
    assert files_of(Base(controller, version, "/x"), HALF, 2) == files


def test_as_many_cores_as_the_machine_has_are_no_limit() -> None:
    assert files_of(Base(CPU, 2, "/x"), Resource(2.0, 1, 0), 2) == {"cpu.max": "max 100000"}
    assert files_of(Base(CPU, 1, "/x"), Resource(2.0, 1, 0), 2) == {"cpu.cfs_quota_us": "-1"}
    assert files_of(Base(CPU, 2, "/x"), Resource(1e-6, 1, 0), 2) == {"cpu.max": "1000 100000"}


class Tree:
    """A hierarchy of version 2: the root, and below it the group of a service."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.service = root / "worker.service"
        self.service.mkdir()
        for group in (root, self.service):
            self.has(group, "cpu memory")

    def has(self, group: Path, controllers: str, gives: str = "") -> None:
        """The controllers of a group, and of its children."""
        (group / "cgroup.controllers").write_text(controllers)
        (group / "cgroup.subtree_control").write_text(gives)
        (group / "cgroup.procs").write_text("")

    def delegate(self, group: Path) -> None:
        """As systemd marks a group."""
        try:
            os.setxattr(group, "user.delegate", b"1")
        except OSError as error:
            pytest.skip(f"attributes of files are not kept here: {error}")

    def access(self, group: Path) -> GroupAccess:
        """Limits that a process of the group may set."""
        mine = Hierarchy(2, str(self.root), str(group))
        return access_by({CPU: mine, MEMORY: mine})


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_the_root_of_a_containers_own_hierarchy_is_the_base(tree: Tree) -> None:
    tree.has(tree.root, "cpu memory", "cpu memory")
    found = tree.access(tree.root)
    assert not found.reasons
    assert {each.directory for each in found.bases} == {str(tree.root)}


def test_a_group_of_systemds_is_left_alone(tree: Tree) -> None:
    """Root could write there: systemd moves and removes its groups as it likes."""
    found = tree.access(tree.service)
    if os.getuid():
        pytest.skip("the owner of a group may divide it")
    assert not found.bases
    (reason,) = found.reasons
    assert reason.startswith(f"CPU and memory are not limited: {tree.service} is not delegated")
    assert "systemd-run --user --scope -p Delegate=yes" in reason


def test_a_delegated_group_is_emptied_first(tree: Tree) -> None:
    tree.delegate(tree.service)
    found = tree.access(tree.service)
    assert [each.empties for each in found.bases] == [True, True]
    group = ContainerGroup("words", 1)
    text = group.enter(found, HALF)
    assert text == f"0.5 of {os.cpu_count()} cores, 256 MiB of memory"
    assert (tree.service / OTHERS).is_dir()
    assert (tree.service / "cgroup.subtree_control").read_text() == "+memory"
    (own,) = (each for each in tree.service.glob("heronpy-words-1-*"))
    assert (own / "cpu.max").read_text() == "50000 100000"
    assert (own / "memory.high").read_text() == str(256 << 20)
    assert (own / "cgroup.procs").read_text() == str(os.getpid())
    group.change(Resource(0.25, 512 << 20, 0))
    assert (own / "cpu.max").read_text() == "25000 100000"


def test_the_next_container_of_a_delegated_group_finds_it_divided(tree: Tree) -> None:
    tree.delegate(tree.service)
    tree.has(tree.service, "cpu memory", "cpu memory")
    others = tree.service / OTHERS
    others.mkdir()
    tree.has(others, "cpu memory")
    found = tree.access(others)
    assert [each.directory for each in found.bases] == [str(tree.service)] * 2
    assert not any(each.empties for each in found.bases)


def test_what_killed_containers_left_is_removed(tree: Tree) -> None:
    tree.has(tree.root, "cpu memory", "cpu memory")
    (tree.root / "heronpy-words-1-77").mkdir()
    (tree.root / "other").mkdir()
    ContainerGroup("words", 1).enter(tree.access(tree.root), HALF)
    assert not (tree.root / "heronpy-words-1-77").exists()
    assert (tree.root / "other").exists()


def test_a_missing_controller_is_named(tree: Tree) -> None:
    tree.has(tree.root, "cpu memory", "cpu")
    tree.has(tree.service, "cpu", "cpu")
    found = tree.access(tree.service)
    assert [each.controller for each in found.bases] == [CPU]
    assert found.reasons[0].startswith(f"memory is not limited: {tree.service} has no controller")
    text = limits_text(found, HALF, 2)
    assert text.startswith("0.5 of 2 cores; memory is not limited: ")


def test_a_limit_that_the_kernel_refuses_is_an_error(tree: Tree) -> None:
    found = GroupAccess((Base(CPU, 2, str(tree.root / "removed" / "meanwhile")),), ())
    with pytest.raises(HeronError, match=r"CPU and memory cannot be limited: .*meanwhile"):
        ContainerGroup("words", 1).enter(found, HALF)


def test_without_control_groups_one_line_says_so() -> None:
    found = access_by({})
    assert found.reasons == (
        "CPU and memory are not limited: control groups are not mounted (/sys/fs/cgroup)",
    )


@pytest.mark.parametrize(
    ("version", "above", "own", "found"),
    [
        (2, {"cpu.max": "150000 100000", "memory.max": "max"}, {"memory.max": "1000"}, (1.5, 1000)),
        (2, {"memory.max": "2000"}, {"cpu.max": "max 100000", "memory.max": "3000"}, (None, 2000)),
        (2, {}, {"cpu.max": "50000 100000"}, (0.5, None)),
        (
            1,
            {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"},
            {"cpu.cfs_quota_us": "200000", "cpu.cfs_period_us": "100000",
             "memory.limit_in_bytes": "4096"},
            (2.0, 4096),
        ),
    ],
)  # fmt: skip
def test_the_least_of_our_group_and_those_above_is_granted(
    tmp_path: Path,
    version: int,
    above: dict[str, str],
    own: dict[str, str],
    found: tuple[float | None, int | None],
) -> None:
    """The root of version 2 has no files of limits: only the groups below have some."""
    group = tmp_path / "user.slice" / "worker.service"
    group.mkdir(parents=True)
    for folder, files in ((group.parent, above), (group, own)):
        for name, content in files.items():
            (folder / name).write_text(f"{content}\n")
    mine = Hierarchy(version, str(tmp_path), str(group))
    assert granted_by({CPU: mine, MEMORY: mine}) == Granted(*found)
    assert granted_by({}) == Granted(None, None)
