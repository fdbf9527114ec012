"""The embedded ZooKeeper: it starts, comes back with its data, and never outlives us."""

import importlib.util
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from heron_core.errors import StateStoreError
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper, find_classpath
from heron_io.state_store.opening import open_store
from tests.store.store_support import DEADLINE_SECS, python_environment

OWNER = """
import sys
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
server = EmbeddedZooKeeper(sys.argv[1])
server.start()
print(server.pid, flush=True)
sys.stdin.read()
"""


def test_it_keeps_address_and_data_over_a_restart(tmp_path: Path) -> None:
    # `--zookeeper embedded` is stopped in the evening and started in the morning.
    server = EmbeddedZooKeeper(tmp_path / "data")
    server.start()
    try:
        address = server.address
        store = open_store(server.url)
        store.put("/topologies/wordcount", 1)
        store.close()
        server.stop()
        assert server.pid is None
        server.start()
        server.start()
        assert server.address == address
        store = open_store(server.url)
        assert store.get("/topologies/wordcount") == 1
        store.close()
    finally:
        server.stop()
        server.stop()


def test_it_dies_with_its_owner(tmp_path: Path) -> None:
    # kill -9 of `heronpy run` must not leave a Java process behind.
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=python_environment(),
        text=True,
    ) as owner:
        assert owner.stdout is not None
        server = psutil.Process(int(owner.stdout.readline()))
        assert "java" in server.name()
        owner.send_signal(signal.SIGKILL)
        server.wait(DEADLINE_SECS)


def test_it_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    # A parent-death signal comes when the starting *thread* ends; a worker pool's may end early.
    server = EmbeddedZooKeeper(tmp_path)
    starter = threading.Thread(target=server.start)
    starter.start()
    starter.join(DEADLINE_SECS)
    try:
        store = open_store(server.url)
        store.put("/topologies/wordcount", 1)
        assert store.get("/topologies/wordcount") == 1
        store.close()
    finally:
        server.stop()


def test_missing_pyspark_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    # Installed without the extra.
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StateStoreError, match=r"pip install 'heronpy-topologies\[spark\]'"):
        find_classpath()


def test_a_server_that_cannot_start_names_its_log(tmp_path: Path) -> None:
    # The data directory of another version, or a broken disk.
    (tmp_path / "data").write_text("a file where the server wants a directory")
    with pytest.raises(StateStoreError, match=rf"does not start: see {tmp_path}/zookeeper.log"):
        EmbeddedZooKeeper(tmp_path).start()
