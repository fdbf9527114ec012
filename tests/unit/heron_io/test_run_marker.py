"""A run saves nothing in the empty folder of a disk that is not mounted."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from heron_core.wire.messages import CheckpointFailed, CheckpointStored
from heron_instance.server import InstanceArguments
from heron_instance.stored_states import CheckpointStates
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.run_marker import AWAIT_SECS, RunMarker


def states(folder: Path, **how: bool) -> tuple[CheckpointStates, list[Any]]:
    """Those of a task in one process of the run, and what it tells the topology master."""
    marker, told = RunMarker("words", "run", is_folder=True, **how), list[Any]()
    made = CheckpointStates(partial(LocalFiles, str(folder)), "words", 1, marker)
    made.tell = told.append
    return made, told


def test_a_checkpoint_fails_where_the_disk_is_not_mounted(tmp_path: Path) -> None:
    disk, unmounted = tmp_path / "disk", tmp_path / "unmounted"
    LocalFiles(str(disk)).begin_run("words", "run")
    saving, told = states(disk)
    saving.write(1, b"first")
    disk.rename(unmounted)
    saving.write(2, b"absent")
    disk.mkdir()
    saving.write(3, b"bare")
    assert list(disk.iterdir()) == []
    disk.rmdir()
    unmounted.rename(disk)
    saving.write(4, b"fourth")
    kinds = [type(each) for each in told]
    assert kinds == [CheckpointStored, CheckpointFailed, CheckpointFailed, CheckpointStored]
    assert all(f"{disk}/words has none of" in each.reason for each in told[1:3])
    assert LocalFiles(str(disk)).numbers("words") == [1, 4]


def test_a_store_that_was_away_when_the_run_began_is_marked_once(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_text("no folder yet")
    saving, told = states(disk, begins=True)
    saving.write(1, b"away")
    disk.unlink()
    saving.write(2, b"there")
    disk.rename(tmp_path / "unmounted")
    disk.mkdir()
    saving.write(3, b"bare")
    kinds = [type(each) for each in told]
    assert kinds == [CheckpointFailed, CheckpointStored, CheckpointFailed]


def test_a_store_with_a_server_has_no_mark(tmp_path: Path) -> None:
    RunMarker("words", "run", is_folder=False).check(LocalFiles(str(tmp_path)))
    with pytest.raises(CheckpointStoreError, match="mount its disk"):
        RunMarker("words", "run", is_folder=True).check(LocalFiles(str(tmp_path)))


def test_a_checkpoint_without_states_is_not_described(tmp_path: Path) -> None:
    """The disk went away between the states of a checkpoint and its description."""
    with pytest.raises(CheckpointStoreError, match="words/7 has no state to describe"):
        LocalFiles(str(tmp_path)).checkpoint("words", 7).describe({"topology": "words"})
    assert list(tmp_path.iterdir()) == []


def test_a_process_waits_for_the_mark_that_the_masters_container_leaves(tmp_path: Path) -> None:
    store, rests = LocalFiles(str(tmp_path / "disk")), list[float]()

    def rest(secs: float) -> None:
        rests.append(secs)
        if len(rests) == 3:
            store.begin_run("words", "run")

    RunMarker("words", "run", is_folder=True, awaits=True).check_first(store, rest)
    assert len(rests) == 3


def test_a_process_on_a_host_without_the_disk_waits_and_leaves_nothing_there(
    tmp_path: Path,
) -> None:
    """The first start of a container: another one has left the mark on the disk."""
    LocalFiles(str(tmp_path / "disk")).begin_run("words", "run")
    bare, rests = tmp_path / "bare", list[float]()
    bare.mkdir()
    waiting = RunMarker("words", "run", is_folder=True, awaits=True)
    with pytest.raises(CheckpointStoreError, match="mount its disk"):
        waiting.check_first(LocalFiles(str(bare)), rests.append)
    assert sum(rests) == pytest.approx(AWAIT_SECS)
    assert list(bare.iterdir()) == []
    known = list[float]()
    with pytest.raises(CheckpointStoreError, match="mount its disk"):
        RunMarker("words", "run", is_folder=True).check_first(LocalFiles(str(bare)), known.append)
    assert known == [], "a later process of the run waits for nothing"


def test_only_the_first_process_of_an_instance_waits_for_the_mark() -> None:
    first = InstanceArguments(1, "socket", awaits_run=True)
    assert first.after("") == first
    assert not first.after("was killed by SIGKILL").awaits_run
    assert not InstanceArguments(1, "socket").after("").awaits_run
