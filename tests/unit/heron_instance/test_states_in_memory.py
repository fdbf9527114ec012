"""An instance's states in the memory of other containers, and in the store where that fails."""

from collections.abc import Set
from pathlib import Path
from typing import Any

import msgspec
import pytest

from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, PhysicalPlan, Resource
from heron_core.state.backup import BackupRule
from heron_core.state.file_snapshot import FileSnapshot, digest_of
from heron_core.wire.messages import (
    CheckpointFailed,
    CheckpointStored,
    FetchBackup,
    FromInstance,
    RestoreTrouble,
    StoreBackup,
)
from heron_engine.stream_manager.backups import Backups
from heron_instance.checkpointing import restore_failed
from heron_instance.states_in_memory import PART_BYTES, StateLost, StatesInMemory, StateWithFiles
from heron_instance.stored_states import CheckpointStates
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.run_marker import RunMarker

SIZE = Resource(1.0, 1, 1)
RULE = BackupRule(10, 10 * PART_BYTES)
DURABLE, HELD = 1, 2
KEY = b"signs states"
TASK = 1
"""In container 1; the states are those of task 1."""


class Containers:
    """The stream managers of a topology with an instance in each container."""

    def __init__(self, numbers: int = 3) -> None:
        plans = [
            ContainerPlan(each, (InstancePlan(each, "count", each - 1, SIZE),), SIZE)
            for each in range(1, numbers + 1)
        ]
        packing = PackingPlan("words", tuple(plans))
        self.held = {each.id: Backups(each.id, RULE) for each in plans}
        self.silent: set[int] = set()
        self.asked: list[int] = []
        self.plan = PhysicalPlan(
            "words", 1, "RUNNING", packing, {each.id: f"tcp://{each.id}" for each in plans}
        )

    def lose(self, *containers: int) -> None:
        """Others take the place of these stream managers."""
        for each in containers:
            self.held[each] = Backups(each, RULE)

    # --- Connections ------------------------------------------------------------------------------

    def ask(self, address: str, question: StoreBackup | FetchBackup) -> Any:
        container = int(address.removeprefix("tcp://"))
        self.asked.append(container)
        if container in self.silent:
            raise CheckpointStoreError(f"container {container} is silent")
        return self.held[container].answer(question)

    def keep_only(self, addresses: Set[str]) -> None:
        assert addresses == set(self.plan.stream_managers.values())

    def close(self) -> None: ...


class Made:
    """The states of an instance's process."""

    def __init__(self, folder: Path, containers: Containers, task: int = TASK) -> None:
        self.store = LocalFiles(f"{folder}/store", KEY)
        self.store.begin_run("words", "run")
        marker = RunMarker("words", "run", is_folder=True)
        memory = StatesInMemory(
            RULE, "words", task, KEY, lambda: containers.plan, lambda: containers
        )
        self.states = CheckpointStates(lambda: self.store, "words", task, marker, memory=memory)
        self.told: list[FromInstance] = []
        self.states.tell = self.told.append

    def stored(self, number: int, state: bytes = b"state") -> CheckpointStored:
        self.states.write(number, state)
        told = self.told.pop()
        assert isinstance(told, CheckpointStored), told
        return told

    def in_store(self, number: int) -> bool:
        return not self.store.checkpoint("words", number).missing((TASK,))


def test_two_others_hold_a_state_and_the_store_has_the_durable_ones(tmp_path: Path) -> None:
    containers = Containers()
    made = Made(tmp_path, containers)
    told = made.stored(HELD)
    assert (told.copies, told.shortfall, told.is_in_store) == (2, "", False)
    assert not made.in_store(HELD)
    assert containers.held[1].total_bytes == 0
    told = made.stored(DURABLE)
    assert (told.copies, told.is_in_store, made.in_store(DURABLE)) == (2, True, True)


def test_a_successor_fetches_the_state_from_whichever_container_is_left(tmp_path: Path) -> None:
    containers = Containers()
    Made(tmp_path, containers).stored(HELD)
    for lost in (2, 3):
        before = containers.held[lost]
        containers.lose(lost)
        assert Made(tmp_path, containers).states.load(HELD, TASK) == b"state"
        containers.held[lost] = before


def test_a_task_whose_keys_have_moved_finds_the_state_of_another(tmp_path: Path) -> None:
    containers = Containers()
    Made(tmp_path, containers).stored(HELD)
    containers.lose(3)
    assert Made(tmp_path, containers, task=2).states.load(HELD, TASK) == b"state"


def test_a_large_state_travels_in_parts(tmp_path: Path) -> None:
    containers = Containers(2)
    large = bytes(range(256)) * (PART_BYTES // 100)
    made = Made(tmp_path, containers)
    assert made.stored(HELD, large).copies == 1
    assert len(containers.asked) == 3
    assert made.states.load(HELD, TASK) == large


def test_a_large_state_has_files_which_travel_along(tmp_path: Path) -> None:
    """Of 100,000 keys or more; a signature of the names is not enough (benchmarks, 20 kills)."""
    halves = b"first half", b"second half"
    contents = {f"{digest_of(each)}-{number}": each for number, each in enumerate(halves)}

    class Files:
        def read(self, name: str) -> bytes:
            return contents[name]

        def copy(self, name: str, path: str) -> None:
            raise NotImplementedError

        def local_path(self, name: str) -> str | None:
            return None

    sizes = {name: len(each) for name, each in contents.items()}
    made = Made(tmp_path, Containers())
    made.stored(HELD, FileSnapshot.of(b"the index", sizes, Files()))
    found = made.states.load(HELD, TASK)
    assert isinstance(found, FileSnapshot)
    assert (found, found.files) == (b"the index", sizes)
    assert {name: found.source.read(name) for name in found.files} == contents
    (name, _), path = next(iter(contents.items())), tmp_path / "copied"
    found.source.copy(name, str(path))
    assert path.read_bytes() == contents[name]


def test_a_file_that_another_has_changed_is_taken_from_the_next(tmp_path: Path) -> None:
    containers = Containers()
    made = Made(tmp_path, containers)
    made.stored(HELD)
    file = LocalFiles(f"{tmp_path}/other", KEY)
    file.save("words", HELD, TASK, b"state")
    state = (tmp_path / "other" / "words" / str(HELD) / str(TASK)).read_bytes()
    forged = msgspec.msgpack.encode(StateWithFiles(state, {digest_of(b"true"): b"false"}))
    containers.held[2].answer(StoreBackup(1, HELD, TASK, 0, len(forged), forged))
    assert made.states.load(HELD, TASK) == b"state"


def test_where_all_have_lost_it_the_trouble_says_so(tmp_path: Path) -> None:
    containers = Containers()
    made = Made(tmp_path, containers)
    made.stored(HELD)
    containers.lose(2, 3)
    with pytest.raises(StateLost, match="was in memory alone") as lost:
        made.states.load(HELD, TASK)
    assert restore_failed(TASK, 4, lost.value).trouble == RestoreTrouble.LOST.value


def test_a_silent_container_may_hold_it_so_nothing_is_lost_yet(tmp_path: Path) -> None:
    containers = Containers()
    made = Made(tmp_path, containers)
    made.stored(HELD)
    containers.lose(2)
    containers.silent = {3}
    with pytest.raises(CheckpointStoreError, match="container 3 is silent") as away:
        made.states.load(HELD, TASK)
    assert restore_failed(TASK, 4, away.value).trouble == RestoreTrouble.AWAY.value


def test_a_store_without_its_disk_decides_nothing(tmp_path: Path) -> None:
    containers = Containers()
    made = Made(tmp_path, containers)
    made.stored(HELD)
    containers.lose(2, 3)
    (tmp_path / "store").rename(tmp_path / "unmounted")
    with pytest.raises(CheckpointStoreError, match="mount its disk") as away:
        made.states.load(HELD, TASK)
    assert not isinstance(away.value, StateLost)


def test_what_nobody_can_hold_goes_into_the_store_and_is_found_there(tmp_path: Path) -> None:
    containers = Containers()
    containers.silent = {2}
    made = Made(tmp_path, containers)
    told = made.stored(HELD)
    assert (told.copies, told.shortfall, told.is_in_store) == (1, "container 2 is silent", False)
    containers.silent = {2, 3}
    told = made.stored(HELD + 1)
    assert (told.copies, told.is_in_store) == (0, True)
    assert told.shortfall == "container 2 is silent; container 3 is silent"
    assert made.states.load(HELD + 1, TASK) == b"state"


def test_a_durable_state_comes_from_the_store_if_memory_has_lost_it(tmp_path: Path) -> None:
    containers = Containers()
    made = Made(tmp_path, containers)
    made.stored(DURABLE)
    containers.silent = {1, 2, 3}
    assert made.states.load(DURABLE, TASK) == b"state"


def test_a_state_that_another_has_changed_is_taken_from_the_next(tmp_path: Path) -> None:
    containers = Containers()
    made = Made(tmp_path, containers)
    made.stored(HELD)
    forged = LocalFiles(f"{tmp_path}/other", b"another key")
    forged.save("words", HELD, TASK, b"forged")
    file = (tmp_path / "other" / "words" / str(HELD) / str(TASK)).read_bytes()
    data = msgspec.msgpack.encode(StateWithFiles(file, {}))
    containers.held[2].answer(StoreBackup(1, HELD, TASK, 0, len(data), data))
    assert made.states.load(HELD, TASK) == b"state"
    containers.held[3].answer(StoreBackup(1, HELD, TASK, 0, len(data), data))
    with pytest.raises(StateLost, match="not signed with the key of its topology"):
        made.states.load(HELD, TASK)


def test_neither_memory_nor_store_is_a_failed_checkpoint(tmp_path: Path) -> None:
    containers = Containers()
    containers.silent = {2, 3}
    made = Made(tmp_path, containers)
    (tmp_path / "store").rename(tmp_path / "unmounted")
    made.states.write(HELD, b"state")
    (told,) = made.told
    assert isinstance(told, CheckpointFailed)
