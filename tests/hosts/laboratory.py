"""Six hosts for a topology, three with a ZooKeeper ensemble, and one for submits."""

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.hosts.ensemble import Ensemble
from tests.hosts.network import PREFIX, Host, Network
from tests.process.aurora_support import AuroraPlace

CLIENT = "client"
WORKERS = tuple(f"worker{number}" for number in range(1, 7))
ZOOKEEPERS = tuple(f"zookeeper{number}" for number in range(1, 4))
CONTAINERS = 3
"""And the topology master's; the remaining workers are spare hosts."""


class Laboratory:
    """The hosts and the ensemble, for one run after the other."""

    def __init__(self, network: Network, ensemble: Ensemble, cache: Path) -> None:
        self.network = network
        self.ensemble = ensemble
        self.cache = cache
        """The runtime's archive, packed once."""
        self.workers = [network.hosts[name] for name in WORKERS]

    @property
    def client(self) -> Host:
        """Where commands are given."""
        return self.network.hosts[CLIENT]


@contextmanager
def laboratory() -> Iterator[Laboratory]:
    """A running laboratory, removed completely at the end."""
    with tempfile.TemporaryDirectory(
        prefix=f"{PREFIX}hosts-{os.getpid()}-", suffix="-data"
    ) as data:
        folder = Path(data)
        (folder / "cache").mkdir()
        with Network(CLIENT, *WORKERS, *ZOOKEEPERS) as network:
            hosts = [network.hosts[name] for name in ZOOKEEPERS]
            made = Laboratory(network, Ensemble(hosts, folder / "zookeeper"), folder / "cache")
            with made.client.entered():
                made.ensemble.start()
                try:
                    yield made
                finally:
                    made.ensemble.stop()


class HostsPlace(AuroraPlace):
    """A place whose topologies run on the hosts of a laboratory: instance N on worker N + 1."""

    def __init__(self, path: Path, made: Laboratory) -> None:
        self._laboratory = made
        self.host_of = dict(enumerate(made.workers[: CONTAINERS + 1]))
        self.spare = made.workers[CONTAINERS + 1 :]
        super().__init__(path, made.cache)
        self._say_hosts()

    @property
    def store_url(self) -> str:
        """The ensemble."""
        return self._laboratory.ensemble.url

    @property
    def checkpoints(self) -> Path:
        """The checkpoint store, a folder that all hosts share."""
        return self.path / "checkpoints"

    @property
    def running_hosts(self) -> list[Host]:
        """Hosts with a container."""
        return list(self.host_of.values())

    def _say_hosts(self) -> None:
        self.aurora_says(hosts={number: each.words() for number, each in self.host_of.items()})

    def replace(self, number: int) -> Host:
        """Start a container on a spare host; returns the previous host."""
        old = self.host_of[number]
        self.host_of[number] = self.spare.pop(0)
        self.spare.append(old)
        self._say_hosts()
        (port,) = (self.aurora / "jobs").glob("*/port")
        with socket.create_connection(("127.0.0.1", int(port.read_text("ascii")))) as sock:
            sock.sendall(json.dumps({"do": "replace", "numbers": [number]}).encode() + b"\n")
            sock.makefile().readline()
        return old
