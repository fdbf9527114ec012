"""Topologies on a real YARN with HDFS, submitted, looked at, killed and broken as users do it."""

import json
import re
import shutil
import sys
import venv
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from heron_core.plans import MIB
from heron_core.state_tree import execution_path, master_path, scheduler_path
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from heron_io.state_store.opening import open_store
from tests.conformance.checks import Deployment, whole_life
from tests.process.process_support import EXAMPLES, Finished, Place, until
from tests.process.survival import TOPOLOGY, acked, settings, survey
from yarn_cluster import YarnCluster

SUBMIT_SECS = 180.0
DEADLINE_SECS = 120.0
LINES, PENDING, SLEEP_SECS, FLOWING_LINES = 1500, 100, 0.001, 50
ALL_DUE = 1e9
"""Lines a second: the spouts emit as fast as they may."""
RAM_MB, CORES = 640, 1
MASTER_RAM_MB = 512


class YarnPlace(Place):
    """A place with a cluster called west."""

    def __init__(self, path: Path, cache: Path, yarn: YarnCluster, store_url: str) -> None:
        super().__init__(path)
        self.yarn, self.url = yarn, store_url
        self._store = open_store(store_url)
        self.home.mkdir()
        # The runtime is packed once for all tests.
        (self.home / "archives").symlink_to(cache)
        self.cluster("west")

    def cluster(self, name: str, **changed: Any) -> None:
        """Write a cluster's file; JSON is YAML."""
        found = {
            "scheduler": "yarn",
            "state": self.url,
            "packing": {
                "container": {"ram": f"{RAM_MB}MB", "cpu": CORES},
                "padding": {"ram": "100MB", "cpu": 0.1},
            },
            "yarn": {
                "conf_dir": str(self.yarn.conf_dir),
                "python": sys.executable,
                "master": {"ram": f"{MASTER_RAM_MB}MB"},
                "ready_secs": int(SUBMIT_SECS),
                **changed,
            },
        }
        folder = self.home / "clusters"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(json.dumps(found, indent=1), "utf-8")

    def on(self, cluster: str, *words: object) -> Finished:
        """Run `heronpy` for a cluster."""
        return self.heronpy(*words, "--cluster", cluster, secs=SUBMIT_SECS + DEADLINE_SECS)

    def submit(self, file: Path, *words: object, cluster: str = "west") -> Finished:
        """Submit a topology under the place's name."""
        return self.on(cluster, "submit", file, "-N", self.name, *words)

    def node(self, path: str) -> Any:
        """A node of the state store."""
        return self._store.get(path)

    def close(self) -> None:
        """Kill what still runs."""
        super().close()
        self._store.close()

    def container(self, number: int) -> str | None:
        """YARN's id of a container that runs."""
        containers = (self.node(scheduler_path(self.name)) or {}).get("containers", {})
        found = containers.get(str(number), {})
        return found.get("id") if found.get("phase") == "running" else None

    def warm(self) -> str | None:
        """YARN's id of a container that waits."""
        found = (self.node(scheduler_path(self.name)) or {}).get("warm", {}).values()
        return next((each["id"] for each in found if each["phase"] == "running"), None)

    def is_another(self, number: int, container: str | None) -> bool:
        """Whether a container runs in another one of YARN's."""
        return self.container(number) not in (None, container)

    def process(self, module: str, word: str = "") -> psutil.Process | None:
        """The process of a module that YARN has started."""
        for each in self.yarn.processes():
            with suppress(psutil.Error):
                words = each.cmdline()
                if words[1:3] == ["-m", module] and word in " ".join(words):
                    return each
        return None

    def application(self) -> dict[str, Any]:
        """The newest application of the place's name, as YARN sees it."""
        found = [each for each in self.yarn.applications() if each["name"] == self.name]
        return max(found, key=lambda each: each["startedTime"], default={})

    def nothing_runs(self) -> None:
        """No process of any application, no application."""
        until(lambda: not self._left(), f"YARN runs nothing: {self._left()}", DEADLINE_SECS)
        states = {each["state"] for each in self.yarn.applications()}
        assert states <= {"FINISHED", "FAILED", "KILLED"}

    def _left(self) -> list[str]:
        found = []
        for each in self.yarn.processes():
            with suppress(psutil.Error):
                line = " ".join(each.cmdline())
                if "scheduler.backends.yarn" in line or "heron: " in line or "py4j" in line[-200:]:
                    found.append(line[:100])
        return found


@pytest.fixture(scope="session")
def runtime_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runtime is packed."""
    return tmp_path_factory.mktemp("runtime")


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    """The state of all topologies here."""
    with EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def west(
    tmp_path: Path, runtime_cache: Path, yarn: YarnCluster, zookeeper: EmbeddedZooKeeper
) -> Iterator[YarnPlace]:
    """A place with a cluster; what is left of its topologies is killed at the end."""
    made = YarnPlace(tmp_path, runtime_cache, yarn, zookeeper.url)
    yield made
    if made.node(scheduler_path(made.name)) is not None:
        made.on("west", "kill", made.name, "--wait", 0)
    made.close()


def test_word_count_and_its_whole_life(west: YarnPlace) -> None:
    """Checked, submitted, looked at, restarted, killed."""
    name = west.name
    looked = west.heronpy("clusters", "west", secs=DEADLINE_SECS).succeeded().out
    assert looked.count("  ok: ") == 4
    assert "Hadoop 3.5.0, 2 node managers, 8192 MB and 8 vcores" in looked

    submitted = west.submit(EXAMPLES / "word_count.py", "-w", 2).succeeded()
    assert submitted.out.startswith(f"{name} runs: 6 instances, 2 containers")
    again = west.submit(EXAMPLES / "word_count.py", "-w", 2)
    assert again.code == 1
    assert f"{name!r} is running already (on cluster west" in again.errors[0]
    assert west.application().get("applicationType") == "HERON"
    until(lambda: west.node(execution_path(name))["state"] == "ENDED", "it ends", DEADLINE_SECS)
    until(lambda: west.application().get("state") == "FINISHED", "so does the application")
    assert west.application().get("finalStatus") == "SUCCEEDED"
    west.nothing_runs()
    tail = west.on("west", "tail", name)
    assert f"use `yarn logs -applicationId {west.application()['id']}`" in tail.errors[0]

    # Its name is free again, although nobody has killed it.
    options, _ = settings(west.path, LINES, 1.0)
    west.submit(TOPOLOGY, "-w", 2, *options).succeeded()
    shown = west.on("west", "tail", name, "-l", 1000).succeeded().out
    assert "application-master | " in shown
    assert "container-2 | " in shown
    assert "started stream manager 2" in shown
    before = [west.container(number) for number in (1, 2)]
    west.on("west", "restart", name, 1).succeeded()
    assert west.is_another(1, before[0])
    assert west.container(2) == before[1]
    held = west.node(master_path(name))
    west.on("west", "restart", name, 0).succeeded()
    until(lambda: (west.node(master_path(name)) or held) != held, "there is another master")
    assert west.container(2) == before[1]
    assert west.on("west", "kill", name).succeeded().out == f"{name} is killed\n"
    assert west.node(scheduler_path(name)) is None
    west.nothing_runs()
    assert west.application().get("diagnostics") == "`heronpy kill`"


def test_what_is_killed_comes_back_and_nothing_is_lost(west: YarnPlace) -> None:
    """A container's process, whose place a warm container takes; the application master; and a node
    manager with what is on it."""
    name = west.name
    options, _ = settings(west.path, LINES, ALL_DUE, sleep_secs=SLEEP_SECS)
    pending = f"topology.max.spout.pending={PENDING}"
    warm = ("-o", "topology.warm.containers=1")
    west.submit(TOPOLOGY, "-w", 2, "-o", pending, *warm, *options).succeeded()
    until(lambda: acked(west.path) > FLOWING_LINES, "lines are acked", DEADLINE_SECS)

    before = west.container(2)
    until(west.warm, "a container waits", DEADLINE_SECS)
    waited = west.warm()
    shard = west.process("scheduler.backends.yarn.container_agent", "--container 2 ")
    assert shard is not None
    shard.kill()
    until(lambda: west.is_another(2, before), "container 2 is back", DEADLINE_SECS)
    assert west.container(2) == waited
    until(lambda: west.warm() not in (None, waited), "another one waits", DEADLINE_SECS)

    before, held = west.container(1), west.node(master_path(name))
    own = west.container(0)
    master = west.process("scheduler.backends.yarn.master")
    assert master is not None
    master.kill()
    until(lambda: west.is_another(0, own), "another attempt", DEADLINE_SECS)
    until(lambda: (west.node(master_path(name)) or held) != held, "another master", DEADLINE_SECS)
    assert west.container(1) == before, "a container of the first attempt runs on"
    assert west.container(2) == waited, "so does the one that was warm, in its new place"

    lost = west.node(scheduler_path(name))["containers"]["1"]["host"]
    number = next(each for each in range(2) if west.yarn.node_id(each) == lost)
    west.yarn.kill_node_manager(number)
    try:
        until(lambda: west.is_another(1, before), "container 1 is elsewhere", DEADLINE_SECS)
        until(lambda: acked(west.path) == LINES, "all lines are acked", DEADLINE_SECS)
        assert survey(west.path, LINES).complete
        west.on("west", "kill", name).succeeded()
        west.nothing_runs()
    finally:
        west.yarn.start_node_manager(number)


@pytest.mark.timeout(900)
def test_the_whole_life_of_every_back_end(
    west: YarnPlace, record_property: Callable[[str, object], None]
) -> None:
    on = ("--cluster", "west")
    wait_secs = SUBMIT_SECS + DEADLINE_SECS
    deployment = Deployment("yarn", west, on, on, west.url, wait_secs, west._left)
    whole_life(deployment, record_property)


def test_at_least_once_example(west: YarnPlace) -> None:
    """It ends by itself, and so does the application."""
    west.submit(EXAMPLES / "at_least_once.py").succeeded()
    until(lambda: west.application().get("state") == "FINISHED", "it ends", DEADLINE_SECS)
    assert west.application().get("finalStatus") == "SUCCEEDED"
    west.nothing_runs()


GREETINGS = """
import os
from greeting import greet
from heronpy_compat import Bolt, Spout, Topology

class Names(Spout):
    outputs = ["name"]
    def next_tuple(self):
        self.emit(["storm"])
        self.finish()

class Say(Bolt):
    def process(self, tup):
        with open(SAID, "w") as file:
            file.write(greet(tup.values[0]) + os.environ["MARK"])
        self.ack(tup)

class Greetings(Topology):
    names = Names.spec()
    say = Say.spec(inputs=[names])
"""
MARK = """ $HOME `id` "\\' """
"""It gets there unchanged, through two shells."""
WHEEL = {
    "greeting.py": "def greet(name):\n    return f'hello {name}'\n",
    "greeting-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
    "greeting-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
    "Tag: py3-none-any\n",
    "greeting-1.0.dist-info/RECORD": "",
}


def test_workers_need_only_python(west: YarnPlace) -> None:
    """A topology whose package no worker has, from its archive; the workers' Python is bare."""
    python = west.path / "bare"
    venv.create(python)
    environment = {"MARK": MARK}
    west.cluster("bare", python=str(python / "bin" / "python"), environment=environment)
    project, said = west.path / "demo", west.path / "said"
    (project / "topologies").mkdir(parents=True)
    (project / "config.json").write_text(json.dumps({"envs": {}, "topology_specs": "topologies"}))
    (project / "topologies" / "greetings.py").write_text(f"SAID = {str(said)!r}\n{GREETINGS}")
    (project / "wheels").mkdir()
    with zipfile.ZipFile(project / "wheels" / "greeting-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    requirements = "--no-index\n--find-links wheels\ngreeting==1.0\n"
    (project / "requirements.txt").write_text(requirements)
    west.heronpy("package", "--config", project / "config.json", "-o", "a.tar.gz").succeeded()
    shutil.rmtree(project)
    west.submit(west.path / "a.tar.gz", cluster="bare").succeeded()
    until(said.exists, "it has run", DEADLINE_SECS)
    until(lambda: said.read_text() == f"hello storm{MARK}", "it has greeted")
    until(lambda: west.application().get("state") == "FINISHED", "it ends", DEADLINE_SECS)


GROWING = """
import time
from heronpy_compat import Bolt, Spout, Topology

class Eats(Spout):
    outputs = ["x"]
    def initialize(self, config, context):
        self.eaten = []
    def next_tuple(self):
        time.sleep(0.02)
        if len(self.eaten) < 60:  # 960 MB of the container's 640, and no more of this machine
            self.eaten.append(b"x" * (1 << 24))

class Nothing(Bolt):
    def process(self, tup):
        pass

class Growing(Topology):
    config = {"topology.restart.limit": 0}
    eats = Eats.spec()
    nothing = Nothing.spec(inputs=[eats])
"""


def test_a_container_that_grows_is_told_of(west: YarnPlace) -> None:
    """YARN kills it; which instance grew stands where people look."""
    file = west.path / "growing.py"
    file.write_text(GROWING)
    west.submit(file)  # it may have failed before all of its instances were seen
    until(lambda: west.node(execution_path(west.name))["state"] == "FAILED", "it fails", 180)
    reason = west.node(execution_path(west.name))["reason"]
    assert "it was killed for its memory" in reason
    assert "; eats[0] (task " in reason
    assert "MB more than the" in reason
    until(lambda: west.application().get("finalStatus") == "FAILED", "so has the application")
    assert "eats[0]" in west.application().get("diagnostics", "")
    west.nothing_runs()


def test_what_yarn_refuses_leaves_nothing(west: YarnPlace) -> None:
    """One line each, in time."""
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
    assert "container 1 needs 9000 MB of memory, and YARN gives at most 4096" in told
    west.cluster("confless", conf_dir=str(west.path / "nowhere"))
    assert f"{west.path}/nowhere has no yarn-site.xml" in refused("confless")
    broken = west.path / "broken"
    broken.mkdir()
    (broken / "yarn-site.xml").write_text("<configuration><property>")
    west.cluster("broken", conf_dir=str(broken))
    assert "yarn-site.xml is no XML" in refused("broken")
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
    west.cluster("tight", ready_secs=15)
    told = refused("tight", "-w", "2", "-o", f"topology.container.ram={3900 * MIB}")
    assert "of 2 containers run after 15 s: the rest asks for" in told
    west.nothing_runs()


def test_who_is_told_to_waits_for_room(west: YarnPlace) -> None:
    """Longer than the cluster's file says, with a line about what is missing, until Ctrl-C, which
    leaves nothing."""
    west.cluster("tight", ready_secs=2)
    large = ("-w", "2", "-o", f"topology.container.ram={3900 * MIB}", "--wait-for-room")
    file = EXAMPLES / "at_least_once.py"
    waiting = west.start("submit", file, "-N", west.name, "--cluster", "tight", *large)
    waiting.until(lambda: "of 2 containers run after" in waiting.err, "a word", SUBMIT_SECS)
    waiting.signal()
    assert waiting.wait(SUBMIT_SECS).code == 130
    assert west.node(scheduler_path(west.name)) is None
    west.nothing_runs()
