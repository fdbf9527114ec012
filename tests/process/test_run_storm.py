"""Classes of streamparse, unmodified, in real processes; ours and the installed package's."""

import pytest

from tests.process.process_support import TOPOLOGIES, Place

FILE = TOPOLOGIES / "storm_classes.py"
EVEN, ODD = [0, 2, 4, 6, 8], [1, 3, 5, 7, 9]
ATTEMPTS = 4
"""The first one, and max_fails (3) replays."""


@pytest.mark.parametrize("package", ["builtin", "installed"])
def test_replays_exceptions_batches_and_threads(place: Place, package: str) -> None:
    """Odd numbers raise: each is replayed three times and then acked as lost. Even ones go into
    batches by ticks, whose sizes go into batches by time, and to a bolt that acks in a thread."""
    place.environment["HERONPY_STREAMPARSE"] = package
    finished = place.heronpy("run", FILE, "-n", "Classes")
    finished.incomplete(f"{len(ODD)} tuples failed for good")

    (spout,) = place.results_of("numbers").values()
    assert spout["acks"] == [*range(10)]
    assert spout["emits"] == len(EVEN) + len(ODD) * ATTEMPTS
    (no_odds,) = place.results_of("no_odds").values()
    assert dict(no_odds["seen"]) == {**dict.fromkeys(EVEN, 1), **dict.fromkeys(ODD, ATTEMPTS)}

    batches = place.results_of("by_ticks")
    sizes = [pair for found in batches.values() for pair in found]
    # 0, 4, 8 and 2, 6: one task may have several numbers of a key, and another one the rest.
    assert sum(size for key, size in sizes if key == 0) == 3
    assert sum(size for key, size in sizes if key == 2) == 2
    assert place.results_of("by_time").popitem()[1] == len(EVEN)

    (copies,) = place.results_of("threaded").values()
    assert [number for number, _ in copies] == EVEN
    assert {task for _, task in copies} == set(batches)
    place.nothing_is_left()


def test_exit_on_exception_ends_the_process_which_comes_again(place: Place) -> None:
    """The tuple fails, the process is started again, and the replay is processed."""
    run = place.heronpy("run", FILE, "-n", "Restarting").succeeded()
    (spout,) = place.results_of("numbers").values()
    assert spout["acks"] == [*range(10)]
    assert spout["emits"] > 10
    assert "exit_on_exception" in run.err
    place.nothing_is_left()
