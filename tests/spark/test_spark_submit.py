"""`heronpy submit --engine spark`: a query in the background, with the usual commands."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.process_support import until
from tests.spark.spark_engine_support import ENGINE_SECS, EnginePlace, packaged

MASTER = "local[2]"
GONE_SECS = 60.0
TEST_SECS = 900
"""Three of Spark's starts, where others may be busy."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[EnginePlace]:
    """Where the query runs; what is left of it is killed at the end."""
    made = EnginePlace(tmp_path)
    yield made
    made.close()


@pytest.mark.timeout(TEST_SECS)
def test_a_query_is_handled_as_any_topology(place: EnginePlace) -> None:
    """An archive, submitted, listed, looked at, paused, killed; submitted again it goes on,
    outlives its JVM, and comes to its end, exactly."""
    archive = packaged(place)
    submitted = place.begin(archive, MASTER).succeeded()
    checkpoint = place.home / "checkpoints" / place.name
    assert submitted.out == (
        f"{place.name} runs with 5 instances, checkpoint {checkpoint}; logs: "
        f"{place.logs(place.name)}\n"
    )
    (listed,) = json.loads(place.heronpy("list", "--json").succeeded().out)
    assert (listed["name"], listed["state"], listed["instances"]) == (place.name, "RUNNING", 5)
    taken = place.begin(archive, MASTER)
    assert "is already running" in taken.errors[0]
    _is_paused_and_goes_on(place)
    killed = place.heronpy("kill", place.name, "--wait", "60", secs=ENGINE_SECS).succeeded()
    assert (killed.out, killed.err) == (f"{place.name} is killed\n", "")
    place.nothing_is_left(GONE_SECS)
    again = place.begin(archive, MASTER).succeeded()
    assert "continued after batch" in again.out
    _outlives_its_jvm(place)
    place.release.touch()
    assert place.ended()["state"] == "ENDED"
    place.is_exact()
    place.nothing_is_left(GONE_SECS)
    assert not checkpoint.exists()


def _is_paused_and_goes_on(place: EnginePlace) -> None:
    assert "is paused" in place.heronpy("deactivate", place.name).succeeded().out
    with place.master() as master:
        until(lambda: (stats := master.stats()) and stats.drained, "no batch runs", ENGINE_SECS)
    paused = place.batch()
    shown = place.heronpy("stats", place.name, "-c", "count").succeeded().out
    assert shown.startswith(f"{place.name}  PAUSED  epoch {paused}\n")
    assert "# Instances of count" in shown
    assert "is active" in place.heronpy("activate", place.name).succeeded().out
    assert paused is not None
    place.batch_after(paused)


def _outlives_its_jvm(place: EnginePlace) -> None:
    driver = place.called("heron: Spark query")
    before = place.batch()
    (jvm,) = (each for each in driver.children() if "java" in each.name())
    jvm.kill()
    until(lambda: not driver.is_running(), "its driver ends", ENGINE_SECS)
    assert before is not None
    place.batch_after(before)
    assert "Spark's JVM has ended" in place.log(place.name, "scheduler")
