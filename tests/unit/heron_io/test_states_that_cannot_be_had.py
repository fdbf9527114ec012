"""A checkpoint store says whether it is away, or a state is damaged or gone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from heron_core.wire.messages import RestoreTrouble
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.protocol import CheckpointStoreError


def flip(folder: Path) -> None:
    file = folder / "words" / "7" / "1"
    data = file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def cut(folder: Path) -> None:
    file = folder / "words" / "7" / "1"
    file.write_bytes(file.read_bytes()[:-1])


def cut_in_the_header(folder: Path) -> None:
    file = folder / "words" / "7" / "1"
    file.write_bytes(file.read_bytes()[:3])


def remove(folder: Path) -> None:
    (folder / "words" / "7" / "1").unlink()


def remove_the_checkpoint(folder: Path) -> None:
    remove(folder)
    (folder / "words" / "7" / "2").unlink()
    (folder / "words" / "7").rmdir()


def unmount(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def unmount_and_leave_the_place(folder: Path) -> None:
    unmount(folder)
    folder.mkdir()


def no_folder(folder: Path) -> None:
    unmount(folder)
    folder.write_text("")


@pytest.mark.parametrize(
    ("happens", "trouble"),
    [
        (flip, RestoreTrouble.DAMAGED),
        (cut, RestoreTrouble.DAMAGED),
        (cut_in_the_header, RestoreTrouble.DAMAGED),
        (remove, RestoreTrouble.GONE),
        (remove_the_checkpoint, RestoreTrouble.GONE),
        (unmount, RestoreTrouble.AWAY),
        (unmount_and_leave_the_place, RestoreTrouble.AWAY),
        (no_folder, RestoreTrouble.AWAY),
    ],
)
def test_a_store_says_what_is_the_matter(
    tmp_path: Path, happens: Callable[[Path], None], trouble: RestoreTrouble
) -> None:
    folder = tmp_path / "store"
    store = LocalFiles(str(folder))
    for checkpoint, task in ((6, 1), (7, 1), (7, 2)):
        store.save("words", checkpoint, task, b"some state")
    happens(folder)
    with pytest.raises(CheckpointStoreError, match=f"{folder}/words/7/1") as raised:
        store.load("words", 7, 1)
    assert raised.value.trouble is trouble
    assert "\n" not in str(raised.value)
