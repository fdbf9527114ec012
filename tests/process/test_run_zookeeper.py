"""`heronpy run --zookeeper`: the topology's state is in a real ZooKeeper while it runs."""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError, NoNodeError

from heron_cli.private_zookeeper import find_credentials
from heron_engine.scheduler.user_folder import Home
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from heron_io.state_store.zookeeper_access import CREDENTIALS_VARIABLE
from tests.process.process_support import GONE_SECS, TOPOLOGIES, Master, Place, Running, until

FOREVER = (TOPOLOGIES / "forever.py", "-n", "Forever", "--containers", 2)
STEADY_SECS = 2.0
FOLDERS = ("topologies", "packingplans", "pplans", "executionstate", "tmasters", "schedulers")


@contextmanager
def connected(address: str, credentials: str | None = None) -> Iterator[KazooClient]:
    """A client like any program, with or without credentials."""
    auth_data = None if credentials is None else [("digest", credentials)]
    client = KazooClient(hosts=address, auth_data=auth_data)
    client.start(timeout=10)
    try:
        yield client
    finally:
        client.stop()
        client.close()


@pytest.fixture
def root(place: Place) -> str:
    """A separate root for each test in the ZooKeeper, "/NAME"."""
    return f"/{place.path.name}"


def value_of(client: KazooClient, path: str) -> Any:
    return json.loads(client.get(path)[0])


def check_tree(client: KazooClient, root: str) -> None:
    """All nodes read by people and tools exist while the topology runs."""
    values = {each: value_of(client, f"{root}/{each}/Forever") for each in FOLDERS}
    names = [each["name"] for each in values["topologies"]["components"]]
    assert names == ["numbers", "add"]
    assert {each["id"] for each in values["packingplans"]["containers"]} >= {1, 2}
    assert values["pplans"]["epoch"] == 1
    assert values["executionstate"]["state"] == "RUNNING"
    assert values["schedulers"]["kind"] == "local"
    assert values["tmasters"]["address"].startswith("tcp://")
    owner = client.exists(f"{root}/tmasters/Forever").ephemeralOwner
    assert owner != 0, "the master's node is not ephemeral"
    for each in set(FOLDERS) - {"tmasters"}:
        assert client.exists(f"{root}/{each}/Forever").ephemeralOwner == 0


def nodes_below(client: KazooClient, root: str) -> list[str]:
    """Every node left by a run, except its outcome."""
    return [
        f"{each}/{name}"
        for each in children(client, root)
        if each != "outcomes"
        for name in children(client, f"{root}/{each}")
    ]


def children(client: KazooClient, path: str) -> list[str]:
    """Names below a node; empty for a missing node, perhaps just removed."""
    try:
        return list(client.get_children(path))
    except NoNodeError:
        return []


def last_change(address: str) -> int:
    """The number of ZooKeeper's newest transaction (its zxid)."""
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(b"srvr")
        answer = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    found = re.search(r"Zxid: (0x[0-9a-f]+)", answer)
    assert found is not None, answer
    return int(found[1], 16)


def started(place: Place, zookeeper: str) -> Running:
    """The endless topology with its state in ZooKeeper, at work."""
    running = place.start("run", *FOREVER, "--zookeeper", zookeeper)
    with Master(f"zk://{zookeeper}", "Forever") as master:
        running.until(lambda: master.processed("add") > 0, "tuples are processed")
    return running


def started_with_embedded(
    place: Place, monkeypatch: pytest.MonkeyPatch, *options: str
) -> tuple[Running, str, str]:
    """A run with a private ZooKeeper; sets its address and credentials for later commands."""
    running = place.start("run", *FOREVER, "--zookeeper", "embedded", *options)
    told = running.until(lambda: re.search(r"ZooKeeper at (\S+)", running.err), "its address")
    credentials = find_credentials(Home(str(place.home)), told[1])
    assert credentials is not None
    monkeypatch.setenv(CREDENTIALS_VARIABLE, credentials)
    with Master(f"zk://{told[1]}", "Forever") as master:
        running.until(lambda: master.processed("add") > 0, "tuples are processed")
    return running, told[1], credentials


def test_state_is_in_zookeeper_during_the_run_and_gone_after_it(
    place: Place, root: str, running_zookeeper: EmbeddedZooKeeper
) -> None:
    """ZooKeeper seen by an independent client while a topology runs, and after."""
    address = running_zookeeper.address
    running = started(place, f"{address}{root}")
    with connected(address) as client:
        check_tree(client, root)
        assert (
            "'Forever' is already running"
            in place.heronpy("run", *FOREVER, "--zookeeper", f"{address}{root}").errors[0]
        )
        finished = running.end()
        assert "Traceback" not in finished.err
        assert nodes_below(client, root) == []
    place.nothing_is_left()


def test_a_steady_topology_writes_nothing_to_zookeeper(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Storm's heartbeats bring ZooKeeper down: here a steady topology does not write.

    In a server of its own, where no session of another test may expire meanwhile.
    """
    running, address, _ = started_with_embedded(place, monkeypatch)
    with Master(f"zk://{address}", "Forever") as master:
        processed = running.until(lambda: master.processed("add"), "tuples are processed")
        before, begun = last_change(address), time.monotonic()
        until(lambda: time.monotonic() > begun + STEADY_SECS, "two seconds pass")
        assert master.processed("add") > processed
        assert last_change(address) == before
    running.end()


def test_kill_9_of_the_command_empties_zookeeper_as_well(
    place: Place, root: str, running_zookeeper: EmbeddedZooKeeper
) -> None:
    """Nodes in a ZooKeeper that lives on would block the name for ever."""
    address = running_zookeeper.address
    running = started(place, f"{address}{root}")
    running.process.kill()
    with connected(address) as client:
        until(lambda: not nodes_below(client, root), "the nodes are gone", GONE_SECS)
    place.nothing_is_left(GONE_SECS)


def test_an_embedded_zookeeper_is_for_its_run_and_its_user_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--zookeeper embedded starts a server for this run, and removes the server and its data.
    Another user of the machine, with the power to run code by the topology's key, has no access.
    The states of its checkpoints are removed as well."""
    mode = ("-o", "topology.reliability.mode=EFFECTIVELY_ONCE")
    running, address, credentials = started_with_embedded(place, monkeypatch, *mode)
    with connected(address, credentials) as client:
        check_tree(client, "/heron")
    with connected(address) as stranger:
        for node in ("keys/Forever", "packingplans/Forever"):
            with pytest.raises(NoAuthError):
                stranger.get(f"/heron/{node}")
        with pytest.raises(NoAuthError):
            stranger.create("/heron/topologies/Mine", b"{}")
    assert "Forever" in place.heronpy("list", "--zookeeper", address).succeeded().out
    place.heronpy("checkpoint", "Forever", "--zookeeper", address).succeeded()
    assert "Traceback" not in running.end().err
    place.nothing_is_left()


def test_kill_9_of_the_command_ends_its_embedded_zookeeper(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server dies with the command and takes the nodes along; processes must not wait long, and
    its data must not stay."""
    running, _, _ = started_with_embedded(place, monkeypatch)
    running.process.kill()
    running.wait()
    place.nothing_is_left(2 * GONE_SECS)
