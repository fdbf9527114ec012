"""An interrupted run resumes from its checkpoint: by a repeated command, or by itself."""

import json
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import psutil

from heron_core.exit_codes import ExitCode
from heron_core.state_tree import scheduler_path
from tests.process.process_support import TOPOLOGIES, Master, Place, until
from tests.process.test_exact_counts import counted, emitted
from tests.unwritable_support import unwritable

EXACT = TOPOLOGIES / "exact.py"
SINK = "heron: written[0]"
LINES = "".join(f"line {number}\n" for number in range(500))


def arguments(place: Place, *more: object) -> tuple[object, ...]:
    """Of run and submit: the exact counts, in this place."""
    (place.path / "lines.txt").write_text(LINES)
    folders = ("-o", f"exact.folder={place.path}", "-o", f"file.folder={place.path / 'out'}")
    return (EXACT, "-N", place.name, *folders, *more)


def completed(place: Place, more_than: int = 0) -> Callable[[], int | None]:
    """The number of the newest checkpoint, if newer than the given one."""

    def look() -> int | None:
        with Master(place.store_url, place.name) as master:
            stats = master.stats()
        number = 0 if stats is None or stats.checkpoints is None else stats.checkpoints.completed
        return number if number > more_than else None

    return look


def check_exact(place: Place, lines: str = LINES) -> None:
    """Every number and every line counts once."""
    assert sum(emitted(place.path).values()) > 0
    assert counted(place.path) == emitted(place.path)
    in_windows = json.loads((place.path / "in_windows").read_text())
    assert {int(key): 2 * number for key, number in in_windows.items()} == emitted(place.path)
    parts = sorted((place.path / "out").glob("part-*"))
    assert "".join(each.read_text() for each in parts) == lines


def resumed_line(err: str) -> str:
    """The line with the source of a resume."""
    (line,) = (each for each in err.splitlines() if " resumes from " in each)
    return line


def end(place: Place) -> None:
    """Let the topology come to its end."""
    (place.path / "enough").touch()


def test_ctrl_c_then_the_same_run_resumes_exactly(place: Place) -> None:
    """A run stopped for the night: the next run completes the work without leftovers."""
    first = place.start("run", *arguments(place))
    first.until(completed(place), "a checkpoint is complete")
    stopped = first.end()
    assert f"{place.name} keeps checkpoint " in stopped.err
    refused_with_another_key(place)
    end(place)
    second = place.heronpy("run", *arguments(place)).succeeded()
    line = resumed_line(second.err)
    assert line.startswith(f"{place.name} resumes from checkpoint ")
    assert line.endswith("; --fresh starts from scratch")
    check_exact(place)
    assert not (place.home / "topologies" / place.name / "checkpoints").exists()
    left = [each.parent.name for each in (place.home / "state").rglob(f"{place.name}*")]
    assert left == ["outcomes"], "how it has ended"
    place.nothing_is_left()


def refused_with_another_key(place: Place) -> None:
    """As another user, whose states might run his code, would be."""
    file = place.home / "state.key"
    own = file.read_bytes()
    file.write_bytes(bytes(len(own)))
    refused = place.heronpy("run", *arguments(place))
    assert refused.code == ExitCode.FAILED
    (line,) = refused.errors
    assert "is not signed with the key of its topology" in line
    assert line.endswith("; --fresh starts from scratch")
    file.write_bytes(own)


def test_a_reboot_then_the_same_submit_is_exact(place: Place) -> None:
    """Everything is killed at once, as by a power cut; a repeated command restarts the topology."""
    place.heronpy("submit", *arguments(place)).succeeded()
    until(completed(place), "a checkpoint is complete")
    power_cut(place)
    again = place.heronpy("submit", *arguments(place)).succeeded()
    assert resumed_line(again.err)
    end(place)
    until((place.path / "in_windows").exists, "it ends")
    until(lambda: not place.left_behind(), "nothing is left")
    check_exact(place)


def test_a_sink_that_is_killed_while_its_folder_takes_no_file_is_exact_in_the_next_run(
    place: Place,
) -> None:
    """The replacing process reports the folder and waits. The user stops the run, makes the folder
    writable, and repeats the command."""
    command, lines = arguments(place), LINES * 40
    (place.path / "lines.txt").write_text(lines)
    running = place.start("run", *command)
    running.until(completed(place), "a checkpoint is complete")
    with unwritable(place.path / "out"):
        running.until(partial(running.process_called, SINK), "the sink runs").kill()
        running.until(lambda: "written: cannot write: " in running.err, "it says so")
        stopped = running.end()
    assert stopped.code != 0
    end(place)
    again = place.heronpy("run", *command).succeeded()
    assert resumed_line(again.err)
    check_exact(place, lines)


def power_cut(place: Place) -> None:
    """Kill all processes at once."""
    victims = place.processes()
    for stop in (signal.SIGSTOP, signal.SIGKILL):
        for each in victims:
            with suppress(psutil.Error):
                each.send_signal(stop)
    psutil.wait_procs(victims)
    assert not place.processes()


def test_a_topology_whose_scheduler_is_killed_comes_back_by_itself(place: Place) -> None:
    """The kernel is out of memory and takes the guardian, and then the scheduler, whose place the
    next guardian takes. Commands go on meanwhile, and every count is exact."""
    place.heronpy("submit", *arguments(place)).succeeded()
    until(completed(place), "a checkpoint is complete")
    for title in ("guardian", "scheduler"):
        victim = until(partial(called, place, title), f"there is a {title}")
        guarded(place)
        latest = completed(place)() or 0
        victim.kill()
        psutil.wait_procs([victim])
        assert "RUNNING" in place.heronpy("list").succeeded().out
        guarded(place)
        until(completed(place, latest), "it goes on")
    assert "stopped because its scheduler was killed" in place.log(place.name, "events")
    end(place)
    until((place.path / "in_windows").exists, "it ends")
    until(lambda: not place.left_behind(), "nothing is left")
    check_exact(place)


def called(place: Place, role: str) -> psutil.Process | None:
    """The process of a submitted topology with this role."""
    for each in place.processes():
        with suppress(psutil.Error):
            if " ".join(each.cmdline()).startswith(f"heron: {role} ({place.name})"):
                return each
    return None


def guarded(place: Place) -> None:
    """Wait until the scheduler's node names a scheduler and a guardian alive."""

    def is_guarded() -> bool:
        with place.store() as store:
            node = store.get(scheduler_path(place.name)) or {}
        both = (called(place, "scheduler"), called(place, "guardian"))
        pids = (node.get("pid"), node.get("guardian", {}).get("pid"))
        return pids == tuple(each and each.pid for each in both)

    until(is_guarded, "scheduler and guardian are known")
