"""One topology with a malformed node does not hide the others."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from heron_cli.main import heronpy
from heron_core.plans import PackingPlan, packing_to_json
from heron_core.state_tree import (
    execution_path,
    packing_path,
    scheduler_path,
    topology_path,
)
from heron_io.state_store.file_store import FileStore

STATE = {"state": "RUNNING", "host": "elsewhere", "user": "ada", "submitted_at": "today"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder; no project is in the current one."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stored(home: Path, name: str, **changed: Any) -> None:
    """A topology's nodes, `changed` ones as given."""
    nodes = {"topology": {}, "packing": packing_to_json(PackingPlan(name, ())), "state": STATE,
             "scheduler": {"host": "elsewhere", "pid": 1, "started": "1"}, **changed}  # fmt: skip
    with FileStore(str(home / "state")) as store:
        for key, path in (("topology", topology_path), ("packing", packing_path),
                          ("state", execution_path), ("scheduler", scheduler_path)):  # fmt: skip
            store.put(path(name), nodes[key])


def run(*words: str) -> Result:
    return CliRunner().invoke(heronpy, words)


@pytest.mark.parametrize(
    "changed", [{"packing": {"containers": 3}}, {"state": []}, {"scheduler": "me"}], ids=str
)
def test_list_and_stats_name_the_malformed_node_and_show_the_rest(
    home: Path, changed: dict[str, Any]
) -> None:
    stored(home, "sound")
    stored(home, "broken", **changed)
    listed = run("list", "--json")
    assert listed.exit_code == 0, listed.output
    states = {each["name"]: each["state"] for each in json.loads(listed.stdout)}
    assert states == {"sound": "RUNNING", "broken": "UNREADABLE"}
    assert "heronpy: broken: /" in listed.stderr
    assert "repair or delete the node" in listed.stderr
    for command in ("stats", "slot_usage"):
        shown = run(command)
        assert shown.exit_code == 0, shown.output
        assert "sound" in shown.stdout
    assert run("stats", "broken").exit_code == 1


def test_a_file_that_is_no_json_is_named_too(home: Path) -> None:
    stored(home, "sound")
    stored(home, "broken")
    (home / "state" / "executionstate" / "broken.json").write_text("{")
    listed = run("list")
    assert listed.exit_code == 0
    assert "UNREADABLE" in listed.stdout
    assert "executionstate/broken" in listed.stderr
