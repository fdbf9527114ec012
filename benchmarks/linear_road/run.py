"""One run of the topology over an existing input, with planned disturbances."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.engine_run import EngineRun
from benchmarks.linear_road.data import HISTORY_FILE
from benchmarks.linear_road.generator import Settings
from benchmarks.linear_road.operators import HISTORY_KEY
from benchmarks.linear_road.scaling import AUTOSCALE, NAME, Scaling
from benchmarks.linear_road.source import (
    BEGIN_KEY,
    EXPRESSWAYS_KEY,
    INPUT_KEY,
    SECONDS_KEY,
    SPEED_UP_KEY,
)
from benchmarks.linear_road.topology import TASKS_VARIABLE
from benchmarks.measure import BenchmarkError
from benchmarks.recovery import kill
from benchmarks.rounds import REPOSITORY
from benchmarks.titles import by_role, cpu_seconds, roles

TOPOLOGY = Path(__file__).with_name("topology")
START_SECONDS = 8.0
"""So long after the command the first second is due: all processes are there by then."""
LOOK_SECONDS = 0.25
TIMEOUT_SECONDS = 3600.0
SPARK = ("--engine", "spark", "--master", "local[2]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to run it."""

    speed_up: float = 0.0
    """Seconds of the road per second of the clock; 0: full speed."""
    tasks: Mapping[str, int] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    on_spark: bool = False
    kill: bool = False
    """kill -9 of an instance, and of a container with all its processes."""
    rescale: bool = False
    """One more instance of three stateful components during the run."""
    autoscale: bool = False
    """Have the topology's autoscaler find the number of instances."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run took."""

    secs: float
    """From the beginning of the command, or of the first second, to the end of the command."""
    cpu: Mapping[str, float]
    """CPU-seconds of each component and role until shortly before the end."""
    changes: tuple[str, ...] = ()
    """What the autoscaler has said."""


def run(folder: Path, settings: Settings, plan: Plan) -> Usage:
    """Write the answers to the input in a folder beside it; BenchmarkError if that fails."""
    os.environ[TASKS_VARIABLE] = json.dumps(dict(plan.tasks))
    begin = time.time() + START_SECONDS
    config = {
        INPUT_KEY: folder,
        HISTORY_KEY: folder / HISTORY_FILE,
        EXPRESSWAYS_KEY: settings.expressways,
        SECONDS_KEY: settings.seconds,
        "file.folder": answers_folder(folder),
        **({SPEED_UP_KEY: plan.speed_up, BEGIN_KEY: begin} if plan.speed_up else {}),
        **_troubled(plan),
        **(AUTOSCALE if plan.autoscale else {}),
        **plan.config,
    }
    words = SPARK if plan.on_spark else ()
    with EngineRun(str(TOPOLOGY), config, words=words) as engine:
        steps = [*_kills(plan), *_updates(plan, engine)]
        scaling = Scaling(engine) if plan.autoscale else None
        usage = _watched(engine, answers_folder(folder), steps, scaling)
    secs = time.time() - (begin if plan.speed_up else begin - START_SECONDS)
    return Usage(secs, usage, scaling.lines(begin) if scaling else ())


def answers_folder(folder: Path) -> Path:
    """Where the answers to an input go."""
    return folder / "answers"


def _troubled(plan: Plan) -> Mapping[str, str]:
    if not (plan.kill or plan.rescale):
        return {}
    return {
        "topology.stmgrs": "2",
        "topology.stateful.checkpoint.interval.seconds": "1",
        "topology.restart.limit": "1000",
    }


def _kills(plan: Plan) -> list[Callable[[], object]]:
    if not plan.kill:
        return []
    return [lambda: kill("heron: tolls[0]"), lambda: kill("heron: container 2 ")]


def _updates(plan: Plan, engine: EngineRun) -> list[Callable[[], object]]:
    if not plan.rescale:
        return []
    wanted = {each: plan.tasks.get(each, 1) + 1 for each in ("cars", "tolls", "statistics")}
    return [lambda: _update(engine, wanted)]


def _update(engine: EngineRun, wanted: Mapping[str, int]) -> None:
    words = [f"{component}:{number}" for component, number in wanted.items()]
    command = [sys.executable, "-m", "heron_cli", "update", NAME]
    for each in words:
        command += ["--component-parallelism", each]
    home = {"HERONPY_HOME": str(engine.home), "PYTHONPATH": str(REPOSITORY)}
    subprocess.run(command, env=os.environ | home, cwd=REPOSITORY, check=True)


def _watched(
    engine: EngineRun,
    answers: Path,
    steps: list[Callable[[], object]],
    scaling: Scaling | None,
) -> dict[str, float]:
    """Take the steps, each when there are new answers, and wait for the end of the command."""
    found: dict[str, float] = {}
    seen = 0
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while engine.is_running:
        if time.monotonic() > deadline:
            raise BenchmarkError(f"it does not end\n{engine.final_output()}")
        number = sum(1 for _ in answers.glob("part-*"))
        if steps and number > seen:
            steps.pop(0)()
            seen = number
        if scaling is not None:
            scaling.look()
        role_of = roles()
        found |= {
            role: max(found.get(role, 0.0), secs)
            for role, secs in by_role(cpu_seconds(), role_of).items()
        }
        time.sleep(LOOK_SECONDS)
    list(engine.reports(LOOK_SECONDS))  # which tells whether it has failed
    if steps:
        raise BenchmarkError(f"it was over before {len(steps)} of the changes could be made")
    return found
