"""Children that are forked one directly behind the other: each has its own pipes alone."""

import os
import select
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from heron_io.processes import ChildToFork, fork_children

ORPHANED = 7


def _until_orphaned(lifeline: int) -> int:
    select.select([lifeline], [], [])
    return ORPHANED


def test_the_end_of_a_lifeline_is_told_to_its_child_alone() -> None:
    """Neither those before it nor those behind it hold an end of it."""
    wanted = [ChildToFork("test", _until_orphaned, killed_with_parent=True)] * 3
    children = fork_children(wanted)
    for each in (children[1], children[0], children[2]):
        assert os.waitpid(-1, os.WNOHANG) == (0, 0), "all that are left live"
        os.close(each.lifeline)
        pid, status = os.waitpid(-1, 0)
        assert (pid, os.waitstatus_to_exitcode(status)) == (each.pid, ORPHANED)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc lists what a process has open")
def test_each_has_open_what_its_parent_had_and_its_own_lifeline(tmp_path: Path) -> None:
    before = _pipes()

    def note(lifeline: int) -> int:
        (tmp_path / str(os.getpid())).write_text("\n".join(_pipes() - before))
        return 0

    children = fork_children([ChildToFork("test", note, killed_with_parent=True)] * 4)
    for each in children:
        assert os.waitpid(each.pid, 0)[1] == 0
        os.close(each.lifeline)
    own = [(tmp_path / str(each.pid)).read_text().splitlines() for each in children]
    assert [len(pipes) for pipes in own] == [1] * 4
    assert len({pipe for pipes in own for pipe in pipes}) == 4
    assert not _pipes() - before


def _pipes() -> set[str]:
    """What is open, but for the folder that is looked at."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found.add(os.readlink(f"/proc/self/fd/{number}"))
    return {each for each in found if each.startswith("pipe:")}
