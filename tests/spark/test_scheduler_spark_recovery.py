"""kill -9 of every kind of process of a topology on Spark: it comes back, or all of it ends; and
what it has no room for changes nothing."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.process.process_support import TOPOLOGIES, until
from tests.process.survival import TOPOLOGY, acked, settings, survey
from tests.spark.spark_scheduler_support import (
    GONE_SECS,
    LOCAL_CLUSTER,
    SPARK_SECS,
    SparkPlace,
    instances_up,
)

pytestmark = pytest.mark.timeout(900)

LINES = 1500
RATE = 1e9
SLEEP_SECS = 0.0005
PENDING = 50
FLOWING_LINES = 50
BACK_SECS = 120.0
"""A JVM, a Python and a container, where two cores are busy."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SparkPlace]:
    """Where this test's topologies run; what is left of them is killed at the end."""
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


def cannot_grow(place: SparkPlace, why: str) -> None:
    """`update` to three containers fails with that line, and the two run on."""
    before = [place.container(number) for number in (1, 2)]
    refused = place.heronpy("update", place.name, "--container-number", 3, secs=SPARK_SECS)
    line = f"heronpy: {place.name} is not updated: {why}"
    assert (refused.code, refused.errors) == (1, [line])
    assert [place.container(number) for number in (1, 2)] == before


def listed(place: SparkPlace) -> list[list[str]]:
    """Name and state of each topology that `list` shows."""
    return [line.split()[:2] for line in place.heronpy("list").succeeded().out.splitlines()]


def test_what_is_killed_comes_back_alone(place: SparkPlace) -> None:
    """An executor's JVM, then a Python worker, then a container die while lines flow: each time
    only that container starts again, and in the end every line is acked. The usual commands work
    meanwhile, and nothing is left after `kill`."""
    words, _ = settings(place.path, LINES, RATE, sleep_secs=SLEEP_SECS)
    pending = ("-o", f"topology.max.spout.pending={PENDING}")
    submitted = place.submit(TOPOLOGY, LOCAL_CLUSTER, "-w", 2, *pending, *words).succeeded()
    assert submitted.out.startswith(f"{place.name} runs: 7 instances, 2 containers")
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


def test_without_its_scheduler_everything_ends(place: SparkPlace) -> None:
    """kill -9 of the driver's JVM: another application takes over. kill -9 of the scheduler: all
    processes end by themselves, `list` tells it, and the name can be used again. Meanwhile there is
    no slot for a further container, and a gang takes none."""
    forever = TOPOLOGIES / "forever.py"
    words = ("-n", "Forever", "-w", "2")
    place.submit(forever, "local[2]", *words).succeeded()
    cannot_grow(
        place,
        "local[2] has 2 slots, and 3 are needed, one for each container: kill it and submit it "
        "with --master 'local[3]', or pack into fewer containers (-w 2)",
    )
    before = place.container(1)
    place.java_of(before).kill()
    until(lambda: not before.is_running(), "its containers end with it", GONE_SECS)
    until(lambda: place.container(1) != before, "another application", SPARK_SECS)
    with place.master() as master:
        until(lambda: instances_up(master.stats()) == 3, "its instances are up", SPARK_SECS)
    scheduler = place.scheduler()
    assert scheduler is not None
    psutil.Process(scheduler["pid"]).kill()
    until(lambda: not place.processes(), "all processes end", GONE_SECS)
    assert [place.name, "LOST"] in listed(place)
    place.submit(forever, "local[2]", *words, "--gang").succeeded()
    cannot_grow(
        place,
        f"{place.name} was submitted with --gang, so no container can be added: kill it and submit "
        "it with another parallelism",
    )
    gang = {number: place.container(number) for number in (1, 2)}
    gang[1].send_signal(signal.SIGKILL)
    until(lambda: not any(each.is_running() for each in gang.values()), "both end", GONE_SECS)
    assert {place.container(1), place.container(2)}.isdisjoint(gang.values())
    place.heronpy("kill", place.name).succeeded()
    place.nothing_is_left(GONE_SECS)
