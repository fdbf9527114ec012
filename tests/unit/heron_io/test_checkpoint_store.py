"""States of instances in each kind of store: whole or not at all, and damage is found.

One suite for the store of local files and for stores of fsspec.
"""

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import UsageError
from heron_core.state.file_snapshot import FileSnapshot
from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles
from heron_io.checkpoint_store.file_systems import FsspecAccess
from heron_io.checkpoint_store.local_files import LocalAccess, LocalFiles
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.checkpoint_store.protocol import CheckpointStoreError

Kind = tuple[Any, str]
"""The access to a file system, and a folder of it."""


@pytest.fixture(params=["local", "fsspec local", "memory", "objects"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kind]:
    """Each file system, with a missing folder."""
    if request.param == "local":
        yield LocalAccess(), f"{tmp_path}/made/later"
        return
    fsspec = pytest.importorskip("fsspec")
    if request.param == "fsspec local":
        yield FsspecAccess(fsspec.filesystem("file")), f"{tmp_path}/made/later"
        return
    memory = fsspec.filesystem("memory")
    yield FsspecAccess(memory, renames=request.param == "memory"), "/made/later"
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


@pytest.fixture
def store(kind: Kind) -> CheckpointFiles:
    return CheckpointFiles(*kind)


class Folder:
    """Files of a state on this machine."""

    def __init__(self, path: Path) -> None:
        path.mkdir(exist_ok=True)
        self.path = path
        self.asked: list[str] = []

    def state(self, data: bytes, **files: bytes) -> FileSnapshot:
        for name, content in files.items():
            (self.path / name).write_bytes(content)
        return FileSnapshot.of(data, {name: len(each) for name, each in files.items()}, self)

    def copy(self, name: str, path: str) -> None:
        raise AssertionError("it is here")

    def read(self, name: str) -> bytes:
        raise AssertionError("it is uploaded from where it is")

    def local_path(self, name: str) -> str | None:
        self.asked.append(name)
        return str(self.path / name)


def test_a_state_is_read_as_it_was_saved(kind: Kind, store: CheckpointFiles) -> None:
    store.save("words", 7, 3, b"seven")
    store.save("words", 8, 3, b"")
    store.save("words", 7, 3, b"seven again")  # a process that was restarted meanwhile
    assert CheckpointFiles(*kind).load("words", 7, 3) == b"seven again"
    assert store.load("words", 8, 3) == b""
    assert kind[0].names(f"{kind[1]}/words/7") == ["3"]


def test_states_that_another_host_has_elsewhere_are_found_by_one_listing(
    kind: Kind, store: CheckpointFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store.checkpoint("words", 7)
    assert folder.missing((1, 2)) == {1, 2}, "nothing is there at all"
    store.save("words", 7, 1, b"one")
    store.save("words", 7, 10, b"ten")
    assert folder.missing((1, 2, 10)) == {2}
    asked: list[str] = []
    access = type(kind[0])
    names, size = access.names, access.size

    def noted(call: Any) -> Any:
        def noting(self: Any, path: str) -> Any:
            asked.append(path)
            return call(self, path)

        return noting

    monkeypatch.setattr(access, "names", noted(names))
    monkeypatch.setattr(access, "size", noted(size))
    assert folder.missing((1, 10)) == set()
    assert asked == [folder.path]
    # A listing that a network file system has from a moment ago is no proof.
    monkeypatch.setattr(access, "names", lambda *at: ["1"])
    assert folder.missing((1, 2, 10)) == {2}


@pytest.mark.parametrize("damage", [b"", b"HCKP", b"x" * 40])
def test_a_damaged_state_is_named_and_never_taken(
    kind: Kind, store: CheckpointFiles, damage: bytes
) -> None:
    store.save("words", 1, 2, b"a state")
    kind[0].write(f"{kind[1]}/words/1/2", [damage])
    with pytest.raises(CheckpointStoreError, match="words/1/2"):
        store.load("words", 1, 2)


def test_a_flipped_bit_is_found(kind: Kind, store: CheckpointFiles) -> None:
    store.save("words", 1, 2, b"a state")
    path = f"{kind[1]}/words/1/2"
    kind[0].write(path, [kind[0].read(path)[:-1] + b"E"])
    with pytest.raises(CheckpointStoreError, match="damaged"):
        store.load("words", 1, 2)


def test_a_discarded_checkpoint_is_gone_alone(store: CheckpointFiles) -> None:
    store.save("words", 1, 2, b"one")
    store.save("words", 2, 2, b"two")
    store.discard("words", 1)
    store.discard("words", 1)
    assert store.load("words", 2, 2) == b"two"
    with pytest.raises(CheckpointStoreError, match="task 2 cannot be read"):
        store.load("words", 1, 2)


def test_a_file_is_stored_once_and_removed_with_the_last_that_has_it(
    kind: Kind, store: CheckpointFiles, tmp_path: Path
) -> None:
    access, folder = kind
    shared = f"{folder}/words/shared/2"
    files = Folder(tmp_path / "db")
    store.save("words", 1, 2, files.state(b"one", a=b"aa", b=b"bbb"))
    access.write(f"{shared}/a", [b"AA"])  # as long as the other: it is not looked at again
    store.save("words", 2, 2, files.state(b"two", a=b"aa", c=b"c"))
    found = store.load("words", 2, 2)
    assert isinstance(found, FileSnapshot)
    assert found == b"two"
    found.source.copy("a", str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == b"AA"
    store.discard("words", 1)
    assert sorted(access.names(shared)) == ["a", "c"]
    store.discard("words", 2)
    assert access.names(shared) == []


def test_a_file_that_is_missing_or_cut_is_named(
    kind: Kind, store: CheckpointFiles, tmp_path: Path
) -> None:
    access, folder = kind
    store.save("words", 1, 2, Folder(tmp_path / "db").state(b"one", a=b"aa", b=b"bbb"))
    access.remove(f"{folder}/words/shared/2/a")
    access.write(f"{folder}/words/shared/2/b", [b"b"])
    found = store.load("words", 1, 2)
    assert isinstance(found, FileSnapshot)
    with pytest.raises(CheckpointStoreError, match="shared/2/a is missing"):
        found.source.copy("a", str(tmp_path / "copy"))
    with pytest.raises(
        CheckpointStoreError, match=("shared/2/b is damaged: its size is 1 bytes, not 3")
    ):
        found.source.copy("b", str(tmp_path / "copy"))


class Full:
    """A file system with no room left."""

    def __init__(self, access: Any) -> None:
        self.access = access

    def __getattr__(self, name: str) -> Any:
        return getattr(self.access, name)

    def write(self, path: str, parts: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_checkpoint_before(kind: Kind) -> None:
    access, folder = kind
    store = CheckpointFiles(access, folder)
    store.save("words", 1, 2, b"one")

    full = CheckpointFiles(Full(access), folder)
    with pytest.raises(CheckpointStoreError, match="words/2/2: No space left on device"):
        full.save("words", 2, 2, b"two")
    assert full.load("words", 1, 2) == b"one"
    with pytest.raises(CheckpointStoreError, match="task 2 cannot be read"):
        full.load("words", 2, 2)


def test_a_write_that_breaks_off_leaves_what_was_there(kind: Kind) -> None:
    access, folder = kind
    path = f"{folder}/words/1/2"
    access.write(path, [b"whole"])

    def parts() -> Iterator[bytes]:
        yield b"ha"
        raise OSError(errno.EIO, "the cable is out")

    with pytest.raises(OSError, match="the cable is out"):
        access.write(path, parts())
    assert access.read(path) == b"whole"
    assert access.names(f"{folder}/words/1") == ["2"]


def test_a_store_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("a file where the folder is to be")
    with pytest.raises(CheckpointStoreError, match=r"task 2 cannot be saved at .*words/1/2"):
        LocalFiles(str(tmp_path)).save("words", 1, 2, b"one")


def test_a_bucket_that_is_none_is_not_made(tmp_path: Path) -> None:
    """A wrong letter in the URL: content of the right bucket would be missed later."""
    fsspec = pytest.importorskip("fsspec")
    objects = CheckpointFiles(FsspecAccess(fsspec.filesystem("file"), renames=False), str(tmp_path))
    with pytest.raises(CheckpointStoreError, match=r"task 2 cannot be saved at .*words/1/2"):
        objects.save("words", 1, 2, b"one")
    assert not list(tmp_path.iterdir())


def test_stores_are_opened_by_url(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    assert isinstance(open_checkpoint_store(f"file://{tmp_path}"), LocalFiles)
    assert isinstance(open_checkpoint_store(str(tmp_path)), LocalFiles)
    store = open_checkpoint_store(f"local://{tmp_path}")
    store.save("words", 1, 2, b"one")
    assert open_checkpoint_store(str(tmp_path)).load("words", 1, 2) == b"one"


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("s3://bucket/states", "needs the package s3fs: pip install 's3fs'"),
        (
            "memory://states",
            "'memory://states' is not a checkpoint store: it is the memory of",
        ),
        ("cupboard://shelf", "'cupboard://shelf' is not a checkpoint store: Protocol not known"),
    ],
)
def test_what_a_url_needs_is_said_in_one_line(
    url: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setitem(sys.modules, "s3fs", None)  # as if it were not installed
    with pytest.raises(UsageError) as caught:
        open_checkpoint_store(url)
    assert line in str(caught.value)


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        (
            "Unable to load libjvm\n" + "dlopen(libjvm.so) failed\n" * 99,
            "set JAVA_HOME, HADOOP_HOME",
        ),
        ("no route\n" + "to host " * 99, "cannot be reached: no route to host"),
    ],
)
def test_a_file_system_that_talks_a_lot_is_quoted_in_one_line(
    reason: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pyarrow names every folder searched for Java."""
    fsspec = pytest.importorskip("fsspec")

    def refuse(url: str) -> Any:
        raise OSError(reason)

    monkeypatch.setattr(fsspec.core, "url_to_fs", refuse)
    with pytest.raises(UsageError) as caught:
        open_checkpoint_store("hdfs://name:8020/states")
    said = str(caught.value)
    assert line in said
    assert len(said) < 500
    assert "\n" not in said
