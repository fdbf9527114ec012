"""Hosts as Linux network namespaces: each with a name, an address, and a freezer of its own.

All are connected by a bridge in a separate namespace, so that packets cannot leave. The names carry
the pid of their maker: two laboratories do not meet, and the remains of a killed laboratory are
removed by the next.
"""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.hosts.needs import freezer_folder
from tests.process.process_support import until

PREFIX = "heronpy-"
SUBNET = "10.77.0"
"""Private addresses, seen only in these namespaces."""
BRIDGE = "bridge"
SWITCH = "switch"
"""The host of the bridge."""
NAMESPACES = Path("/run/netns")
EMPTY_SECS = 10.0
"""Until the processes of a host are gone after kill -9."""
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_ENTER = 'echo $$ > "$0"/cgroup.procs && exec "$@"'
_NAMED = 'echo "$0" > /proc/sys/kernel/hostname && exec "$@"'
_OURS = re.compile(rf"{PREFIX}(\d+)-\w+")
_never = threading.Event()


def call(*words: str) -> str:
    """A program's output; AssertionError with its complaint."""
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr.strip()}"
    return done.stdout


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    """As seen by the host's processes."""
    number: int
    owner: int
    """The pid of its maker."""
    network: str = ""
    """Name of a network beside another one of the same maker."""

    @property
    def namespace(self) -> str:
        """The machine's name of the namespace."""
        return f"{PREFIX}{self.owner}-{self.network}{self.name}"

    @property
    def address(self) -> str:
        """On the bridge."""
        return f"{SUBNET}.{self.number}"

    @property
    def port(self) -> str:
        """The bridge's end of the cable."""
        return f"port{self.number}"

    @property
    def _group(self) -> Path:
        return freezer_folder() / self.namespace

    @property
    def _is_of_version_1(self) -> bool:
        return (self._group / "freezer.state").exists()

    def make(self) -> None:
        """Make the host, connected to the bridge."""
        call("ip", "netns", "add", self.namespace)
        call("ip", "-n", self.namespace, "link", "set", "lo", "up")
        self._group.mkdir()

    def connect(self, switch: "Host") -> None:
        """To the bridge of another host."""
        call("ip", "-n", self.namespace, "link", "add", "eth0", "type", "veth",
             "peer", "name", self.port, "netns", switch.namespace)  # fmt: skip
        call("ip", "-n", switch.namespace, "link", "set", self.port, "master", BRIDGE, "up")
        call("ip", "-n", self.namespace, "address", "add", f"{self.address}/24", "dev", "eth0")
        call("ip", "-n", self.namespace, "link", "set", "eth0", "up")

    def words(self, *command: str) -> list[str]:
        """The command line of a process on this host."""
        return [
            *("sh", "-c", _ENTER, str(self._group)),
            *("nsenter", f"--net={NAMESPACES / self.namespace}", "unshare", "--uts"),
            *("sh", "-c", _NAMED, self.name, *command),
        ]

    def call(self, *command: str) -> str:
        """A program's output in this host's network; not a process of the host."""
        return call("nsenter", f"--net={NAMESPACES / self.namespace}", *command)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """This thread, with its children, is in this host's network."""
        library = ctypes.CDLL(None, use_errno=True)

        def enter(path: Path) -> None:
            with path.open("rb") as file:
                failed = library.setns(file.fileno(), _NEW_NETWORK)
            assert not failed, f"{path}: {os.strerror(ctypes.get_errno())}"

        own = Path("/proc/thread-self/ns/net")
        with own.open("rb") as before:
            enter(NAMESPACES / self.namespace)
            try:
                yield
            finally:
                enter(Path(f"/proc/self/fd/{before.fileno()}"))

    # --- trouble ----------------------------------------------------------------------------------

    def rule(self, *words: str) -> None:
        """One more rule for incoming packets."""
        self.call("iptables", "-w", "-A", "INPUT", *words)

    def heal(self) -> None:
        """Every packet comes in again."""
        self.call("iptables", "-w", "-F", "INPUT")

    def reset_connections(self, others: Sequence["Host"]) -> None:
        """End the connections like a firewall with a lost table."""
        for other in others:
            self.call("ss", "-K", "dst", other.address)

    def freeze(self) -> None:
        """All processes stop from now on; the kernel answers."""
        self._set_frozen(True)

    def thaw(self) -> None:
        """All go on."""
        self._set_frozen(False)

    def _set_frozen(self, frozen: bool) -> None:
        if self._is_of_version_1:
            wanted = "FROZEN" if frozen else "THAWED"
            state = self._group / "freezer.state"
            state.write_text(wanted)
            until(lambda: state.read_text().strip() == wanted, f"{self.name} is {wanted}")
        else:
            (self._group / "cgroup.freeze").write_text(str(int(frozen)))

    def pids(self) -> list[int]:
        """Its processes."""
        with suppress(OSError):
            return [int(each) for each in (self._group / "cgroup.procs").read_text().split()]
        return []

    def kill(self) -> None:
        """End all processes, frozen ones too."""
        deadline = time.monotonic() + EMPTY_SECS
        while pids := self.pids():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.thaw()
            assert time.monotonic() < deadline, f"{self.name} still has processes {pids}"
            _never.wait(0.02)

    def remove(self) -> None:
        """The host with its processes."""
        self.kill()
        for pid in _pids_in(self.namespace):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(["ip", "netns", "delete", self.namespace], check=False, capture_output=True)
        if self._group.is_dir():
            until(self._group_is_gone, f"the group of {self.name} is removed")

    def _group_is_gone(self) -> bool:
        try:
            self._group.rmdir()
        except OSError:
            return False
        return True


def _pids_in(namespace: str) -> list[int]:
    found = subprocess.run(
        ["ip", "netns", "pids", namespace], check=False, capture_output=True, text=True
    )
    return [pid for pid in map(int, found.stdout.split()) if pid != os.getpid()]


class Network:
    """Hosts by name, and a bridge between them."""

    def __init__(self, *names: str, network: str = "") -> None:
        """`network`: a name, for the second network of a process."""
        numbered = enumerate(names, 1)
        self.hosts = {name: Host(name, at, os.getpid(), network) for at, name in numbered}
        self.switch = Host(SWITCH, 0, os.getpid(), network)

    def __enter__(self) -> "Network":
        remove_leftovers()
        try:
            self.switch.make()
            call("ip", "-n", self.switch.namespace, "link", "add", BRIDGE, "type", "bridge")
            call("ip", "-n", self.switch.namespace, "link", "set", BRIDGE, "up")
            for each in self.hosts.values():
                each.make()
                each.connect(self.switch)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for each in (*self.hosts.values(), self.switch):
            each.remove()

    def heal(self) -> None:
        """All packets come through, and all hosts run."""
        for each in self.hosts.values():
            each.heal()
            each.thaw()


def remove_leftovers() -> None:
    """Remains of killed laboratories."""
    names = [each.name for folder in (NAMESPACES, freezer_folder()) for each in _children(folder)]
    for name in sorted(set(names)):
        if (ours := _OURS.fullmatch(name)) and not os.path.exists(f"/proc/{ours[1]}"):
            Host(name.rpartition("-")[2], 0, int(ours[1])).remove()
    for each in Path("/tmp").glob(f"{PREFIX}hosts-*-data"):
        if not os.path.exists(f"/proc/{each.name.split('-')[2]}"):
            shutil.rmtree(each, ignore_errors=True)


def _children(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
