"""Bolts whose calls outlast `process`, in processes that are killed: each tuple counts once."""

import json

from heron_core.exit_codes import ExitCode
from tests.process.process_support import TOPOLOGIES, Master, Place
from tests.process.test_exact_counts import kill
from tests.process.test_recovery import title_of

TOPOLOGY = TOPOLOGIES / "calling.py"


def test_calls_in_flight_are_exact_whatever_is_killed(place: Place) -> None:
    """A pool of threads, then coroutines; what was in flight at the checkpoint is called again."""
    running = place.start("run", TOPOLOGY, "-o", f"calling.folder={place.path}")
    with Master(place.store_url, "Calling") as master:

        def completed_in(epoch: int) -> int | None:
            """The newest checkpoint, if it began in that epoch or later."""
            stats = master.stats()
            if stats is None or stats.checkpoints is None or stats.epoch < epoch:
                return None
            return stats.checkpoints.completed if stats.checkpoints.released else None

        def epoch() -> int:
            return running.until(master.stats, "the master answers").epoch

        last = running.until(lambda: completed_in(1), "a checkpoint is complete")
        for victim in ("pooled[0]", "called[1]", "numbers[0]"):
            before = epoch()
            kill(running, title_of(running, f"heron: {victim}"))

            def goes_on(after: int = before, number: int = last) -> int | None:
                now = completed_in(after + 1)
                return now if now is not None and now > number else None

            last = running.until(goes_on, f"it goes on without {victim}")
    (place.path / "enough").touch()
    running.wait().succeeded()
    emitted = json.loads((place.path / "emitted").read_text())
    assert json.loads((place.path / "called").read_text()) == list(range(emitted))
    place.nothing_is_left()


def test_a_thread_that_an_import_starts_is_refused_where_it_could_lose_something(
    place: Place,
) -> None:
    finished = place.heronpy("run", TOPOLOGIES / "module_thread.py")
    assert finished.code == ExitCode.FAILED
    assert "set acks_later = True in the class" in finished.err
    place.nothing_is_left()
