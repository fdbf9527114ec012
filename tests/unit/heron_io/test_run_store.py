"""Named records of a run, in a checkpoint store and in memory."""

from pathlib import Path

import pytest

from heron_api.run_store import MemoryRunStore, RunStore
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.run_marker import RunMarker
from heron_io.checkpoint_store.run_store import StoredRunRecords


def stored(folder: Path, run: str = "run", begins: bool = True) -> StoredRunRecords:
    marker = RunMarker("Words", run, is_folder=True, begins=begins)
    return StoredRunRecords(lambda: LocalFiles(str(folder)), "Words", run, marker)


@pytest.mark.parametrize("kind", ["files", "memory"])
def test_records_are_written_replaced_and_removed(tmp_path: Path, kind: str) -> None:
    store: RunStore = stored(tmp_path) if kind == "files" else MemoryRunStore()
    assert store.read("spout/lines/1") is None
    assert store.names("spout/lines") == []
    store.write("spout/lines/2", b"two")
    store.write("spout/lines/1", b"one")
    store.write("spout/lines/1", b"another")
    assert store.read("spout/lines/1") == b"another"
    assert store.names("spout/lines") == ["1", "2"]
    assert store.names("spout") == ["lines"]
    store.remove("spout/lines/1")
    store.remove("spout/lines/1")
    assert store.names("spout/lines") == ["2"]


def test_another_process_of_the_run_reads_them_and_another_run_does_not(tmp_path: Path) -> None:
    stored(tmp_path).write("at", b"7")
    assert stored(tmp_path, begins=False).read("at") == b"7"
    assert stored(tmp_path, run="next").read("at") is None


def test_a_file_that_its_writer_has_not_finished_is_not_a_record(tmp_path: Path) -> None:
    store = stored(tmp_path)
    store.write("spout/1", b"one")
    (folder,) = tmp_path.glob("**/spout")
    (folder / "2.99.1.part").write_bytes(b"half")
    assert store.names("spout") == ["1"]


def test_the_folder_of_a_disk_that_is_not_mounted_is_not_an_empty_store(tmp_path: Path) -> None:
    with pytest.raises(CheckpointStoreError, match="mount its disk"):
        stored(tmp_path, begins=False).read("at")


def test_they_are_removed_with_the_states_of_the_run(tmp_path: Path) -> None:
    stored(tmp_path).write("at", b"7")
    LocalFiles(str(tmp_path)).forget_own("Words")
    assert list(tmp_path.glob("**/at")) == []
