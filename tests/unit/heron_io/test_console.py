"""The console of a foreground run: no line is lost, cut or mixed with another one."""

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from heron_io import console
from heron_io.console import ConsoleReader, ConsoleStream, ConsoleWriter, open_pipe

PRINTING = """
import logging, os, sys
from heron_io import logs
from heron_io.processes import fork_child

def main(lifeline):
    logs.log_to(sys.argv[1], sys.argv[3], console=int(sys.argv[2]), console_level=logging.WARNING)
    for number in range(200):
        print(number, "x" * (number * 997 % 20_000))
    print("to stderr", file=sys.stderr)
    sys.stdout.buffer.write(b"not text: \\xff\\n")
    logging.getLogger("users").info("not shown")
    logging.getLogger("users").warning("shown")
    logging.getLogger("heron_io").warning("of the engine")
    print("without an end", end="")
    return 0

os.waitpid(fork_child("printing", main, killed_with_parent=False).pid, 0)
"""


def read_all(reading: int) -> list[tuple[ConsoleStream, str]]:
    """Until all writers are gone."""
    reader = ConsoleReader()
    lines: list[tuple[ConsoleStream, str]] = []
    os.set_blocking(reading, True)
    while data := os.read(reading, 65536):
        lines += reader.feed(data)
    os.close(reading)
    return lines


def test_what_several_processes_print_arrives_whole_and_in_order(tmp_path: Path) -> None:
    reading, writing = open_pipe()
    children = [
        subprocess.Popen(
            [sys.executable, "-c", PRINTING, str(tmp_path / f"{name}.log"), str(writing), name],
            cwd=Path(__file__).parents[3],
            pass_fds=(writing,),
        )
        for name in ("a", "b", "c")
    ]
    os.close(writing)
    lines = read_all(reading)
    assert [child.wait() for child in children] == [0, 0, 0]
    printed = [f"{number} {'x' * (number * 997 % 20_000)}" for number in range(200)]
    expected = [
        *((ConsoleStream.OUT, line) for line in printed),
        (ConsoleStream.ERR, "to stderr"),
        (ConsoleStream.OUT, "not text: \\xff"),
        (ConsoleStream.ERR, "WARNING shown"),
        (ConsoleStream.OUT, "without an end"),
    ]
    for name in ("a", "b", "c"):
        own = [(stream, text[4:]) for stream, text in lines if text.startswith(f"{name} | ")]
        assert own == expected
        log = (tmp_path / f"{name}.log").read_text()
        assert all(line in log for line in [*printed, "not shown", "without an end"])
    assert len(lines) == 3 * len(expected)


def test_a_console_that_is_not_read_holds_nobody_up_for_long_and_tells_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command line was stopped by Ctrl-Z: its pipe fills, the bolts go on."""
    monkeypatch.setattr(console, "WAIT_SECS", 0.05)
    reading, writing = open_pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    writer = ConsoleWriter(writing, "chatty")
    for number in range(1000):
        writer.line(ConsoleStream.OUT, f"line {number}")
    reader = ConsoleReader()
    shown = [line for _, line in reader.feed(os.read(reading, 65536))]
    assert shown == [f"chatty | line {number}" for number in range(len(shown))]
    assert 0 < len(shown) < 1000
    writer.line(ConsoleStream.OUT, "later")
    missing = (
        f"({1000 - len(shown)} lines skipped because the terminal was too slow; the log has "
        "all lines)"
    )
    assert list(reader.feed(os.read(reading, 65536))) == [
        (ConsoleStream.ERR, f"chatty | {missing}"),
        (ConsoleStream.OUT, "chatty | later"),
    ]
    os.close(reading)
    writer.line(ConsoleStream.OUT, "the run is over")
    os.close(writing)


def test_a_slow_reader_gets_every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "WAIT_SECS", 30.0)
    reading, writing = open_pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    lines: list[tuple[ConsoleStream, str]] = []
    thread = threading.Thread(target=lambda: lines.extend(read_all(reading)))
    thread.start()
    writer = ConsoleWriter(writing, "chatty")
    sent = ["", "\u00e9" * 10_000, *(f"line {number}" for number in range(2000))]
    for line in sent:
        writer.line(ConsoleStream.OUT, line)
    os.close(writing)
    thread.join()
    assert lines == [(ConsoleStream.OUT, f"chatty | {line}") for line in sent]


def test_a_line_whose_process_was_killed_in_the_middle_is_not_glued_to_another() -> None:
    first = next(iter(console._chunks(7, ConsoleStream.OUT, b"x" * 10_000)))
    again = b"".join(console._chunks(7, ConsoleStream.OUT, b"whole"))
    assert list(ConsoleReader().feed(first + again)) == [(ConsoleStream.OUT, "whole")]
