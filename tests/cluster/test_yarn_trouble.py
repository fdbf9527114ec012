"""Failures of topologies on a real YARN: processes die, requests are refused."""

import re
import shutil

from heron_core.plans import MIB
from heron_core.state_tree import (
    keys_path,
    master_path,
    packing_path,
    physical_path,
    scheduler_path,
    topology_path,
)
from tests.cluster.yarn_place import DEADLINE_SECS, SUBMIT_SECS, YarnPlace
from tests.process.process_support import EXAMPLES, until
from tests.process.survival import TOPOLOGY, acked, gaps, settings

LINES, RATE = 100_000, 100
"""More than are emitted while the test takes, so that the topology does not end early; as many a
second."""
SPOUTS, PENDING, FLOWING_LINES = 2, 100, 50


def test_what_is_killed_comes_back_and_nothing_is_lost(west: YarnPlace) -> None:
    """All nodes of the state store; a container's process, whose place a standby container takes;
    the application master; and a node manager with its containers."""
    name = west.name
    options, _ = settings(west.path, LINES, RATE)
    pending = f"topology.max.spout.pending={PENDING}"
    warm = ("-o", "topology.warm.containers=1")
    west.submit(TOPOLOGY, "-w", 2, "-o", pending, *warm, *options).succeeded()
    until(lambda: acked(west.path) > FLOWING_LINES, "lines are acked", DEADLINE_SECS)

    names = (topology_path, keys_path, scheduler_path, packing_path, physical_path, master_path)
    west.empty_the_state_store()
    until(lambda: all(west.node(each(name)) for each in names), "all is written again")
    assert "RUNNING" in west.on("west", "list").succeeded().out

    shown = west.on("west", "tail", name, "-l", 1000).succeeded().out
    assert "application-master | " in shown
    assert "started stream manager 2" in shown
    held, before = west.node(master_path(name)), west.container(2)
    west.on("west", "restart", name, 0).succeeded()
    until(lambda: (west.node(master_path(name)) or held) != held, "there is another master")
    assert west.container(2) == before

    until(west.standby, "a container waits", DEADLINE_SECS)
    waited = west.standby()
    shard = west.process("heron_engine.scheduler.backends.yarn.container_agent", "--container 2 ")
    assert shard is not None
    shard.kill()
    until(lambda: west.is_another(2, before), "container 2 is back", DEADLINE_SECS)
    assert west.container(2) == waited
    until(lambda: west.standby() not in (None, waited), "another one waits", DEADLINE_SECS)

    before, held = west.container(1), west.node(master_path(name))
    own = west.container(0)
    master = west.process("heron_engine.scheduler.backends.yarn.master")
    assert master is not None
    master.kill()
    until(lambda: west.is_another(0, own), "another attempt", DEADLINE_SECS)
    until(lambda: (west.node(master_path(name)) or held) != held, "another master", DEADLINE_SECS)
    assert west.container(1) == before, "a container of the first attempt runs on"
    assert west.container(2) == waited, "so does the one that was on standby, in its new place"

    lost = west.node(scheduler_path(name))["containers"]["1"]["host"]
    number = next(each for each in range(2) if west.yarn.node_id(each) == lost)
    west.yarn.kill_node_manager(number)
    try:
        until(lambda: west.is_another(1, before), "container 1 is elsewhere", DEADLINE_SECS)
        (west.path / "enough").touch()
        until(lambda: not gaps(west.path, SPOUTS, LINES), "no line is lost", DEADLINE_SECS)
        assert west.on("west", "kill", name).succeeded().out == f"{name} is killed\n"
        assert west.node(scheduler_path(name)) is None
        west.nothing_runs()
    finally:
        west.yarn.start_node_manager(number)


def test_what_yarn_refuses_leaves_nothing(west: YarnPlace) -> None:
    file = EXAMPLES / "at_least_once.py"

    def refused(cluster: str, *words: object) -> str:
        done = west.submit(file, *words, cluster=cluster)
        assert done.code in (1, 2), done.out
        (line,) = done.errors
        assert "Traceback" not in done.err
        assert west.node(scheduler_path(west.name)) is None
        return line

    west.cluster("queueless", queue="nowhere")
    assert "YARN has no queue 'nowhere' (its queues: " in refused("queueless")
    west.cluster("closed", queue="closed")
    assert "the queue closed of YARN is stopped" in refused("closed")
    told = refused("west", "-o", f"topology.container.ram={9000 * MIB}")
    assert "container 1 needs 9000 MB of memory, but YARN's maximum is 4096" in told
    west.cluster("small", archive_limit="1KB")
    assert "yarn: archive_limit in" in refused("small")
    dead = west.path / "dead"
    shutil.copytree(west.yarn.conf_dir, dead)
    site = (dead / "yarn-site.xml").read_text()
    own = re.search(r"yarn.resourcemanager.address</name><value>([^<]+)<", site)
    assert own is not None
    (dead / "yarn-site.xml").write_text(site.replace(own[1], "127.0.0.1:1"))
    west.cluster("dead", conf_dir=str(dead))
    assert "no resource manager answers at 127.0.0.1:1 (Connection refused)" in refused("dead")
    # Eight containers of this size fit nowhere.
    west.cluster("tight", ready_secs=5)
    told = refused("tight", "-w", "2", "-o", f"topology.container.ram={3900 * MIB}")
    assert "of 2 containers run after 5 s: the rest asks for" in told
    west.nothing_runs()


def test_who_is_told_to_waits_for_room(west: YarnPlace) -> None:
    """Longer than the cluster's file says, with a line about missing resources, until Ctrl-C,
    without leftovers."""
    west.cluster("tight", ready_secs=2)
    large = ("-w", "2", "-o", f"topology.container.ram={3900 * MIB}", "--wait-for-room")
    file = EXAMPLES / "at_least_once.py"
    waiting = west.start("submit", file, "-N", west.name, "--cluster", "tight", *large)
    waiting.until(lambda: "of 2 containers run after" in waiting.err, "a word", SUBMIT_SECS)
    waiting.signal()
    assert waiting.wait(SUBMIT_SECS).code == 130
    assert west.node(scheduler_path(west.name)) is None
    west.nothing_runs()
