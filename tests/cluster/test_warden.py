"""Nothing of the servers outlives the tests, however these end."""

import json
import subprocess
import sys
from pathlib import Path

import psutil

from tests.process.process_support import until

WARDEN = Path(__file__).with_name("warden.py")
# A container: a session of its own, and its parent is gone.
SERVER = "setsid sleep 1000 & echo $! > {pid}; exit 0"
TESTS = f"""
import subprocess, sys
pipes = {{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}}
warden = subprocess.Popen([sys.executable, {str(WARDEN)!r}], text=True, **pipes)
print(sys.argv[1], file=warden.stdin, flush=True)
warden.stdout.readline()
print(warden.pid, flush=True)
warden.wait()
"""


def test_kill_9_of_the_tests_ends_what_servers_left_behind(tmp_path: Path) -> None:
    left = tmp_path / "pid"
    command = ["/bin/sh", "-c", SERVER.format(pid=left)]
    order = {"command": command, "environment": {}, "log": str(tmp_path / "log")}
    tests = subprocess.Popen(
        [sys.executable, "-c", TESTS, json.dumps(order)], stdout=subprocess.PIPE, text=True
    )
    assert tests.stdout is not None
    with tests.stdout as out:
        warden = psutil.Process(int(out.readline()))
    orphan = psutil.Process(
        int(until(lambda: left.read_text() if left.exists() else "", "it runs"))
    )
    until(lambda: orphan.ppid() == warden.pid, "the warden is its parent")
    tests.kill()
    tests.wait()
    until(lambda: not orphan.is_running() and not warden.is_running(), "nothing is left")
