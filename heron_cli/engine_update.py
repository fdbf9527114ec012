"""Another engine for a running topology: the choice, and a check of the engine."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass

import heron_core
from heron_cli.running_topology import RunningTopology
from heron_core.errors import HeronError, UsageError
from heron_core.plans import MASTER_CONTAINER, PackingPlan
from heron_core.topology import TopologySpec, topology_to_json
from heron_core.version import PROTOCOL, VERSION, engine_text
from heron_engine.scheduler.backends.registry import LOCAL
from heron_engine.scheduler.container.engines import SEARCH_PATH, InstalledEngine

PREFLIGHT_SECS = 60.0
"""For the imports of a topology."""


@dataclass(frozen=True, slots=True)
class EngineChange:
    """The steps of an upgrade, container by container."""

    engine: InstalledEngine
    now: str
    """The present versions."""
    containers: tuple[int, ...]

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.containers))
        return (
            f"from heronpy {self.now} to {self.engine}: container {listed}, then the topology "
            f"master ({MASTER_CONTAINER}), one at a time"
        )


def engine_change(
    topology: RunningTopology, spec: TopologySpec, current: PackingPlan, python: str | None
) -> EngineChange:
    """The engine of this command, or of another Python; HeronError for an unusable engine. Changes
    nothing in the topology."""
    _check_is_local(topology)
    engine = _checked(_installed(python), spec)
    containers = tuple(sorted(container.id for container in current.containers))
    return EngineChange(engine, _versions(topology), containers)


def image_change(
    topology: RunningTopology, engine: InstalledEngine, current: PackingPlan
) -> EngineChange:
    """The engine of a cluster's file for running containers."""
    containers = tuple(sorted(container.id for container in current.containers))
    return EngineChange(engine, _versions(topology), containers)


def _versions(topology: RunningTopology) -> str:
    stats = topology.client.stats()
    versions = {engine.version for engine in stats.registered.values()} | {stats.version}
    return " and ".join(sorted(versions))


def _check_is_local(topology: RunningTopology) -> None:
    scheduler = topology.scheduler or {}
    kind, host = scheduler.get("kind"), scheduler.get("host")
    if kind != LOCAL:
        raise UsageError(
            f"{topology.name} runs on {kind}, where the engine that it was submitted with lies: "
            "`heronpy kill --savepoint`, then `heronpy submit --from-savepoint`"
        )
    if host != socket.gethostname():
        raise UsageError(f"{topology.name} runs on {host}: run the upgrade there")


def _installed(python: str | None) -> InstalledEngine:
    """The engine, without its version."""
    program = os.path.abspath(python) if python is not None else sys.executable
    if not os.access(program, os.X_OK):
        raise UsageError(f"--python {python}: no program")
    folder = os.path.dirname(os.path.dirname(os.path.abspath(heron_core.__file__)))
    words = os.environ.get(SEARCH_PATH, "").split(os.pathsep)
    searched = [os.path.abspath(each) for each in words if each]
    return InstalledEngine(program, folder if folder in searched else "")


def _checked(engine: InstalledEngine, spec: TopologySpec) -> InstalledEngine:
    """The engine with its version; HeronError for another protocol, or an import that fails."""
    words = [engine.python, "-P", "-m", "heron_engine.scheduler.container.preflight", str(PROTOCOL)]
    environment = engine.environment(os.environ)
    try:
        done = subprocess.run(
            words, input=json.dumps(topology_to_json(spec)), capture_output=True, text=True,
            env=environment, timeout=PREFLIGHT_SECS, check=False,
        )  # fmt: skip
        answer = json.loads(done.stdout.strip().rpartition("\n")[2])
        version, protocol, error = answer["version"], answer["protocol"], answer["error"]
    except subprocess.TimeoutExpired:
        raise HeronError(
            f"{engine.python} has not imported {spec.name} after {PREFLIGHT_SECS:.0f} s"
        ) from None
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise UsageError(f"the heronpy of {engine.python} cannot take over: {last[:200]}") from None
    if protocol != PROTOCOL:
        raise HeronError(
            f"{spec.name} runs {engine_text(VERSION, PROTOCOL)}, and {engine.python} has "
            f"{engine_text(version, protocol)}: `heronpy kill --savepoint`, then `heronpy submit "
            "--from-savepoint` by the new one"
        )
    if error:
        raise HeronError(f"{spec.name} cannot run by {engine.python}: {error}")
    return InstalledEngine(engine.python, engine.folder, version)
