"""A topology over several hosts while hosts, their network and ZooKeeper fail.

The faults of a mode come in turn in a run, from a new seed each time. HOSTS_SEED=N repeats a run.
All kinds of faults, each in runs of its own: `make test-hosts-all`.
"""

import os
import random
import subprocess
import time

import pytest

from tests.hosts.delay import Delay
from tests.hosts.faults import FAULTS
from tests.hosts.flows import ATLEAST_ONCE, EFFECTIVELY_ONCE
from tests.hosts.hosts_run import Wishes, run
from tests.hosts.known import KNOWN
from tests.hosts.laboratory import Laboratory
from tests.hosts.network import Host, remove_leftovers
from tests.process.process_support import until

SEEDS = 1_000_000
PATIENCE = 4.0
"""Factor of the limits: further tests may have the cores. TCP, left alone, takes longer."""
LATE_SECS = 0.3
SHORT = ("reset", "one-way", "frozen", "killed", "host-lost", "host-replaced", "zookeeper-leader",
         "zookeeper-emptied")  # fmt: skip
"""The first faults of a deployment, as far as survived; see KNOWN."""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("mode", [EFFECTIVELY_ONCE, ATLEAST_ONCE])
def test_nothing_is_lost_whatever_happens_to_hosts(mode: str, lab: Laboratory) -> None:
    """Exact where promised, and data flows soon after each fault."""
    # Not from the module's generator, which pytest-randomly seeds for each test.
    seed = int(os.environ.get("HOSTS_SEED") or random.SystemRandom().randrange(SEEDS))
    faults = tuple(each for each in SHORT if (each, mode) not in KNOWN)
    report = run(lab, Wishes(faults, mode, seed, patience=PATIENCE))
    print(report)
    assert report.good, f"HOSTS_SEED={seed}\n{report.history()}"


def test_every_fault_that_is_not_survived_is_one_of_the_faults() -> None:
    """And has a reason."""
    assert {name for name, _ in KNOWN} <= FAULTS.keys()
    assert all(KNOWN.values())


def test_what_a_killed_laboratory_left_behind_is_removed_by_the_next(lab: Laboratory) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = Host("left", 1, ended.pid)
    left.make()
    words = left.words("sleep", "1000")
    sleeping = subprocess.Popen(words, start_new_session=True)
    until(left.pids, "something runs there")
    remove_leftovers()
    assert sleeping.wait() < 0
    assert left.namespace not in namespaces()
    assert lab.client.namespace in namespaces(), "it is in use"


def test_hosts_reach_each_other_and_nothing_else(lab: Laboratory) -> None:
    """A packet for any other address has no way out."""
    one, other = lab.workers[:2]
    one.call("bash", "-c", f"exec 3<>/dev/tcp/{lab.ensemble.servers[0].host.address}/2181")
    with pytest.raises(AssertionError, match="unreachable"):
        one.call("bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80")
    assert one.address != other.address


def test_packets_of_a_delayed_host_are_late_and_arrive(lab: Laboratory) -> None:
    """And afterwards they take no time."""
    one, address = lab.workers[0], lab.ensemble.servers[0].host.address
    asked = ("bash", "-c", f"exec 3<>/dev/tcp/{address}/2181; echo srvr >&3; cat <&3")

    def secs() -> float:
        begin = time.monotonic()
        assert "Mode: " in one.call(*asked)
        return time.monotonic() - begin

    with Delay(one, lab.network.switch, LATE_SECS, random.Random(1)):
        # The handshake takes two packets, question and answer two more; each half as late at least.
        assert secs() > 4 * LATE_SECS / 2
    assert secs() < 4 * LATE_SECS / 2, "it is as near as it was"


def namespaces() -> str:
    return subprocess.run(
        ["ip", "netns", "list"], check=True, capture_output=True, text=True
    ).stdout
