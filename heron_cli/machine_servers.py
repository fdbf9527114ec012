"""The servers of a few machines without a cluster: ZooKeeper, Spark's standalone master and worker.

Each machine runs all three. The ZooKeeper servers are an ensemble, with the state of the
topologies; the Spark masters elect their leader there, so any machine may fail. A server runs in
the foreground, under systemd. This module computes command lines, and starts no process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from heron_core.errors import UsageError
from heron_io.state_store.opening import DEFAULT_ROOT

ZOOKEEPER_PORT, PEER_PORT, ELECTION_PORT = 2181, 2888, 3888
MASTER_PORT, MASTER_PAGE_PORT, WORKER_PAGE_PORT = 7077, 8080, 8081
TICK_MS = 1000
"""Sessions may be as short as two ticks: a dead machine is noticed after seconds."""
SESSION_MS_MAX = 15_000
"""Spark's masters ask for a minute: the next leader waits until the session of a dead one ends."""
MACHINES_MAX = 7
"""Of a ZooKeeper: each write waits for more than half of all."""
ZOOKEEPER_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
ZOOKEEPER_JAVA = ("-Xmx256m", "-XX:+UseSerialGC")
"""The state of thousands of topologies takes some MiB."""
WORKER_SECS = 15
"""Silence after which a worker is lost and its containers start elsewhere (Spark's default: 60)."""
DAEMON_JAVA = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dspark.worker.timeout={WORKER_SECS}"
DAEMON_MEMORY = "512m"
"""Of a Spark master and of a worker, which start other processes and answer their pages."""
SPARK_FOLDER = "/spark"
"""Of the masters, in ZooKeeper."""


class ServerKind(StrEnum):
    """A server of a machine."""

    ZOOKEEPER = "zookeeper"
    SPARK_MASTER = "spark-master"
    SPARK_WORKER = "spark-worker"
    UI = "ui"


DESCRIPTIONS: Mapping[ServerKind, str] = {
    ServerKind.ZOOKEEPER: "ZooKeeper, with the state of heronpy's topologies",
    ServerKind.SPARK_MASTER: "Spark master (standalone)",
    ServerKind.SPARK_WORKER: "Spark worker (standalone)",
    ServerKind.UI: "heronpy's pages and REST",
}


@dataclass(frozen=True, slots=True)
class Machines:
    """All machines, and this machine."""

    names: tuple[str, ...]
    """Host names or addresses, in equal order on all machines."""
    here: str

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names) or not all(self.names):
            raise UsageError(f"--machines {','.join(self.names)}: name each machine once")
        if len(self.names) % 2 == 0 or len(self.names) > MACHINES_MAX:
            raise UsageError(
                f"--machines names {len(self.names)}: use 1, 3, 5 or 7, because ZooKeeper serves "
                "as long as more than half of its servers do"
            )
        if self.here not in self.names:
            raise UsageError(
                f"this machine is called {self.here}, which is not one of --machines "
                f"{','.join(self.names)}: name it by --here"
            )

    @property
    def number(self) -> int:
        """Of this machine, from 1."""
        return self.names.index(self.here) + 1

    @property
    def zookeeper(self) -> str:
        """The ensemble for --zookeeper."""
        return ",".join(f"{each}:{ZOOKEEPER_PORT}" for each in self.names)

    @property
    def spark(self) -> str:
        """All masters for --master."""
        return "spark://" + ",".join(f"{each}:{MASTER_PORT}" for each in self.names)


@dataclass(frozen=True, slots=True)
class Installation:
    """Locations of the programs on this machine."""

    java: str
    zookeeper_jars: str
    """ZooKeeper's class path."""
    spark_home: str
    python: str


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A server to execute."""

    words: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to those of the process."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Path -> content, written before the start."""


def command_of(
    kind: ServerKind, machines: Machines, installed: Installation, folder: str
) -> ServerCommand:
    """The command of a server; `folder` has its data and files."""
    match kind:
        case ServerKind.ZOOKEEPER:
            return _zookeeper(machines, installed, folder)
        case ServerKind.SPARK_MASTER:
            return _spark_master(machines, installed)
        case ServerKind.SPARK_WORKER:
            return _spark_worker(machines, installed, folder)
        case ServerKind.UI:
            root = f"{machines.zookeeper}{DEFAULT_ROOT}"
            words = (installed.python, "-m", "heron_cli", "ui", "--zookeeper", root)
            return ServerCommand(words)


def zookeeper_config(machines: Machines, folder: str) -> str:
    """zoo.cfg of a server; a lone machine has a server without peers."""
    servers = "".join(
        f"server.{number}={name}:{PEER_PORT}:{ELECTION_PORT};{ZOOKEEPER_PORT}\n"
        for number, name in enumerate(machines.names, 1)
    )
    return (
        f"tickTime={TICK_MS}\ninitLimit=20\nsyncLimit=5\ndataDir={folder}/data\n"
        f"maxSessionTimeout={SESSION_MS_MAX}\nmaxClientCnxns=0\nadmin.enableServer=false\n"
        "4lw.commands.whitelist=srvr,ruok\nautopurge.purgeInterval=1\n"
        f"standaloneEnabled=true\n{servers}"
    )


def _zookeeper(machines: Machines, installed: Installation, folder: str) -> ServerCommand:
    config = f"{folder}/zoo.cfg"
    return ServerCommand(
        (installed.java, *ZOOKEEPER_JAVA, "-cp", installed.zookeeper_jars, ZOOKEEPER_MAIN, config),
        files={
            config: zookeeper_config(machines, folder),
            f"{folder}/data/myid": f"{machines.number}\n",
        },
    )


def _spark_master(machines: Machines, installed: Installation) -> ServerCommand:
    recovery = {
        "spark.deploy.recoveryMode": "ZOOKEEPER",
        "spark.deploy.zookeeper.url": machines.zookeeper,
        "spark.deploy.zookeeper.dir": SPARK_FOLDER,
    }
    options = " ".join((DAEMON_JAVA, *(f"-D{key}={value}" for key, value in recovery.items())))
    words = ("--host", machines.here, "--port", MASTER_PORT, "--webui-port", MASTER_PAGE_PORT)
    return _spark(installed, "master.Master", words, options)


def _spark_worker(machines: Machines, installed: Installation, folder: str) -> ServerCommand:
    words = ("--host", machines.here, "--webui-port", WORKER_PAGE_PORT, "--work-dir", folder)
    return _spark(installed, "worker.Worker", (*words, machines.spark), DAEMON_JAVA)


def _spark(
    installed: Installation, what: str, words: Sequence[object], options: str
) -> ServerCommand:
    program = f"{installed.spark_home}/bin/spark-class"
    environment = {"SPARK_DAEMON_JAVA_OPTS": options, "SPARK_DAEMON_MEMORY": DAEMON_MEMORY}
    return ServerCommand(
        (program, f"org.apache.spark.deploy.{what}", *map(str, words)), environment
    )
