"""Spark's masters: what the word after --master means for a topology. Pure."""

import re
from enum import Enum

from msgspec import Struct

from heron_core.errors import UsageError

TASK_FAILURES_MAX = 1000
"""Permitted failures of a container; Spark's default of 4 would end a topology after months."""
LOOPBACK = re.compile(r"127\.\d+\.\d+\.\d+|localhost|\[::1\]")
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?: *, *\d+)?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[ *(\d+) *, *(\d+) *, *(\d+) *\]")
_STANDALONE = re.compile(r"spark://([^\s:,/]+|\[[0-9A-Fa-f:]+\]):(\d+)((?:,[^\s,/]+:\d+)*)")


class MasterKind(Enum):
    """Runner of Spark's executors."""

    LOCAL = "local"
    """The driver's JVM only."""
    LOCAL_CLUSTER = "local-cluster"
    """JVMs of their own, started by the driver's."""
    STANDALONE = "spark"
    YARN = "yarn"
    KUBERNETES = "k8s"


STARTED_BY_US = frozenset({MasterKind.LOCAL, MasterKind.LOCAL_CLUSTER})


class SparkMaster(Struct, frozen=True):
    """A master, parsed."""

    kind: MasterKind
    text: str
    """The URL as given."""
    workers: int = 0
    """Of a kind that we start ourselves."""
    cores: int = 0
    """Size of each local-cluster worker."""
    addresses: tuple[tuple[str, int], ...] = ()
    """Addresses of a standalone master; several with standbys."""

    @property
    def url(self) -> str:
        """For Spark; in local mode only the URL can say how often a task may fail."""
        if self.kind is MasterKind.LOCAL:
            return f"local[{self.cores},{TASK_FAILURES_MAX}]"
        return self.text

    @property
    def is_one_machine(self) -> bool:
        """Whether all containers run on this machine, so that files are shared. A standalone
        master on a loopback address can only have workers here."""
        if self.kind is MasterKind.STANDALONE:
            return all(LOOPBACK.fullmatch(host) for host, _ in self.addresses)
        return self.kind in STARTED_BY_US

    @property
    def slots(self) -> int | None:
        """Available cores, one per container; None if known only to the running cluster."""
        return self.workers * self.cores if self.kind in STARTED_BY_US else None

    def with_slots(self, slots: int) -> str:
        """The same master with so many slots, as advice; empty if it is not ours to change."""
        if self.kind is MasterKind.LOCAL:
            return f"local[{slots}]"
        if self.kind is MasterKind.LOCAL_CLUSTER:
            memory = self.text.rpartition(",")[2].strip(" ]")
            return f"local-cluster[{slots},1,{memory}]"
        return ""


def parse_master(text: str, cpus: int) -> SparkMaster:
    """Parse `text` on a machine with the number of CPUs; UsageError for an invalid master."""
    if match := _LOCAL.fullmatch(text):
        cores = match[1] or "1"
        return _counted(MasterKind.LOCAL, text, 1, cpus if cores == "*" else int(cores))
    if match := _LOCAL_CLUSTER.fullmatch(text):
        return _counted(MasterKind.LOCAL_CLUSTER, text, int(match[1]), int(match[2]))
    if _STANDALONE.fullmatch(text):
        words = (address.rpartition(":") for address in text.removeprefix("spark://").split(","))
        return SparkMaster(
            MasterKind.STANDALONE, text, addresses=tuple((a, int(b)) for a, _, b in words)
        )
    if text == "yarn":
        return SparkMaster(MasterKind.YARN, text)
    if re.fullmatch(r"k8s://\S+", text):
        return SparkMaster(MasterKind.KUBERNETES, text)
    raise UsageError(
        f"--master {text!r} is not a Spark master: local[2], local-cluster[2,1,600], "
        "spark://HOST:7077, yarn or k8s://https://HOST:6443"
    )


def _counted(kind: MasterKind, text: str, workers: int, cores: int) -> SparkMaster:
    if not workers or not cores:
        raise UsageError(f"--master {text!r} has no core: each container needs one")
    return SparkMaster(kind, text, workers, cores)
