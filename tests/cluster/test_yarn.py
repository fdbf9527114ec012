"""Topologies on a real YARN with HDFS, submitted, looked at, scaled and killed as users do it."""

import json
import shutil
import venv
import zipfile
from collections.abc import Callable

import pytest

from heron_core.plans import MIB
from heron_core.state_tree import execution_path, scheduler_path
from tests.cluster.yarn_place import DEADLINE_SECS, PADDING, SUBMIT_SECS, YarnPlace
from tests.conformance.checks import Deployment, whole_life
from tests.conformance.exact_life import a_machine_of_a_container, exact_life
from tests.conformance.scaling import scales_with_its_load
from tests.process.process_support import EXAMPLES, until

INSTANCE_MB = 200
USAGE = 2
"""Exit code of the command's own errors."""
COMPONENTS = ("lines", "split", "count", "seen")
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


def test_topologies_that_end_by_themselves(west: YarnPlace) -> None:
    """Checked and submitted, a topology ends; its name is free again for a growing one: YARN kills
    the container, and the reports name the instance."""
    name = west.name
    looked = west.heronpy("clusters", "west", secs=DEADLINE_SECS).succeeded().out
    assert looked.count("  ok: ") == 4
    assert "Hadoop 3.5.0, 2 node managers, 8192 MB and 16 vcores" in looked
    submitted = west.submit(EXAMPLES / "word_count.py", "-w", 2).succeeded()
    assert submitted.out.startswith(f"{name} runs with 6 instances, 2 containers")
    again = west.submit(EXAMPLES / "word_count.py", "-w", 2)
    assert again.code == 1
    assert f"{name!r} is already running (on cluster west" in again.errors[0]
    assert west.application().get("applicationType") == "HERON"
    until(lambda: west.node(execution_path(name))["state"] == "ENDED", "it ends", DEADLINE_SECS)
    until(lambda: west.application().get("state") == "FINISHED", "so does the application")
    assert west.application().get("finalStatus") == "SUCCEEDED"
    west.nothing_runs()
    tail = west.on("west", "tail", name)
    assert f"use `yarn logs -applicationId {west.application()['id']}`" in tail.errors[0]

    file = west.path / "growing.py"
    file.write_text(GROWING)
    west.submit(file)  # it may have failed before all of its instances were seen
    until(lambda: west.node(execution_path(name))["state"] == "FAILED", "it fails", SUBMIT_SECS)
    reason = west.node(execution_path(name))["reason"]
    assert "it was killed for its memory" in reason
    assert "; eats[0] (task " in reason
    assert "MB more than the" in reason
    until(lambda: west.application().get("finalStatus") == "FAILED", "so has the application")
    assert "eats[0]" in west.application().get("diagnostics", "")
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
"""The value passes two shells unchanged."""
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


@pytest.mark.timeout(900)
def test_the_whole_life_of_every_back_end(
    west: YarnPlace, record_property: Callable[[str, object], None]
) -> None:
    """Under load; YARN's allocation follows the plan: containers come, go, shrink and grow. New
    code reaches running containers, and later ones."""
    west.cluster("sized", packing={"padding": PADDING})
    ram = ",".join(f"{each}:{INSTANCE_MB * MIB}" for each in COMPONENTS)
    cpu = ",".join(f"{each}:0.1" for each in COMPONENTS)
    on = ("--cluster", "sized")
    maps = (f"topology.component.rammap={ram}", f"topology.component.cpumap={cpu}")
    sizes = [word for each in maps for word in ("-o", each)]
    wait_secs = SUBMIT_SECS + DEADLINE_SECS
    deployment = Deployment(
        "yarn", west, (*on, *sizes), on, west.url, wait_secs, west._left, west.is_granted,
        gets_new_code=True,
    )  # fmt: skip
    whole_life(deployment, record_property)


@pytest.mark.timeout(600)
def test_constrained_components_run_in_their_partition(west: YarnPlace) -> None:
    """Also in a container added by an update; a partition unknown to YARN is one line."""
    yarn, edge = west.yarn, 1
    words = (EXAMPLES / "endless_words.py", "-o")
    key = "topology.component.constraints"
    constrained = (*words, f"{key}={{count: {{partition: edge}}}}")
    refused = west.submit(*words, f"{key}={{count: {{partition: moon}}}}")
    assert refused.code == USAGE
    assert "YARN has no partition 'moon'" in refused.errors[-1]
    yarn.add_partition("edge")
    assert "no node of YARN is in the partition edge" in west.submit(*constrained).errors[-1]
    yarn.put_in_partition(edge, "edge")
    try:
        west.submit(*constrained).succeeded()
        assert hosts_of(west) == {1: yarn.node_id(0), 2: yarn.node_id(edge)}
        scaled = ("--component-parallelism", "count:4", "--container-number", 3)
        west.on("west", "update", west.name, *scaled).succeeded()
        assert hosts_of(west) == {
            1: yarn.node_id(0), 2: yarn.node_id(edge), 3: yarn.node_id(edge),
        }  # fmt: skip
        west.on("west", "kill", west.name).succeeded()
    finally:
        yarn.put_in_partition(edge, "")
    west.nothing_runs()


def hosts_of(west: YarnPlace) -> dict[int, str]:
    """container -> its node"""
    containers = west.node(scheduler_path(west.name))["containers"]
    return {int(number): each["host"] for number, each in containers.items() if number != "0"}


@pytest.mark.timeout(900)
def test_a_life_with_state_is_exact(west: YarnPlace) -> None:
    """With a kill, a rescale, a savepoint, and a node that is rebooted."""
    on = ("--cluster", "west")
    wait_secs = SUBMIT_SECS + DEADLINE_SECS
    deployment = Deployment("yarn", west, on, on, west.url, wait_secs, west._left)
    exact_life(deployment, reboot_a_node)


@pytest.mark.timeout(600)
def test_a_bolt_is_scaled_with_its_load(west: YarnPlace) -> None:
    """By a command with a submitter's rights."""
    on, wait_secs = ("--cluster", "west"), SUBMIT_SECS + DEADLINE_SECS
    scales_with_its_load(Deployment("yarn", west, on, on, west.url, wait_secs, west._left))
    west.nothing_runs()


def reboot_a_node(deployment: Deployment, submit: Callable[[], None]) -> None:
    """Its node manager and a container die at once, and the node manager comes back."""
    west = deployment.place
    assert isinstance(west, YarnPlace)
    host = west.node(scheduler_path(west.name))["containers"]["2"]["host"]
    number = next(each for each in range(2) if west.yarn.node_id(each) == host)
    west.yarn.kill_node_manager(number)
    try:
        a_machine_of_a_container(deployment, submit)
    finally:
        west.yarn.start_node_manager(number)
