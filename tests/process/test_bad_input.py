"""Mistakes of users are answered by one line and an exit code, without a traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.process_support import EXAMPLES, TOPOLOGIES, Finished, Master, Place

SOUND = EXAMPLES / "at_least_once.py"
FAILING = TOPOLOGIES / "failing.py"

NOT_IMPORTABLE = """
from heronpy_compat import Bolt, Spout, Topology

class Numbers(Spout):
    outputs = ["number"]
    def next_tuple(self):
        self.finish()

def bolt():
    class Inside(Bolt):
        pass
    return Inside

class Mine(Topology):
    numbers = Numbers.spec()
    inside = bolt().spec(inputs=[numbers])
"""

NOT_THERE = """
from heronpy_compat import Bolt, Spout, Topology

class Numbers(Spout):
    outputs = ["number"]
    def next_tuple(self):
        self.finish()

class Gone(Bolt):
    def initialize(self, config, context):
        raise LookupError("no queue")
    def process(self, tup):
        self.ack(tup)

class Mine(Topology):
    numbers = Numbers.spec()
    gone = Gone.spec(inputs=[numbers])
"""

FILES = {
    "plain.txt": "just words",
    "broken.py": "def f(:\n",
    "empty.py": "x = 1\n",
    "raises.py": "import json\njson.loads('{')\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "missing_import.py": "import no_such_module\n",
    "dies.py": "import os\nos._exit(3)\n",
    "json.py": "x = 1\n",
    "inside.py": NOT_IMPORTABLE,
}


def one_line(finished: Finished, code: int) -> str:
    """The one line on stderr of a command failed before any start."""
    assert finished.code == code, finished.err
    assert finished.out == ""
    (line,) = finished.err.splitlines()
    assert line.startswith("heronpy: ")
    return line


@pytest.fixture
def files(place: Place) -> Path:
    folder = place.path / "files"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nowhere.py", "nowhere.py does not exist$"),
        ("nowhere", "nowhere does not exist: name a file .*-n"),
        ("", "is a directory: name the Python file"),
        ("plain.txt", "plain.txt is not a Python file"),
        ("broken.py", "broken.py:1: invalid syntax"),
        ("empty.py", "empty.py has no topology"),
        ("raises.py", "raises.py:2: JSONDecodeError"),
        ("exits.py", "exits.py:2: the program exits with 3"),
        ("missing_import.py", "missing_import.py:1: ModuleNotFoundError.*no_such_module"),
        ("dies.py", "dies.py: the process that imported the file ended"),
        ("json.py", "hides Python's own module 'json'"),
        ("inside.py", "class Inside.*'inside'.*move the class to the top"),
    ],
)
def test_a_file_that_is_no_topology(place: Place, files: Path, name: str, expected: str) -> None:
    """A typing error in the path, a wrong file, or a file with a mistake in it."""
    assert re.search(expected, one_line(place.heronpy("run", files / name), 2))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((TOPOLOGIES / "forever.py",), "2 topologies: choose one with -n Forever or Other"),
        ((SOUND, "-n", "Atleastonce"), "did you mean 'AtLeastOnce'"),
        ((SOUND, "-o", "topology.debug"), "'topology.debug' is not KEY=VALUE"),
        ((SOUND, "-o", "a=[1"), "not YAML"),
        ((SOUND, "-o", "topology.max.spout.pending=many"), "pending must be a whole number"),
        ((SOUND, "-o", "topology.message.timeout.secs=0"), "timeout.secs must be a positive"),
        ((SOUND, "-o", "topology.reliability.mode=TWICE"), "ATMOST_ONCE or ATLEAST_ONCE"),
        ((SOUND, "--containers", "3"), "has only 2 instances"),
        ((SOUND, "--containers", "0"), "--containers"),
        ((SOUND, "--containers", "two"), "--containers"),
        ((SOUND, "-t", "-1"), "--time"),
        ((SOUND, "-t", "nan"), "'nan' is not a number of seconds"),
        ((SOUND, "-o", f"x={'[' * 5000}"), "nested too deep"),
        ((SOUND, "-o", "topology.liveness.timeout.secs=1e308"), "timeout.secs must be at most"),
        ((SOUND, "-N", "a/b"), "'a/b' must be a word"),
        ((SOUND, "--zookeeper", "no where"), "--zookeeper 'no where' is not HOST:PORT"),
        ((SOUND, "--nonsense"), "--nonsense"),
        ((), "FILE"),
    ],
)
def test_wrong_options(place: Place, arguments: tuple[object, ...], expected: str) -> None:
    """A word on the command line is wrong: the error names the word, with the right ones."""
    assert re.search(expected, one_line(place.heronpy("run", *arguments), 2))


def test_ulimit_n_24_is_told_before_anything_starts(place: Place) -> None:
    """As a shell or a unit file may set it."""
    words = ("run", SOUND)
    limited = ("sh", "-c", 'ulimit -n 24; exec "$0" -m heron_cli "$@"', sys.executable, *words)
    run = subprocess.run(
        limited, env=place.environment, capture_output=True, text=True, check=False
    )
    line = one_line(Finished(run.returncode, run.stdout, run.stderr), 2)
    assert "24 open files" in line
    place.nothing_is_left()


def test_a_zookeeper_that_is_not_there(place: Place) -> None:
    """--zookeeper names a port without a listener: the command gives up after five seconds."""
    line = one_line(place.heronpy("run", SOUND, "--zookeeper", "127.0.0.1:1"), 1)
    assert "no ZooKeeper answers at 127.0.0.1:1" in line
    place.nothing_is_left()


def test_a_home_that_is_a_file(place: Place) -> None:
    """HERONPY_HOME names a file by mistake."""
    place.home.write_text("not a directory")
    assert str(place.home) in one_line(place.heronpy("run", SOUND), 1)


def test_a_class_that_cannot_be_imported_or_does_not_start(place: Place) -> None:
    """Deleted after the topology was defined, the class is missed at the load of the file; errors
    found only by an instance make the topology fail after the restart limit."""
    file = place.path / "gone.py"
    file.write_text(f"{NOT_THERE}\ndel Gone\n")
    line = one_line(place.heronpy("run", file), 2)
    assert line == "heronpy: bolt 'gone': module gone has no class 'Gone'"
    file.write_text(NOT_THERE)
    finished = place.heronpy("run", file, "-o", "topology.restart.limit=1")
    assert finished.code == 1
    assert "Traceback" not in finished.err
    (error,) = finished.errors
    assert "gone[0] (task 2)" in error
    assert "LookupError: no queue" in error
    assert "gone.py:11" in error
    assert str(place.logs("Mine") / "gone-2.log") in error
    place.nothing_is_left()


def test_a_name_that_is_in_use(place: Place) -> None:
    """Two runs at once under one name: the second is refused, the first goes on unharmed."""
    arguments = (TOPOLOGIES / "forever.py", "-n", "Forever")
    first = place.start("run", *arguments)
    with Master(place.store_url, "Forever") as master:
        first.until(lambda: master.processed("add") > 0, "tuples are processed")
        line = one_line(place.heronpy("run", *arguments), 1)
        assert "'Forever' is already running" in line
        assert "with -N" in line
        before = master.processed("add")
        first.until(lambda: master.processed("add") > before, "the first goes on")
        place.heronpy("run", *arguments, "-N", "Second", "-t", 0.5).succeeded()
    first.end()
    place.nothing_is_left()


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        ("NotSerialisable", r"numbers.things: the value of field 'thing' \(a _thread.lock\)"),
        ("WrongWidth", r"numbers.default: emitted 2 values for the 1 fields \['number'\]"),
        ("TooLarge", r"numbers.default: a tuple of 200\d\d bytes is over the limit of 10000"),
    ],
)
def test_a_value_that_cannot_be_emitted(place: Place, topology: str, expected: str) -> None:
    """One emit of twenty is wrong: an exception in the component and a report; the remaining emits
    go on."""
    finished = place.heronpy("run", FAILING, "-n", topology)
    finished.incomplete("numbers: 1 error outside of a tuple")
    (told,) = (line for line in finished.err.splitlines() if line.startswith("numbers: "))
    assert told.startswith("numbers: 1 error, last: ")
    assert re.search(expected, told)
    assert re.search(expected, place.log(topology, "numbers-1"))
    assert re.search(r"keep +1 .* 19 ", finished.err), "the other tuples were not processed"
