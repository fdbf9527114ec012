"""A pipeline in one process, on a virtual clock: TopologyTester drives it to its end."""

import time
from typing import Any

from heron_core.errors import HeronError
from heronpy_compat.beam.assembly import builder_of
from heronpy_compat.beam.groups import NEVER
from heronpy_compat.beam.plans import PipelinePlan
from heronpy_compat.beam.sources import EventSpout
from heronpy_compat.beam.stage_task import StageTask
from heronpy_compat.testing import TopologyTester

STEPS_MAX = 100_000
"""Steps of the clock, or events, of one run: a pipeline that is never over ends with an error."""


def run_in_tester(plan: PipelinePlan, reports: str) -> None:
    """Run to the end. What a DoFn raises passes as RuntimeError, as with Beam's own runners."""
    config = {"topology.bolt.retries": 0}
    # Pipelines are made with times of now.
    with TopologyTester(
        builder_of(plan, reports, finalizes_at_once=True), config=config, start_time=time.time()
    ) as tester:
        stages = [each.name for each in plan.stages]
        for _ in range(STEPS_MAX):
            calls = tester.run_spouts(1)
            _raise_problem(tester, stages)
            wait = _next_wait(tester, plan, bool(calls))
            if wait is None:
                break
            tester.advance(wait)
            _raise_problem(tester, stages)
        else:
            raise HeronError(f"the pipeline is not over after {STEPS_MAX} steps of the clock")
        tester.finish()
        _raise_problem(tester, stages)


def _next_wait(tester: Any, plan: PipelinePlan, has_called: bool) -> float | None:
    """How far to advance the clock; 0 while spouts emit, None at the end."""
    asked = 0.0
    for source in plan.sources:
        for spout in tester.component(source.name):
            if isinstance(spout, EventSpout):
                asked, spout.asked_secs = asked + spout.asked_secs, 0.0
    if has_called or asked:
        return asked
    due = min((task.next_due for task in _tasks(tester, plan)), default=NEVER)
    return None if due == NEVER else max(due - tester.now, 0.0) + 1e-3


def _tasks(tester: Any, plan: PipelinePlan) -> list[StageTask]:
    return [bolt.task for stage in plan.stages for bolt in tester.component(stage.name)]


def _raise_problem(tester: Any, stages: list[str]) -> None:
    for stage in stages:
        for problem in tester.errors(stage):
            error = problem.error
            text = str(problem) if error is None else f"{type(error).__name__}: {error}"
            raise RuntimeError(f"{stage}: {text}") from error
