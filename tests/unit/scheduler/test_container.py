"""The general entry of a container: paths that moved, and what the state store lacks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from heron_core.errors import HeronError
from heron_core.topology import ComponentSpec, TopologySpec, topology_to_json
from heron_io.state_store import open_store, topology_path
from scheduler.container import UNSTARTED_CODE, moved, read

TOPOLOGY = TopologySpec(
    "words",
    (ComponentSpec("lines", True, "words.Lines", 1),),
    search_paths=("/home/a/project", "/home/a/project/src", "/home/a/projects", "/opt/x"),
    main_file="/home/a/project/topologies/words.py",
)


def test_what_lay_below_a_folder_lies_below_another() -> None:
    found = moved(TOPOLOGY, [("/home/a/project", "/cache/1"), ("/opt/x", "/cache/2")])
    assert found.search_paths == ("/cache/1", "/cache/1/src", "/home/a/projects", "/cache/2")
    assert found.main_file == "/cache/1/topologies/words.py"


def test_without_folders_nothing_moves() -> None:
    assert moved(TOPOLOGY, []) == TOPOLOGY


def test_a_topology_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(HeronError, match="has no topology 'words': has it ended"):
        read(f"file://{tmp_path}/state", "words")


def test_half_of_a_topology_is_none(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/state"
    store = open_store(url)
    store.create(topology_path("words"), topology_to_json(TOPOLOGY))
    store.close()
    with pytest.raises(HeronError, match="has no topology 'words'"):
        read(url, "words")


def test_why_it_could_not_begin_is_said_at_its_stdout(tmp_path: Path) -> None:
    """As whoever starts it, on whatever cluster, reads it."""
    words = ("--store", f"file://{tmp_path}/state", "--topology", "words", "--container", "1")
    done = subprocess.run(
        [sys.executable, "-m", "scheduler.container", *words, "--logs", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == UNSTARTED_CODE
    assert done.stdout.endswith("has no topology 'words': has it ended?")
