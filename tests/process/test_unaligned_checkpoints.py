"""A sink that turns slow behind a long queue: checkpoints and updates do not wait for the queue."""

from collections import Counter
from contextlib import suppress

import psutil
import pytest

from heron_core.stats import CheckpointStats
from tests.process.process_support import TOPOLOGIES, Master, Place, Running, until

CHECKPOINT_SECS = 30.0
"""For any amount of work before the barrier: here minutes."""
BUSY_SECS = 100.0
"""For a command on a busy machine. A wait for the queue would take longer, but a checkpoint, also
of an update, is aborted after 60 s."""
KEYS = 97


def tell(place: Place, word: str) -> None:
    """Let the components read this word."""
    (place.results_folder / f"{word}.json").write_text("true")


def newest(master: Master) -> CheckpointStats:
    found = until(master.stats, "the master answers").checkpoints
    assert found is not None
    return found


def killed(running: Running, master: Master, title: str) -> None:
    """Kill -9; the topology is restored to the newest checkpoint."""
    number = newest(master).completed
    victim = running.until(lambda: running.process_called(title), title)
    victim.kill()

    def restored() -> bool:
        stats = master.stats()
        found = stats.checkpoints if stats else None
        return found is not None and found.restored == number and found.released

    running.until(restored, f"checkpoint {number} is restored")


@pytest.mark.parametrize(
    ("fan", "size_bytes", "slow_secs"), [(1000, 1, 0.1), (1, 10_000, 0.2)], ids=["fan", "wide"]
)
def test_a_slow_sink_gets_its_next_checkpoint_and_another_instance_and_every_count_is_exact(
    place: Place, fan: int, size_bytes: int, slow_secs: float
) -> None:
    """A database turns slow behind a bolt with a thousand tuples for each input, or wide ones: the
    barrier overtakes waiting tuples, an update gives half of the tuples to another instance of the
    sink, and after kill -9 each tuple counts once. No restore waits for the message under work in a
    sink, a thousand tuples of 0.1 s."""
    config = {"test.fan": fan, "test.bytes": size_bytes, "test.slow.secs": slow_secs}
    options = [each for item in config.items() for each in ("-o", "{}={}".format(*item))]
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
        more = (f"--component-parallelism={each}:2" for each in ("side", "sink"))
        place.heronpy("update", place.name, *more, secs=BUSY_SECS).succeeded()
        assert newest(master).input_messages > 0
        killed(running, master, "heron: sink[1]")
    ends_with_exact_counts(running, place, fan)


def test_a_run_whose_machine_was_lost_resumes_with_more_sinks_and_every_count_is_exact(
    place: Place,
) -> None:
    """Its newest checkpoint has thousands of tuples unprocessed by its single sink: two sinks
    divide the tuples, again after kill -9 of a sink."""
    fan = 1000
    options = ("-N", place.name, "-o", f"test.fan={fan}", "-o", "test.slow.secs=0.05")
    running = place.start("run", TOPOLOGIES / "fanning_out.py", *options)
    running.until(lambda: "slow" in place.results(), "the sink is slow")
    place.heronpy("checkpoint", place.name, secs=BUSY_SECS).succeeded()
    for each in place.processes():
        with suppress(psutil.Error):
            each.kill()
    running.wait()
    place.environment["TEST_SINKS"] = "2"
    running = place.start("run", TOPOLOGIES / "fanning_out.py", *options)
    running.until(lambda: "resumes from checkpoint 1" in running.err, "it resumes")
    with Master(place.store_url, place.name) as master:
        running.until(lambda: has_states(master), "all have their states")
        assert newest(master).completed == 2, "none has been taken since"
        killed(running, master, "heron: sink[1]")
    ends_with_exact_counts(running, place, fan)


def has_states(master: Master) -> bool:
    """Whether all instances have their initial state."""
    stats = master.stats()
    return stats is not None and stats.checkpoints is not None and stats.checkpoints.released


def ends_with_exact_counts(running: Running, place: Place, fan: int) -> None:
    """The source stops, the sinks are quick again."""
    tell(place, "enough")
    tell(place, "fast")
    running.wait().succeeded()
    check_counts(place, fan)
    place.nothing_is_left()


def check_counts(place: Place, fan: int) -> None:
    """Each tuple counts once, in one of two sinks."""
    expected = Counter(
        (number + at) % KEYS for number in range(place.results()["emitted"]) for at in range(fan)
    )
    counted: Counter[int] = Counter()
    sinks = place.results_of("sink")
    for each in sinks.values():
        counted.update({int(key): number for key, number in each.items()})
    assert counted == expected
    assert len(sinks) == 2
