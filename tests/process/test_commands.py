"""submit, list, stats, tail, activate, deactivate, kill: a topology in the background."""

import json
import shutil
import signal
import subprocess
import sys
from typing import Any

import psutil
import pytest

from heron_core.state_tree import (
    execution_path,
    keys_path,
    master_path,
    packing_path,
    physical_path,
    scheduler_path,
    topology_path,
)
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.process.process_support import EXAMPLES, GONE_SECS, TOPOLOGIES, Master, Place, until

FAILING = """
from heronpy_compat import Spout, Topology

class Source(Spout):
    outputs = ["n"]

    def initialize(self, config, context):
        raise RuntimeError("there is no source")

    def next_tuple(self):
        pass

class Failing(Topology):
    source = Source.spec()
"""
FOREVER = (TOPOLOGIES / "forever.py", "-n", "Forever", "--containers", 2)


def submitted(place: Place, *options: object) -> None:
    """The endless topology in the background, under this test's own name."""
    finished = place.heronpy("submit", *FOREVER, "-N", place.name, *options).succeeded()
    assert f"{place.name} runs with 3 instances, 2 containers" in finished.out


def stats_of(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.heronpy("stats", place.name, "--json").succeeded().out)
    return found


def emitted(place: Place) -> int:
    """How many numbers the spout has emitted."""
    return numbers(place)["emitted"]


def numbers(place: Place) -> dict[str, int]:
    """The spout's numbers; 0 while no master answers."""
    with Master(place.store_url, place.name) as master:
        return {"emitted": 0, "pending": 0, **master.component("numbers")}


def test_what_is_submitted_survives_its_shell(place: Place) -> None:
    """Submitted in a shell over ssh that is closed at once: the topology runs on, until a kill."""
    command = [sys.executable, "-m", "heron_cli", "submit", *map(str, FOREVER)]
    shell = subprocess.Popen(
        ["sh", "-c", '"$@"; echo done; read never', "sh", *command, "-N", place.name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=place.environment,
        start_new_session=True,
    )
    assert shell.stdin is not None
    assert shell.stdout is not None
    with shell.stdin, shell.stdout:
        # Reading on to "done": the daemon must not hold the shell's pipes open either.
        lines = iter(shell.stdout.readline, b"done\n")
        assert b"3 instances" in b"".join(lines)
        psutil.Process(shell.pid).send_signal(signal.SIGHUP)
        assert shell.stdout.read() == b""
    shell.wait()
    before = emitted(place)
    until(lambda: emitted(place) > before, "it goes on")
    assert f"{place.name} is killed" in place.heronpy("kill", place.name).succeeded().out
    assert len(place.results_of("add")) == 2, "bolts were not closed"
    place.nothing_is_left()


def test_a_submitted_topology_is_listed_shown_paused_and_killed(place: Place) -> None:
    """A day in the life of an operator."""
    assert place.heronpy("list").succeeded().out == "No topologies found.\n"
    submitted(place)
    (listed,) = json.loads(place.heronpy("list", "--json").succeeded().out)
    assert (listed["name"], listed["state"], listed["instances"]) == (place.name, "RUNNING", 3)
    assert place.name in place.heronpy("list").succeeded().out
    shown = place.heronpy("stats", place.name, "-c", "add").succeeded().out
    assert "RUNNING" in shown
    pids = {row.split()[3] for row in shown.splitlines() if row.startswith("add[")}
    assert len(pids) == 2
    assert all(psutil.pid_exists(int(each)) for each in pids)
    assert "is paused" in place.heronpy("deactivate", place.name).succeeded().out
    assert "was paused already" in place.heronpy("deactivate", place.name).succeeded().out
    until(lambda: numbers(place)["pending"] == 0, "all is acked")
    until(lambda: emitted(place) == emitted(place), "nothing more is emitted")
    paused_at = emitted(place)
    assert stats_of(place)["state"] == "PAUSED"
    assert "is active" in place.heronpy("activate", place.name).succeeded().out
    until(lambda: emitted(place) > paused_at, "it emits again")
    place.heronpy("kill", place.name).succeeded()
    assert place.heronpy("list").succeeded().out == "No topologies found.\n"
    place.nothing_is_left()


def test_a_topology_may_be_submitted_paused(place: Place) -> None:
    """--deactivated: everything is up, without an emit before `activate`."""
    submitted(place, "--deactivated")
    assert stats_of(place)["state"] == "PAUSED"
    assert emitted(place) == 0
    place.heronpy("activate", place.name).succeeded()
    until(lambda: emitted(place) > 0, "it emits")
    place.heronpy("kill", place.name, "--wait", 0).succeeded()
    place.nothing_is_left()


def test_a_submitted_topology_that_ends_leaves_its_logs(place: Place) -> None:
    """A nightly job: it is done and gone by itself, and is looked at in the morning."""
    place.heronpy("submit", EXAMPLES / "at_least_once.py", "-N", place.name).succeeded()
    place.nothing_is_left(GONE_SECS)
    told = place.heronpy("tail", place.name, "-c", "lines").succeeded().out
    assert "INFO 100 of 100 lines acked, 15 replayed" in told
    assert all(line.startswith("lines[0] task 1 | ") for line in told.splitlines())
    (listed,) = json.loads(place.heronpy("list", "--all", "--json").succeeded().out)
    assert (listed["name"], listed["state"], listed["instances"]) == (place.name, "ENDED", 2)
    assert listed["ended"] >= listed["submitted"]
    shown = json.loads(place.heronpy("stats", place.name, "--all", "--json").succeeded().out)
    assert shown["outcome"]["state"] == "ENDED"
    assert shown["components"]["lines"]["failed_for_good"] == 0
    assert shown["components"]["lines"]["acked"] == 100
    assert [each["instance"] for each in shown["instances"]["lines"]] == ["lines[0]"]
    assert "has ended: ENDED at" in place.heronpy("stats", place.name).succeeded().out
    refused = place.heronpy("deactivate", place.name)
    assert (refused.code, "has ended (ENDED at" in refused.err) == (1, True)
    place.heronpy("remove-logs", place.name).succeeded()
    assert place.heronpy("list", "--all").succeeded().out == "No topologies found.\n"


def test_submit_tells_of_a_topology_that_cannot_start(place: Place) -> None:
    """initialize raises: submit fails with one line that names component, exception and log."""
    finished = place.heronpy(
        *("submit", TOPOLOGIES / "failing.py", "-n", "RaisesInInitialize"),
        *("-N", place.name, "-o", "topology.restart.limit=1"),
    )
    assert finished.code == 1
    (line,) = finished.err.splitlines()
    assert "database[" in line
    assert "ValueError: no database" in line
    assert str(place.logs(place.name) / "database-2.log") in line
    place.nothing_is_left()


def test_a_submitted_name_is_taken(place: Place) -> None:
    """The same topology is submitted twice: the second submit is refused without harm."""
    submitted(place)
    for command in ("submit", "run"):
        finished = place.heronpy(command, *FOREVER, "-N", place.name)
        assert finished.code == 1
        (line,) = finished.err.splitlines()
        assert f"heronpy kill {place.name}" in line
    before = emitted(place)
    until(lambda: emitted(place) > before, "it goes on")
    place.heronpy("kill", place.name).succeeded()


def test_what_a_killed_scheduler_leaves_is_removed_by_kill(place: Place) -> None:
    """kill -9 of the scheduler and its guardian: its processes end by themselves, list calls the
    topology LOST, and kill removes its nodes and sockets, to free the name."""
    submitted(place)
    roles = tuple(f"heron: {role} ({place.name})" for role in ("guardian", "scheduler"))
    both = [x for x in place.processes() if " ".join(x.cmdline()).startswith(roles)]
    assert len(both) == 2
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for each in both:
            each.send_signal(number)
    psutil.wait_procs(both, GONE_SECS)
    (listed,) = json.loads(place.heronpy("list", "--json").succeeded().out)
    assert listed["state"] == "LOST"
    place.heronpy("kill", place.name).succeeded()
    place.nothing_is_left(GONE_SECS)


def test_a_state_that_somebody_removed_is_there_again(place: Place) -> None:
    """rm -rf of the state's folder does not leave processes beyond the reach of commands: all write
    their nodes again. A stream manager restarted meanwhile finds the master as before."""
    submitted(place)
    shutil.rmtree(place.home / "state")
    with place.store() as store:
        every = (topology_path, keys_path, scheduler_path, packing_path, physical_path,
                 execution_path, master_path)  # fmt: skip
        until(lambda: all(store.get(path(place.name)) for path in every), "the nodes are back")
    with Master(place.store_url, place.name) as master:
        manager = next(x for x in place.processes() if "stream manager 1" in " ".join(x.cmdline()))
        manager.kill()
        log = "topology-master"
        until(lambda: place.log(place.name, log).count("manager 1 registered") == 2, "it is back")
        before = master.processed("add")
        until(lambda: master.processed("add") > before, "tuples are processed again")
    place.heronpy("kill", place.name).succeeded()
    place.nothing_is_left()


def test_tail_follows_until_ctrl_c(place: Place) -> None:
    """tail -f shows the last lines and then new ones; Ctrl-C ends the command silently."""
    submitted(place)
    tail = place.start("tail", place.name, "-f", "-l", 3)
    tail.until(lambda: "topology-master | " in tail.out, "the last lines")
    place.heronpy("kill", place.name).succeeded()
    tail.until(lambda: "topology master ends: SIGTERM" in tail.out, "a new line")
    tail.signal(signal.SIGINT)
    finished = tail.wait()
    assert finished.code == 130
    assert finished.err.strip() == ""


@pytest.mark.parametrize("command", ["stats", "kill", "activate", "deactivate", "tail"])
def test_a_topology_that_does_not_run(place: Place, command: str) -> None:
    """A typing error in the name is one line, with the running topologies."""
    finished = place.heronpy(command, "nobody")
    assert finished.code == 1
    (line,) = finished.err.splitlines()
    assert "topology" in line
    assert "'nobody'" in line


def test_a_component_that_is_not_there(place: Place) -> None:
    """A typing error in a component's name is reported with the existing names."""
    submitted(place)
    for command, expected in (("stats", "numbers, add"), ("tail", "numbers")):
        finished = place.heronpy(command, place.name, "-c", "nmbers")
        assert finished.code == 2
        (line,) = finished.err.splitlines()
        assert "'nmbers'" in line
        assert expected in line
    place.heronpy("kill", place.name).succeeded()


def test_commands_find_a_topology_through_zookeeper(
    place: Place, running_zookeeper: EmbeddedZooKeeper
) -> None:
    """Submitted with its state in ZooKeeper: each command finds the topology only there."""
    at = f"{running_zookeeper.address}/{place.name}"
    submitted(place, "--zookeeper", at)
    place.environment["HERONPY_ZOOKEEPER"] = at
    (listed,) = json.loads(place.heronpy("list", "--json").succeeded().out)
    assert listed["name"] == place.name
    with Master(f"zk://{at}", place.name) as master:
        until(lambda: master.processed("add") > 0, "tuples are processed")
    place.heronpy("deactivate", place.name).succeeded()
    place.heronpy("kill", place.name).succeeded()
    assert place.heronpy("list").succeeded().out == "No topologies found.\n"
    place.nothing_is_left()


def test_what_failed_is_listed_and_its_logs_survive_the_next_run(place: Place) -> None:
    """The name is submitted again before a look at the failure."""
    file = place.path / "failing.py"
    file.write_text(FAILING, "utf-8")
    words = (file, "-N", place.name, "-o", "topology.restart.limit=0")
    place.heronpy("submit", *words)
    place.nothing_is_left(GONE_SECS)
    (listed,) = json.loads(place.heronpy("list", "--json").succeeded().out)
    assert (listed["name"], listed["state"], listed["instances"]) == (place.name, "FAILED", 1)
    assert "there is no source" in listed["reason"]
    place.heronpy("submit", *words)
    place.nothing_is_left(GONE_SECS)
    before = place.heronpy("tail", place.name, "--previous", "--pattern", "source").succeeded().out
    now = place.heronpy("tail", place.name, "--pattern", "source").succeeded().out
    assert "there is no source" in before
    assert before != now
    place.heronpy("remove-logs", place.name).succeeded()
    assert place.heronpy("list", "--all").succeeded().out == "No topologies found.\n"
    assert "no logs of an earlier run" in place.heronpy("tail", place.name, "--previous").errors[0]
