"""What tests start dies with them, however they end."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.process.process_support import REPOSITORY, until

SLEEPS = "import time; time.sleep(1000)"
TESTS = f"""
import subprocess, sys
from tests.leftovers import leftovers
word, folder = sys.argv[1:]
def start(*words):
    return subprocess.Popen([sys.executable, "-c", *words], start_new_session=True)
# A leader is known by a word, and has a child that is not; another one is known by its session.
child = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]).wait()"
leader, other, ended = start(child, word), start({SLEEPS!r}), start({SLEEPS!r})
leftovers().add(word=word, folder=folder)
leftovers().add(session=other.pid)
leftovers().add(session=ended.pid)
leftovers().discard(session=ended.pid)
print(leader.pid, other.pid, ended.pid, flush=True)
sys.stdin.read()
"""


def lives(process: psutil.Process) -> bool:
    """Whether it runs: one that was killed may wait for a parent that never asks."""
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_what_tests_have_started_ends_with_them(tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    tests = subprocess.Popen(
        [sys.executable, "-c", TESTS, f"word-of-{tmp_path}", str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY,
    )  # fmt: skip
    with tests:
        assert tests.stdout is not None
        leader, other, ended = map(psutil.Process, map(int, tests.stdout.readline().split()))
        (child,) = until(leader.children, "the leader has a child")
        tests.send_signal(how)
    try:
        left = (leader, child, other)
        until(lambda: not any(map(lives, left)), "all of them end")
        until(lambda: not folder.exists(), "the folder goes")
        assert lives(ended), "the tests have ended that one, so its session is another's"
    finally:
        ended.kill()
