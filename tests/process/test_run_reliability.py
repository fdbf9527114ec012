"""At-least-once with real processes: failed, forgotten and lost tuples come again."""

import time

from tests.process.process_support import EXAMPLES, TOPOLOGIES, Master, Place


def test_every_failed_line_is_replayed(place: Place) -> None:
    """A bolt fails every seventh of 100 lines once: all are acked in the end, 15 came twice."""
    for containers in (1, 2):
        finished = place.heronpy(
            "run", EXAMPLES / "at_least_once.py", "--containers", containers
        ).succeeded()
        assert finished.out == "lines[0] | 100 of 100 lines acked, 15 replayed\n"


def test_a_forgotten_tuple_fails_once_between_the_timeout_and_a_fifth_more(place: Place) -> None:
    """A bolt never acks one tuple: with a timeout of 1 s its fail comes after 1 to 1.2 s, once."""
    place.heronpy(
        "run", TOPOLOGIES / "timeouts.py", "-o", "topology.message.timeout.secs=1"
    ).incomplete("1 tuple failed for good")
    (found,) = place.results_of("numbers").values()
    ((number, after_secs),) = found["failed_after"]
    assert number == 3
    # Beyond the fifth of a timeout: the stream manager's timer, and two busy cores.
    assert 1.0 <= after_secs < 1.2 + 0.8
    assert sorted(found["acked"]) == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_a_killed_instance_comes_back_and_every_line_is_acked(place: Place) -> None:
    """kill -9 of a bolt in mid-work: unacked tuples are replayed at once, long before the message
    timeout of 30 s. The new process continues with the newest saved state."""
    running = place.start("run", TOPOLOGIES / "dying.py")
    with Master(place.store_url, "Dying") as master:
        running.until(lambda: master.component("lines").get("acked", 0) > 20, "lines are acked")
        slow = running.until(lambda: running.process_called("heron: slow[0]"), "the bolt")
        saved = running.until(lambda: place.results().get("saved"), "its state is saved")
        slow.kill()
        killed_at = time.monotonic()
        running.until(lambda: master.component("lines").get("acked") == 300, "all lines acked")
        lines = master.component("lines")
    assert lines["failed"] > 0, "the bolt took nothing along"
    assert lines["expired"] == 0
    assert time.monotonic() - killed_at < 15.0
    starts = [found for name, found in place.results().items() if name.startswith("start-")]
    assert len(starts) == 2, "the bolt was to be started again once"
    assert min(starts) == 0
    assert saved <= max(starts) < 300
    running.end()
    place.nothing_is_left()
