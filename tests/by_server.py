"""How pytest-xdist divides the tests: those of a file, or of all files that share a server, run in
one process, and the longest begin.

A process runs the last test of a file only when it knows the next one, whose fixtures may be the
same. So it gets its next file then, and not earlier: what waits behind a test of a minute could be
done by another process meanwhile.
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
"""Folder -> fixtures that take seconds to start, and are shared by a process's tests. What a file
asks for is read from it: `NAME: `, as all parameters have a type."""
FIRST = (
    "tests/spark/test_flights_on_spark.py",
    "tests/conformance/test_back_ends.py",
    "tests/process/test_recovery.py",
)
"""Files that begin, one for each process of `make test`: the first one leaves the classes of its
JVM for Spark's JVMs of all later tests, and the others need none meanwhile."""
LONG = ("spark", "conformance", "process", "chaos", "connectors", "native", "sim")
"""Folders below tests, those with the longest tests first; all others come behind them."""
UNSTARTED_MAX = 1
"""So many of its tests a process still has when it gets more."""


def rank(file: Path) -> int:
    """Where the tests of a file stand."""
    below = file.relative_to(REPOSITORY)
    if below.as_posix() in FIRST:
        return FIRST.index(below.as_posix())
    folder = below.parts[1]
    return len(FIRST) + (LONG.index(folder) if folder in LONG else len(LONG))


@cache
def unit_of(file: str) -> str:
    """The name of what one process runs, of a file below the repository."""
    folder = file.rpartition("/")[0]
    for server in SERVERS.get(folder, ()):
        if re.search(rf"\b{server}: ", (REPOSITORY / file).read_text("utf-8")):
            return f"{folder} with {server}"
    return file


class ByServer(LoadScopeScheduling):  # type: ignore[misc]
    """Units in the order in which they were collected."""

    def __init__(self, config: Any, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid.partition("::")[0])

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
