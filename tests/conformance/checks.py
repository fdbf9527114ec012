"""Duties of every back end, in the order of a topology's life: one submit, then everything.

A step takes a `Deployment`, uses the command line as a person does, and looks at the processes, at
the topology master's numbers and at the records of its components. The checks do not know the
cluster: a test of a back end makes the `Deployment` and calls `whole_life`.
"""

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psutil

from heron_core.plans import MASTER_CONTAINER, PackingPlan, packing_from_json
from heron_core.state_tree import (
    code_path,
    execution_path,
    keys_path,
    master_path,
    packing_path,
    physical_path,
    restart_requests_path,
    scheduler_path,
    topology_path,
)
from heron_io.state_store.opening import open_store
from tests.conformance.report import PROPERTY
from tests.process.process_support import Finished, Master, Place, Running, until
from tests.process.survival import TOPOLOGY, acked, records, settings, survey

LINES = 100_000
"""More than the spouts emit in the time of all steps."""
RATE = 40
"""Lines a second: enough for constant work, few enough to check each, with free cores for starts
and ends."""
PENDING = 50
FLOWING_LINES = 20
CONTAINERS = 2
ADDED = 3
OLD_CODE = """\
class Split(Bolt):
    outputs = ["line", "at", "word"]
"""
NEW_CODE = """
    def initialize(self, config, context):
        Records(config, "split", context).add("new")
"""
NODES = (topology_path, packing_path, physical_path, execution_path, master_path, scheduler_path,
         keys_path, restart_requests_path)  # fmt: skip


@dataclass
class Deployment:
    """A topology on a back end whose processes all run on this machine."""

    kind: str
    place: Place
    submit: tuple[object, ...]
    """Options of `submit` for this back end."""
    known: tuple[object, ...]
    """Options of the rest of the commands."""
    store_url: str
    wait_secs: float
    """For whatever takes seconds on an idle machine."""
    left: Callable[[], Iterable[str]] = lambda: ()
    """Remains on the cluster, one line each, besides processes and nodes."""
    is_granted: Callable[[PackingPlan], bool] = lambda _: True
    """Whether the cluster shows each container in the plan's size."""
    gets_new_code: bool = False
    """Whether the life has a change of code."""
    is_self_running: bool = True
    """Whether a cluster runs the containers, and no process of ours may add some."""
    first_tuple_secs: float = field(default=float("nan"), init=False)
    """From the command to the first tuple at the last bolt."""

    @property
    def name(self) -> str:
        """The topology's."""
        return self.place.name

    def heronpy(self, command: str, *words: object) -> Finished:
        """A command about the topology."""
        called = (command, self.name, *words, *self.known)
        return self.place.heronpy(*called, secs=self.wait_secs).succeeded()

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """The first true value, within this back end's time."""
        return until(condition, f"{self.kind}: {what}", self.wait_secs)

    def stats(self, component: str | None = None) -> dict[str, Any]:
        """The topology master's numbers; empty while none answers."""
        with Master(self.store_url, self.name) as master:
            return master._client.try_ask("stats", {"component": component}, 1.0) or {}

    def container(self, number: int) -> psutil.Process | None:
        """The executor of a container."""
        title = f"heron: container {number} ({self.name})"
        for each in self.place.processes():
            with suppress(psutil.Error):
                if " ".join(each.cmdline()).startswith(title):
                    return each
        return None

    def node(self, path: Callable[[str], str]) -> Any:
        """A node of the state store."""
        store = open_store(self.store_url)
        try:
            return store.get(path(self.name))
        finally:
            store.close()

    def packing(self) -> PackingPlan:
        """The packing plan."""
        return packing_from_json(self.node(packing_path))


def whole_life(deployment: Deployment, record_property: Callable[[str, object], None]) -> None:
    """All steps; a failed step is in the traceback. pytest's `record_property` gets the time of the
    first tuple, without an assertion."""
    for step in STEPS:
        step(deployment)
    record_property(PROPERTY, f"{deployment.kind} {deployment.first_tuple_secs:.1f} s")


def submits(deployment: Deployment) -> None:
    """`submit` returns when all instances run, and tuples flow."""
    folder = deployment.place.path
    words, _ = settings(folder, LINES, RATE)
    pending = ("-o", f"topology.max.spout.pending={PENDING}")
    began = time.monotonic()
    command = deployment.place.start(
        "submit", TOPOLOGY, "-N", deployment.name, "-w", CONTAINERS, *pending, *words,
        *deployment.submit,
    )  # fmt: skip
    deployment.until(lambda: _has_ended(command) or any(records(folder, "seen")), "a tuple")
    deployment.first_tuple_secs = time.monotonic() - began
    finished = command.wait(deployment.wait_secs).succeeded()
    told = f"{deployment.name} runs with 7 instances, {CONTAINERS} containers"
    assert finished.out.startswith(told)
    _flows(deployment)


def _has_ended(command: Running) -> bool:
    """Whether the topology has failed: then a wait for a tuple is in vain."""
    code = command.process.poll()
    assert not code, command.err
    return False


def is_listed(deployment: Deployment) -> None:
    """`list` and `stats` show it."""
    assert _listed(deployment)["state"] == "RUNNING"
    assert (_listed(deployment)["containers"], _listed(deployment)["instances"]) == (2, 7)
    shown = json.loads(deployment.heronpy("stats", "--json").out)
    assert shown["containers"] == [1, 2]
    assert {name: each["up"] for name, each in shown["components"].items()} == {
        "lines": 2, "split": 2, "count": 2, "seen": 1,
    }  # fmt: skip


def _listed(deployment: Deployment) -> dict[str, Any]:
    out = deployment.place.heronpy("list", "--json", *deployment.known).succeeded().out
    (found,) = (each for each in json.loads(out) if each["name"] == deployment.name)
    return dict(found)


def pauses_and_goes_on(deployment: Deployment) -> None:
    """`deactivate` stops the spouts, tuples in flight arrive; `activate` resumes the spouts."""
    deployment.heronpy("deactivate")
    folder = deployment.place.path

    def is_quiet() -> bool:
        before = acked(folder)
        pending = deployment.stats().get("components", {}).get("lines", {}).get("pending")
        return pending == 0 and acked(folder) == before

    deployment.until(is_quiet, "it pauses")
    assert _listed(deployment)["state"] == "PAUSED"
    deployment.heronpy("activate")
    assert _listed(deployment)["state"] == "RUNNING"
    _flows(deployment)


def bears_the_death_of_a_container(deployment: Deployment) -> None:
    """kill -9 of the added container: a restart, without a change of further containers or a
    loss."""
    before = _processes(deployment)
    victim = before.pop(ADDED)
    victim.kill()
    deployment.until(lambda: _is_another(deployment, ADDED, victim), "the container comes back")
    _stay(deployment, before)
    _is_complete(deployment)


def restarts_a_container(deployment: Deployment) -> None:
    """`restart` replaces one container's processes, and waits for the new ones."""
    before = _processes(deployment)
    said = deployment.heronpy("restart", 1).out
    assert said == f"{deployment.name}: container 1 is restarted\n"
    assert _is_another(deployment, 1, before.pop(1))
    _stay(deployment, before)
    _is_complete(deployment)


def _works(deployment: Deployment, component: str, task: int) -> bool:
    return _work(deployment, component, task) > 0


def grows_by_a_container(deployment: Deployment) -> None:
    """`update`: one more container, which processes tuples; the rest stay."""
    before = _processes(deployment)
    deployment.heronpy("update", "--container-number", ADDED)
    _stay(deployment, before)
    assert deployment.container(ADDED) is not None
    instances = deployment.packing().container(ADDED).instances
    assert instances
    for each in instances:
        deployment.until(
            partial(_works, deployment, each.component, each.task),
            f"{each.component} (task {each.task}) works in container {ADDED}",
        )
    _is_complete(deployment)


def _work(deployment: Deployment, component: str, task: int) -> int:
    """Processed or acked tuples of an instance, as counted by its own process."""
    rows = deployment.stats(component).get("instances", [])
    return sum(each["executed"] + each["acked"] for each in rows if each["task"] == task)


def shrinks_again(deployment: Deployment) -> None:
    """`update` back: the container ends, and the work continues in the rest, whose containers grow
    back in place."""
    _has_its_sizes(deployment)
    before = _processes(deployment)
    del before[ADDED]
    deployment.heronpy("update", "--container-number", CONTAINERS)
    deployment.until(lambda: deployment.container(ADDED) is None, "it ends")
    _stay(deployment, before)
    assert list(deployment.stats()["containers_expected"]) == [1, 2]
    _has_its_sizes(deployment)
    _stay(deployment, before)
    _is_complete(deployment)


def changes_its_code(deployment: Deployment) -> None:
    """`update --code` with a file of the old name: changed components are replaced everywhere, and
    the containers stay. Later containers have the new code."""
    if not deployment.gets_new_code:
        return
    before, folder = _processes(deployment), deployment.place.path
    (folder / "next").mkdir()
    file = folder / "next" / TOPOLOGY.name
    file.write_text(TOPOLOGY.read_text().replace(OLD_CODE, OLD_CODE + NEW_CODE))
    told = deployment.heronpy("update", "--code", file).out
    what = "replaced: split; untouched: lines, count, seen"
    assert told == f"{deployment.name} is updated: {what}\n"
    tasks = set(deployment.packing().tasks_of["split"])
    begun = {int(each.name.rpartition("-")[2]) for each in folder.glob("split-*")}
    assert begun == tasks, "both instances are of the new code"
    _stay(deployment, before)
    _is_complete(deployment)


def ends_without_a_trace(deployment: Deployment) -> None:
    """`kill`: processes, nodes of the state store and objects of the cluster are gone."""
    deployment.heronpy("kill")
    assert [path(deployment.name) for path in NODES if deployment.node(path) is not None] == []
    with open_store(deployment.store_url) as store:
        assert store.children(code_path(deployment.name)) == []
    deployment.place.nothing_is_left(deployment.wait_secs)
    deployment.until(lambda: not list(deployment.left()), "nothing is left there")


STEPS = (
    submits,
    is_listed,
    pauses_and_goes_on,
    grows_by_a_container,
    changes_its_code,
    bears_the_death_of_a_container,
    restarts_a_container,
    shrinks_again,
    ends_without_a_trace,
)


def _processes(deployment: Deployment) -> dict[int, psutil.Process]:
    """container -> its executor, for all containers."""
    numbers = (MASTER_CONTAINER, *(each.id for each in deployment.packing().containers))
    return {
        number: deployment.until(
            partial(deployment.container, number), f"container {number} is there"
        )
        for number in numbers
    }


def _is_another(deployment: Deployment, number: int, before: psutil.Process) -> bool:
    return deployment.container(number) not in (None, before)


def _stay(deployment: Deployment, before: dict[int, psutil.Process]) -> None:
    """AssertionError unless these containers have kept their processes."""
    assert {each: deployment.container(each) for each in before} == before


def _has_its_sizes(deployment: Deployment) -> None:
    plan = deployment.packing()
    deployment.until(lambda: deployment.is_granted(plan), "its containers have their sizes")


def _flows(deployment: Deployment) -> None:
    """More lines are acked from now on."""
    wanted = acked(deployment.place.path) + FLOWING_LINES
    deployment.until(lambda: acked(deployment.place.path) >= wanted, "lines are acked")


def _is_complete(deployment: Deployment) -> None:
    """All lines emitted before now are acked, with every word seen."""
    _flows(deployment)
    folder = deployment.place.path
    last = 1 + max(map(int, records(folder, "acked")))
    deployment.until(lambda: survey(folder, last).complete, f"the first {last} lines are complete")
