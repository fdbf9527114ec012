"""kill -9 of every kind of process while data flows: each restarts by itself, without a loss."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from heron_core.exit_codes import ExitCode
from heron_core.plans import MASTER_CONTAINER
from heron_core.state_tree import master_path
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from tests.process.process_support import (
    DEADLINE_SECS,
    REPOSITORY,
    TOPOLOGIES,
    Master,
    Place,
    Running,
    until,
)
from tests.process.survival import (
    NAME,
    TOPOLOGY,
    Failure,
    Survey,
    acked,
    gaps,
    records,
    settings,
    survey,
)

LINES = 700
"""Their words take the last bolt three seconds."""
ALL_DUE = 1e9
"""Lines a second: the spouts emit as fast as they may."""
SLEEP_SECS = 0.0005
PENDING = 100
"""Lines on their way for each spout: a second of work, so that each kill finds some."""
FLOWING_LINES = 100
AT_ONCE_SECS = 5.0
"""What is lost fails within about a second on an idle machine; the message timeout is 30 s."""
STEADY_LINES, STEADY_RATE = 100_000, 100
STEADY_SPOUTS = 2

MASTER = f"heron: topology master ({NAME})"
MANAGER = "heron: stream manager {} ({})"
EXECUTOR = f"heron: container {{}} ({NAME})"


def options(place: Place, lines: int = LINES) -> list[str]:
    """Options of a run that is busy for some seconds."""
    words, _ = settings(place.path, lines, ALL_DUE, sleep_secs=SLEEP_SECS)
    return ["--containers", "2", "-o", f"topology.max.spout.pending={PENDING}", *words]


def flowing(place: Place, lines: int = LINES) -> Running:
    """A run in the middle of its work."""
    running = place.start("run", TOPOLOGY, *options(place, lines))
    running.until(lambda: acked(place.path) > FLOWING_LINES, "lines are acked")
    return running


def steady(place: Place, *more: str) -> Running:
    """A run at a steady rate until the file `enough` exists."""
    words, _ = settings(place.path, STEADY_LINES, STEADY_RATE)
    running = place.start("run", TOPOLOGY, "--containers", 2, *more, *words)
    running.until(lambda: acked(place.path) > FLOWING_LINES, "lines are acked")
    return running


def processes(running: Running) -> dict[str, psutil.Process]:
    """Title -> process of the topology's processes."""
    found = {}
    for each in running.processes():
        with suppress(psutil.Error):
            title = " ".join(each.cmdline()).rstrip()
            if title.startswith("heron: "):
                found[title] = each
    return found


def title_of(running: Running, beginning: str) -> str:
    """The only title with this beginning."""
    (found,) = (each for each in processes(running) if each.startswith(beginning))
    return found


def kill_and_see_return(running: Running, victim: str) -> float:
    """Kill; exactly the victim and its children are replaced. Returns the time of the kill."""
    before = processes(running)
    children = {each.pid for each in before[victim].children()}
    dying = {title for title, each in before.items() if title == victim or each.pid in children}
    killed_at = time.monotonic()
    before[victim].kill()

    def restarted() -> dict[str, psutil.Process] | None:
        now = processes(running)
        back = all(title in now and now[title].pid != before[title].pid for title in dying)
        return now if back else None

    now = running.until(restarted, f"{victim} is back")
    for title in set(before) - dying:
        assert now[title].pid == before[title].pid, f"{title} was restarted as well"
    return killed_at


def complete(place: Place, running: Running, lines: int = LINES) -> Survey:
    """The run's end: by itself, with every line acked and every word seen."""
    finished = running.wait()
    found = survey(place.path, lines)
    assert finished.code == 0, finished.err
    assert found.complete, found
    place.nothing_is_left()
    return found


def failed_at_once(found: Survey, killed_at: float) -> tuple[Failure, ...]:
    """Every failure came soon after the kill."""
    for each in found.failures:
        assert killed_at <= each.at < killed_at + AT_ONCE_SECS, f"{each}, killed at {killed_at}"
    return found.failures


@pytest.mark.parametrize("component", ["seen", "split"])
def test_a_killed_bolt_comes_back_and_what_it_had_is_replayed_at_once(
    place: Place, component: str
) -> None:
    """A native library crashes inside a busy bolt or an idle one."""
    running = flowing(place)
    killed_at = kill_and_see_return(running, title_of(running, f"heron: {component}[0]"))
    failures = failed_at_once(complete(place, running), killed_at)
    assert failures or component != "seen", "the busy bolt took nothing along"


def test_a_killed_spout_comes_back_and_goes_on_from_its_own_records(place: Place) -> None:
    """A spout dies with its memory: its successor emits the unacked lines, and late acks of the
    predecessor's tuples are without effect."""
    running = flowing(place)
    killed_at = kill_and_see_return(running, title_of(running, "heron: lines[0]"))
    failed_at_once(complete(place, running), killed_at)


@pytest.mark.parametrize("container", [1, 2])
def test_a_killed_stream_manager_comes_back_and_its_trees_are_replayed_at_once(
    place: Place, container: int
) -> None:
    """All ack trees of a container are gone, and all tuples that passed through."""
    running = flowing(place)
    killed_at = kill_and_see_return(running, MANAGER.format(container, NAME))
    assert failed_at_once(complete(place, running), killed_at), "no tree was lost"


def test_a_killed_master_comes_back_and_nobody_notices(place: Place) -> None:
    """Data does not pass through the master: no line fails, and the run finds its end."""
    running = flowing(place)
    kill_and_see_return(running, MASTER)
    assert complete(place, running).failures == ()


def test_a_killed_executor_takes_its_container_along_and_all_of_it_comes_back(
    place: Place,
) -> None:
    """A whole container is lost at once; the second one stays unchanged."""
    running = flowing(place)
    killed_at = kill_and_see_return(running, EXECUTOR.format(1))
    failed_at_once(complete(place, running), killed_at)


def test_a_killed_executor_of_container_0_takes_only_the_master_along(place: Place) -> None:
    """Container 0 has the master alone, so again without an effect on data."""
    running = flowing(place)
    kill_and_see_return(running, EXECUTOR.format(MASTER_CONTAINER))
    assert complete(place, running).failures == ()


def test_a_component_that_keeps_dying_ends_the_run_with_its_last_error(place: Place) -> None:
    """A database is down: after the allowed number of restarts the run says what was wrong."""
    finished = place.heronpy(
        *("run", TOPOLOGIES / "failing.py", "-n", "RaisesInInitialize"),
        *("-o", "topology.restart.limit=2"),
    )
    assert finished.code == 1
    (line,) = finished.errors
    assert "database[" in line
    assert "3 times in a row" in line
    assert "no database at localhost:5432" in line
    place.nothing_is_left()


@contextmanager
def standing_by(place: Place) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A second master and its log, once on standby."""
    log = place.path / "standby.log"
    script = Path(__file__).parent / "standby.py"
    command = [sys.executable, str(script), place.store_url, NAME, str(log)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, cwd=REPOSITORY, env=place.environment
    ) as standby:
        try:
            until(lambda: log.exists() and "standing by" in log.read_text(), "it stands by")
            yield standby, log
        finally:
            standby.kill()


def holder(store: StateStore) -> int:
    """Process id of the topology's master, 0 without a master."""
    return int((store.get(master_path(NAME)) or {"pid": 0})["pid"])


def test_a_standby_master_takes_over_and_brings_the_run_to_its_end(place: Place) -> None:
    """The master's machine fails: a standby that knows of the holder is the master within a second,
    without a failed line, and the old master returns as a standby."""
    running = steady(place)
    store = place.store()
    before = processes(running)
    with standing_by(place) as (standby, log):
        assert holder(store) == before[MASTER].pid
        assert str(before[MASTER].pid) in log.read_text()
        # The stopped executor cannot restart the master meanwhile.
        executor = before[EXECUTOR.format(MASTER_CONTAINER)]
        executor.suspend()
        before[MASTER].kill()
        running.until(lambda: holder(store) == standby.pid, "the standby is the master")
        executor.resume()
        running.until(
            lambda: f"pid {standby.pid}" in place.log(NAME, "topology-master"), "the old one waits"
        )
        (place.path / "enough").touch()
        assert standby.wait(DEADLINE_SECS) == ExitCode.ENDED
    store.close()
    finished = running.wait()
    assert finished.code == 0, finished.err
    assert len(set(records(place.path, "stopped"))) == STEADY_SPOUTS
    assert gaps(place.path, STEADY_SPOUTS, STEADY_LINES) == []
    assert list(records(place.path, "failed")) == []
    place.nothing_is_left()


@pytest.fixture
def own_zookeeper(tmp_path: Path) -> Iterator[EmbeddedZooKeeper]:
    """A ZooKeeper for a single test, with kills allowed."""
    with EmbeddedZooKeeper(tmp_path / "zookeeper") as server:
        yield server


def lines_flow(place: Place, running: Running) -> None:
    """As many lines as are due in a second are acked from now on."""
    enough = acked(place.path) + STEADY_RATE
    running.until(lambda: acked(place.path) > enough, "lines are acked")


def test_data_flows_while_zookeeper_is_away_and_the_master_is_found_after_its_return(
    place: Place, own_zookeeper: EmbeddedZooKeeper
) -> None:
    """ZooKeeper is restarted below a running topology."""
    running = steady(place, "--zookeeper", own_zookeeper.address)
    before = processes(running)
    pid = own_zookeeper.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    own_zookeeper.stop()
    for _ in range(4):
        lines_flow(place, running)
    own_zookeeper.start()
    store = open_store(own_zookeeper.url)
    running.until(lambda: holder(store), "the master's node is there")
    store.close()
    stats = place.heronpy("stats", NAME, "--json", "--zookeeper", own_zookeeper.address)
    assert json.loads(stats.succeeded().out)["state"] == "RUNNING"
    after = processes(running)
    assert {title: each.pid for title, each in after.items() if title != MASTER} == {
        title: each.pid for title, each in before.items() if title != MASTER
    }
    with Master(own_zookeeper.url, NAME) as master:
        # The new master knows the counts of an instance after the instance's report.
        running.until(lambda: "failed" in master.component("lines"), "lines are counted")
        assert master.component("lines")["failed"] == 0
    assert "Traceback" not in running.end().err
