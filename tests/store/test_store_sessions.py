"""ZooKeeper goes away, comes back, or was never there: the store says so and goes on."""

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import NameInUse, StateStoreError
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from heron_io.state_store.opening import open_store
from heron_io.state_store.zookeeper import ZooKeeperStore
from tests.store.store_support import Backend, Heard, Holder

ANSWER_SECS = 20.0


@pytest.fixture
def own_zookeeper(tmp_path: Path) -> Iterator[EmbeddedZooKeeper]:
    """A server that the test may stop."""
    with EmbeddedZooKeeper(tmp_path / "own") as server:
        yield server


@pytest.fixture
def dead_address() -> Iterator[str]:
    """An address without a listener for the whole test."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def answered(ask: Callable[[], Any]) -> Any:
    """The answer of a server perhaps still slow: just started, on a busy machine."""
    deadline = time.monotonic() + ANSWER_SECS
    while True:
        try:
            return ask()
        except StateStoreError:
            if time.monotonic() > deadline:
                raise


def test_a_restarted_server_suspends_and_reconnects(own_zookeeper: EmbeddedZooKeeper) -> None:
    # The administrator restarts ZooKeeper under a running topology.
    states, heard = Heard(), Heard()
    store = ZooKeeperStore(own_zookeeper.address, "/heron", operation_timeout_ms=300)
    try:
        store.on_session(states)
        assert states.next() == "connected"
        store.create("/tmasters/wordcount", 1, ephemeral=True)
        store.watch("/pplans/wordcount", heard)
        assert heard.next() is None
        own_zookeeper.stop()
        assert states.next() == "suspended"
        with pytest.raises(StateStoreError, match=rf"no ZooKeeper .* {own_zookeeper.address}"):
            store.get("/tmasters/wordcount")
        own_zookeeper.start()
        assert states.next() == "connected"
        assert answered(lambda: store.get("/tmasters/wordcount")) == 1
        answered(lambda: store.put("/pplans/wordcount", "after"))
        assert heard.next() == "after"
        assert states.is_silent()
    finally:
        store.close()


def test_a_server_that_lost_its_data_takes_its_clients_again(
    own_zookeeper: EmbeddedZooKeeper, tmp_path: Path
) -> None:
    # Its disk is replaced. Its clients have seen newer transactions, so the server refuses the
    # clients.
    states, heard = Heard(), Heard()
    with ZooKeeperStore(own_zookeeper.address, "/heron") as store:
        store.on_session(states)
        assert states.next() == "connected"
        store.create("/tmasters/wordcount", 1, ephemeral=True)
        store.watch("/pplans/wordcount", heard)
        assert heard.next() is None
        own_zookeeper.stop()
        assert states.next() == "suspended"
        shutil.rmtree(tmp_path / "own" / "data")
        own_zookeeper.start()
        assert [states.next(), states.next()] == ["lost", "connected"]
        assert answered(lambda: store.get("/tmasters/wordcount")) is None
        answered(lambda: store.create("/tmasters/wordcount", 2, ephemeral=True))
        answered(lambda: store.put("/pplans/wordcount", "after"))
        heard.wait_for("after")


def test_a_frozen_process_learns_that_its_session_is_lost(zookeeper_backend: Backend) -> None:
    # A laptop sleeps, a virtual machine is moved: meanwhile a standby has taken the place.
    store, heard = zookeeper_backend.open(), Heard()
    with Holder(zookeeper_backend.url, "states") as holder:
        assert [holder.line(), holder.line()] == ["connected", "ready"]
        store.watch("/tmasters/wordcount", heard)
        assert heard.next() is not None
        holder.process.send_signal(signal.SIGSTOP)
        assert heard.next() is None
        store.create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)
        holder.process.send_signal(signal.SIGCONT)
        states = [holder.line()]
        while states[-1] != "connected":
            states.append(holder.line())
        assert states == ["suspended", "lost", "connected"]
    assert store.get("/tmasters/wordcount") == {"pid": 1}


def test_a_create_is_not_repeated_as_somebody_elses(own_zookeeper: EmbeddedZooKeeper) -> None:
    # The server is down when the master wants its node: the master waits, and gets the node once.
    store = ZooKeeperStore(own_zookeeper.address, "/heron", operation_timeout_ms=30_000)
    states = Heard()
    try:
        store.on_session(states)
        own_zookeeper.stop()
        states.wait_for("suspended")
        own_zookeeper.start()
        store.create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)
        with pytest.raises(NameInUse, match="pid 1"):
            store.create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)
    finally:
        store.close()


def test_an_unreachable_server_is_named_in_one_line(dead_address: str) -> None:
    # A wrong port on the command line.
    with pytest.raises(
        StateStoreError, match=rf"{dead_address} after 0\.3 s: start ZooKeeper"
    ) as caught:
        ZooKeeperStore(dead_address, "/heron", connect_timeout_ms=300)
    assert "\n" not in str(caught.value)


def test_kazoo_does_not_chatter(dead_address: str) -> None:
    # Users see one error, not a page of "Connection dropped".
    code = (
        "from heron_io.state_store.zookeeper import ZooKeeperStore\n"
        f"try: ZooKeeperStore({dead_address!r}, '/heron', connect_timeout_ms=500)\n"
        "except Exception as error: print(type(error).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert (done.stdout, done.stderr) == ("StateStoreError\n", "")


def test_the_default_root_is_herons(zookeeper_backend: Backend) -> None:
    # zk://host:port and zk://host:port/heron are one place.
    address = zookeeper_backend.url.removeprefix("zk://").partition("/")[0]
    short, long = open_store(f"zk://{address}"), open_store(f"zk://{address}/heron/")
    try:
        short.put("/topologies/default-root", 1)
        assert long.get("/topologies/default-root") == 1
        assert long.delete("/topologies/default-root") is True
    finally:
        short.close()
        long.close()


def test_a_node_beyond_zookeepers_limit_is_named(zookeeper_backend: Backend) -> None:
    # A topology with a pickled model in its config.
    store = zookeeper_backend.open()
    with pytest.raises(StateStoreError, match=r"/topologies/big would take 1,100,\d\d\d bytes"):
        store.put("/topologies/big", "x" * 1_100_000)
    store.put("/topologies/big", "x" * 999_000)
    assert len(store.get("/topologies/big") or "") == 999_000
