"""A local container: forked from its scheduler, then executed by its own engine, if not the
scheduler's.

The process remains the scheduler's child, with unchanged lifeline and status pipe, for any engine:
the container's engine is executed in place.
"""

import logging
import os
import re
from contextlib import suppress

from heron_engine.scheduler.container import executor
from heron_engine.scheduler.container.engines import Choice, Engines
from heron_engine.scheduler.container.executor import ContainerSpec
from heron_io.processes import SupervisorLink, started_at

log = logging.getLogger("container")


def run(spec: ContainerSpec, link: SupervisorLink) -> int:
    """Run the container until the end; returns its exit code."""
    _write_pid(spec)
    choice = Engines(spec.sockets).of(spec.container)
    if choice.engine is not None:
        try:
            _become(choice, spec, link)
        except OSError as error:
            # The scheduler's own engine serves as well: both speak one protocol.
            text = f"{choice.engine} cannot be started ({error}): the scheduler's own instead"
            link.predecessor = "; ".join(filter(None, (link.predecessor, text)))
    return executor.run(spec, link)


def _become(choice: Choice, spec: ContainerSpec, link: SupervisorLink) -> None:
    """Execute the other engine in place of the process; OSError on failure."""
    engine = choice.engine
    assert engine is not None
    words = [engine.python, "-P", "-m", "heron_engine.scheduler.container", *arguments(spec, link)]
    words += ["--on-trial"] * choice.on_trial
    if not os.access(engine.python, os.X_OK):
        raise FileNotFoundError(f"no program {engine.python}")
    os.dup2(link.lifeline, 0)
    if link.status_pipe is not None:
        os.dup2(link.status_pipe, 1)
    if spec.console is not None:
        os.set_inheritable(spec.console, True)
    os.execve(engine.python, words, engine.environment(os.environ))


def arguments(spec: ContainerSpec, link: SupervisorLink) -> list[str]:
    """Of scheduler.container, for this container."""
    words = {
        "--store": spec.store_url,
        "--topology": spec.topology.name,
        "--container": str(spec.container),
        "--logs": spec.logs,
        "--sockets": spec.sockets,
        "--bind-host": spec.bind_host,
        "--predecessor": link.predecessor,
    }
    if spec.console is not None:
        words["--console"] = f"/dev/fd/{spec.console}"
    return ["--local", *(f"{key}={value}" for key, value in words.items())]


_PID_FILE = re.compile(r"container-(\d+)\.pid")


def _pid_file(sockets: str, container: int) -> str:
    return os.path.join(sockets, f"container-{container}.pid")


def _write_pid(spec: ContainerSpec) -> None:
    with suppress(OSError), open(_pid_file(spec.sockets, spec.container), "w") as file:
        file.write(str(os.getpid()))


def processes_in(sockets: str) -> list[tuple[int, str]]:
    """Process id and start (heron_io.processes.started_at) of each running container."""
    numbers = (_PID_FILE.fullmatch(each) for each in os.listdir(sockets))
    pids = (pid_of(sockets, int(each[1])) for each in numbers if each is not None)
    started_processes = ((pid, started_at(pid)) for pid in pids if pid is not None)
    return [(pid, started) for pid, started in started_processes if started is not None]


def pid_of(sockets: str, container: int) -> int | None:
    """The last process of a container; it may have ended."""
    try:
        with open(_pid_file(sockets, container), encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
