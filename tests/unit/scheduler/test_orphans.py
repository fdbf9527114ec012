"""A bolt's own children end with the bolt: real processes under a real supervisor."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from heron_engine.scheduler.container import orphans
from heron_engine.scheduler.container.orphans import is_exiting, to_kill
from heron_engine.scheduler.container.supervisor import Supervisor
from heron_engine.scheduler.container.supervisor_events import ProcessSpec
from heron_io.polling import wait_until
from heron_io.processes import SupervisorLink, fork_child

END_SECS = 60.0
"""A deadline far above any test."""


def test_only_what_a_death_has_left_is_killed() -> None:
    # 7 is ours, 8 is a daemon of a live instance, 9 the child of a process just dead.
    assert to_kill({7, 8, 9}, {7}, {8}, someone_died=True, is_exiting=lambda pid: False) == {9}
    assert to_kill({7, 8, 9}, {7}, {8}, False, lambda pid: False) == set()
    # kill -9 of a container: its files are closed, with a wake-up, before the reaping.
    assert to_kill({7, 8, 9}, {7}, {8}, False, lambda pid: pid == 7) == {9}
    assert to_kill({7, 8}, {7}, {8}, False, lambda pid: True) == set()


def test_what_a_killed_process_leaves_is_killed_though_nobody_has_reaped_it_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process ends between the last waitpid(2) and the scan of our children."""
    killed: list[int] = []
    children, exiting = {8}, set[int]()
    monkeypatch.setattr(orphans, "children_of_this_process", lambda: set(children))
    monkeypatch.setattr(orphans, "is_exiting", exiting.__contains__)
    monkeypatch.setattr(orphans, "signal_process", lambda pid, number: killed.append(pid))
    monkeypatch.setattr(sys, "platform", "linux")
    libc = SimpleNamespace(prctl=lambda option, value: 0)  # pytest itself becomes no subreaper
    monkeypatch.setattr("ctypes.CDLL", lambda name: libc)
    found = orphans.Orphans()
    assert found.sweep(own=(), reaped={7}, died=True) == 1
    children.add(9)  # the child of 8
    exiting.add(8)
    assert found.sweep(own=(), reaped=(), died=False) == 1
    assert killed == [8, 9]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/PID/stat is Linux's")
def test_a_process_that_ends_is_known_before_it_is_reaped() -> None:
    """kill -9 of a container: children of its bolts are inherited by the scheduler while the
    container still exists, and must not be taken for daemons."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    assert not is_exiting(child.pid)
    child.kill()
    assert wait_until(lambda: is_exiting(child.pid), END_SECS)
    child.wait()
    assert is_exiting(child.pid), "it is gone"


def parent_of_many(link: SupervisorLink, file: Path) -> int:
    """User code that starts processes in every way, once with a grandchild."""
    sleeper = "import time; time.sleep(1000)"
    with_child = f"import subprocess as s, sys; s.run([sys.executable, '-c', {sleeper!r}])"
    started = [
        subprocess.Popen([sys.executable, "-c", sleeper], start_new_session=True).pid,
        subprocess.Popen([sys.executable, "-c", with_child]).pid,
    ]
    daemon = multiprocessing.get_context("fork").Process(target=signal.pause, daemon=True)
    daemon.start()
    forked = os.fork()
    if not forked:
        signal.pause()
    started += [daemon.pid or 0, forked]
    wait_until(lambda: psutil.Process(started[1]).children(), END_SECS)
    started.append(psutil.Process(started[1]).children()[0].pid)
    temporary = file.with_suffix(".new")
    temporary.write_text(json.dumps({"self": os.getpid(), "started": started}))
    temporary.rename(file)
    while True:
        link.heartbeat()
        threading.Event().wait(0.05)


@dataclass(frozen=True, slots=True)
class Family:
    """A process and its children; 0 and empty while unknown."""

    parent: int = 0
    started: tuple[int, ...] = ()


def written(file: Path, besides: int = 0) -> Family:
    """Record of user code, except of the process `besides`."""

    def found() -> Family | None:
        if not file.exists():
            return None
        data = json.loads(file.read_text())
        return None if data["self"] == besides else Family(data["self"], tuple(data["started"]))

    return wait_until(found, END_SECS) or Family()


@pytest.mark.skipif(sys.platform != "linux", reason="subreapers are Linux's")
def test_what_a_bolt_has_started_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "started"
    spec = ProcessSpec("bolt", "test: bolt", lambda link: parent_of_many(link, file), 0.3, True)

    def main(lifeline: int) -> int:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may be run by nohup
        return Supervisor(
            [spec], SupervisorLink(lifeline), 5, END_SECS, kills_orphans=True
        ).run().code  # fmt: skip

    supervisor = fork_child("test: supervisor", main, killed_with_parent=True)
    first = written(file)
    os.kill(first.parent, signal.SIGKILL)
    second = written(file, first.parent)
    assert wait_until(lambda: not any(map(psutil.pid_exists, first.started)), END_SECS)
    assert all(map(psutil.pid_exists, second.started)), "those of its successor live"
    # A closed terminal, or a request to reread the configuration: a graceful end.
    os.kill(supervisor.pid, signal.SIGHUP)
    assert os.waitpid(supervisor.pid, 0)[1] == 0
    os.close(supervisor.lifeline)
    assert not any(map(psutil.pid_exists, second.started))


@pytest.mark.skipif(sys.platform != "linux", reason="subreapers are Linux's")
def test_what_a_bolt_has_started_ends_with_its_container(tmp_path: Path) -> None:
    """kill -9 of a container: the scheduler above inherits children of its bolts."""
    file = tmp_path / "started"
    bolt = ProcessSpec("bolt", "test: bolt", lambda link: parent_of_many(link, file), 0.3, True)

    def supervised(spec: ProcessSpec, link: SupervisorLink) -> int:
        return Supervisor([spec], link, 5, END_SECS, kills_orphans=True).run().code

    container = ProcessSpec(
        "container", "test: container", lambda link: supervised(bolt, link), 2.0, True
    )
    scheduler = fork_child(
        "test: scheduler",
        lambda lifeline: supervised(container, SupervisorLink(lifeline)),
        killed_with_parent=True,
    )
    first = written(file)
    os.kill(psutil.Process(first.parent).ppid(), signal.SIGKILL)
    second = written(file, first.parent)
    assert wait_until(lambda: not any(map(psutil.pid_exists, first.started)), END_SECS)
    os.kill(scheduler.pid, signal.SIGTERM)
    assert os.waitpid(scheduler.pid, 0)[1] == 0
    os.close(scheduler.lifeline)
    assert not any(map(psutil.pid_exists, second.started))
