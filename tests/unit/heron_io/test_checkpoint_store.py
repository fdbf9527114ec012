"""States of instances in local files: whole or not at all, damage is found, nothing is mixed up."""

from pathlib import Path

import pytest

from heron_core.errors import UsageError
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.checkpoint_store.protocol import CheckpointStoreError


def test_a_state_is_read_as_it_was_saved(tmp_path: Path) -> None:
    store = open_checkpoint_store(f"file://{tmp_path}/made/later")
    store.save("words", 7, 3, b"seven")
    store.save("words", 8, 3, b"")
    store.save("words", 7, 3, b"seven again")  # a process that was restarted meanwhile
    assert LocalFiles(f"{tmp_path}/made/later").load("words", 7, 3) == b"seven again"
    assert store.load("words", 8, 3) == b""
    assert len(list((tmp_path / "made/later/words/7").iterdir())) == 1


@pytest.mark.parametrize("damage", [b"", b"HCKP", b"x" * 40])
def test_a_damaged_state_is_named_and_never_taken(tmp_path: Path, damage: bytes) -> None:
    store = LocalFiles(str(tmp_path))
    store.save("words", 1, 2, b"a state")
    (tmp_path / "words/1/2").write_bytes(damage)
    with pytest.raises(CheckpointStoreError, match="words/1/2"):
        store.load("words", 1, 2)


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    store = LocalFiles(str(tmp_path))
    store.save("words", 1, 2, b"a state")
    path = tmp_path / "words/1/2"
    path.write_bytes(path.read_bytes()[:-1] + b"E")
    with pytest.raises(CheckpointStoreError, match="damaged"):
        store.load("words", 1, 2)


def test_a_discarded_checkpoint_is_gone_alone(tmp_path: Path) -> None:
    store = LocalFiles(str(tmp_path))
    store.save("words", 1, 2, b"one")
    store.save("words", 2, 2, b"two")
    store.discard("words", 1)
    store.discard("words", 1)
    assert store.load("words", 2, 2) == b"two"
    with pytest.raises(CheckpointStoreError, match="task 2 cannot be read"):
        store.load("words", 1, 2)


def test_a_store_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("a file where the folder is to be")
    with pytest.raises(CheckpointStoreError, match=r"task 2 cannot be saved at .*words/1/2"):
        LocalFiles(str(tmp_path)).save("words", 1, 2, b"one")


def test_an_unknown_kind_of_store_is_refused() -> None:
    with pytest.raises(UsageError, match="bucket"):
        open_checkpoint_store("s3://bucket/states")
