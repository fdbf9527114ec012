"""Each operation on a topology whose scheduler was killed, with its guardian, says so in a line."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from heron_cli.main import heronpy
from heron_core.errors import HeronError
from heron_core.plans import packing_to_json
from heron_core.state_tree import execution_path, packing_path, scheduler_path, topology_path
from heron_core.topology import ComponentSpec, TopologySpec, topology_to_json
from heron_engine.scheduler.packing import pack
from heron_io.state_store.file_store import FileStore

PID_MAX = 2**22
"""Linux gives no process a larger one."""
WORDS = TopologySpec("words", (ComponentSpec("lines", True, "m.Lines", 1),))
DEAD = {"kind": "local", "host": socket.gethostname(), "pid": PID_MAX + 1, "started": "0"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileStore:
    """With the topology."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    made = FileStore(str(tmp_path / "state"))
    made.put(topology_path("words"), topology_to_json(WORDS))
    made.put(packing_path("words"), packing_to_json(pack(WORDS)))
    made.put(execution_path("words"), {"state": "RUNNING"})
    made.put(scheduler_path("words"), DEAD)
    return made


@pytest.mark.parametrize(
    "words",
    [
        ("stats",),
        ("restart",),
        ("activate",),
        ("deactivate",),
        ("checkpoint",),
        ("update", "--component-parallelism", "lines:2"),
        ("kill", "--savepoint"),
    ],
    ids=" ".join,
)
def test_what_needs_the_scheduler_names_the_cure(store: FileStore, words: tuple[str, ...]) -> None:
    with pytest.raises(HeronError, match="scheduler of words was killed: `heronpy kill words`"):
        CliRunner().invoke(heronpy, [words[0], "words", *words[1:]], catch_exceptions=False)
    assert store.get(topology_path("words")) is not None


def test_kill_removes_what_is_left_and_says_that_nothing_was_drained(store: FileStore) -> None:
    done = CliRunner().invoke(heronpy, ["kill", "words"], catch_exceptions=False)
    assert done.stderr == (
        "the scheduler of words was killed before: removing its remains, without a drain\n"
    )
    assert done.stdout == "words is killed\n"
    assert store.get(topology_path("words")) is None
