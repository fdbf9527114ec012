"""Bolts in other languages, as whole topologies: their children die, and every line is acked."""

import shutil
import sys
from contextlib import suppress

import psutil
import pytest

from tests.process.process_support import TOPOLOGIES, Place, Running, until

CHILDREN = TOPOLOGIES.parent / "multilang_children"
LINES = 200

_COMMANDS = {
    "sh": f"sh {CHILDREN}/split.sh",
    "node": f"node {CHILDREN}/split.js",
    "pystorm": f"{sys.executable} {CHILDREN}/split_pystorm.py json",
    "pystorm over msgpack": f"{sys.executable} {CHILDREN}/split_pystorm.py msgpack",
}
LANGUAGES = [name for name in _COMMANDS if name != "node" or shutil.which("node")]
"""A machine may have no node; sh and Python are there."""


def child_of(running: Running, command: str) -> psutil.Process | None:
    """The child with `command`, called so only after its exec."""
    instance = running.process_called("heron: split[0]")
    with suppress(psutil.Error):
        for each in instance.children() if instance else ():
            if each.cmdline()[-len(command.split()) + 1 :] == command.split()[1:]:
                return each
    return None


def start(place: Place, language: str, *options: str) -> tuple[Running, psutil.Process]:
    """A run whose child holds one line, and the child, once all further lines are acked."""
    command = _COMMANDS[language]
    place.environment["TEST_COMMAND"] = command
    place.environment["TEST_SERIALIZER"] = "msgpack" if "msgpack" in language else "json"
    running = place.start("run", TOPOLOGIES / "multilang_words.py", *options)
    running.until(lambda: place.results_of("lines"), "all but one of the first lines are acked")
    return running, running.until(lambda: child_of(running, command), "the child")


def check_the_end(place: Place, running: Running) -> None:
    """Every line is acked, one was replayed, each word is counted, without leftovers."""
    running.wait().succeeded()
    (lines,) = place.results_of("lines").values()
    assert lines == {"acked": LINES, "failed": {"50": 1}, "ended": True}
    (counts,) = place.results_of("count").values()
    assert counts == {"the": LINES, "line": LINES, **{str(each): 1 for each in range(LINES)}}
    place.nothing_is_left()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_killed_child_is_followed_by_another_and_every_line_is_acked(
    place: Place, language: str
) -> None:
    """kill -9: the held line fails at once, long before the message timeout of 30 s; the instance
    goes on."""
    running, child = start(place, language)
    instance = running.process_called("heron: split[0]")
    assert instance is not None
    child.kill()
    check_the_end(place, running)
    log = place.log("MultilangWords", "split-2")
    assert f"(pid {child.pid}) was killed by SIGKILL; failed tuples of the child: 1" in log
    assert "the child is restarted at once" in log


def test_kill_9_of_the_instance_takes_the_child_along(place: Place) -> None:
    """The successor has a new child."""
    running, child = start(place, "sh")
    instance = running.process_called("heron: split[0]")
    assert instance is not None
    instance.kill()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, "it dies too")
    successor = running.until(lambda: child_of(running, _COMMANDS["sh"]), "the next child")
    assert successor.pid != child.pid
    running.end()
    place.nothing_is_left()


def test_a_spout_in_a_child_replays_what_fails_and_finishes(place: Place) -> None:
    """Every seventh of 50 numbers fails once; the child hears of each ack before the run ends."""
    command = f"{sys.executable} {CHILDREN}/numbers_pystorm.py"
    place.environment["TEST_COMMAND"] = command
    place.heronpy("run", TOPOLOGIES / "multilang_numbers.py").succeeded()
    assert place.results()["acked"] == list(range(50))
    (seen,) = place.results_of("seventh").values()
    assert seen == {str(each): 1 + (each % 7 == 0) for each in range(50)}
    place.nothing_is_left()


def test_a_program_that_is_missing_ends_the_run_with_one_line(place: Place) -> None:
    """The topology is abandoned when its restarts are used up."""
    place.environment["TEST_COMMAND"] = "no-such-program x"
    finished = place.heronpy(
        "run", TOPOLOGIES / "multilang_words.py", "-o", "topology.restart.limit=0"
    )
    assert finished.code != 0
    (line,) = finished.errors
    assert "split: program 'no-such-program' not found" in line
