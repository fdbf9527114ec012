"""A sink that turns slow behind a long queue: its checkpoints do not wait for the queue."""

import os
import time

import pytest

from heron_core.stats import CheckpointStats
from tests.process.process_support import TOPOLOGIES, Master, Place, Running, until

CHECKPOINT_SECS = 10.0
"""However much work is in front of the barrier: here eight seconds to minutes of it."""
UPDATE_SECS = 15.0
BUSY_SECS = 100.0
"""For a command on a machine that has other work."""
KEYS = 97


def tell(place: Place, word: str) -> None:
    """Let the components read this word."""
    (place.results_folder / f"{word}.json").write_text("true")


def newest(master: Master) -> CheckpointStats:
    """The newest checkpoint, as people see it."""
    found = until(master.stats, "the master answers").checkpoints
    assert found is not None
    return found


def killed(running: Running, master: Master, title: str) -> None:
    """Kill -9; the topology goes back to the newest checkpoint."""
    number = newest(master).completed
    victim = running.until(lambda: running.process_called(title), title)
    victim.kill()

    def restored() -> bool:
        stats = master.stats()
        found = stats.checkpoints if stats else None
        return found is not None and found.restored == number and found.released

    running.until(restored, f"checkpoint {number} is restored")


@pytest.mark.parametrize(("fan", "size_bytes"), [(1000, 1), (1, 10_000)])
def test_a_slow_sink_gets_its_next_checkpoint_within_ten_seconds_and_every_count_is_exact(
    place: Place, fan: int, size_bytes: int
) -> None:
    """A database turns slow behind a bolt that makes a thousand tuples of each, or wide ones: the
    barrier overtakes what waits, an update of another bolt does not wait for it either, and after
    kill -9 each tuple counts once."""
    options = ("-o", f"test.fan={fan}", "-o", f"test.bytes={size_bytes}")
    running = place.start("run", TOPOLOGIES / "fanning_out.py", "-N", place.name, *options)
    running.until(lambda: "slow" in place.results(), "the sink is slow")
    with Master(place.store_url, place.name) as master:
        place.heronpy("checkpoint", place.name, secs=BUSY_SECS).succeeded()
        found = newest(master)
        assert found.secs is not None
        assert found.secs < CHECKPOINT_SECS
        assert found.input_messages > 0
        shown = place.heronpy("stats", place.name).succeeded().out
        assert f"{found.input_messages:,} messages" in shown
        if fan > 1:
            began = time.monotonic()
            more = ("update", place.name, "--component-parallelism", "side:2")
            place.heronpy(*more, secs=BUSY_SECS).succeeded()
            assert time.monotonic() - began < UPDATE_SECS * max(1.0, os.getloadavg()[0] / 2)
        killed(running, master, "heron: sink[0]")
    tell(place, "enough")
    tell(place, "fast")
    running.wait().succeeded()
    results = place.results()
    expected = dict.fromkeys(range(KEYS), 0)
    for number in range(results["emitted"]):
        for at in range(fan):
            expected[(number + at) % KEYS] += 1
    counted = {int(key): number for key, number in results["counted"].items()}
    assert counted == {key: number for key, number in expected.items() if number}
    place.nothing_is_left()
