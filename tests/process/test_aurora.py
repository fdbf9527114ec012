"""Topologies on Aurora, submitted, restarted and killed as a user does, on the stand-in cluster.

The rendered job runs: the archives are fetched and unpacked, the instances' command lines are
processes, and a dead instance is restarted like a service's.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

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
from heron_engine.scheduler.backends.aurora.client import NothingThere, Refused
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.process.aurora_support import AuroraPlace
from tests.process.process_support import DEADLINE_SECS, EXAMPLES, GONE_SECS, until
from tests.process.survival import TOPOLOGY, acked, settings, survey

JOB = "west/www/test"
LINES, PENDING, SLEEP_SECS, FLOWING_LINES = 600, 100, 0.001, 50
ALL_DUE = 1e9
"""Lines a second: the spouts emit as fast as they may."""
SLOW_LINES, SLOW_LINES_PER_SEC = 100_000, 50.0
WORD_LINES = 2000
BATCH = ["--batch-size", str(2**31 - 1)]


@pytest.fixture(scope="session")
def runtime_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runtime is packed."""
    return tmp_path_factory.mktemp("runtime")


@pytest.fixture
def aurora(tmp_path: Path, runtime_cache: Path) -> Iterator[AuroraPlace]:
    """A place with a cluster; remaining topologies are killed at the end."""
    made = AuroraPlace(tmp_path, runtime_cache)
    yield made
    made.close()


def test_word_count_and_its_whole_life(aurora: AuroraPlace) -> None:
    """Submit, look, restart a container, kill; Aurora is called as Heron calls it."""
    name, spec = aurora.name, f"{JOB}/{aurora.name}"
    words = ("submit", EXAMPLES / "word_count.py", "-N", name, "--cluster", "west", "-w", "2",
             "-o", f"word_count.lines.max={WORD_LINES}")  # fmt: skip
    submitted = aurora.heronpy(*words).succeeded()
    assert submitted.out == (
        f"{name} runs with 6 instances, 2 containers; logs: the sandboxes of its Aurora job\n"
    )
    (create,) = aurora.calls()
    assert create[:4] == ["job", "create", "--wait-until", "RUNNING"]
    assert create[-2] == spec
    assert create[4:-2:2] == ["--bind"] * 9
    assert "NUM_CONTAINERS=3" in create
    assert "TIER=preemptible" in create

    (listed,) = json.loads(aurora.heronpy("list", "--cluster", "west", "--json").succeeded().out)
    assert (listed["name"], listed["containers"], listed["instances"]) == (name, 2, 6)
    until(lambda: "word                      count" in aurora.output("top-6"), "it has counted")
    until(lambda: aurora.node(execution_path(name))["state"] == "ENDED", "its work is done")
    shown = aurora.heronpy("tail", name, "--cluster", "west")
    assert shown.code == 1
    assert f"the logs of {name} are in the sandboxes" in shown.errors[0]

    again = aurora.heronpy(*words)
    assert again.code == 1
    assert f"{name!r} is already running (on cluster west" in again.errors[0]

    before = aurora.shard(1).pid
    restarted = aurora.heronpy("restart", name, 1, "--cluster", "west").succeeded()
    assert restarted.out == f"{name}: container 1 is restarted\n"
    assert aurora.shard(1, other_than=before).pid != before
    assert aurora.calls()[-1] == ["job", "restart", f"{spec}/1", *BATCH]

    killed = aurora.heronpy("kill", name, "--cluster", "west").succeeded()
    listed = aurora.heronpy("list", "--all", "--cluster", "west").succeeded().out
    assert re.search(rf"{name} +ENDED ", listed), "its work was done before"
    assert killed.out == f"{name} is killed\n"
    assert aurora.calls()[-1] == ["job", "killall", spec, *BATCH]
    assert aurora.node(topology_path(name)) is None
    aurora.all_gone()


def test_an_emptied_state_store_and_a_container_killed_in_the_middle_lose_nothing(
    aurora: AuroraPlace,
) -> None:
    """The store is there again at once; then a container's and the topology master's instance get
    kill -9, and both restart from the store."""
    name = aurora.name
    options, _ = settings(aurora.path, LINES, ALL_DUE, sleep_secs=SLEEP_SECS)
    aurora.heronpy(
        "submit", TOPOLOGY, "-N", name, "--cluster", "west", "-w", "2",
        "-o", f"topology.max.spout.pending={PENDING}", *options,
    ).succeeded()  # fmt: skip
    until(lambda: acked(aurora.path) > FLOWING_LINES, "lines are acked")
    empty_the_state_store(aurora)
    victim = aurora.shard(2)
    victim.kill()
    assert acked(aurora.path) < LINES
    aurora.shard(2, other_than=victim.pid)
    master = aurora.shard(0)
    held = aurora.node(master_path(name))
    master.kill()
    aurora.shard(0, other_than=master.pid)
    until(lambda: (aurora.node(master_path(name)) or held) != held, "there is another master")
    until(lambda: acked(aurora.path) == LINES, "all lines are acked")
    assert survey(aurora.path, LINES).complete
    comes_too_early(aurora)
    aurora.heronpy("kill", name, "--cluster", "west").succeeded()
    aurora.all_gone()


def test_an_update_whose_command_is_killed_before_it_adds_a_container_goes_on_with_the_next_one(
    aurora: AuroraPlace, running_zookeeper: EmbeddedZooKeeper
) -> None:
    """The topology master has the plan, and the container is not started; the node of the killed
    command lives until its session ends."""
    name = aurora.name
    aurora.cluster("west", state=f"zk://{running_zookeeper.address}/{name}")
    options, _ = settings(aurora.path, SLOW_LINES, SLOW_LINES_PER_SEC)
    aurora.heronpy("submit", TOPOLOGY, "-N", name, "--cluster", "west", "-w", 1, *options)
    words = ("update", name, "--container-number", 2, "--cluster", "west")
    aurora.aurora_says(stops=["add"])
    killed = aurora.start(*words)
    killed.until(lambda: aurora.calls()[-1][:2] == ["job", "add"], "it adds a container")
    for each in killed.processes():
        each.kill()
    killed.wait()
    aurora.aurora_says()
    again = aurora.heronpy(*words).succeeded()
    assert again.out == f"nothing to update: {name} has 2 containers already\n"
    assert "was not finished: this command resumes the request" in again.err
    assert [each.number for each in aurora.client(name).status()] == [0, 1, 2]
    aurora.heronpy("kill", name, "--wait", 0, "--cluster", "west").succeeded()
    aurora.all_gone()


def empty_the_state_store(aurora: AuroraPlace) -> None:
    """All of the store is removed, and written again."""
    names = (topology_path, keys_path, scheduler_path, packing_path, physical_path)
    paths = [*(each(aurora.name) for each in names), execution_path(aurora.name)]
    before = {path: aurora.node(path) for path in paths}
    assert None not in before.values()
    shutil.rmtree(aurora.home / "state")
    until(lambda: {path: aurora.node(path) for path in paths} == before, "all is there again")


def comes_too_early(aurora: AuroraPlace) -> None:
    """An instance whose container the plan does not have yet, as while a topology is scaled: Aurora
    starts a service's instance again however often it ends, so the instance exists in time."""
    client = aurora.client(aurora.name)
    assert client.add(1) == [3]
    for _ in range(2):
        early = aurora.shard(3)
        assert aurora.shard(3, other_than=early.pid).pid != early.pid
    assert f"the packing plan of {aurora.name} has no container 3" in aurora.sandbox_output(3)
    client.kill([3])


def test_at_least_once_example(aurora: AuroraPlace) -> None:
    """The topology ends by itself: its instances stay idle until the job is killed."""
    name = aurora.name
    file = EXAMPLES / "at_least_once.py"
    aurora.heronpy("submit", file, "-N", name, "--cluster", "west").succeeded()
    until(lambda: "100 of 100 lines acked, 15 replayed" in aurora.output("lines-1"), "all is acked")
    until(lambda: aurora.node(execution_path(name))["state"] == "ENDED", "its work is done")
    killed = aurora.heronpy("kill", name, "--cluster", "west").succeeded()
    assert killed.err == ""
    aurora.all_gone()


SLEEPING_JOB = """\
sleeping = Process(name = 'sleeping', cmdline = 'exec sleep 1000 # {{thermos.ports[health]}}')
task = SequentialTask(processes = [sleeping], resources = Resources(cpu = 1, ram = 1, disk = 1))
jobs = [Job(cluster = '{{CLUSTER}}', role = 'www', environment = 'test', name = 'sleeping',
            service = True, instances = 2, task = task)]
"""


def test_scaling_and_what_the_client_says(aurora: AuroraPlace) -> None:
    """Instances are added and killed as Heron does it; numbers and states are read back."""
    client = aurora.client("sleeping")
    file = aurora.path / "sleeping.aurora"
    file.write_text(SLEEPING_JOB, "utf-8")
    assert client.status() == []
    client.create({"CLUSTER": "west"}, str(file), DEADLINE_SECS)
    with pytest.raises(Refused, match=f"Aurora has a job {JOB}/sleeping already"):
        client.create({"CLUSTER": "west"}, str(file), DEADLINE_SECS)
    assert client.add(2) == [2, 3]
    client.kill([1, 2])
    assert [(each.number, each.status) for each in client.status()] == [
        (0, "RUNNING"),
        (3, "RUNNING"),
    ]
    with pytest.raises(NothingThere):
        client.restart(2)
    (aurora.aurora / "failed").write_text("0", "ascii")
    aurora.aurora_says(fail_first=2)
    before = len(aurora.calls())
    client.kill_all()
    assert len(aurora.calls()) - before == 3
    client.kill_all()  # there is nothing left to kill, and that is what was wanted
    aurora.nothing_is_left(GONE_SECS)

    # A topology lost by the state store is ended by Aurora's knowledge.
    client.create({"CLUSTER": "west"}, str(file), DEADLINE_SECS)
    killed = aurora.heronpy("kill", "sleeping", "--cluster", "west").succeeded()
    lost = f"the state store has lost sleeping, and west runs Aurora's job {JOB}/sleeping"
    assert killed.err == f"{lost}: ending the job without a drain\n"
    again = aurora.heronpy("kill", "sleeping", "--cluster", "west")
    assert again.code == 1
    assert "no topology called 'sleeping' is running" in again.errors[0]
    aurora.nothing_is_left(GONE_SECS)


def test_what_aurora_refuses_leaves_nothing(aurora: AuroraPlace) -> None:
    """One line each; no node, no archive of the topology."""
    name = aurora.name
    words = ("submit", EXAMPLES / "at_least_once.py", "-N", name, "--cluster")
    aurora.aurora_says(roles=["ads"])
    refused = aurora.heronpy(*words, "west")
    assert refused.code == 1
    (line,) = refused.errors
    assert f"no permission for {JOB}/{name}" in line
    assert line.endswith("; use a user with the role www")

    aurora.cluster("tight", archives={"folder": str(aurora.archives), "limit": "1KB"})
    refused = aurora.heronpy(*words, "tight")
    assert refused.code == 2
    assert "and archives: limit in" in refused.errors[0]

    aurora.cluster("clientless", {"client": "/nowhere/aurora"})
    refused = aurora.heronpy(*words, "clientless")
    assert refused.code == 1
    assert "the Aurora client '/nowhere/aurora' is not found: install it" in refused.errors[0]

    refused = aurora.heronpy(*words, "wset")
    assert refused.code == 2
    assert "did you mean 'west'? (clusters: clientless, tight, west)" in refused.errors[0]

    looked = aurora.heronpy("clusters")
    assert looked.code == 1
    problems = [line.strip() for line in looked.out.splitlines() if "problem: " in line]
    (problem,) = problems
    assert problem == (
        "problem: the Aurora client '/nowhere/aurora' is not found: install it, or name it by "
        f"aurora: client in {aurora.home}/clusters/clientless.yaml"
    )
    assert aurora.heronpy("clusters", "west").succeeded().out.count("  ok: ") == 4
    assert list(aurora.archives.rglob("*.packed")) == []
    aurora.nothing_is_left(GONE_SECS)
