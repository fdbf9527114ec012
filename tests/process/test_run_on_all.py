"""`heronpy run-on-all`: an operator looks at all hosts of a topology at once."""

import os
import re

from tests.process.process_support import DEADLINE_SECS, TOPOLOGIES, Master, Place

FOREVER = (TOPOLOGIES / "forever.py", "-n", "Forever", "-w", "2")
COMMAND = 'echo "at $PWD of $HERONPY_CONTAINER"; [ "$HERONPY_CONTAINER" != 1 ] || exit 5'


def test_a_command_runs_beside_every_container(place: Place) -> None:
    place.heronpy("submit", *FOREVER, "-N", place.name).succeeded()
    done = place.heronpy("run-on-all", place.name, COMMAND)
    assert done.code == 5, done.err
    host = os.uname().nodename
    assert sorted(done.out.splitlines()) == [
        f"container {each} on {host}: at {place.path} of {each}" for each in range(3)
    ]
    assert f"container 1 on {host}: exit code 5" in done.err
    late = place.heronpy("run-on-all", place.name, "echo a; echo bcd; sleep 1000",
                         "--timeout", "1", "--output-limit", "2")  # fmt: skip
    assert late.code == 124
    assert len(re.findall(r"container \d on \S+: a\n", late.out)) == 3
    assert len(re.findall(r"container \d on \S+: 4 further bytes of output", late.err)) == 3
    assert len(re.findall(r"container \d on \S+: killed after 1 s", late.err)) == 3
    events = place.heronpy("events", place.name).succeeded().out
    assert re.search(r"run on all containers: echo a; echo bcd; sleep 1000.*asked by", events)
    wrong = place.heronpy("run-on-all", place.name, " ")
    assert (wrong.code, wrong.errors) == (1, ["heronpy: the command is missing"])
    place.heronpy("kill", place.name, secs=2 * DEADLINE_SECS).succeeded()
    place.nothing_is_left(DEADLINE_SECS)


def test_a_topology_that_forbids_commands_runs_none(place: Place) -> None:
    running = place.start(
        "run", TOPOLOGIES / "forever.py", "-n", "Forever", "-N", place.name,
        "-o", "topology.run.on.all=off",
    )  # fmt: skip
    with Master(place.store_url, place.name) as master:
        running.until(lambda: master.stats() is not None, "its master answers")
    refused = place.heronpy("run-on-all", place.name, f"touch {place.path}/here")
    assert "topology.run.on.all is off: commands on the hosts" in refused.err, refused
    running.end()
    assert not (place.path / "here").exists()
