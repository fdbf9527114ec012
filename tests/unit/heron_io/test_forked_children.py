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
    """Neither those before it nor those behind it hold an end of it. This process has children of
    other tests as well, so each is waited for by its own number."""
    wanted = [ChildToFork("test", _until_orphaned, killed_with_parent=True)] * 3
    first, second, third = fork_children(wanted)
    left = [second, first, third]
    while left:
        ended = left.pop(0)
        os.close(ended.lifeline)
        pid, status = os.waitpid(ended.pid, 0)
        assert (pid, os.waitstatus_to_exitcode(status)) == (ended.pid, ORPHANED)
        live = [os.waitpid(child.pid, os.WNOHANG) for child in left]
        assert live == [(0, 0)] * len(left)


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
