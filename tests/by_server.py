"""How pytest-xdist divides the tests: the tests of a file, or of all files with a shared server,
run in one process, and the longest begin.

A process runs the last test of a file only when it knows the next one, often with equal fixtures.
So a process gets its next file then, and not earlier: a test behind one of a minute could run in
another process meanwhile.

Tests of two kinds run beside each other: tests with half of their time in waits for processes, and
calculations. If all processes of the tests had the first kind, the cores would have pauses; if all
had the second, the processes would share the cores. So one process of the tests calculates, until
all calculations are done.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

REPOSITORY = Path(__file__).parents[1]
SERVERS = {
    "tests/spark": ("standalone_cluster", "spark"),
    "tests/process": ("running_zookeeper",),
    "tests/cluster": ("west", "kafka", "standalone_cluster"),
}
"""Folder -> fixtures with seconds of preparation, shared by a process's tests. The requests of a
file are found by `NAME: `, as all parameters have a type."""
SHORT = {"tests/process": "runtime_cache"}
"""Folder -> a fixture that takes a second to make, for all tests of a file. Where a file has none,
and a test asks for no server, the test is a unit: so a file of a minute does not end behind all
others."""
FIRST = (
    "tests/spark/test_flights_on_spark.py",
    "tests/conformance/test_back_ends.py",
    "tests/process/test_recovery.py",
)
"""Files that begin, one for each process of `make test` that waits: the first file leaves the
classes of its JVM for Spark's JVMs of all later tests, and the rest do not need a JVM meanwhile."""
WAITING = ("spark", "conformance", "connectors", "store", "process", "chaos", "cluster", "jvm",
           "kubernetes", "drill")  # fmt: skip
"""Folders below tests whose tests wait for processes and servers, those with the longest units
first."""
LONG = ("sim", "native")
"""Further folders: the ones with the longest tests; all remaining folders come behind them."""
LONGEST = tuple(f"test_{each}.py" for each in (
    "connectors_conform", "store_conformance", "aurora", "exact_counts", "live_queries", "tutorial",
    "trident", "nimbus", "many_instances", "cluster", "attempt",
))  # fmt: skip
"""Files that begin their folders."""
UNSTARTED_MAX = 1
"""A process gets more tests when its queue is this short."""


def rank(file: Path) -> tuple[int, bool]:
    """Where the tests of a file stand."""
    below = file.relative_to(REPOSITORY)
    if below.as_posix() in FIRST:
        return FIRST.index(below.as_posix()), False
    folders = WAITING + LONG
    folder = below.parts[1]
    place = folders.index(folder) if folder in folders else len(folders)
    return len(FIRST) + place, file.name not in LONGEST


@cache
def unit_of(test: str) -> str:
    """Name of the unit with a test's id or with a file below the repository."""
    file, _, name = test.partition("::")
    folder = file.rpartition("/")[0]
    for server in SERVERS.get(folder, ()):
        if re.search(rf"\b{server}: ", _asks(file, name if folder in SHORT else "")):
            return f"{folder} with {server}"
    is_one = folder in SHORT and name and f"{SHORT[folder]}: " not in _text(file)
    return test if is_one else file


def _asks(file: str, name: str) -> str:
    """Search for requests of a file, or of one of its tests."""
    if not name:
        return _text(file)
    found = re.search(
        rf"^def {name.partition('[')[0]}\((.*?)\) -> ", _text(file), re.MULTILINE | re.DOTALL
    )
    return found[1] if found else ""


@cache
def _text(file: str) -> str:
    return (REPOSITORY / file).read_text("utf-8")


def waits(unit: str) -> bool:
    """Whether a unit's tests wait half of their time."""
    return unit.startswith(tuple(f"tests/{each}{end}" for each in WAITING for end in "/ "))


class ByServer(LoadScopeScheduling):  # type: ignore[misc]
    """Units in the order in which they were collected."""

    def __init__(self, config: Any, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        """The first unit of the kind with too few units under way."""
        others = (work for each, work in self.assigned_work.items() if each is not node)
        newest = [next(reversed(work), "") for work in others]
        kind = sum(map(waits, newest)) < self.numnodes - 1
        of_kind = (unit for unit in self.workqueue if waits(unit) == kind)
        self.workqueue.move_to_end(next(of_kind, next(iter(self.workqueue))), last=False)
        super()._assign_work_unit(node)

    def remove_node(self, node: Any) -> str | None:
        """The test in which a process died counts as done, and another process gets the rest:
        otherwise a hanging test would end one process after another."""
        units = self.assigned_work[node].values()
        unfinished = [(unit, test) for unit in units for test, done in unit.items() if not done]
        for unit, test in unfinished[:1]:
            unit[test] = True
        super().remove_node(node)
        return unfinished[0][1] if unfinished else None

    def _reschedule(self, node: Any) -> None:
        """Work for a process with a nearly empty queue."""
        if self._pending_of(self.assigned_work[node]) <= UNSTARTED_MAX or not self.workqueue:
            super()._reschedule(node)
