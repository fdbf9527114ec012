"""Snapshots in memory with large chunks in files: content of a store, and retention."""

import copy
import os
import shutil
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from heron_core.errors import StateError
from heron_core.state import memory
from heron_core.state.file_snapshot import FileSnapshot, StateBytes, as_bytes
from heron_core.state.memory import MemoryBackend
from heron_instance.stored_states import CheckpointStates
from heron_io.checkpoint_store.local_copies import LocalCopies, copies_of
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.run_marker import RunMarker
from heron_io.state_backends.rocksdb import RocksBackend
from tests.property.state_support import Model, Real, random_operation

RETAINED = 3
LARGE = "x" * 100


@pytest.fixture
def store(tmp_path: Path) -> LocalFiles:
    return LocalFiles(str(tmp_path))


class Task:
    """A task with its checkpoints, with the newest few retained."""

    def __init__(self, store: LocalFiles) -> None:
        self.store = store
        self.real, self.model = Real(MemoryBackend), Model()
        self.models: dict[int, Model] = {}
        self.number = 0
        self.garbage: list[int] = []

    def save(self, completes: bool, waiting: list[tuple[str, Any]] | None = None) -> None:
        """A checkpoint; a failed one is removed with the next complete one."""
        self.number += 1
        taken: StateBytes = self.real.backend.deferred_snapshot()
        now = copy.deepcopy(self.model)
        for key, operation in waiting or ():  # the state changes before the thread gets to it
            self.do(key, operation)
        self.store.save("words", self.number, 1, as_bytes(taken))
        self.garbage.append(self.number)
        if completes:
            self.models[self.number] = now
            self.garbage.remove(self.number)
            self.garbage += sorted(self.models)[:-RETAINED]
            for each in self.garbage:
                self.models.pop(each, None)
                self.store.discard("words", each)
            self.garbage.clear()

    def do(self, key: Any, operation: Any) -> None:
        self.real.do(key, copy.deepcopy(operation))
        self.model.do(key, operation)

    def restore(self, number: int) -> None:
        """Another process, to a checkpoint; later checkpoints are rolled back."""
        self.real = Real(MemoryBackend)
        self.real.backend.restore(self.store.load("words", number, 1))
        self.model = copy.deepcopy(self.models[number])
        self.garbage += [each for each in self.models if each > number]
        self.models = {each: model for each, model in self.models.items() if each <= number}


@pytest.mark.parametrize("seed", range(2))
def test_what_is_retained_can_be_read_whatever_is_removed(
    store: LocalFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Of small changes every third chunk is a file; checkpoints fail, and are restored."""
    monkeypatch.setattr(memory, "FILE_BYTES_MIN", 60)
    rng, task = Random(seed), Task(store)
    task.save(completes=True)
    for _ in range(60):
        for _ in range(rng.randrange(6)):
            task.do(*random_operation(rng))
        if rng.random() < 0.1:
            task.restore(rng.choice(list(task.models)))
        else:
            waiting = [random_operation(rng) for _ in range(rng.randrange(3))]
            task.save(rng.random() < 0.8, waiting)
        assert task.real.contents() == task.model.contents()
    kept = set[str]()
    for number, model in task.models.items():
        found = store.checkpoint("words", number).check(1)
        one = Real(MemoryBackend)
        one.backend.restore(found)
        assert one.contents() == model.contents()
        kept |= set(found.files) if isinstance(found, FileSnapshot) else set()
    for each in task.garbage:
        store.discard("words", each)
    assert {each.name for each in (tmp_path / "words/shared/1").iterdir()} == kept != set()


def test_only_what_has_changed_is_written_again(store: LocalFiles, tmp_path: Path) -> None:
    real = Real(MemoryBackend)
    for number in range(3000):
        real.do(f"key {number}", ("put", LARGE))
    store.save("words", 1, 1, as_bytes(real.backend.deferred_snapshot()))
    (first,) = (tmp_path / "words/shared/1").iterdir()
    written = first.stat()
    real.do("key 7", ("put", "changed"))
    second = as_bytes(real.backend.deferred_snapshot())
    assert isinstance(second, FileSnapshot)
    assert len(second) < 1000 < 300_000 < written.st_size
    store.save("words", 2, 1, second)
    for number in range(1500):
        real.do(f"key {number}", ("put", "y" * 100))
    store.save("words", 3, 1, as_bytes(real.backend.deferred_snapshot()))
    files = sorted((tmp_path / "words/shared/1").iterdir(), key=lambda each: each.stat().st_size)
    assert len(files) == 2
    assert (files[1].name, files[1].stat().st_ino) == (first.name, written.st_ino)
    store.discard("words", 1)
    successor = Real(MemoryBackend)
    successor.backend.restore(store.load("words", 2, 1))
    assert successor.value.for_key("key 7").get() == "changed"
    # The successor goes on with the existing files.
    successor.do("key 8", ("put", "changed, too"))
    store.save("words", 4, 1, as_bytes(successor.backend.deferred_snapshot()))
    assert first in list((tmp_path / "words/shared/1").iterdir())
    whole = successor.backend.snapshot()
    assert not isinstance(whole, FileSnapshot)
    real.backend.restore(whole)
    assert real.contents() == successor.contents()


def test_a_file_that_is_gone_or_changed_is_named(store: LocalFiles, tmp_path: Path) -> None:
    real = Real(MemoryBackend)
    for number in range(1000):
        real.do(number, ("put", LARGE))
    store.save("words", 1, 1, as_bytes(real.backend.deferred_snapshot()))
    (path,) = (tmp_path / "words/shared/1").iterdir()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(StateError, match=rf"count: .* {path.name} does not match its checksum"):
        real.backend.restore(store.load("words", 1, 1))
    path.unlink()
    with pytest.raises(CheckpointStoreError, match=f"{path.name} is missing"):
        real.backend.restore(store.load("words", 1, 1))


@pytest.mark.parametrize("backend", ["memory", "rocksdb"])
def test_a_successor_on_the_same_machine_fetches_what_it_has_not(
    tmp_path: Path, backend: str
) -> None:
    """The store is elsewhere; files of a task's newest states are beside its process."""
    make: Any = MemoryBackend
    if backend == "rocksdb":
        pytest.importorskip("rocksdict")
        make = partial(RocksBackend, folder=str(tmp_path / "databases"))
    store, told = LocalFiles(str(tmp_path / "elsewhere")), list[Any]()

    def process() -> tuple[CheckpointStates, LocalCopies, Real]:
        copies = copies_of(str(tmp_path / "here"), "words-1")
        marker = RunMarker("words", "run", is_folder=False)
        states = CheckpointStates(lambda: store, "words", 1, marker, copies)
        states.tell = told.append
        return states, copies, Real(make)

    states, copies, real = process()
    for number in range(1, 4):
        for key in range(3000 if number == 1 else 1000):
            real.do(key, ("put", f"{number} {key} {LARGE}"))
        states.write(number, real.backend.deferred_snapshot())
    assert [each.checkpoint for each in told] == [1, 2, 3]
    expected = real.contents()
    real.backend.close()  # kill -9
    states, copies, real = process()
    found = states.load(3, 1)
    assert isinstance(found, FileSnapshot)
    real.backend.restore(found)
    assert (real.contents(), copies.fetched_bytes) == (expected, 0)
    real.backend.close()
    # A copy that was cut is fetched, and so is everything on another machine.
    first = max(found.files, key=lambda each: found.files[each])
    os.truncate(copies.path(first), 10)
    for are_here in (True, False):
        if not are_here:
            shutil.rmtree(tmp_path / "here")
        states, copies, real = process()
        real.backend.restore(states.load(3, 1))
        assert real.contents() == expected
        all_bytes = sum(found.files.values())
        assert copies.fetched_bytes == (found.files[first] if are_here else all_bytes)
        real.backend.close()
    real = Real(make)
    for number in (4, 5, 6):
        states.write(number, real.backend.deferred_snapshot())
    assert not any((tmp_path / "here").glob("*/*"))
    copies.remove()
    (tmp_path / f"here/heron-copies-words-1-{2**22 + 1}-files").mkdir()  # of a dead container
    process()
    assert os.listdir(tmp_path / "here") == []
    real.backend.close()
