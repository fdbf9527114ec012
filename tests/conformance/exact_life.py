"""A life with exact state on every back end: one topology file, one checker.

The topology is tests/process/topologies/exact.py: numbers are counted by key on two ways and in
windows, and the lines of a file are written into files. A container is killed, the topology is
scaled with its state, a savepoint leads to a second submission, and a machine is rebooted; in the
end each number and each line counts once. docs/DEPLOY.md lists the tests of each back end.
"""

import signal
from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil

from tests.conformance.checks import CONTAINERS, Deployment
from tests.process.process_support import GONE_SECS
from tests.process.test_resume import arguments, check_exact, end

MORE_COUNTERS, MORE_CONTAINERS = 3, 3
Reboot = Callable[[Deployment, Callable[[], None]], None]
"""Takes the power from a machine with a container. The second argument submits again, as a user of
a single machine does after the boot."""


def exact_life(deployment: Deployment, reboot: Reboot, *options: object) -> None:
    """All steps; the failed step is in the traceback. `options`: further ones of `submit`."""
    states = deployment.place.path / "states"
    store = ("-o", f"topology.checkpoint.store=file://{states}")

    def submit(*more: object) -> None:
        words = arguments(deployment.place, "-w", CONTAINERS, *store, *deployment.submit, *options)
        command = ("submit", *words, *more)
        deployment.place.heronpy(*command, secs=deployment.wait_secs).succeeded()

    submit()
    goes_on(deployment)
    survives_a_killed_container(deployment)
    grows_with_its_state(deployment)
    goes_over_a_savepoint(deployment, submit)
    reboot(deployment, submit)
    goes_on(deployment)
    end(deployment.place)
    ends_exactly(deployment)


def goes_on(deployment: Deployment) -> None:
    """A checkpoint is complete that began after the call."""
    latest = deployment.until(lambda: checkpoints(deployment), "the master answers")["latest"]
    deployment.until(
        lambda: (checkpoints(deployment) or {}).get("completed", 0) > latest,
        "a later checkpoint is complete",
    )


def checkpoints(deployment: Deployment) -> dict[str, int]:
    """The topology master's numbers of checkpoints; empty without an answer."""
    return deployment.stats().get("checkpoints") or {}


def survives_a_killed_container(deployment: Deployment) -> None:
    """kill -9 of an executor, and thereby of its processes."""
    victim: psutil.Process = deployment.until(
        lambda: deployment.container(CONTAINERS), "its executor runs"
    )
    victim.kill()
    deployment.until(
        lambda: deployment.container(CONTAINERS) not in (None, victim), "another executor runs"
    )
    goes_on(deployment)


def grows_with_its_state(deployment: Deployment) -> None:
    """One more instance with keyed state, and one more container."""
    wanted = f"count:{MORE_COUNTERS}"
    out = deployment.heronpy(
        "update", "--component-parallelism", wanted, "--container-number", MORE_CONTAINERS
    ).out
    assert f"count 2 -> {MORE_COUNTERS}" in out
    goes_on(deployment)


def goes_over_a_savepoint(deployment: Deployment, submit: Callable[..., None]) -> None:
    """All processes end; the next submission has fewer instances, and the state of all."""
    savepoint = deployment.place.path / "savepoint"
    out = deployment.heronpy("kill", "--savepoint", savepoint).out
    assert f"from the savepoint with --from-savepoint {savepoint}" in out
    deployment.until(lambda: not deployment.place.processes(), "all processes end")
    deployment.until(lambda: not list(deployment.left()), "nothing is left there")
    submit("--from-savepoint", savepoint)
    goes_on(deployment)


def ends_exactly(deployment: Deployment) -> None:
    """The results, equal on every back end."""
    folder = deployment.place.path
    deployment.until((folder / "in_windows").exists, "the windows are counted")
    parts = ("counted-*", 2), ("emitted-*", 2)
    deployment.until(
        lambda: all(len(list(folder.glob(name))) == number for name, number in parts),
        "all instances have written their counts",
    )
    check_exact(deployment.place)


# --- reboots ------------------------------------------------------------------------------------


def everything(deployment: Deployment, submit: Callable[[], None]) -> None:
    """The only machine: the same submit resumes after the boot."""
    kill_at_once(deployment.place.processes())
    deployment.until(lambda: not deployment.place.processes(), "nothing runs")
    submit()


def a_machine_of_a_container(deployment: Deployment, _: Callable[[], None]) -> None:
    """The cluster starts the container somewhere, without a command of the user."""
    before = deployment.until(lambda: deployment.container(CONTAINERS), "its executor runs")
    kill_at_once(machine_of(before))
    deployment.until(
        lambda: deployment.container(CONTAINERS) not in (None, before),
        "the container runs elsewhere",
    )


def machine_of(executor: psutil.Process) -> list[psutil.Process]:
    """An executor, its processes, and the agent above."""
    agents = [each for each in executor.parents() if "container_agent" in " ".join(each.cmdline())]
    top = agents[-1] if agents else executor
    return [top, *top.children(recursive=True)]


def kill_at_once(victims: Iterable[psutil.Process]) -> None:
    """As by a power cut: a process sees no other process end."""
    every = list(victims)
    for stop in (signal.SIGSTOP, signal.SIGKILL):
        for each in every:
            with suppress(psutil.Error):
                each.send_signal(stop)
    psutil.wait_procs(every, GONE_SECS)
