"""Somebody removes state while a topology runs: its nodes are there again, or it ends."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.state_tree import keys_path, scheduler_path, topology_path
from heron_engine.scheduler.own_nodes import Announcement, NameTaken, OwnNodes
from heron_io.state_store.file_store import FileStore
from heron_io.state_store.node_registry import POLL_SECS, NodeRegistry

SCHEDULER = {"kind": "local", "host": "here", "pid": 7, "started": "then", "sockets": "/x"}
ANNOUNCED = Announcement("words", {"components": []}, {"public": "p"}, SCHEDULER)
PATHS = (topology_path("words"), keys_path("words"), scheduler_path("words"))


class Running:
    """A topology whose nodes are looked after, and a clock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = FileStore(str(root))
        for path, value in zip(PATHS, self.announced, strict=True):
            self.store.put(path, value)
        self.nodes = OwnNodes(self.store, ANNOUNCED)
        self.now = 0.0

    @property
    def announced(self) -> list[object]:
        return [ANNOUNCED.topology, ANNOUNCED.keys, SCHEDULER]

    @property
    def found(self) -> list[object]:
        return [self.store.get(path) for path in PATHS]

    def looks(self, times: int) -> None:
        for _ in range(times):
            self.now += POLL_SECS
            self.nodes.poll(self.now)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path / "state")
    yield made
    made.store.close()


def test_a_state_that_was_removed_is_there_again(running: Running) -> None:
    # rm -rf ~/.heronpy/state, with everything in it.
    running.looks(1)
    shutil.rmtree(running.root)
    running.looks(1)
    assert running.found == [None, None, None], "kill may be at it: it removes one by one"
    running.looks(1)
    assert running.found == running.announced


@pytest.mark.parametrize("path", PATHS)
def test_a_single_node_that_was_removed_is_there_again(running: Running, path: str) -> None:
    running.looks(2)
    running.store.delete(path)
    running.looks(2)
    assert running.found == running.announced


def test_what_a_back_end_added_is_there_again_too(running: Running) -> None:
    # Spark's driver writes its application's id into the scheduler's node.
    with_application = {**SCHEDULER, "application": "app-1"}
    running.store.put(scheduler_path("words"), with_application)
    running.looks(1)
    running.store.delete(scheduler_path("words"))
    running.looks(2)
    assert running.store.get(scheduler_path("words")) == with_application


@pytest.mark.parametrize("nonsense", [7, {"pid": 1}, []])
def test_a_scheduler_s_node_that_is_none_is_written_again(
    running: Running, nonsense: object
) -> None:
    running.store.put(scheduler_path("words"), nonsense)
    running.looks(1)
    assert running.found == running.announced


@pytest.mark.parametrize(
    ("path", "value"),
    [(scheduler_path("words"), {**SCHEDULER, "pid": 8}), (topology_path("words"), {"other": 1})],
)
def test_one_that_lost_its_name_ends(running: Running, path: str, value: object) -> None:
    # The state was removed, and somebody submitted a topology of the same name before we looked.
    running.looks(1)
    shutil.rmtree(running.root)
    running.store.put(path, value)
    with pytest.raises(NameTaken):
        running.looks(2)
    assert running.store.get(path) == value


def test_nothing_is_looked_at_more_often_than_it_is_due(running: Running) -> None:
    kept = NodeRegistry(running.store)
    assert kept.is_due(1.0)
    assert not kept.is_due(1.0 + POLL_SECS / 2)
    assert kept.is_due(1.0 + POLL_SECS)
