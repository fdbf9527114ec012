"""State in RocksDB: what the memory backend does, with snapshots of which only new files travel."""

import copy
import os
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest

from heron_core.errors import StateError, UsageError
from heron_core.state.codec import StateCodec
from heron_core.state.file_snapshot import FileSnapshot, StateBytes, as_bytes
from heron_core.state.keys import owner
from heron_core.state.memory import MemoryBackend
from heron_core.state.parts import KeyRange, Parts, StatePart, decode_parts, encode_parts, gather
from heron_core.wire.messages import CheckpointStored
from heron_instance.saving_thread import SavingThread
from heron_instance.stored_states import CheckpointStates
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.run_marker import RunMarker
from heron_io.state_backends.rocksdb import RocksBackend
from tests.property.state_support import TTL_SECS, Clock, Model, Real, random_operation


@pytest.fixture
def make(tmp_path: Path) -> Any:
    """Makes backends with their folders below the test's."""
    pytest.importorskip("rocksdict")
    return lambda codec: RocksBackend(codec, str(tmp_path))


@pytest.mark.parametrize("seed", range(3))
def test_states_are_what_plain_dicts_would_be(make: Any, tmp_path: Path, seed: int) -> None:
    """Operations, snapshots, and restores, in this process or in another by the store."""
    rng, store = Random(seed), LocalFiles(f"{tmp_path}/store")
    real, model = Real(make), Model()
    saved: bytes = real.backend.snapshot()
    saved_model = copy.deepcopy(model)
    for number in range(1, 400):
        chance = rng.random()
        if chance < 0.94:
            key, operation = random_operation(rng)
            real.do(key, copy.deepcopy(operation))
            model.do(key, operation)
        elif chance < 0.97:
            saved, saved_model = real.backend.snapshot(), copy.deepcopy(model)
        else:
            if chance > 0.985:
                store.save("words", number, 1, saved)
                real.backend.close()
                real, saved = Real(make), store.load("words", number, 1)
            real.backend.restore(saved)
            model = copy.deepcopy(saved_model)
    assert real.contents() == model.contents()
    real.backend.close()


def test_what_has_lived_its_time_is_gone(make: Any) -> None:
    clock = Clock()
    real = Real(make, TTL_SECS, clock)
    real.do("a", ("put", 1))
    real.do("a", ("append", "first"))
    clock.now += TTL_SECS - 1
    real.do("b", ("put", 2))
    real.do("a", ("append", "second"))
    clock.now += 1
    found = real.contents()
    assert (found["value"], found["list"]) == ({"b": 2}, {"a": ["second"]})


def test_only_new_files_are_stored(make: Any, tmp_path: Path) -> None:
    store, shared = LocalFiles(f"{tmp_path}/store"), tmp_path / "store/words/shared/1"
    real = Real(make)
    for number in range(3000):
        real.do(f"key {number}", ("put", "x" * 100))
    store.save("words", 1, 1, real.backend.snapshot())
    first = {each.name: each.stat().st_ino for each in shared.iterdir()}
    real.do("key 7", ("put", "changed"))
    second: Any = real.backend.snapshot()
    store.save("words", 2, 1, second)
    assert isinstance(second, FileSnapshot)
    assert len(second) < 50_000
    # Those of the first are there as they were, and one small file has come.
    now = {each.name: each.stat() for each in shared.iterdir()}
    assert first.items() <= {name: each.st_ino for name, each in now.items()}.items()
    (new,) = now.keys() - first.keys()
    assert now[new].st_size < 5000 < max(each.st_size for each in now.values())
    successor = Real(make)
    successor.backend.restore(store.load("words", 2, 1))
    assert successor.value.for_key("key 7").get() == "changed"
    assert len(list(successor.value.all_keys())) == 3000


def test_another_thread_reads_the_files_of_what_was_taken_before(make: Any, tmp_path: Path) -> None:
    """The main thread goes on meanwhile: with other values, back to what it was, and to its end."""
    store, real = LocalFiles(f"{tmp_path}/store"), Real(make)
    readers: list[threading.Thread] = []
    stored: dict[int, bytes] = {}

    def write(number: int, state: StateBytes) -> None:
        readers.append(threading.current_thread())
        stored[number] = as_bytes(state)
        store.save("words", number, 1, stored[number])
        done.release()

    done = threading.Semaphore(0)
    saving = SavingThread(write)
    real.do("key", ("put", "first"))
    first = real.backend.deferred_snapshot()
    for number in range(2000):
        real.do(number, ("put", "x" * 100))
    second = real.backend.deferred_snapshot()
    real.backend.restore(as_bytes(first))
    real.do("key", ("put", "third"))
    third = real.backend.deferred_snapshot()
    real.backend.close()
    saving.start()
    for number, taken in enumerate((first, second, third), 1):
        saving.save(number, taken)
        assert done.acquire(timeout=60)
    assert readers == [saving] * 3
    found = []
    for number in (1, 2, 3):
        one = Real(make)
        one.backend.restore(store.load("words", number, 1))
        found.append((one.value.for_key("key").get(), len(list(one.value.all_keys()))))
        one.backend.close()
    assert found == [("first", 1), ("first", 2001), ("third", 1)]


def test_a_damaged_file_of_a_state_is_found(make: Any, tmp_path: Path) -> None:
    store = LocalFiles(f"{tmp_path}/store")
    real = Real(make)
    real.do("key", ("put", "value"))
    store.save("words", 1, 1, real.backend.snapshot())
    (path,) = (tmp_path / "store/words/shared/1").iterdir()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\0" if content[-1] else content[:-1] + b"\1")
    with pytest.raises(StateError, match=r"count: the saved file .* is damaged"):
        Real(make).backend.restore(store.load("words", 1, 1))
    path.write_bytes(content[:-1])
    with pytest.raises(CheckpointStoreError, match=f"{path.name} is damaged"):
        Real(make).backend.restore(store.load("words", 1, 1))


def test_files_that_are_gone_before_they_are_read_fail_one_checkpoint_alone(
    make: Any, tmp_path: Path
) -> None:
    real, told = Real(make), list[Any]()
    marker = RunMarker("words", "run", is_folder=True, begins=True)
    states = CheckpointStates(lambda: LocalFiles(f"{tmp_path}/store"), "words", 1, marker)
    states.tell = told.append
    real.do("key", ("put", "value"))
    first = real.backend.deferred_snapshot()
    for path in tmp_path.glob("heron-state-*/*.sst"):  # somebody cleans up where it is
        path.unlink()
        path.parent.joinpath("CURRENT").unlink()
    states.write(1, first)
    (failed,) = told
    assert (failed.checkpoint, failed.reason.partition("(")[0]) == (
        1,
        "count: the files of its state cannot be read: No such file or directory ",
    )
    states.write(2, real.backend.deferred_snapshot())
    assert told[1:] == [CheckpointStored(1, 2, told[-1].size_bytes)]


def test_a_snapshot_of_another_backend_is_refused_and_nothing_is_left_behind(
    make: Any, tmp_path: Path
) -> None:
    real = Real(make)
    real.do("key", ("put", "value"))
    memory = Real(MemoryBackend)
    with pytest.raises(
        StateError, match=r"was saved by the backend 'memory', and .* 'rocksdb' now"
    ):
        real.backend.restore(memory.backend.snapshot())
    with pytest.raises(StateError, match="was saved by the backend 'rocksdb'"):
        memory.backend.restore(real.backend.snapshot())
    assert real.value.for_key("key").get() == "value"
    saved: Any = real.backend.snapshot()
    real.backend.close()
    successor = Real(make)
    successor.backend.restore(saved)  # the files of a snapshot outlive what made it
    assert successor.value.for_key("key").get() == "value"
    successor.backend.close()
    del saved
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_has_left_is_removed_by_the_next(make: Any, tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    gone = (
        tmp_path / f"heron-state-words-1-{2**22 + 1}-x"
    )  # above the highest pid that there may be
    running = tmp_path / f"heron-state-words-1-{os.getpid()}-x"
    other = tmp_path / f"heron-state-words-2-{2**22 + 1}-x"
    for each in (gone, running, other):
        each.mkdir()
    backend = RocksBackend(StateCodec("count"), str(tmp_path), "words-1")
    assert [each.exists() for each in (gone, running, other)] == [False, True, True]
    backend.close()


def test_without_the_package_one_line_says_what_to_install(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    with pytest.raises(UsageError, match=r"pip install 'heronpy-topologies\[rocksdb\]'"):
        RocksBackend(StateCodec("count"))


def test_states_of_two_tasks_become_those_of_three_by_the_way_of_a_store(
    make: Any, tmp_path: Path
) -> None:
    store, model = LocalFiles(f"{tmp_path}/store"), {f"key {n}": n for n in range(60)}
    parts = []
    for index in range(2):
        previous = Real(make)
        for key, number in model.items():
            if owner(key, 2) == index:
                previous.do(key, ("put", number))
                previous.do(key, ("put_entry", "x", number))
        store.save("words", 1, index, previous.backend.snapshot())
        previous.backend.close()
        parts.append(StatePart(KeyRange(index, 2), store.load("words", 1, index)))
    found: dict[str, int] = {}
    for index in range(3):
        store.save("words", 2, index, encode_parts(Parts(KeyRange(index, 3), tuple(parts))))
        given = decode_parts(store.load("words", 2, index))
        assert given is not None
        now = Real(make)
        gather(now.backend, given, "count")
        contents = now.contents()
        assert contents["map"] == {key: {"x": n} for key, n in contents["value"].items()}
        assert not found.keys() & contents["value"].keys()
        found.update(contents["value"])
        now.backend.close()
    assert found == model
