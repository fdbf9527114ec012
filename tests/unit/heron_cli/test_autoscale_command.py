"""`heronpy autoscale` before it scales: tests/kubernetes has a topology that it scales."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from heron_cli.main import heronpy
from heron_core.errors import UsageError
from heron_core.plans import PackingPlan, packing_to_json
from heron_core.state_tree import packing_path, scheduler_path, topology_path
from heron_core.topology import ComponentSpec, TopologySpec, topology_to_json
from heron_io.state_store.file_store import FileStore

WORDS = TopologySpec("words", (ComponentSpec("lines", True, "m.Lines", 1),))
CLUSTER = "scheduler: yarn\nstate: file://{path}/state\nyarn: {{one_machine: true}}\n"


@pytest.mark.parametrize(
    ("scheduler", "reason"),
    [
        ({"kind": "local", "host": "here", "pid": 1}, "the scheduler of words scales it"),
        ({"kind": "yarn", "cluster": "yarn"}, "topology.autoscale.mode of words is off"),
    ],
)
def test_an_autoscaler_without_a_cause_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: dict[str, Any], reason: str
) -> None:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "yarn.yaml").write_text(CLUSTER.format(path=tmp_path))
    with FileStore(str(tmp_path / "state")) as store:
        store.put(topology_path("words"), topology_to_json(WORDS))
        store.put(packing_path("words"), packing_to_json(PackingPlan("words", ())))
        store.put(scheduler_path("words"), scheduler)
        refused = CliRunner().invoke(heronpy, ["autoscale", "words"])
    assert isinstance(refused.exception, UsageError)
    assert reason in str(refused.exception)
