"""kill -9 of a driver on Spark: another application takes over, or all of the topology ends; and an
update beyond its capacity is without effect."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.process.process_support import TOPOLOGIES, until
from tests.spark.spark_scheduler_support import (
    GONE_SECS,
    SPARK_SECS,
    SparkPlace,
    instances_up,
    listed,
)

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SparkPlace]:
    """Place of this test's topologies; remaining ones are killed at the end."""
    made = SparkPlace(tmp_path)
    yield made
    made.close()


def cannot_grow(place: SparkPlace, why: str) -> None:
    """`update` to three containers fails with that line, and the two run on."""
    before = [place.container(number) for number in (1, 2)]
    refused = place.heronpy("update", place.name, "--container-number", 3, secs=SPARK_SECS)
    line = f"heronpy: {place.name} is not updated: {why}"
    assert (refused.code, refused.errors) == (1, [line])
    assert [place.container(number) for number in (1, 2)] == before


def test_without_its_scheduler_everything_ends(place: SparkPlace) -> None:
    """kill -9 of the driver's JVM: another application takes over. kill -9 of the scheduler: all
    processes end by themselves, `list` shows the end, and the name can be used again. Meanwhile
    there is no slot for a further container, and a gang takes none."""
    forever = TOPOLOGIES / "forever.py"
    words = ("-n", "Forever", "-w", "2")
    place.submit(forever, "local[2]", *words).succeeded()
    cannot_grow(
        place,
        "local[2] has 2 slots, and 3 are needed, one for each container: kill the topology and "
        "submit it with --master 'local[3]', or pack into fewer containers (-w 2)",
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
        f"{place.name} was submitted with --gang, so containers cannot be added: kill the "
        "topology and submit it with another parallelism",
    )
    gang = {number: place.container(number) for number in (1, 2)}
    gang[1].send_signal(signal.SIGKILL)
    until(lambda: not any(each.is_running() for each in gang.values()), "both end", GONE_SECS)
    assert {place.container(1), place.container(2)}.isdisjoint(gang.values())
    place.heronpy("kill", place.name).succeeded()
    place.nothing_is_left(GONE_SECS)
