"""The general entry of a container: paths that moved, and what the state store lacks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from heron_core.errors import HeronError
from heron_core.exit_codes import ExitCode
from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resource,
    packing_to_json,
    physical_to_json,
)
from heron_core.state_tree import keys_path, packing_path, physical_path, topology_path
from heron_core.topology import ComponentSpec, TopologySpec, topology_to_json
from heron_core.typed_json import to_json
from heron_engine.scheduler.container.main import read
from heron_engine.scheduler.packaging.relocation import relocated
from heron_engine.scheduler.update_plans import read_packings
from heron_io.security import Keys
from heron_io.state_store.opening import open_store

TOPOLOGY = TopologySpec(
    "words",
    (ComponentSpec("lines", True, "words.Lines", 1),),
    search_paths=("/home/a/project", "/home/a/project/src", "/home/a/projects", "/opt/x"),
    main_file="/home/a/project/topologies/words.py",
)


def test_what_lay_below_a_folder_lies_below_another() -> None:
    found = relocated(TOPOLOGY, [("/home/a/project", "/cache/1"), ("/opt/x", "/cache/2")])
    assert found.search_paths == ("/cache/1", "/cache/1/src", "/home/a/projects", "/cache/2")
    assert found.main_file == "/cache/1/topologies/words.py"


def test_without_folders_nothing_moves() -> None:
    assert relocated(TOPOLOGY, []) == TOPOLOGY


def test_a_topology_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(HeronError, match="has no topology 'words': has it ended"):
        read(f"file://{tmp_path}/state", "words", 1)


def test_half_of_a_topology_is_none(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/state"
    store = open_store(url)
    store.create(topology_path("words"), topology_to_json(TOPOLOGY))
    store.close()
    with pytest.raises(HeronError, match="has no topology 'words'"):
        read(url, "words", 1)


def test_why_it_could_not_begin_is_said_at_its_stdout(tmp_path: Path) -> None:
    """As whoever starts it, on whatever cluster, reads it."""
    words = ("--store", f"file://{tmp_path}/state", "--topology", "words", "--container", "1")
    done = subprocess.run(
        [sys.executable, "-m", "heron_engine.scheduler.container", *words, "--logs", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == ExitCode.UNSTARTED
    assert done.stdout.endswith("has no topology 'words': has it ended?")


def test_a_container_starts_by_the_plan_that_it_is_in(tmp_path: Path) -> None:
    # In the middle of an update: one that was there comes back by the old plan, its instances are
    # still needed; one that is added knows only the new plan.
    def packed(*homes: int) -> PackingPlan:
        nothing = Resource(0.0, 0, 0)
        return PackingPlan("words", tuple(
            ContainerPlan(home, (InstancePlan(task, "lines", task - 1, nothing),), nothing)
            for task, home in enumerate(homes, 1)
        ))  # fmt: skip

    old, new = packed(1, 2), packed(1, 2, 3)
    physical = PhysicalPlan("words", 4, "RUNNING", old, {1: "tcp://a", 2: "tcp://b"})
    url = f"file://{tmp_path}/state"
    store = open_store(url)
    store.put(topology_path("words"), topology_to_json(TOPOLOGY))
    store.put(keys_path("words"), to_json(Keys.new()))
    store.put(packing_path("words"), packing_to_json(new))
    assert read(url, "words", 1).packing == new, "there is no physical plan yet"
    store.put(physical_path("words"), physical_to_json(physical))
    assert read_packings(store, "words").containers == [1, 2, 3]
    store.close()
    assert read(url, "words", 1).packing == old
    assert read(url, "words", 3).packing == new
