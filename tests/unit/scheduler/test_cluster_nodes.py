"""Reaction of a cluster's containers to lost nodes of their topology."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.errors import HeronError
from heron_core.state_tree import (
    IDENTITY_PATH,
    code_part_path,
    keys_path,
    scheduler_path,
    topology_path,
)
from heron_engine.scheduler.cluster_nodes import ClusterNodes, Found, identity_of
from heron_engine.scheduler.packaging.stored_code import packed_code, put_code, stored_archive
from heron_io.state_store.file_store import FileStore
from heron_io.state_store.node_registry import POLL_SECS

PATHS = [path("words") for path in (topology_path, keys_path, scheduler_path)]
WRITTEN = [{"at": path} for path in PATHS]


class World:
    """A state store with a topology, whose two containers remember its nodes."""

    def __init__(self, root: Path) -> None:
        self.root, self.now = root, 0.0
        self.store = FileStore(str(root))
        for path, value in zip(PATHS, WRITTEN, strict=True):
            self.store.put(path, value)
        self.containers = [ClusterNodes(self.store, "words") for _ in range(2)]

    def looks(self, number: int) -> Found:
        """Result of a container's second poll."""
        found = Found.STANDING
        for _ in range(2):
            self.now += POLL_SECS
            found = self.containers[number].poll(self.now)
        return found

    @property
    def found(self) -> list[object]:
        return [self.store.get(path) for path in PATHS]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "state")
    yield made
    made.store.close()


def test_an_emptied_state_store_has_all_again_whichever_container_is_first(world: World) -> None:
    for number in (0, 1, 1, 0):
        before = identity_of(world.store)
        shutil.rmtree(world.root)
        assert world.looks(number) is Found.STANDING
        assert world.found == WRITTEN
        assert identity_of(world.store) != before


def test_new_code_is_there_again_as_it_was(world: World, tmp_path: Path) -> None:
    """Of an update: needed by a later container."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "words.py").write_text("answer = 42\n")
    (archive,) = packed_code([str(folder)])
    name = PATHS[0].rpartition("/")[2]
    put_code(world.store, name, [archive])
    world.store.put(code_part_path(name, "half", 0), "being written")
    assert world.looks(0) is Found.STANDING
    shutil.rmtree(world.root)
    assert world.looks(0) is Found.STANDING
    assert world.found == WRITTEN
    assert stored_archive(world.store, name, archive.digest) == archive.data
    assert world.looks(1) is Found.STANDING


def test_what_a_neighbour_has_written_first_stays(world: World) -> None:
    """Another topology's container has given the emptied store an identity already, and one of our
    own has written a part."""
    shutil.rmtree(world.root)
    identity_of(world.store)
    world.store.put(PATHS[0], WRITTEN[0])
    assert world.looks(1) is Found.STANDING
    assert world.found == WRITTEN


def test_a_state_store_may_be_emptied_slowly(world: World) -> None:
    """Node by node, with a new identity before the topology's nodes go."""
    world.store.delete(IDENTITY_PATH)
    for path in reversed(PATHS):
        world.store.delete(path)
        assert world.looks(0) is Found.STANDING
        assert world.found == WRITTEN


def test_a_topology_that_was_killed_does_not_come_back(world: World) -> None:
    """Its container was behind a partition, and polls much later."""
    for path in PATHS:
        world.store.delete(path)
    assert world.looks(0) is Found.REMOVED
    assert world.found == [None, None, None]


def test_another_topology_of_the_name_stays(world: World) -> None:
    for path in PATHS:
        world.store.delete(path)
    world.store.put(PATHS[0], {"another": 1})
    assert world.looks(0) is Found.REMOVED
    assert world.found == [{"another": 1}, None, None]


def test_a_node_that_its_owner_has_changed_is_written_as_it_was_last(world: World) -> None:
    world.store.put(PATHS[2], {"containers": 3})
    world.containers[0].keep(PATHS[2], {"containers": 3})
    shutil.rmtree(world.root)
    world.looks(0)
    assert world.found == [*WRITTEN[:2], {"containers": 3}]


def test_one_node_that_somebody_removed_is_written_again(world: World) -> None:
    world.store.delete(PATHS[2])
    assert world.looks(0) is Found.STANDING
    assert world.found == WRITTEN


def test_without_a_topology_there_is_nothing_to_remember(world: World) -> None:
    with pytest.raises(HeronError, match=r"no /topologies/letters: has the topology ended"):
        ClusterNodes(world.store, "letters")
