"""Faults specific to the file store: files, permissions, and file locks."""

import errno
import fcntl
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heron_core.errors import StateStoreError, UsageError
from heron_io.state_store import file_store
from heron_io.state_store.file_store import FileStore
from heron_io.state_store.file_watch import FileWatches
from heron_io.state_store.opening import open_store
from tests.store.store_support import Backend, Heard, python_environment


@pytest.fixture
def root(file_backend: Backend) -> Path:
    """The directory of the store."""
    return Path(file_backend.url.removeprefix("file://"))


def test_values_are_files_that_a_person_can_read(file_backend: Backend, root: Path) -> None:
    # Users debug with cat; other accounts of the machine cannot read the files.
    file_backend.open().put("/topologies/wordcount", {"b": 1, "a": "ü"})
    file = root / "topologies" / "wordcount.json"
    assert file.read_text() == '{\n "a": "ü",\n "b": 1\n}\n'
    assert file.stat().st_mode & 0o777 == 0o600
    assert (root.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o700, 0o700)


def test_a_broken_file_is_named(file_backend: Backend, root: Path) -> None:
    # A user edited the file and forgot a brace.
    store = file_backend.open()
    store.put("/topologies/wordcount", {})
    (root / "topologies" / "wordcount.json").write_text("{")
    with pytest.raises(StateStoreError, match=r"/topologies/wordcount .* is not JSON") as caught:
        store.get("/topologies/wordcount")
    assert str(root) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_watch_survives_a_broken_file(file_backend: Backend, root: Path) -> None:
    # ... and mends it: the watchers go on with the mended value.
    store, heard = file_backend.open(), Heard()
    store.put("/topologies/wordcount", 1)
    store.watch("/topologies/wordcount", heard)
    (root / "topologies" / "wordcount.json").write_text("{")
    store.put("/topologies/wordcount", 2)
    heard.wait_for(2)


def test_a_writer_that_died_half_way_is_no_hindrance(file_backend: Backend, root: Path) -> None:
    # kill -9 between writing and renaming.
    store = file_backend.open()
    (root / ".new").write_text('{"half": ')
    store.put("/topologies/wordcount", 1)
    assert store.get("/topologies/wordcount") == 1
    assert store.children("/") == ["topologies"]


def test_what_the_dead_left_is_cleared(file_backend: Backend, root: Path) -> None:
    # An ephemeral file without its holder counts as absent and is removed by the next write.
    store = file_backend.open()
    store.put("/tmasters/other", 1)
    stale = root / "tmasters" / "wordcount.ephemeral"
    for write in (store.put, store.create):
        stale.write_text('{"pid": 1}')
        assert store.get("/tmasters/wordcount") is None
        assert store.children("/tmasters") == ["other"]
        write("/tmasters/wordcount", 2)
        assert sorted(os.listdir(stale.parent)) == ["other.json", "wordcount.json"]
        store.delete("/tmasters/wordcount")


def test_a_watch_looks_into_a_young_file() -> None:
    # Within one tick of the clock a file can change twice and show the same inode, time and size.
    content = [b"1"]
    fixed = (7, time.time_ns(), 1)
    watches = FileWatches(lambda path: content[0], lambda path: fixed)
    heard = Heard()
    watches.add("/a", "/a", heard)
    try:
        assert heard.next() == 1
        content[0] = b"2"
        assert heard.next() == 2
    finally:
        watches.close()


def test_a_root_removed_by_hand_comes_back(file_backend: Backend, root: Path) -> None:
    # "Delete the directory to start afresh", while something still runs.
    store = file_backend.open()
    store.put("/topologies/wordcount", 1)
    subprocess.run(["rm", "-r", str(root)], check=True)
    assert store.get("/topologies/wordcount") is None
    store.put("/topologies/other", 2)
    assert store.children("/topologies") == ["other"]


def test_a_stuck_writer_is_reported(
    file_backend: Backend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process is stopped by Ctrl-Z at the worst microsecond; reading still works.
    monkeypatch.setattr(file_store, "LOCK_TIMEOUT_SECS", 0.05)
    store = file_backend.open()
    store.put("/a", 1)
    with (root / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StateStoreError, match=r"\.lock has been held .* end that process"):
            store.put("/a", 2)
        assert store.get("/a") == 1
    store.put("/a", 3)
    assert store.get("/a") == 3


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    # The path given leads through a file.
    (tmp_path / "file").write_text("")
    with pytest.raises(StateStoreError, match=r"file/state: Not a directory$"):
        FileStore(str(tmp_path / "file" / "state"))


def test_a_full_disk_is_named_with_the_file_that_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(str(tmp_path / "state"))

    def refuse(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", refuse)
    where = re.escape(f"{tmp_path}/state/topologies/words")
    with pytest.raises(StateStoreError, match=f"^{where}: No space left on device: free some"):
        store.put("/topologies/words", {})


def test_no_descriptor_is_left_open(file_backend: Backend) -> None:
    # A tracker that polls for weeks must not run out of descriptors.
    before = len(os.listdir("/proc/self/fd"))
    store = file_backend.open()
    for number in range(20):
        store.put("/a/b", number)
        store.create("/tmasters/a", number, ephemeral=True)
        store.put("/tmasters/a", number)
        store.children("/tmasters")
        store.delete("/tmasters/a")
    store.create("/tmasters/a", 1, ephemeral=True)
    store.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_files_need_no_zookeeper_client() -> None:
    # `heronpy run` starts within a second; kazoo would cost a tenth of it.
    code = "import sys, heron_io.state_store.file_store; sys.exit('kazoo' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=python_environment(), check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "url",
    [
        "",
        "wordcount",
        "file://relative/path",
        "file:///",
        "/tmp/state",
        "zk://",
        "zk://host/heron",
        "zk://host:2181,/heron",
        "zk://host:2181 /heron",
        "redis://host:1",
    ],
)
def test_a_bad_url_is_one_line_with_the_choices(url: str) -> None:
    # A typing mistake on the command line.
    with pytest.raises(
        UsageError, match=r"^state store URL .* use file:///.*, zk://.* or kubernetes://"
    ) as caught:
        open_store(url)
    assert repr(url) in str(caught.value)


def test_a_place_without_folders_is_one_error() -> None:
    """HERONPY_HOME points into /proc by a slip: the kernel says "no such file" whatever we do."""
    if os.path.isdir("/proc/self"):
        with pytest.raises(StateStoreError, match="/proc/nowhere"):
            FileStore("/proc/nowhere/state")
