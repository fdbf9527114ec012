"""docs/THREE_MACHINES.md, followed literally on three hosts of a laboratory.

The commands and the topology are those of the page. What the laboratory lacks is stood in for: the
names by a hosts file, the mounted folder by one of this machine's, systemd by systemctl.py, and
heronpy is installed already. The servers are real: three ZooKeepers, Spark masters and workers.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hosts.needs import missing
from tests.hosts.network import PREFIX, Host, Network
from tests.process.process_support import REPOSITORY, until

PAGE = REPOSITORY / "docs" / "THREE_MACHINES.md"
NAMES = ("one", "two", "three")
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINES = 20_000
"""At 5 ms, by two instances: more than a minute, so that the new version comes in time."""
SECS = 240.0
"""For nine JVMs to start, or the containers of a topology: ten seconds on an idle machine."""
END_SECS = 2 * SECS
"""From the restart to the last line: a start, and a minute of work on an idle machine."""
STAND_IN = '#!/bin/sh\nexec {python} {program} "$@"\n'
MOUNTED = (
    'mount --bind "$1" /etc/hosts && mount --bind "$2" /srv && cd "$HOME" && shift 2 && exec "$@"'
)
LEADS = "I have been elected leader"
AGAIN = re.compile(r"container \d runs on .*, attempt [1-9]")
ENDED = re.compile(r"^lines ended after", re.MULTILINE)
PREPARED, EVERYWHERE = "once, on each machine", "on each machine"


class Machine:
    """A host with a user, whose shell gets the page's blocks."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host = host
        self.home = folder / host.name
        self.home.mkdir()
        self._shared = folder

    def shell(self, text: str, secs: float = SECS) -> str:
        """Run a block of the page; its output. AssertionError if a command fails."""
        words = self.host.words(
            *("unshare", "--mount", "sh", "-c", MOUNTED, "sh"),
            *(str(self._shared / "hosts"), str(self._shared / "srv")),
            *("bash", "-euc", text),
        )
        done = subprocess.run(
            words, env=self._environment(), stdin=subprocess.DEVNULL, check=False,
            capture_output=True, text=True, timeout=secs, start_new_session=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{self.host.name}: {text}\n{done.stdout}{done.stderr}"
        return done.stdout

    def lose_power(self) -> None:
        """No packet leaves it, and no process is told."""
        self.host.call("ip", "link", "set", "eth0", "down")
        self.host.kill()

    def boot(self) -> None:
        """With the disk as it was."""
        self.host.call("ip", "link", "set", "eth0", "up")
        self.shell("systemctl --user boot")

    def log(self, unit: str) -> str:
        """What a unit has printed."""
        file = self.home / f"{unit}.log"
        return file.read_text("utf-8", "replace") if file.exists() else ""

    def topology_log(self, process: str) -> str:
        """A log of the topology's scheduler."""
        file = self.home / ".heronpy" / "topologies" / "lines" / "logs" / f"{process}.log"
        return file.read_text("utf-8", "replace")

    def _environment(self) -> dict[str, str]:
        path = (self._shared / "bin", Path(sys.executable).parent, os.environ["PATH"])
        temporary = self.home / "tmp"
        temporary.mkdir(exist_ok=True)
        java = {"JAVA_HOME": os.environ["JAVA_HOME"]} if "JAVA_HOME" in os.environ else {}
        return {
            "HOME": str(self.home),
            "USER": "heron",
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join(map(str, path)),
            "PYTHONPATH": str(REPOSITORY),
            **java,
        }


class ThreeMachines:
    """The machines, the page, and what the topology has written."""

    def __init__(self, network: Network, folder: Path) -> None:
        self.machines = {name: Machine(network.hosts[name], folder) for name in NAMES}
        self._srv = folder / "srv" / "heron"
        self._srv.mkdir(parents=True)
        hosts = [f"{each.address} {each.name}" for each in network.hosts.values()]
        (folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", *hosts, ""]))
        program = folder / "bin" / "systemctl"
        program.parent.mkdir()
        stand_in = Path(__file__).with_name("systemctl.py")
        program.write_text(STAND_IN.format(python=sys.executable, program=stand_in))
        program.chmod(0o755)

    def write_input(self) -> list[str]:
        """The topology's lines; returns the lines that it has to write."""
        lines = [f"line {number} of the file" for number in range(LINES)]
        (self._srv / "lines.txt").write_text("\n".join(lines) + "\n")
        return sorted(line.upper() for line in lines)

    def written(self) -> list[str]:
        """What is committed so far."""
        files = (self._srv / "capitals").rglob("*.txt")
        return sorted(line for each in files for line in each.read_text("utf-8").splitlines())

    def history(self) -> str:
        """The ends of all logs of units, for a failed test."""
        logs = [each for machine in self.machines.values() for each in machine.home.glob("*.log")]
        return "\n".join(
            f"--- {each}\n{each.read_text('utf-8', 'replace')[-3000:]}" for each in logs
        )


@pytest.fixture
def three() -> Iterator[ThreeMachines]:
    """Three machines without any server yet."""
    if (why := missing()) is not None:
        pytest.skip(why)
    with (
        tempfile.TemporaryDirectory(
            prefix=f"{PREFIX}hosts-{os.getpid()}-", suffix="-data", ignore_cleanup_errors=True
        ) as folder,
        Network(*NAMES, network="three") as network,
    ):
        yield ThreeMachines(network, Path(folder))


def blocks() -> list[tuple[str, str, str]]:
    """(language, machine, text) of the page's blocks; their first line names the machine."""
    found = []
    for language, text in BLOCK.findall(PAGE.read_text("utf-8")):
        first = text.splitlines()[0]
        found.append((language, first.removeprefix("# ") if language == "sh" else "", text))
    return found


@pytest.mark.timeout(1500)
def test_the_page_of_three_machines_survives_a_reboot(three: ThreeMachines) -> None:
    """Each line is written once, although a machine loses its power in between."""
    expected = three.write_input()
    prepare, servers, topology, start, look, upgrade = blocks()
    assert prepare[1] == PREPARED, "what is installed here already"
    try:
        assert servers[1] == EVERYWHERE
        for machine in three.machines.values():
            machine.shell(servers[2])
        wait(lambda: all("Successfully registered" in each.log("spark-worker")
                         for each in three.machines.values()), "the workers are there")  # fmt: skip
        one, two = three.machines["one"], three.machines["two"]
        (one.home / "lines.py").write_text(topology[2])
        assert (start[1], look[1], upgrade[1]) == ("on one", "on two", "on one")
        one.shell(start[2])
        wait(
            lambda: three.written() or "heronpy: " in one.log("lines"),
            "the first lines are written",
        )
        assert three.written(), one.log("lines")
        shown = two.shell(look[2])
        assert re.search(r"^lines +RUNNING", shown, re.MULTILINE), shown
        hosts = set(re.findall(r"^container \d on (\w+): ", shown, re.MULTILINE))
        assert hosts <= set(NAMES), shown
        assert len(hosts) > 1, "the containers are on several machines"
        lost = three.machines[_lost_machine(three, hosts)]
        lost.lose_power()
        wait(lambda: AGAIN.search(one.topology_log("spark")), "its container runs elsewhere")
        before = len(three.written())
        assert before < LINES, "the topology was through before the reboot"
        wait(lambda: len(three.written()) > before, "lines are written without the machine")
        lost.boot()
        assert len(three.written()) < LINES, "the topology was through before its new version"
        one.shell(upgrade[2])
        wait(lambda: len(three.written()) >= LINES, "all lines are written", END_SECS)
        assert three.written() == expected
        wait(lambda: ENDED.search(one.log("lines")), "the topology has ended")
    except BaseException as error:
        error.add_note(three.history())
        raise


def _lost_machine(three: ThreeMachines, hosts: set[str]) -> str:
    """A machine with a container, without the scheduler; the leader of the Spark masters if it can
    be: the driver hears of its end last."""
    candidates = sorted(hosts - {"one"})
    leaders = [each for each in candidates if LEADS in three.machines[each].log("spark-master")]
    return (leaders or candidates)[0]


def wait(condition: Callable[[], object], what: str, secs: float = SECS) -> None:
    """With a deadline for a busy machine."""
    until(lambda: bool(condition()), what, secs)
