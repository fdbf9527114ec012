"""A command is killed (-9) in the middle of an operation: the operation ends anyway or has not
begun, without leftovers.

The moments are changes of a request in the state store, and a seed picks among them; "never asked"
is the moment before the request.
"""

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest

from heron_core.operations import Operation, OperationKind, OperationState
from heron_core.plans import PhysicalPlan, TopologyState, physical_from_json
from heron_core.state_tree import (
    execution_path,
    master_path,
    packing_path,
    physical_path,
    topology_path,
)
from heron_engine.scheduler.operations import TopologyRequests
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from tests.process.process_support import GONE_SECS, TOPOLOGIES, Master, Place, until

FOREVER = (TOPOLOGIES / "forever.py", "-n", "Forever")
SEEDS = (1, 2)
SEEDS_OF_LONG_ONES = (2,)
"""Kills of commands with seconds of work; shorter ones die under ZooKeeper, below."""
OPERATION_SECS = 90.0
"""For operations of a second on an idle machine."""
MOMENTS_MAX = 4
"""An operation's request is seen in about so many different states."""


class Asker:
    """A running topology, and killed commands."""

    def __init__(self, place: Place, url: str) -> None:
        self.place = place
        self.name = place.name
        self.url = url
        self.store: StateStore = open_store(url)
        self.requests = TopologyRequests(self.store, self.name)

    def newest(self) -> tuple[int, Operation | None]:
        """The newest request; number 0 without a request."""
        requests = self.requests.all()
        number = max(requests, default=0)
        return number, requests.get(number)

    def ask_and_die(self, moments: int, *words: object) -> int:
        """Start a command, let its request pass `moments` new states, and kill the command. Returns
        the number of the request; 0 before the request."""
        before, _ = self.newest()
        command = self.place.start(words[0], self.name, *words[1:])
        seen: list[Operation] = []

        def has_come_so_far() -> bool:
            number, request = self.newest()
            if number > before and request is not None and request not in seen:
                seen.append(request)
            over = self.has_ended() or command.process.poll() is not None
            return len(seen) >= moments or over

        until(has_come_so_far, "the request is under way", OPERATION_SECS)
        if command.process.poll() is None:
            command.signal(signal.SIGKILL)
        command.wait()
        number, _ = self.newest()
        return number if number > before else 0

    def has_ended(self) -> bool:
        """Whether the topology is gone from the state store."""
        return self.store.get(topology_path(self.name)) is None

    def is_done(self, number: int) -> None:
        """Wait for the end of a request, if any."""
        if not number:
            return

        def is_over() -> Operation | None:
            request = self.requests.get(number)
            return request if request is not None and request.is_over else None

        request = until(is_over, "the operation ends", OPERATION_SECS)
        assert request.state is OperationState.DONE, request

    def state(self) -> str:
        """RUNNING or PAUSED."""
        return str((self.store.get(execution_path(self.name)) or {})["state"])

    def physical_plan(self) -> PhysicalPlan:
        stored = self.store.get(physical_path(self.name))
        assert stored is not None
        return physical_from_json(stored)

    def comes_to(self, state: str) -> None:
        """The topology is in this state, or soon will be."""
        until(lambda: self.state() == state, f"it is {state}", OPERATION_SECS)

    def flows(self) -> None:
        """Tuples are processed from now on."""
        with Master(self.url, self.name) as master:
            before = master.processed("add")
            until(lambda: master.processed("add") > before, "tuples are processed", OPERATION_SECS)


@contextmanager
def submitted(place: Place, *options: object, url: str = "") -> Iterator[Asker]:
    """The endless topology in the background."""
    place.heronpy("submit", *FOREVER, "-N", place.name, *options).succeeded()
    asker = Asker(place, url or place.store_url)
    try:
        yield asker
    finally:
        asker.store.close()


def killed_at(asker: Asker, moments: int) -> None:
    """Ask for the end, die at that moment: the topology ends, or a second kill ends the
    topology."""
    number = asker.ask_and_die(moments, "kill")
    if not number and not asker.has_ended():
        asker.flows()
        asker.place.heronpy("kill", asker.name).succeeded()
    until(asker.has_ended, "the topology ends", OPERATION_SECS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kill_whose_asker_dies(place: Place, seed: int) -> None:
    """The topology is gone, and its outcome names the killer."""
    moments = random.Random(seed).randrange(MOMENTS_MAX)
    with submitted(place) as asker:
        killed_at(asker, moments)
    place.nothing_is_left(GONE_SECS)
    outcome = (place.home / "topologies" / place.name / "outcome.json").read_text("utf-8")
    assert TopologyState.KILLED in outcome
    assert "killed by" in outcome


@pytest.mark.parametrize("seed", SEEDS_OF_LONG_ONES)
def test_a_pause_whose_asker_dies(place: Place, seed: int) -> None:
    """Deactivated and activated in turn; each time the topology is in one of the two states, and
    goes on."""
    chance = random.Random(seed)
    with submitted(place) as asker:
        for command, state in 2 * (("deactivate", "PAUSED"), ("activate", "RUNNING")):
            before = asker.state()
            number = asker.ask_and_die(chance.randrange(MOMENTS_MAX), command)
            asker.is_done(number)
            asker.comes_to(state if number else before)
        asker.place.heronpy("activate", asker.name).succeeded()
        asker.flows()
        place.heronpy("kill", place.name).succeeded()
    place.nothing_is_left(GONE_SECS)


@pytest.mark.parametrize("seed", SEEDS_OF_LONG_ONES)
def test_an_update_whose_asker_dies(place: Place, seed: int) -> None:
    """More containers and fewer: the topology runs by the old plan or by the new one."""
    chance = random.Random(seed)
    with submitted(place, "--containers", 1) as asker:
        for containers in (2, 1):
            before = asker.store.get(packing_path(asker.name))
            number = asker.ask_and_die(
                chance.randrange(MOMENTS_MAX), "update", "--container-number", containers
            )
            asker.is_done(number)
            physical = asker.physical_plan()
            if number:
                assert len(physical.packing.containers) == containers
            else:
                assert asker.store.get(packing_path(asker.name)) == before
            asker.flows()
        place.heronpy("kill", place.name).succeeded()
    place.nothing_is_left(GONE_SECS)


@pytest.mark.parametrize("seed", SEEDS_OF_LONG_ONES)
def test_a_restart_whose_asker_dies(place: Place, seed: int) -> None:
    """Finally all containers are restarted, or none."""
    chance = random.Random(seed)
    with submitted(place, "--containers", 2) as asker:
        before = asker.store.get(master_path(asker.name))
        number = asker.ask_and_die(chance.randrange(MOMENTS_MAX), "restart")
        asker.is_done(number)
        now = asker.store.get(master_path(asker.name))
        assert (now == before) == (number == 0)
        asker.flows()
        place.heronpy("kill", place.name).succeeded()
    place.nothing_is_left(GONE_SECS)


def test_an_update_and_a_kill_whose_askers_die_under_zookeeper(
    place: Place, running_zookeeper: EmbeddedZooKeeper
) -> None:
    """With the state in ZooKeeper, each at the moment of its run."""
    at = f"{running_zookeeper.address}/{place.name}"
    place.environment["HERONPY_ZOOKEEPER"] = at
    with submitted(place, "--containers", 1, "--zookeeper", at, url=f"zk://{at}") as asker:
        asker.is_done(asker.ask_and_die(2, "update", "--container-number", 2))
        physical = asker.physical_plan()
        assert len(physical.packing.containers) == 2
        asker.flows()
        killed_at(asker, 1)
    place.nothing_is_left(GONE_SECS)


def runner_of(place: Place) -> psutil.Process | None:
    """The process with the running operations."""
    for each in place.processes():
        with suppress(psutil.Error):
            if " ".join(each.cmdline()).startswith("heron: operations"):
                return each
    return None


def test_the_process_that_carries_it_out_dies_too(place: Place) -> None:
    """Asker and runner are killed in the middle of an update: a successor completes the update."""
    with submitted(place, "--containers", 1) as asker:
        number = asker.ask_and_die(2, "update", "--container-number", 2)
        runner = until(lambda: runner_of(place), "there is a runner")
        runner.kill()
        asker.is_done(number)
        request = asker.requests.get(number)
        assert request is not None
        assert request.kind is OperationKind.UPDATE
        asker.flows()
        place.heronpy("kill", place.name).succeeded()
    place.nothing_is_left(GONE_SECS)
