"""A real ZooKeeper ensemble of three, each server on a host of its own."""

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from heron_io.java import find_java
from heron_io.state_store.embedded_zookeeper import JAVA_OPTIONS, TICK_MS, find_classpath
from heron_io.state_store.opening import DEFAULT_ROOT
from tests.hosts.network import Host
from tests.process.process_support import until

PORT, PEER_PORT, ELECTION_PORT = 2181, 2888, 3888
SERVING_SECS = 60.0
"""For operations of three seconds on an idle machine."""
ANSWER_SECS = "2"
LEADER, FOLLOWER = "leader", "follower"
_ASK = 'exec 3<>"/dev/tcp/$0/$1" && echo srvr >&3 && cat <&3'


class Server:
    """One of the servers."""

    def __init__(self, host: Host, number: int, folder: Path, peers: Sequence[Host]) -> None:
        self.host = host
        self._folder = folder
        self._number = number
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir()
        (folder / "zoo.cfg").write_text(self._config(peers))

    def _config(self, peers: Sequence[Host]) -> str:
        servers = "".join(
            f"server.{number}={each.address}:{PEER_PORT}:{ELECTION_PORT};{each.address}:{PORT}\n"
            for number, each in enumerate(peers, 1)
        )
        return (
            f"tickTime={TICK_MS}\ninitLimit=20\nsyncLimit=6\ndataDir={self._data}\n"
            "maxSessionTimeout=60000\nmaxClientCnxns=0\nadmin.enableServer=false\n"
            "4lw.commands.whitelist=*\nstandaloneEnabled=false\nreconfigEnabled=false\n"
            f"{servers}"
        )

    def start(self) -> None:
        """Start; the server serves with a quorum."""
        self._data.mkdir(exist_ok=True)
        (self._data / "myid").write_text(str(self._number))
        with (self._folder / "zookeeper.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.host.words(
                    *(find_java(), *JAVA_OPTIONS, "-cp", find_classpath()),
                    *("org.apache.zookeeper.server.quorum.QuorumPeerMain",
                      str(self._folder / "zoo.cfg")),
                ),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def signal(self, number: signal.Signals) -> None:
        """Stop, continue or kill the server."""
        assert self._process is not None
        self._process.send_signal(number)
        if number == signal.SIGKILL:
            self._process.wait()

    def forget(self) -> None:
        """Empty the disk."""
        shutil.rmtree(self._data)

    @property
    def mode(self) -> str | None:
        """leader or follower; None while not serving."""
        # From the host itself, at times cut off from the rest.
        words = self.host.words("bash", "-c", _ASK, self.host.address, str(PORT))
        answer = subprocess.run(
            ["timeout", ANSWER_SECS, *words], check=False, capture_output=True, text=True
        ).stdout
        for line in answer.splitlines():
            if line.startswith("Mode: "):
                return line.removeprefix("Mode: ")
        return None


class Ensemble:
    """Three servers of one state."""

    def __init__(self, hosts: Sequence[Host], folder: Path) -> None:
        folder.mkdir()
        self.servers = [
            Server(each, number, folder / each.name, hosts) for number, each in enumerate(hosts, 1)
        ]

    @property
    def url(self) -> str:
        servers = ",".join(f"{each.host.address}:{PORT}" for each in self.servers)
        return f"zk://{servers}{DEFAULT_ROOT}"

    def start(self) -> None:
        """Start all, and wait for service."""
        for each in self.servers:
            each.start()
        self.wait()

    def stop(self) -> None:
        """End all."""
        for each in self.servers:
            each.signal(signal.SIGKILL)

    def wait(self) -> None:
        """Until all serve, with a leader."""
        wanted = sorted([LEADER, *[FOLLOWER] * (len(self.servers) - 1)])

        def serve() -> bool:
            return sorted(each.mode or "" for each in self.servers) == wanted

        until(serve, "ZooKeeper serves", SERVING_SECS)

    def leader(self) -> Server:
        return until(
            lambda: next((each for each in self.servers if each.mode == LEADER), None),
            "ZooKeeper has a leader",
            SERVING_SECS,
        )
