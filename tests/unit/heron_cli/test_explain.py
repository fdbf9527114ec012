"""`--explain`: each value of the configuration and where it is from."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from heron_cli.main import heronpy
from heron_core.errors import UsageError

TOPOLOGY = """
from heronpy_compat import Bolt, Spout, Topology
class Words(Spout):
    outputs = ["word"]
    def next_tuple(self):
        self.finish()
class Count(Bolt):
    def process(self, tup):
        pass
class WordCount(Topology):
    config = {"topology.message.timeout.secs": 7, "db.password": "hunter2"}
    words = Words.spec(config={"topology.stmgrs": 3})
    count = Count.spec(inputs=[words], config={"table.path": "/real", "limit": 5})
"""
PROJECT = {
    "topology_specs": "topologies/",
    "envs": {"prod": {"options": {"topology.batch.tuples": 99}}},
}


@pytest.fixture
def topology(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A project's topology file."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    (tmp_path / "config.json").write_text(json.dumps(PROJECT))
    (tmp_path / "topologies").mkdir()
    file = tmp_path / "topologies" / "counting.py"
    file.write_text(TOPOLOGY)
    return str(file)


def explained(*words: str) -> str:
    done = CliRunner().invoke(heronpy, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("command", ["run", "submit"])
def test_explain_says_where_each_value_is_from(topology: str, command: str) -> None:
    words = (command, topology, "-e", "prod", "-o", "table.path=/tmp/t", "-w", "2", "--explain")
    found = json.loads(explained(*words, "--json"))
    of_topology = found["topology"]
    assert of_topology["topology.message.timeout.secs"]["from"] == "counting.py"
    assert "only in" not in of_topology["topology.message.timeout.secs"].get("no_effect", "")
    assert of_topology["topology.batch.tuples"] == {"value": 99, "from": "config.json (prod)"}
    assert of_topology["topology.stmgrs"] == {"value": 2, "from": "-w"}
    assert of_topology["topology.batch.bytes"] == {"value": 262144, "from": "default"}
    assert of_topology["db.password"] == {"value": "*****", "from": "counting.py"}
    assert found["components"]["count"] == {
        "limit": {"value": 5, "from": "counting.py"},
        "table.path": {"value": "/tmp/t", "from": '-o, over "/real"'},
    }


def test_explain_shows_a_table_and_what_has_no_effect(topology: str) -> None:
    lines = explained("run", topology, "-o", "topology.replay.max=3", "--explain").splitlines()
    assert lines[0].startswith("topology ")
    assert lines[1].split() == ["KEY", "VALUE", "FROM"]
    idle = next(line for line in lines if line.split()[:1] == ["topology.replay.max"])
    assert idle.split(None, 2)[1] == "3"
    assert idle.split(None, 2)[2].startswith("-o; has no effect in ATMOST_ONCE")
    stmgrs = [line for line in lines if line.split()[:1] == ["topology.stmgrs"]]
    assert stmgrs[-1].endswith("in the config of a component: set it for the topology")


def test_json_without_something_to_print_is_refused(topology: str) -> None:
    done = CliRunner().invoke(heronpy, ["run", topology, "--json"])
    assert isinstance(done.exception, UsageError)
    assert "--json is the format of --dry-run or --explain" in str(done.exception)
