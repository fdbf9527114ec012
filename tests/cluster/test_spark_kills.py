"""kill -9 of every kind of process below a topology on Spark: what is killed comes back alone."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.process.process_support import until
from tests.process.survival import TOPOLOGY, acked, settings, survey
from tests.spark.spark_scheduler_support import LOCAL_CLUSTER, SPARK_SECS, SparkPlace, listed

pytestmark = pytest.mark.timeout(900)

GONE_SECS = 60.0
"""Time for a topology's end, on a busy machine."""
LINES = 1500
RATE = 1e9
SLEEP_SECS = 0.0005
PENDING = 50
FLOWING_LINES = 50
BACK_SECS = 120.0
"""A JVM, a Python and a container, where two cores are busy."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SparkPlace]:
    """Folder of the test's topologies; remaining processes are killed at the end."""
    made = SparkPlace(tmp_path)
    yield made
    made.close()


def kill_and_see_return(place: SparkPlace, victim: psutil.Process, lost: int, other: int) -> None:
    """Kill: container `lost` comes back as another process, `other` is the same as before, and
    lines flow again."""
    before = {number: place.container(number) for number in (lost, other)}
    victim.kill()

    def is_back() -> bool:
        found = place._called(f"heron: container {lost} ({place.name})")
        return found is not None and found != before[lost]

    until(is_back, f"container {lost} is back", BACK_SECS)
    assert place.container(other) == before[other]
    flowing = acked(place.path) + FLOWING_LINES
    until(lambda: acked(place.path) >= min(flowing, LINES), "lines flow again", BACK_SECS)


def test_what_is_killed_comes_back_alone(place: SparkPlace) -> None:
    """An executor's JVM, then a Python worker, then a container die while lines flow: each time
    only that container starts again, and in the end every line is acked. The usual commands work
    meanwhile, and nothing is left after `kill`."""
    words, _ = settings(place.path, LINES, RATE, sleep_secs=SLEEP_SECS)
    pending = ("-o", f"topology.max.spout.pending={PENDING}")
    submitted = place.submit(TOPOLOGY, LOCAL_CLUSTER, "-w", 2, *pending, *words).succeeded()
    assert submitted.out.startswith(f"{place.name} runs with 7 instances, 2 containers")
    assert [place.name, "RUNNING"] in listed(place)
    until(lambda: acked(place.path) > FLOWING_LINES, "lines flow")
    kill_and_see_return(place, place.java_of(place.container(1)), lost=1, other=2)
    python = place.container(2).parent()
    assert python is not None
    kill_and_see_return(place, python, lost=2, other=1)
    kill_and_see_return(place, place.container(1), lost=1, other=2)
    assert "container-2" in place.heronpy("tail", place.name).succeeded().out
    until(lambda: acked(place.path) >= LINES, "all lines are acked", SPARK_SECS)
    assert survey(place.path, LINES).complete
    assert f"{place.name} is killed" in place.heronpy("kill", place.name).succeeded().out
    place.nothing_is_left(GONE_SECS)
