"""The unmodified sparse of the installed streamparse against `heronpy nimbus`: a project as
`sparse quickstart` makes it is submitted, listed, looked at, replaced and killed."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.process.process_support import DEADLINE_SECS, GONE_SECS, Place, Running, until

QUICKSTART = "from streamparse.bootstrap import quickstart; quickstart('my_words')"
NEXT_WORD = "        word = next(self.words)\n"
PACE = """\
        self.sent = getattr(self, "sent", 0) + 1
        __import__("time").sleep(0.2 if self.sent % 200 == 0 else 0.0)
"""
"""The project's spout emits as fast as it can, and so takes the cores from the commands: here 200
words at once, and a pause."""
COMMAND_SECS = 120.0
"""sparse itself waits a minute for an answer."""
STATISTICS = """
import sys
from streamparse.cli.slot_usage import display_slot_usage
from streamparse.cli.stats import display_stats
from streamparse.cli.worker_uptime import display_worker_uptime
name = sys.argv[1]
display_stats("prod")
display_stats("prod", name)
display_stats("prod", name, "count_bolt")
display_worker_uptime("prod")
display_slot_usage("prod")
"""
"""Calls of the commands stats, worker_uptime and slot_usage. The commands themselves first compare
versions in a way refused by today's setuptools, and end before a request."""
TAIL = """
import subprocess, sys
from streamparse.util import activate_env, get_logfiles_cmd
activate_env("prod")
command = get_logfiles_cmd(topology_name=sys.argv[1], pattern="count_bolt") + " | xargs tail -n 5"
print(subprocess.run(["sh", "-c", command], text=True, capture_output=True, check=True).stdout)
"""
"""Command of `sparse tail -p count_bolt`, run by ssh on each host of Nimbus, here on this
machine."""


@dataclass(frozen=True, slots=True)
class Sparse:
    """A project, and the command in it."""

    place: Place
    project: Path
    nimbus: Running
    port: str

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """sparse to its end."""
        return self.python(["-m", "streamparse.cli.sparse", *words])

    def python(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        """A program with the installed streamparse."""
        return subprocess.run(
            [sys.executable, "-W", "ignore", *words],
            cwd=self.project,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=COMMAND_SECS,
            check=False,
        )

    def environment(self) -> dict[str, str]:
        """sparse needs a permission for root, and a lein on the path."""
        path = f"{self.place.path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {
            **self.place.environment,
            "PATH": path,
            "LEIN_ROOT": "1",
            "HERONPY_STREAMPARSE": "",
        }

    def submit(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Under the name of the place; sparse waits a minute for the answers of a busy machine."""
        return self.call(
            "submit", "-n", "wordcount", "-N", self.place.name, "--timeout", "60000", *words
        )

    def listed(self) -> str:
        """Output of `sparse list`, without the table's breaks in words."""
        done = self.call("list", "--timeout", "60000")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def is_over(self) -> bool:
        """Whether no topology runs."""
        return "No topologies found." in self.listed()

    def configure(self, **more: object) -> None:
        """config.json, whose only environment is prod."""
        environment = {
            "nimbus": f"127.0.0.1:{self.port}", "use_ssh_for_nimbus": False,
            "use_virtualenv": False, "workers": [], "log": {"level": "info"}, **more,
        }  # fmt: skip
        (self.project / "config.json").write_text(
            json.dumps(
                {
                    "serializer": "json", "topology_specs": "topologies/",
                    "virtualenv_specs": "virtualenvs/", "envs": {"prod": environment},
                }
            )
        )  # fmt: skip


def port_of(service: Running) -> str:
    found = service.until(lambda: re.search(r"at \S+?:(\d+)", service.out), "it serves")
    return found[1]


@pytest.fixture
def sparse(place: Place) -> Iterator[Sparse]:
    """A Nimbus, and a project configured for Nimbus."""
    written = place.heronpy("nimbus", "--lein", place.path / "bin").succeeded()
    assert "put" in written.out
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", QUICKSTART],
        cwd=place.path,
        env={**place.environment, "HERONPY_STREAMPARSE": ""},
        stdout=subprocess.DEVNULL,
        timeout=DEADLINE_SECS,
        check=True,
    )
    project = place.path / "my_words"
    spout = project / "src" / "spouts" / "words.py"
    text = spout.read_text()
    assert text.count(NEXT_WORD) == 1
    spout.write_text(text.replace(NEXT_WORD, PACE + NEXT_WORD))
    nimbus = place.start("nimbus", "--port", "0")
    made = Sparse(place, project, nimbus, port_of(nimbus))
    made.configure()
    yield made
    nimbus.signal()
    finished = nimbus.wait()
    assert "Traceback" not in finished.err, finished.err
    place.nothing_is_left(GONE_SECS)


def counted(sparse: Sparse) -> bool:
    """Whether the bolts of the project count."""
    logs = "".join(sparse.place.log(sparse.place.name, f"count_bolt-{task}") for task in (2, 3))
    return "counted [" in logs


def test_a_project_is_submitted_looked_at_replaced_and_killed(sparse: Sparse) -> None:
    """Each by the command that a user of Storm types."""
    done = sparse.submit()
    assert done.returncode == 0, done.stderr + sparse.nimbus.err
    until(lambda: counted(sparse), "words are counted")
    assert "ACTI" in sparse.listed()
    again = sparse.submit()
    assert again.returncode != 0
    assert "is an invalid name" in again.stderr
    replaced = sparse.submit("--force", "--wait", "1", "--inactive")
    assert replaced.returncode == 0, replaced.stderr + sparse.nimbus.err
    assert "Killed." in replaced.stdout
    until(lambda: "INAC" in sparse.listed(), "it is inactive")
    killed = sparse.call("kill", "-n", sparse.place.name, "--wait", "0")
    assert killed.returncode == 0, killed.stderr
    until(sparse.is_over, "it is killed")
    gone = sparse.call("kill", "-n", sparse.place.name)
    assert "NotAliveException" in gone.stderr
    assert f"no topology called '{sparse.place.name}' is running" in gone.stderr


def test_the_numbers_come_from_the_ui(sparse: Sparse) -> None:
    """stats, worker_uptime and slot_usage ask Storm's REST, which is `heronpy ui`'s; tail reads the
    files of the folder that Nimbus names."""
    ui = sparse.place.start("ui", "--port", "0")
    sparse.configure(**{"ui.port": int(port_of(ui))})
    assert sparse.submit().returncode == 0, sparse.nimbus.err
    name = sparse.place.name

    def shown() -> bool:
        done = sparse.python(["-c", STATISTICS, name])
        return done.returncode == 0 and "word_spout" in done.stdout and "[3-3]" in done.stdout

    until(shown, "the numbers are shown")
    until(lambda: "counted [" in sparse.python(["-c", TAIL, name]).stdout, "logs are found")
    sparse.call("kill", "-n", name, "--wait", "0")
    until(sparse.is_over, "it is killed")
    ui.signal()
    ui.wait()


def test_what_is_wrong_with_a_project_is_said_to_sparse(sparse: Sparse) -> None:
    """In the line that `heronpy submit` would print."""
    (sparse.project / "src" / "bolts" / "wordcount.py").write_text(
        (sparse.project / "src" / "bolts" / "wordcount.py")
        .read_text()
        .replace("def process(", "def proces(")
    )
    done = sparse.submit()
    assert "InvalidTopologyException" in done.stderr
    assert "bolt 'count_bolt': class WordCountBolt defines no process" in done.stderr
    assert sparse.is_over()


def test_topologies_outlive_nimbus(sparse: Sparse) -> None:
    """Their code as well, and the next Nimbus knows them."""
    assert sparse.submit().returncode == 0, sparse.nimbus.err
    until(lambda: f"{sparse.place.name} is up" in sparse.nimbus.err, "it is up")
    sparse.nimbus.signal()
    sparse.nimbus.wait()
    again = sparse.place.start("nimbus", "--port", sparse.port)
    port_of(again)
    assert "ACTI" in sparse.listed()
    sparse.call("kill", "-n", sparse.place.name, "--wait", "0")
    until(sparse.is_over, "it is killed")
    again.signal()
    again.wait()


def test_a_second_nimbus_and_other_addresses_are_refused(sparse: Sparse) -> None:
    """In one line each."""
    second = sparse.place.heronpy("nimbus", "--port", "0")
    assert "another `heronpy nimbus` serves the state store" in second.errors[0]
    taken = sparse.place.heronpy("nimbus", "--port", sparse.port)
    assert f"port {sparse.port} cannot be used" in taken.errors[0]
    outside = sparse.place.heronpy("nimbus", "--host", "0.0.0.0")
    assert "ssh -NL 6627:localhost:6627" in outside.errors[0]
    assert [each.code for each in (second, taken, outside)] == [1, 1, 2]
