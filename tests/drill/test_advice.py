"""`heronpy advise` answers for real topologies as for the models of load_shapes.py.

Sleeping bolts get their instances on any machine, so the answers hold beside other work. The answer
for a calculating bolt depends on idle cores, so the test compares the measured need of CPU.
"""

import json
import os
from typing import Any

import psutil
import pytest

from tests.drill.drill import BUSY_LOAD
from tests.drill.drilled_topology import SUBMIT_SECS
from tests.process.conftest import place
from tests.process.process_support import TOPOLOGIES, Place

__all__ = ["place"]

pytestmark = pytest.mark.skipif(
    os.environ.get("HERONPY_DRILL") != "1", reason="it takes minutes: make test-drill"
)

LOOK_SECS = 10
RIGHT: dict[str, set[int]] = {
    "Sleeping": {4},
    "HalfBusy": {1},
    "HotKey": {2},
    "FewKeys": {3},
    "Batching": {3},
    "Calculating": {1, 2, 3, 4},
}
"""Topology -> right numbers of instances of its bolt; on a busy machine the spouts are slower, and
one instance less or more is right."""
SLEEPING_CPU_MAX = 0.3
CALCULATING_CPU_MIN = 0.7
"""Cores per second of work, without waits for a core."""


def advised(place: Place) -> dict[str, Any]:
    """Topology -> row of its bolt; the measurements run at the same time."""
    for name in RIGHT:
        words = ("submit", TOPOLOGIES / "advised.py", "-n", name, "-N", f"{place.name}-{name}")
        place.heronpy(*words, secs=SUBMIT_SECS).succeeded()
    asked = {
        name: place.start("advise", f"{place.name}-{name}", "-t", LOOK_SECS, "--json")
        for name in RIGHT
    }
    answers = {name: each.wait(SUBMIT_SECS).succeeded().out for name, each in asked.items()}
    return {name: json.loads(out)["components"][0] for name, out in answers.items()}


@pytest.mark.timeout(400)
def test_real_loads_get_the_advice_of_their_models(place: Place) -> None:
    try:
        found = advised(place)
    finally:
        for name in RIGHT:
            place.heronpy("kill", f"{place.name}-{name}", secs=SUBMIT_SECS)
    for name, row in found.items():
        print(name, row["instances"], "->", row["wanted"], f"cpu {row['cpu']:.2f}", row["because"])
    wanted = {name: row["wanted"] for name, row in found.items()}
    slack = 0 if psutil.getloadavg()[0] <= BUSY_LOAD else 1
    for name, number in wanted.items():
        assert min(abs(number - right) for right in RIGHT[name]) <= slack, wanted
    assert "key 'hot' is" in found["HotKey"]["because"]
    assert max(found[name]["cpu"] for name in RIGHT if name != "Calculating") < SLEEPING_CPU_MAX
    assert found["Calculating"]["cpu"] > CALCULATING_CPU_MIN
