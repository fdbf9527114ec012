"""kill -9 of a JVM, and of the Python half beside it: counts stay exact, nothing is lost."""

import pytest

from tests.jvm.java_place import JVM_SECS, JavaPlace
from tests.process.process_support import Master, Running

NUMBERS, KEYS = 12_000, 7
EXACT = {str(key): len(range(key, NUMBERS, KEYS)) for key in range(KEYS)}
STREAMS = ["numbers count FIELDS key", "count most SHUFFLE"]
MOST = {"id": "most", "className": "python_parts.Most"}
TITLE = "heron: count[0] "


def kill(place: JavaPlace, running: Running, half: str) -> None:
    """Kill one half; both have successors when this returns."""
    jvm = running.until(lambda: place.jvm_of(running, TITLE), "the JVM runs", JVM_SECS)
    python = running.process_called(TITLE)
    assert python is not None
    (jvm if half == "jvm" else python).kill()

    def is_replaced() -> bool:
        found, process = place.jvm_of(running, TITLE), running.process_called(TITLE)
        return None not in (found, process) and found != jvm and process != python

    running.until(is_replaced, "both have successors", JVM_SECS)
    assert not jvm.is_running() or jvm.status() == "zombie"


@pytest.mark.parametrize("half", ["jvm", "python"])
def test_a_state_in_java_stays_exact(place: JavaPlace, half: str) -> None:
    file = place.flux(
        [{"id": "numbers", "className": "python_parts.Numbers"}],
        [{"id": "count", "className": "StatefulCount"}, MOST],
        STREAMS,
        numbers=NUMBERS,
        keys=KEYS,
        topology__reliability__mode="EFFECTIVELY_ONCE",
        topology__stateful__checkpoint__interval__seconds=1,
    )
    running = place.start("run", file)
    with Master(place.store_url, place.name) as master:

        def checkpoint() -> int:
            stats = master.stats()
            taken = None if stats is None else stats.checkpoints
            return 0 if taken is None else taken.latest

        running.until(lambda: checkpoint() >= 2, "checkpoints are taken", JVM_SECS)
        kill(place, running, half)
    running.wait(JVM_SECS).succeeded()
    assert place.results()["most"] == EXACT


@pytest.mark.parametrize("half", ["jvm", "python"])
def test_nothing_is_lost_at_least_once(place: JavaPlace, half: str) -> None:
    file = place.flux(
        [{"id": "numbers", "className": "python_parts.Reliable"}],
        [{"id": "count", "className": "Passing"}, {"id": "sink", "className": "python_parts.Rows"}],
        ["numbers count SHUFFLE", "count sink SHUFFLE"],
        numbers=6000,
        topology__message__timeout__secs=10,
    )
    running = place.start("run", file)
    with Master(place.store_url, place.name) as master:
        running.until(lambda: master.processed("count") >= 1000, "tuples flow", JVM_SECS)
        kill(place, running, half)
    running.wait(JVM_SECS).succeeded()
    seen = {row[1] for row in place.results()["rows"]}
    assert seen == {str(number) for number in range(6000)}
