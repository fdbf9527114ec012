"""`heronpy bench`: the tables that people compare machines by."""

import json
import subprocess
import sys

from tests.process.process_support import Place


def test_a_machine_is_measured_and_what_is_killed_comes_back(place: Place) -> None:
    """Both at the same time, because each mostly waits. It is measured until each stage has done
    something, however busy the machine is."""
    sol = place.start("bench", "sol", "--time", "1", "--acked", "--json")
    recovery = place.start("bench", "recovery", "--rounds", "1", "--processors", "1")
    rows = json.loads(sol.wait().succeeded().out)["rows"]
    assert [each["stage"] for each in rows] == ["producers", "stage1", "stage2"]
    assert all(each["messages_per_sec"] > 0 for each in rows)
    assert rows[0]["p50_ms"] > 0
    assert all(each["wire_bytes"] > 0 for each in rows)
    table = recovery.wait().succeeded().out
    for kind in ("instance", "stream manager", "topology master"):
        assert f"\n{kind} " in table
    assert list(place.path.glob("**/topologies/*")) == []  # nobody else's topologies see it


BROKEN = """
from heron_cli.bench_run import BenchRun, chain, component

run = BenchRun(chain("broken", (component("words", "Absent", 1, "word"),), {}))
with run:
    run.wait_until_up()
"""


def test_a_component_that_cannot_start_ends_a_benchmark_at_once_with_its_reason(
    place: Place,
) -> None:
    """A broken installation: without its reason the error is of the time-out, a minute later."""
    run = subprocess.run(
        [sys.executable, "-c", BROKEN],
        check=False,
        env=place.environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert "HeronError: broken is not up: words[0] could not start: " in run.stderr
    assert "has no class 'Absent'" in run.stderr


def test_counts_are_swept_with_and_without_acks(place: Place) -> None:
    """Each row is measured until a tuple has passed all components. Of tap, the numbers of tasks
    are swept meanwhile."""
    tap = place.start("bench", "tap", "--parallelism", "1,2", "--acks", "off", "--time", "1",
                      "--json")  # fmt: skip
    arguments = ("rtac", "--parallelism", "1", "--acks", "on/off", "--time", "1", "--json")
    rows = json.loads(place.heronpy("bench", *arguments).succeeded().out)["rows"]
    swept = json.loads(tap.wait().succeeded().out)["rows"]
    assert [(each["parallelism"], each["acks"]) for each in swept] == [(1, "off"), (2, "off")]
    assert all(each["tuples_per_min"] > 0 and each["cores"] > 0 for each in swept)
    assert [(each["parallelism"], each["acks"]) for each in rows] == [(1, "on"), (1, "off")]
    assert all(each["tuples_per_min"] > 0 and each["cores"] > 0 for each in rows)
    assert rows[0]["p50_ms"] > 0
    assert rows[1]["p50_ms"] is None
