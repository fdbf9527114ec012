"""A process that a bad tuple has killed, and `heronpy replay` of what its flight recorder kept."""

import json
import re
import stat
from pathlib import Path

from tests.process.process_support import TOPOLOGIES, Master, Place

TOPOLOGY = TOPOLOGIES / "recorded.py"
NUMBERS, BAD = 400, 300


def incident_of(place: Place) -> Path:
    """The only one; the rings of processes that ended in order are gone."""
    (found,) = (place.logs("Recorded") / "incidents").iterdir()
    assert stat.S_IMODE(found.stat().st_mode) == 0o600
    return found


def corrected(place: Place) -> Path:
    """The topology without the bug, elsewhere."""
    file = place.path / "corrected.py"
    text = TOPOLOGY.read_text("utf-8").replace("os.kill(os.getpid(), signal.SIGKILL)", "return")
    file.write_text(text, "utf-8")
    return file


def test_a_process_killed_by_a_tuple_is_killed_again_and_not_with_corrected_code(
    place: Place,
) -> None:
    place.heronpy("run", TOPOLOGY).succeeded()
    assert place.results()["counted"] == list(range(NUMBERS))
    incident = incident_of(place)
    assert f"heronpy replay {incident}" in place.log("Recorded", "count-2")

    (place.results_folder / "killed").unlink()
    again = place.heronpy("replay", incident)
    assert again.code == 3, again.err
    assert "the same failure at tuple" in again.out
    assert "was killed by signal 9 (SIGKILL)" in again.out

    (place.results_folder / "killed").unlink()
    place.environment["PYTHONPATH"] += f":{TOPOLOGIES}"
    good = place.heronpy("replay", incident, "--code", corrected(place), "--json").succeeded()
    report = json.loads(good.out)
    assert (report["outcome"], report["failures"]) == ("no failure", [])
    assert report["output"]["missing"] == 0
    assert report["state"] is not None
    assert report["complete"]


def test_a_topology_that_fails_says_that_the_last_input_of_its_process_is_no_incident(
    place: Place,
) -> None:
    failed = place.heronpy("run", TOPOLOGY, "-o", "topology.restart.limit=0")
    assert failed.code == 1
    assert "was killed by signal 9 (SIGKILL); no incident of count[0]: the successor" in failed.err
    assert incident_of(place).name == "count-2.ring"


def test_a_running_topology_writes_incidents_when_it_is_asked(place: Place) -> None:
    """Data flows on, a file is an event, and without a recorder the command says what to set."""
    recording = ("-o", "topology.flight.recorder=on-demand")
    running = place.start("run", TOPOLOGIES / "forever.py", "-n", "Forever", *recording)
    with Master(place.store_url, "Forever") as master:
        running.until(lambda: (master.stats() or None) and master.processed("add"), "data flows")
        recorded = place.heronpy("record", "Forever", "-c", "add").succeeded()
        files = re.findall(r"^add\[\d\]: .*heronpy replay (.*)$", recorded.out, re.MULTILINE)
        assert len(files) == 2
        replayed = place.heronpy("replay", files[0], "--json").succeeded()
        assert json.loads(replayed.out)["outcome"] == "no failure"
        events = place.heronpy("events", "Forever", "--kind", "recorded").succeeded()
        assert files[0] in events.out
        before = master.processed("add")
        running.until(lambda: master.processed("add") > before, "data flows on")
    running.signal()
    running.wait()


def test_a_topology_without_a_recorder_says_what_to_set(place: Place) -> None:
    running = place.start("run", TOPOLOGIES / "forever.py", "-n", "Forever")
    with Master(place.store_url, "Forever") as master:
        running.until(lambda: (master.stats() or None) and master.processed("add"), "data flows")
        refused = place.heronpy("record", "Forever")
        assert refused.code == 1
        assert "no incident of 3 of 3 instances" in refused.err
        assert "topology.flight.recorder=on-demand" in refused.err
    running.signal()
    running.wait()
