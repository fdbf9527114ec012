"""A project of sparse on our command line: its names, environments, hooks and flags."""

import json
import os
from pathlib import Path

import pytest

from tests.process.process_support import Place, until

SPOUT = """
from streamparse import Spout

class Numbers(Spout):
    outputs = ["number"]
    def initialize(self, conf, ctx):
        self.numbers = iter(range(100))
        self.log("option is %s" % conf.get("my.option"))
    def next_tuple(self):
        number = next(self.numbers, None)
        if number is not None:
            self.emit([number])
"""
BOLT = """
from streamparse import Bolt

class Look(Bolt):
    outputs = ["number"]
    def process(self, tup):
        self.emit(tup.values)
"""
TOPOLOGY = """
from streamparse import Grouping, Topology
from bolts.look import Look
from src.spouts.numbers import Numbers

class AnyName(Topology):
    numbers = Numbers.spec()
    look = Look.spec(inputs={numbers: Grouping.fields("number")}, par={"prod": 3, "beta": 1})
"""
HOOKS = """
import json, os
from streamparse import Topology

def pre_submit(topology_name, env_name, env_config, options):
    assert env_config["user"] == "storm"
    options["topology.workers"] = 2
    print("before", topology_name, env_name, options["my.option"])

def post_submit(topology_name, *rest):
    print("after", topology_name, len(rest), rest[2]["topology.workers"])
"""
CONFIG = {
    "serializer": "json",
    "topology_specs": "topologies/",
    "virtualenv_specs": "virtualenvs/",
    "envs": {
        "prod": {"user": "storm", "nimbus": "storm.example.com", "options": {"my.option": "p"}},
        "beta": {"user": "", "nimbus": "", "options": {"my.option": "b"}, "log": {"path": ""}},
    },
}


@pytest.fixture
def project(place: Place) -> Path:
    """The folder in which the commands run: a project with one topology, named after the test."""
    root = place.path
    for name, text in {
        "config.json": json.dumps(CONFIG),
        "src/spouts/numbers.py": SPOUT,
        "src/bolts/look.py": BOLT,
        f"topologies/{place.name}.py": TOPOLOGY,
        "tasks.py": HOOKS,
        "fabfile.py": "from fabric_that_is_not_installed import task\n\n@task\ndef deploy(): ...\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    place.environment["HERONPY_STREAMPARSE"] = "builtin"
    return root


def test_a_project_from_submit_to_remove_logs(place: Place, project: Path) -> None:
    """A day with a project of sparse, in sparse's own words: nobody says the topology's name."""
    submitted = place.heronpy(
        "submit", "-e", "prod", "--pool_size", 3, "-d", "--wait", 0
    ).succeeded()
    name = place.name
    assert submitted.out.splitlines() == [
        f"before {name} prod p",
        f"{name} runs with 4 instances, 2 containers; logs: {place.logs(name)}",
        f"after {name} 3 2",
    ]
    (note,) = submitted.err.splitlines()
    assert note.endswith(": --pool-size, in config.json user, nimbus")
    until(lambda: "option is p" in place.log(name, "numbers-1"), "the environment's option")
    assert place.heronpy("stats", "--all").succeeded().out.count("# Instances of") == 2
    shown = place.heronpy("worker-uptime", "--json").succeeded().out
    assert [(each["topology"], each["container"]) for each in json.loads(shown)] == [
        (name, 1),
        (name, 2),
    ]
    assert all(each["uptime_secs"] > 0 for each in json.loads(shown))
    assert f"{os.uname().nodename} " in place.heronpy("slot_usage").succeeded().out
    assert "2 (4)" in place.heronpy("slot_usage").succeeded().out
    tailed = place.heronpy("tail", "--pattern", "^numbers", "-l", 100).succeeded().out
    assert all(line.startswith("numbers[0] task 1 | ") for line in tailed.splitlines())
    refused = place.heronpy("remove_logs", "-n", name)
    assert (refused.code, refused.out) == (1, "")
    assert "is running" in refused.errors[0]
    replaced = place.heronpy("submit", "-e", "beta", "-f", "--wait", 0, "--no-hooks").succeeded()
    assert replaced.out.splitlines()[0] == f"{name} is killed"
    assert f"{name} runs with 2 instances, 1 container;" in replaced.out
    place.heronpy("kill", "-n", name, "--wait", 0).succeeded()
    removed = place.heronpy("remove-logs").succeeded().out.splitlines()
    assert str(place.logs(name) / "numbers-1.log") in removed
    assert removed[-1] == f"{len(removed) - 1} files removed"
    assert list(place.logs(name).iterdir()) == []
    place.nothing_is_left()


def test_the_environment_has_to_be_said_where_there_are_two(place: Place, project: Path) -> None:
    """And a topology's number of instances is that of its environment."""
    finished = place.heronpy("run", "--dry-run")
    assert finished.code == 2
    assert "has 2 environments: choose one with -e (prod, beta)" in finished.errors[0]
    planned = place.heronpy("run", "-e", "beta", "--dry-run", "--dry-run-format", "json")
    assert planned.succeeded().out.count('"look"') == 1
    planned = place.heronpy("run", "-n", place.name, "-e", "prod", "--dry-run").succeeded()
    assert planned.out.count(" look |") == 3


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ("import fabric_that_is_not_installed\ndef pre_submit(*a): ...",
         "No module named 'fabric_that_is_not_installed' (--no-hooks submits without)"),
        ("def pre_submit(name):\n    raise RuntimeError('not on ' + name)",
         "pre_submit in tasks.py: tasks.py:2: RuntimeError: not on {name}"),
        ("def pre_submit(a, b, c, options): options['topology.workers'] = 'many'",
         "topology.workers must be"),
        ("import os\ndef pre_submit(): os._exit(3)", "ended without a word"),
    ],
)  # fmt: skip
def test_a_hook_that_fails_stops_the_submission(
    place: Place, project: Path, hook: str, expected: str
) -> None:
    """One line that says which hook, where and why; nothing was started."""
    (project / "tasks.py").write_text(hook)
    finished = place.heronpy("submit", "-e", "beta")
    assert finished.code in (1, 2)
    assert "Traceback" not in finished.err
    (line,) = finished.errors
    assert expected.format(name=place.name) in line
    place.nothing_is_left()
