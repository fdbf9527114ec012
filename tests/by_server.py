"""How pytest-xdist divides the tests: those of a file, or of all files that share a server, run in
one process, and the longest begin.

A process runs the last test of a file only when it knows the next one, whose fixtures may be the
same. So it gets its next file then, and not earlier: what waits behind a test of a minute could be
done by another process meanwhile.

Tests of two kinds run beside each other: those that wait half of their time for processes of their
own, and those that calculate. If all processes of the tests had the first kind, the cores would
have pauses; if all had the second, they would share the cores. So one process of the tests
calculates, as long as there is something to calculate.
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
"""Folder -> fixtures that take seconds to make, and are shared by a process's tests. What a file
asks for is read from it: `NAME: `, as all parameters have a type."""
SHORT = {"tests/process": "runtime_cache"}
"""Folder -> a fixture that takes a second to make, for all tests of a file. Where a file has none,
and a test asks for no server, the test is a unit: so a file of a minute does not end behind all
others."""
FIRST = (
    "tests/spark/test_flights_on_spark.py",
    "tests/conformance/test_back_ends.py",
    "tests/process/test_recovery.py",
)
"""Files that begin, one for each process of `make test` that waits: the first one leaves the
classes of its JVM for Spark's JVMs of all later tests, and the others need none meanwhile."""
WAITING = ("spark", "conformance", "connectors", "store", "process", "chaos", "cluster", "jvm",
           "kubernetes", "drill")  # fmt: skip
"""Folders below tests whose tests wait for processes and servers, those with the longest units
first."""
LONG = ("sim", "native")
"""Of the other folders, those with the longest tests; all others come behind them."""
LONGEST = tuple(f"test_{each}.py" for each in (
    "connectors_conform", "store_conformance", "aurora", "exact_counts", "live_queries", "tutorial",
    "trident", "nimbus", "many_instances", "cluster", "attempt",
))  # fmt: skip
"""Files that begin their folders."""
UNSTARTED_MAX = 1
"""So many of its tests a process still has when it gets more."""


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
    """The name of what one process runs, of a test's id or a file below the repository."""
    file, _, name = test.partition("::")
    folder = file.rpartition("/")[0]
    for server in SERVERS.get(folder, ()):
        if re.search(rf"\b{server}: ", _asks(file, name if folder in SHORT else "")):
            return f"{folder} with {server}"
    is_one = folder in SHORT and name and f"{SHORT[folder]}: " not in _text(file)
    return test if is_one else file


def _asks(file: str, name: str) -> str:
    """Where a file, or one of its tests, says what it asks for."""
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
        """The first unit of the kind of which there is not enough."""
        others = (work for each, work in self.assigned_work.items() if each is not node)
        newest = [next(reversed(work), "") for work in others]
        kind = sum(map(waits, newest)) < self.numnodes - 1
        of_kind = (unit for unit in self.workqueue if waits(unit) == kind)
        self.workqueue.move_to_end(next(of_kind, next(iter(self.workqueue))), last=False)
        super()._assign_work_unit(node)

    def remove_node(self, node: Any) -> str | None:
        """The test in which a process died is done, and another process has the others: a test
        that hangs would else end one process after the other."""
        units = self.assigned_work[node].values()
        unfinished = [(unit, test) for unit in units for test, done in unit.items() if not done]
        for unit, test in unfinished[:1]:
            unit[test] = True
        super().remove_node(node)
        return unfinished[0][1] if unfinished else None

    def _reschedule(self, node: Any) -> None:
        """Work for a process that has next to none left."""
        if self._pending_of(self.assigned_work[node]) <= UNSTARTED_MAX or not self.workqueue:
            super()._reschedule(node)
