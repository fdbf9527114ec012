"""Tests are divided among processes so that none waits for another at the end."""

import subprocess
import sys
from pathlib import Path

from tests.by_server import FIRST, REPOSITORY, SERVERS, rank, unit_of


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


def test_each_server_is_asked_for_by_some_file() -> None:
    """Else its name has changed, and each process starts one of its own."""
    for folder, servers in SERVERS.items():
        files = [each.relative_to(REPOSITORY) for each in (REPOSITORY / folder).glob("test_*.py")]
        units = {unit_of(each.as_posix()) for each in files}
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
