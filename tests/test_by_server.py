"""Tests are divided among processes so that none waits for another at the end."""

import re
import subprocess
import sys
from pathlib import Path

from tests.by_server import (
    FIRST,
    LONGEST,
    REPOSITORY,
    SERVERS,
    SHORT,
    WAITING,
    rank,
    unit_of,
    waits,
)


def test_files_that_ask_for_a_server_are_one_unit_and_any_other_is_its_own() -> None:
    session = {
        unit_of(f"tests/spark/{name}.py") for name in ("test_spark_engine", "test_time_zones")
    }
    assert session == {"tests/spark with spark"}
    assert unit_of("tests/spark/test_scheduler_conformance.py") == (
        "tests/spark with standalone_cluster"
    )
    assert unit_of("tests/spark/test_flights_on_spark.py") == "tests/spark/test_flights_on_spark.py"
    assert unit_of("tests/unit/heron_core/test_messages.py").endswith("test_messages.py")


def test_a_test_of_processes_is_a_unit_unless_it_shares_something() -> None:
    commands = "tests/process/test_commands.py::test_commands_find_a_topology_through_zookeeper"
    assert unit_of(commands) == "tests/process with running_zookeeper"
    alone = "tests/process/test_commands.py::test_a_topology_that_does_not_run[stats]"
    assert unit_of(alone) == alone
    assert unit_of("tests/process/test_aurora.py::test_a[1]") == "tests/process/test_aurora.py"
    assert unit_of("tests/unit/test_a.py::test_b") == "tests/unit/test_a.py"


def test_files_whose_tests_are_units_have_no_fixture_of_several_tests() -> None:
    """Else several processes would make it."""
    for folder, shared in SHORT.items():
        files = [*(REPOSITORY / folder).glob("test_*.py")]
        texts = {each.name: each.read_text("utf-8") for each in files}
        asking = {name for name, text in texts.items() if f"{shared}: " in text}
        assert asking
        assert {name for name, text in texts.items() if "(scope=" in text} == asking


def test_tests_that_wait_are_those_of_the_folders_with_processes() -> None:
    assert waits(unit_of("tests/spark/test_time_zones.py"))
    assert waits("tests/process/test_nimbus.py::test_a")
    assert not waits("tests/unit/heron_core/test_messages.py")
    assert not waits("tests/processes/test_a.py")
    assert all((REPOSITORY / "tests" / each).is_dir() for each in WAITING)


def names_in(file: Path) -> list[str]:
    return re.findall(r"^def (test_\w+)\(", (REPOSITORY / file).read_text("utf-8"), re.MULTILINE)


def test_each_server_is_asked_for_by_some_file() -> None:
    """Else its name has changed, and each process starts one of its own."""
    for folder, servers in SERVERS.items():
        files = [each.relative_to(REPOSITORY) for each in (REPOSITORY / folder).glob("test_*.py")]
        units = {unit_of(f"{each.as_posix()}::{name}") for each in files for name in names_in(each)}
        assert units >= {f"{folder} with {server}" for server in servers}


def test_what_takes_longest_begins() -> None:
    ranks = [rank(REPOSITORY / "tests" / name) for name in ("spark/test_a.py", "unit/a/test_b.py")]
    assert ranks == sorted(ranks)
    assert ranks[0] < ranks[1]
    assert rank(Path(__file__)) == ranks[1]
    every = [rank(REPOSITORY / each) for each in FIRST]
    assert every == sorted(every)
    assert every[-1] < ranks[0]
    assert all((REPOSITORY / each).exists() for each in FIRST)
    longest = [rank(each) for name in LONGEST for each in (REPOSITORY / "tests").rglob(name)]
    assert len(longest) >= len(LONGEST)
    assert rank(REPOSITORY / "tests/process/test_limits.py") > max(
        rank(REPOSITORY / "tests/process" / name) for name in LONGEST
    )


KINDS = """
import pytest
from pathlib import Path

@pytest.mark.parametrize("number", range(3))
def test_each(number, worker_id):
    with Path({log!r}).open("a") as file:
        print(worker_id, "{kind}", file=file)
"""


HERE = """
from pathlib import Path
from tests import by_server
by_server.REPOSITORY = Path(__file__).parent
"""


def test_one_process_calculates_while_the_others_wait(tmp_path: Path) -> None:
    """And none is idle once one kind of tests is at its end."""
    (tmp_path / "pytest.ini").write_text(f"{INI}{REPOSITORY}\n")
    (tmp_path / "conftest.py").write_text(f"{PLUGINS}\n{HERE}")
    log = tmp_path / "log"
    for kind in ("process", "unit"):
        (tmp_path / "tests" / kind).mkdir(parents=True)
        for number in range(4):
            file = tmp_path / "tests" / kind / f"test_{kind}_{number}.py"
            file.write_text(KINDS.format(log=str(log), kind=kind))
    command = [sys.executable, "-m", "pytest", *OPTIONS, "tests/process", "tests/unit"]
    ended = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "24 passed" in ended.stdout, ended.stdout
    first: dict[str, str] = {}
    for worker, kind in map(str.split, log.read_text().splitlines()):
        first.setdefault(worker, kind)
    assert sorted(first.values()) == ["process", "unit"]


HANGS = """
import signal
import threading
import pytest

def wait():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    threading.Event().wait()

@pytest.fixture
def never_over():
    yield
    wait()

def test_before(): pass
def test_hangs(): wait()
def test_behind(): pass
def test_fails(never_over): raise ValueError
def test_last(): pass
"""
PLUGINS = """
from tests import hung
from tests.by_server import ByServer

hung.GRACE_SECS = 1.0

def pytest_configure(config):
    config.pluginmanager.register(hung)

def pytest_xdist_make_scheduler(config, log):
    return ByServer(config, log)
"""
OPTIONS = ("--numprocesses", "2", "-p", "no:randomly", "-p", "no:cacheprovider")
INI = "[pytest]\ntimeout = 1\npythonpath = "


def test_a_test_that_no_exception_ends_fails_by_its_name_and_all_others_run(tmp_path: Path) -> None:
    """As pytest-timeout's signal does not reach it, in the test or behind it."""
    (tmp_path / "pytest.ini").write_text(f"{INI}{REPOSITORY}\n")
    (tmp_path / "conftest.py").write_text(PLUGINS)
    (tmp_path / "test_hangs.py").write_text(HANGS)
    command = [sys.executable, "-m", "pytest", *OPTIONS, str(tmp_path)]
    ended = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 1, ended.stdout
    assert "3 failed, 3 passed" in ended.stdout, ended.stdout
    for test in ("test_hangs", "test_fails"):
        assert f"crashed while running 'test_hangs.py::{test}'" in ended.stdout
    assert ended.stderr.count("Timeout (0:00:02)!") == 2
