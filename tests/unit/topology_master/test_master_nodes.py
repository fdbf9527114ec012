"""Writes of a topology master: in a thread, and only during its mastership."""

import select
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import NameInUse
from heron_core.state_tree import (
    execution_path,
    fences_path,
    master_path,
    physical_path,
    topology_path,
)
from heron_engine.topology_master.stored_nodes import MasterNode, StoredNodes
from heron_io.state_store.file_store import FileStore
from heron_io.state_store.protocol import CONNECTED, LOST, SessionListener

NAME = "Topology"
DEADLINE_SECS = 30.0


class Slow(FileStore):
    """A state store that can be stopped."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.runs = threading.Event()
        self.runs.set()
        self.tell_session: SessionListener = lambda state: None

    def on_session(self, callback: SessionListener) -> None:
        """The usual call; the test decides about the session."""
        self.tell_session = callback
        super().on_session(callback)

    def put(self, path: str, value: Any, *, guard: str = "") -> None:
        """The usual call, unless stopped."""
        self.runs.wait(DEADLINE_SECS)
        super().put(path, value, guard=guard)


class Master:
    """The writing part of a master."""

    def __init__(self, folder: Path, token: str) -> None:
        self.store = Slow(str(folder))
        self.node = MasterNode(self.store, NAME, token, {"pid": 1, "token": token})
        self.node.take()
        self.written = 0
        self.reasons: list[str] = []
        self.nodes = StoredNodes(self.store, NAME, self.node, self._is_written, self.reasons.append)

    def _is_written(self) -> None:
        self.written += 1

    def turn(self) -> None:
        """A turn of its loop."""
        self.nodes.poll(time.monotonic(), is_over=False)
        if select.select([self.nodes.readable], [], [], 0.01)[0]:
            self.nodes.finish()

    def until(self, is_so: Callable[[], bool]) -> None:
        """Go on until something is so."""
        deadline = time.monotonic() + DEADLINE_SECS
        while not is_so():
            assert time.monotonic() < deadline
            self.turn()

    def stopped(self) -> None:
        """Its session ends, unknown to the process."""
        self.store.delete(master_path(NAME))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A state store with the topology."""
    with FileStore(str(tmp_path)) as store:
        store.put(topology_path(NAME), {"name": NAME})
        yield tmp_path


def test_a_state_store_that_hangs_stops_no_master(folder: Path) -> None:
    master = Master(folder, "one")
    master.store.runs.clear()
    began = time.monotonic()
    for epoch in range(3):
        master.nodes.put(physical_path(NAME), {"epoch": epoch})
        master.turn()
    assert time.monotonic() - began < DEADLINE_SECS / 2
    assert not master.nodes.is_written
    master.store.runs.set()
    master.until(lambda: master.nodes.is_written)
    assert master.written == 1
    assert master.store.get(physical_path(NAME)) == {"epoch": 2}
    master.nodes.close()


def test_a_stopped_master_that_wakes_up_writes_nothing_over_its_successor(folder: Path) -> None:
    # SIGSTOP between a read and a write, election of another master, SIGCONT.
    old = Master(folder, "old")
    old.store.runs.clear()
    old.nodes.put(physical_path(NAME), {"epoch": 1})
    old.stopped()
    new = Master(folder, "new")
    new.nodes.put(physical_path(NAME), {"epoch": 2})
    new.until(lambda: new.nodes.is_written)
    old.store.runs.set()
    old.until(lambda: bool(old.reasons))
    assert "another topology master took over" in old.reasons[0]
    assert new.store.get(physical_path(NAME)) == {"epoch": 2}
    assert new.store.children(fences_path(NAME)) == ["new"]
    for each in (old, new):
        each.nodes.close()


def test_a_master_whose_successor_is_gone_again_ends_as_well(folder: Path) -> None:
    # Its knowledge is older than the successor's nodes.
    old = Master(folder, "old")
    old.stopped()
    new = Master(folder, "new")
    new.nodes.close()
    new.store.close()
    old.nodes.put(execution_path(NAME), {"state": "RUNNING"})
    old.until(lambda: bool(old.reasons))
    assert old.store.get(execution_path(NAME)) is None
    old.nodes.close()


def test_a_master_whose_session_ended_while_it_had_a_successor_ends(folder: Path) -> None:
    # ZooKeeper lost the master for a while. Its successor came and has ended since: the name is
    # free, and the successor's nodes are newer than the old master's knowledge.
    old = Master(folder, "old")
    old.stopped()
    new = Master(folder, "new")
    new.nodes.close()
    new.store.close()
    for state in (LOST, CONNECTED):
        old.store.tell_session(state)
    old.until(lambda: bool(old.reasons))
    assert "another topology master took over" in old.reasons[0]
    old.nodes.close()


def test_what_is_written_is_not_looked_after_with_each_write(folder: Path) -> None:
    # A large topology writes its plan and statistics each second: otherwise all its nodes would be
    # read.
    master = Master(folder, "one")
    master.nodes.keep(execution_path(NAME), {"state": "RUNNING"})
    deadline = time.monotonic() + DEADLINE_SECS
    for epoch in range(3):  # a node is gone when two looks in a row do not find it
        master.nodes.put(physical_path(NAME), {"epoch": epoch})
        while not master.nodes.is_written:
            assert time.monotonic() < deadline
            select.select([master.nodes.readable], [], [], 0.01)
            master.nodes.finish()
    assert master.store.get(execution_path(NAME)) is None
    master.until(lambda: master.store.get(execution_path(NAME)) is not None)
    master.nodes.close()


def test_a_state_store_that_lost_everything_has_it_again(folder: Path) -> None:
    master = Master(folder, "one")
    master.nodes.put(physical_path(NAME), {"epoch": 1})
    master.until(lambda: master.nodes.is_written)
    for path in (
        physical_path(NAME),
        master_path(NAME),
        topology_path(NAME),
        f"{fences_path(NAME)}/one",
    ):
        master.store.delete(path)
    master.nodes.put(execution_path(NAME), {"state": "RUNNING"})
    for _ in range(3):
        master.turn()
    assert master.store.get(execution_path(NAME)) is None, "it may have been killed"
    with FileStore(str(folder)) as other:
        other.put(topology_path(NAME), {"name": NAME})  # as its scheduler does
    master.until(lambda: master.nodes.is_written)
    master.until(lambda: master.store.get(physical_path(NAME)) == {"epoch": 1})
    assert not master.reasons
    master.nodes.close()


def test_a_second_master_is_refused(folder: Path) -> None:
    master = Master(folder, "one")
    with FileStore(str(folder)) as store, pytest.raises(NameInUse):
        MasterNode(store, NAME, "two", {"pid": 2}).take()
    assert master.store.children(fences_path(NAME)) == ["one"]
    master.nodes.close()
