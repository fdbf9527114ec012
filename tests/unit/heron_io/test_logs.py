"""Logs of a process: what is printed ends there, and they do not grow without end."""

import json
import logging
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from heron_core.config import LogSettings, log_settings
from heron_core.errors import TopologyError
from heron_io.logs import JsonLines

CHATTY = """
import os, sys
from heron_core.config import LogSettings
from heron_io import logs
logs.log_to(sys.argv[1], "chatty", settings=LogSettings(bytes_max=2000, files=2))
before = len(os.listdir("/proc/self/fd"))
for number in range(600):
    print("line", number)
os.write(2, b"written by C code\\n")
after = len(os.listdir("/proc/self/fd"))
sys.exit(0 if before == after else 3)
"""

TIMED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00 INFO line \d+$")


def _run(*arguments: str, **options: object) -> "subprocess.CompletedProcess[bytes]":
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", CHATTY, *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, check=True, **options)  # type: ignore[call-overload, no-any-return]


def test_a_chatty_bolt_does_not_fill_the_disk(tmp_path: Path) -> None:
    """A forgotten debug print in a bolt that runs for months."""
    log = tmp_path / "chatty.log"
    done = _run(str(log))
    assert (done.stdout, done.stderr) == (b"", b"")
    files = sorted(each.name for each in tmp_path.iterdir())
    assert files == ["chatty.log", "chatty.log.1", "chatty.log.2"]
    assert all(each.stat().st_size < 2200 for each in tmp_path.iterdir())
    assert all(TIMED.match(line) for line in log.read_text().splitlines()[1:-1])
    last = log.read_text()
    assert "line 599" in last
    assert last.endswith("written by C code\n")


def test_limits_of_logs_are_keys_of_the_topology() -> None:
    """A host with a small disk, and one whose users want the lines of a week."""
    given = {"topology.log.maximum.size": "2MB", "topology.log.maximum.files": 12}
    assert log_settings(given) == LogSettings("text", 2 * 1024 * 1024, 12)
    assert log_settings({}) == LogSettings()
    for key, wrong in (("size", "1KB"), ("size", 0), ("files", 0), ("files", 5000)):
        with pytest.raises(TopologyError, match=rf"topology\.log\.maximum\.{key} must be"):
            log_settings({f"topology.log.maximum.{key}": wrong})


def test_lines_of_json_say_what_happened_where() -> None:
    """For programs that collect logs: one object a line, whatever a message holds."""
    lines = JsonLines(process="count[0]")
    try:
        raise ValueError("two\nlines")
    except ValueError:
        error = sys.exc_info()
    record = logging.LogRecord("x", logging.ERROR, "f.py", 7, 'a "%s"', ("ü\n",), error)
    line = lines.format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert (found["level"], found["process"], found["message"]) == ("ERROR", "count[0]", 'a "ü\n"')
    assert datetime.fromisoformat(found["time"]).timestamp() == pytest.approx(record.created, abs=1)
    assert found["traceback"].endswith("ValueError: two\nlines")


def test_lines_of_json_have_what_was_logged_beside_the_message() -> None:
    """logger.info("paid", extra={"order": 7}): programs that collect logs look for it."""
    record = logging.makeLogRecord({"msg": "paid", "order": 7, "pid": "x", "when": {1}})
    found = json.loads(JsonLines(process="count[0]").format(record))
    assert (found["order"], found["extra.pid"], found["when"]) == (7, "x", "{1}")
