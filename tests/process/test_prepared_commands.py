"""A command that the prepared Python has forked is as one that Python was started for."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.process.prepared_commands import Forked, start_command
from tests.process.process_support import EXAMPLES, Place, Running

SEEN = """
import json, os, re, signal, sys, tempfile
of_command = f"/proc/{os.getppid()}/fd"
def of_file(number):
    # Without what differs from run to run, and without files and folders of a current import.
    try:
        name = os.readlink(f"{of_command}/{number}")
    except OSError:
        return ""
    kinds = ("/dev", "pipe", "socket", "anon_inode", os.path.dirname(os.environ["TEST_RESULTS"]))
    return re.sub(r"-\\d+.txt|:.*", "", name) if name.startswith(kinds) else ""
handlers = (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD)
facts = {
    "folder": os.getcwd(), "path": sys.path, "arguments": sys.argv[1:],
    "original": sys.orig_argv[1:], "session": os.getsid(0) == os.getpgid(0) == os.getppid(),
    "temporary": tempfile.gettempdir(), "environment": dict(os.environ),
    "handlers": {each.name: repr(signal.getsignal(each)) for each in handlers},
    "input": os.readlink("/proc/self/fd/0"), "is_buffered": sys.stdout.line_buffering,
    "descriptors": sorted(each for each in map(of_file, os.listdir(of_command)) if each),
}
with open(os.path.join(os.environ["TEST_RESULTS"], "seen.json"), "w") as file:
    json.dump(facts, file)
"""


@contextmanager
def ignored(number: signal.Signals) -> Iterator[None]:
    """A signal that is ignored, as nohup has it."""
    before = signal.signal(number, signal.SIG_IGN)
    yield
    signal.signal(number, before)


def ended(place: Place, *arguments: object) -> Running:
    running = place.start(*arguments)
    running.wait()
    return running


@pytest.mark.parametrize("signals", [[], [signal.SIGHUP, signal.SIGINT]])
def test_a_topology_s_file_sees_the_same(
    place: Place, signals: list[signal.Signals], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folder, path, arguments, environment, signals and descriptors."""
    monkeypatch.setattr("tests.process.prepared_commands._begun", set())
    file = place.path / "seen.py"
    file.write_text(SEEN)
    kinds, seen = [], []
    for _ in range(3):
        with ExitStack() as before:
            for each in signals:
                before.enter_context(ignored(each))
            running = ended(place, "run", file, "-o", "a=b")
        assert "has no topology" in running.err, running.err
        kinds.append(type(running.process))
        seen.append(place.results()["seen"])
    assert kinds == [subprocess.Popen, Forked, Forked]
    assert ("SIG_IGN" if signals else "SIG_DFL") in seen[0]["handlers"]["SIGHUP"]
    assert seen[0] == seen[1] == seen[2]


def test_its_end_is_known(place: Place) -> None:
    """By the exit code, or by the signal; a signal for a process that has ended goes nowhere."""
    for _ in range(2):
        assert place.heronpy("list").code == 0
        failed = ended(place, "list", "--no-such-option")
        assert failed.process.poll() == 2
        failed.process.kill()
    assert isinstance(failed.process, Forked)
    with (place.path / "told").open("wb") as told:
        arguments = ("list", str(EXAMPLES))
        process = start_command(arguments, place.path, place.environment, told, told)
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        assert process.poll() is None
        process.kill()
        assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("variable", ["HERONPY_NATIVE", "HERONPY_STREAMPARSE", "PYTHONPATH", "TZ"])
def test_what_imports_see_has_a_python_of_its_own(place: Place, variable: str) -> None:
    ended(place, "list")
    assert isinstance(ended(place, "list").process, Forked)
    place.environment[variable] = f"{place.environment.get(variable, '')}:"
    assert isinstance(ended(place, "list").process, subprocess.Popen)


def test_the_first_call_of_each_command_has_a_python_of_its_own(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that each imports all that it needs."""
    monkeypatch.setattr("tests.process.prepared_commands._begun", set())
    assert isinstance(ended(place, "list").process, subprocess.Popen)
    assert isinstance(ended(place, "list").process, Forked)
    assert isinstance(ended(place, "stats", json.dumps("x")).process, subprocess.Popen)
