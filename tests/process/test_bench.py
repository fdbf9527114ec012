"""`heronpy bench`: the tables that people compare machines by."""

import json

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
    table = recovery.wait().succeeded().out
    for kind in ("instance", "stream manager", "topology master"):
        assert f"\n{kind} " in table
    assert list(place.path.glob("**/topologies/*")) == []  # nobody else's topologies see it
