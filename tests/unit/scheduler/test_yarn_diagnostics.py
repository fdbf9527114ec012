"""YARN's diagnostics, as written by the node manager of Hadoop 3.5, in one line of ours."""

import pytest

from heron_core.plans import MIB, ContainerPlan, InstancePlan, Resource
from heron_engine.scheduler.backends.yarn.diagnostics import (
    Capacity,
    capacity_shortage,
    completed_words,
    processes,
)

PAGE_BYTES = 4096
FAILED = """\
[2026-11-21 22:01:02.003]Exception from container-submission.
Container id: container_1795298476178_0003_01_000002
Exit code: 4

[2026-11-21 22:01:02.004]Container exited with a non-zero exit code 4. Error file: prelaunch.err.
Last 4096 bytes of prelaunch.err :
Last 4096 bytes of stderr :
a warning
component 'word' (task 3)   ended 6 times in a row: KeyError: 'x'


[2026-11-21 22:01:02.005]Container exited with a non-zero exit code 4. Error file: prelaunch.err.
Last 4096 bytes of prelaunch.err :
Last 4096 bytes of stderr :
a warning
component 'word' (task 3) ended 6 times in a row: KeyError: 'x'


"""
MEMORY = """\
[2026-11-21 22:01:02.003]Container [pid=100,containerID=container_1795298476178_0003_01_000002] is \
running 104857600B beyond the 'PHYSICAL' memory limit. Current usage: 1.1 GB of 1 GB physical \
memory used; 3.2 GB of 2.1 GB virtual memory used. Killing container.
Dump of the process-tree for container_1795298476178_0003_01_000002 :
\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) VMEM_USAGE(BYTES) \
RSSMEM_USAGE(PAGES) FULL_CMD_LINE
	|- 100 99 100 100 (bash) 0 0 7000 300 /bin/bash -c exec env python3 -m container_agent
\t|- 103 101 100 100 (heron: word[0]) 9 1 9000 51200 heron: word[0] task 3 (words)
\t|- 104 101 100 100 (heron: count[1]) 9 1 9000 60000 heron: count[1] task 5 (words)

[2026-11-21 22:01:02.103]Container killed on request. Exit code is 143
"""


def plan() -> ContainerPlan:
    sizes = {3: ("word", 0, 100), 5: ("count", 1, 220)}
    instances = (
        InstancePlan(task, component, index, Resource(1.0, mb * MIB, MIB))
        for task, (component, index, mb) in sizes.items()
    )
    return ContainerPlan(1, tuple(instances), Resource(2.0, 1024 * MIB, MIB))


def test_the_last_line_that_a_container_wrote() -> None:
    told = "component 'word' (task 3) ended 6 times in a row: KeyError: 'x'"
    assert completed_words(4, FAILED, plan(), PAGE_BYTES) == told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("Container released on a *lost* node", "Container released on a *lost* node"),
        ("[2026-11-21 22:01:02.003]Killed by external signal\n", "Killed by external signal"),
        ("Last 4096 bytes of stderr :\n\n", "Last 4096 bytes of stderr :"),
    ],
)
def test_without_a_stderr(text: str, words: str) -> None:
    """YARN's own diagnostics, if any."""
    assert completed_words(1, text, None, PAGE_BYTES) == words


@pytest.mark.parametrize("status", [-104, -103, 0, 143])
def test_the_instance_that_grew_beyond_its_plan(status: int) -> None:
    """Not the largest instance, perhaps of the right size: `word` has 200 MB instead of 100. The
    exit code may come from a process ended by the first signal."""
    assert completed_words(status, MEMORY, plan(), PAGE_BYTES) == (
        "it was killed for its memory (1.1 GB of 1 GB); word[0] (task 3) has 200 MB, 100 MB more "
        "than the 100 MB of its plan: raise topology.container.ram or its components' memory"
    )


def test_without_a_plan_the_largest_process() -> None:
    """A container removed by a rescale meanwhile."""
    told = completed_words(-104, MEMORY, None, PAGE_BYTES)
    assert "; the largest process is 'heron: count[1] task 5 (words)' with 234 MB" in told


def test_memory_without_a_dump() -> None:
    """A kill by the cgroup leaves no dump."""
    told = completed_words(-104, "OOM", plan(), PAGE_BYTES)
    assert told.startswith("it was killed for its memory: raise")


def test_the_rows_of_the_dump() -> None:
    """The heading is skipped; command names may have blanks and brackets."""
    assert [(each.pid, each.pages) for each in processes(MEMORY)] == [
        (100, 300),
        (103, 51200),
        (104, 60000),
    ]


def test_no_room() -> None:
    """Requested, available and missing resources."""
    told = capacity_shortage(
        Capacity(2048, 2), 1, 3, Capacity(1024, 8), Capacity(512, 4), "prod", 30.0
    )
    assert told == (
        "1 of 3 containers run after 30 s: the rest asks for 2048 MB and 2 vcores, queue prod has "
        "1024 MB and 8 vcores free, 1024 MB and 0 vcores are missing"
    )
    told = capacity_shortage(
        Capacity(900, 1), 0, 1, Capacity(1024, 8), Capacity(512, 4), "prod", 30.0
    )
    assert "no node has room for the next one (the roomiest has 512 MB and 4 vcores)" in told
