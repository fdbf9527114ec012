"""After any end of a run, processes, sockets, nodes and half-written files are gone."""

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from heron_core.exit_codes import INCOMPLETE
from tests.process.process_support import (
    DEADLINE_SECS,
    GONE_SECS,
    TOPOLOGIES,
    Finished,
    Master,
    Place,
    Running,
)

FOREVER = (TOPOLOGIES / "forever.py", "-n", "Forever", "--containers", 2)
FAILING = TOPOLOGIES / "failing.py"


def started(place: Place, *options: object) -> Running:
    """The endless topology, once its bolts have processed tuples."""
    running = place.start("run", *FOREVER, *options)
    with Master(place.store_url, "Forever") as master:
        running.until(lambda: master.processed("add") > 0, "tuples are processed")
    return running


def end_without_traceback(running: Running) -> Finished:
    """The end, with only the view and one line for people on stderr."""
    finished = running.wait()
    assert "Traceback" not in finished.err, finished.err
    return finished


def test_a_run_that_ends_by_itself_leaves_nothing(place: Place) -> None:
    """The usual case: when the command returns everything has gone; the name can be run again at
    once."""
    for _ in range(2):
        place.heronpy("run", TOPOLOGIES / "values.py", "--containers", 2).succeeded()
        place.nothing_is_left()


def test_ctrl_c_lets_arrive_what_is_in_flight_and_ends_the_pages(place: Place) -> None:
    """Ctrl-C once: spouts stop, bolts finish their input, components are closed, code 130; the
    service of --ui shows the run until then."""
    running = started(place, "--ui")
    address = re.search(r"pages at (\S+)", running.err)
    assert address is not None
    shown = f"{address[1]}/topologies/info?topology=Forever"
    running.until(lambda: httpx.get(shown, timeout=DEADLINE_SECS).is_success, "it is shown")
    running.signal(signal.SIGINT)
    finished = end_without_traceback(running)
    assert finished.code == 130
    assert "stopping" in finished.err
    assert "Forever stopped after" in finished.err
    assert len(place.results_of("add")) == 2, "bolts were not closed"
    place.nothing_is_left()


def test_a_tick_under_way_when_the_run_is_stopped_is_processed(place: Place) -> None:
    """Emits at the end of a tick arrive, and further ticks do not begin."""
    running = place.start("run", TOPOLOGIES / "slow_tick.py")
    running.until(lambda: place.results_of("begun"), "a tick is under way")
    running.signal(signal.SIGINT)
    finished = end_without_traceback(running)
    assert finished.code == 130
    assert "INCOMPLETE" not in finished.out + finished.err
    (begun,) = place.results_of("begun").values()
    assert list(place.results_of("keep").values()) == [list(range(1, begun + 1))]


def test_ctrl_c_twice_ends_at_once(place: Place) -> None:
    """The bolt is stuck in a call of 60 s: a second Ctrl-C does not wait for it."""
    running = place.start("run", TOPOLOGIES / "stuck.py", "--containers", 2)
    running.until(lambda: place.results_of("stuck"), "the bolt is stuck")
    running.signal(signal.SIGINT)
    running.until(lambda: "stopping" in running.err, "it drains")
    running.signal(signal.SIGINT)
    finished = end_without_traceback(running)
    assert finished.code == 130
    place.nothing_is_left()


def test_terminal_that_is_closed_ends_the_run(place: Place) -> None:
    """SIGHUP, as when the terminal's window is closed, ends everything in order."""
    running = started(place)
    running.signal(signal.SIGHUP)
    end_without_traceback(running)
    place.nothing_is_left()


@contextmanager
def ignored(*numbers: signal.Signals) -> Iterator[None]:
    """Processes started meanwhile ignore these signals at their start."""
    before = {each: signal.signal(each, signal.SIG_IGN) for each in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_run_that_nohup_has_started_outlives_its_terminal(place: Place) -> None:
    """In a script, where `&` ignores SIGINT as well. SIGHUP reaches all processes, and each of them
    goes on; SIGTERM ends the run in order."""
    with ignored(signal.SIGHUP, signal.SIGINT):
        running = started(place)
    before = {each.pid for each in running.processes()}
    os.killpg(running.pid, signal.SIGHUP)
    with Master(place.store_url, "Forever") as master:
        now = master.processed("add")
        running.until(lambda: master.processed("add") > now, "more tuples are processed")
    assert {each.pid for each in running.processes()} == before
    running.signal(signal.SIGTERM)
    assert "Forever stopped after" in end_without_traceback(running).err
    assert len(place.results_of("add")) == 2, "bolts were not closed"
    place.nothing_is_left()


def test_kill_9_of_the_command_ends_everything(place: Place) -> None:
    """The command is killed by the kernel's OOM killer: its processes notice and clean up."""
    running = started(place)
    running.process.kill()
    assert running.wait().code == -signal.SIGKILL
    place.nothing_is_left(GONE_SECS)


def test_kill_9_of_the_scheduler_ends_everything_and_is_told(place: Place) -> None:
    """Only the command is left to clean up: the command does, and reports the failed run."""
    running = started(place)
    scheduler = running.process_called("heron: scheduler")
    assert scheduler is not None
    scheduler.kill()
    finished = end_without_traceback(running)
    assert finished.code == 1
    (error,) = finished.errors
    assert "Forever failed" in error
    assert "scheduler" in error
    place.nothing_is_left(GONE_SECS)


def test_seconds_end_an_endless_topology(place: Place) -> None:
    """-t 1 shows a topology for a moment: a graceful end, with code 0."""
    begun = time.monotonic()
    finished = place.heronpy("run", *FOREVER, "-t", 1).succeeded()
    assert 1.0 <= time.monotonic() - begun < 1.0 + 12.0
    assert "Forever stopped after" in finished.err
    assert len(place.results_of("add")) == 2
    place.nothing_is_left()


def test_an_exception_in_process_fails_its_tuple_alone(place: Place) -> None:
    """Two of twenty tuples raise in a bolt: the rest are processed, the summary reports the
    failures, and the bolt's emits without declared outputs."""
    finished = place.heronpy("run", FAILING, "-n", "RaisesInProcess")
    finished.incomplete(
        "2 tuples failed for good; picky: 2 tuples emitted without declared outputs, and dropped"
    )
    assert "18 tuples processed" in finished.err
    assert "picky: 3 errors, last: ValueError: cannot stand 13 (" in finished.err
    assert "failing.py:32)" in finished.err
    log = place.log("RaisesInProcess", "picky-2")
    assert "Traceback" in log
    assert "ValueError: cannot stand 3" in log
    place.nothing_is_left()


def test_at_most_once_a_killed_process_is_named_with_what_it_cost(place: Place) -> None:
    """The OOM killer ends a bolt in the middle of its work: the run ends, but not as if all had
    been processed; what happened stands in the summary, in events.log, and in `stats`."""
    finished = place.heronpy("run", FAILING, "-n", "KilledInProcess")
    assert finished.code == INCOMPLETE, finished.err
    assert re.fullmatch(r"INCOMPLETE: up to \d+ deliver(y|ies) lost", finished.err.splitlines()[-1])
    (crash,) = (line for line in finished.err.splitlines() if "crash: " in line)
    told = "victim[0] (task 2, container 1) was killed by signal 9 (SIGKILL): up to "
    assert told in crash
    assert told in place.log("KilledInProcess", "events")
    assert told in place.heronpy("stats", "KilledInProcess").succeeded().out
    place.nothing_is_left()


@pytest.mark.parametrize(
    ("topology", "component", "task", "exception"),
    [
        ("RaisesInInitialize", "database", 2, "ValueError: no database at localhost:5432"),
        ("SpoutRaisesInInitialize", "numbers", 1, "KeyError: 'test.missing'"),
    ],
)
def test_a_component_that_never_starts_fails_the_topology(
    place: Place, topology: str, component: str, task: int, exception: str
) -> None:
    """initialize raises each time: after the restart limit one line names component, exception
    and log, and everything else is ended as well."""
    finished = place.heronpy(
        *("run", FAILING, "-n", topology, "--containers", 2),
        *("-o", "topology.restart.limit=1"),
    )
    assert finished.code == 1
    assert "Traceback" not in finished.err
    (error,) = finished.errors
    log = place.logs(topology) / f"{component}-{task}.log"
    for part in (f"{component}[0] (task {task})", exception, str(log), "2 times"):
        assert part in error
    assert place.log(topology, f"{component}-{task}").count("Traceback") == 2
    place.nothing_is_left()


def test_sys_exit_in_a_bolt_is_found_in_its_log(place: Place) -> None:
    """A library calls sys.exit("enough"): the log of the bolt tells where, it is started again."""
    running = place.start("run", FAILING, "-n", "LeavesInProcess")
    running.until(
        lambda: "SystemExit: enough" in place.log("LeavesInProcess", "leaves-2"), "the log tells it"
    )
    running.end()
    place.nothing_is_left()


def test_a_bolt_that_starts_late_is_waited_for(place: Place) -> None:
    """A bolt loads a model for a second while its spout has finished already."""
    place.heronpy("run", TOPOLOGIES / "late.py", "-n", "Late").succeeded()
    assert place.results_of("late") == {2: [1]}
    place.nothing_is_left()


def test_a_bolt_that_dies_at_its_last_words_says_them_again(place: Place) -> None:
    """on_finish crashes the process: its successor repeats the call, the run does not hang."""
    place.heronpy("run", TOPOLOGIES / "late.py", "-n", "LastWords").succeeded()
    tries = [name for name in place.results() if name.startswith("try-")]
    assert len(tries) == 2
    place.nothing_is_left()
