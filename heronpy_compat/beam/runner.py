"""HeronpyRunner: Beam's pipelines as topologies.

    python -m apache_beam.examples.wordcount_minimal --input FILE --output OUT \\
        --runner heronpy_compat.beam.HeronpyRunner --engine local --parallelism 4
"""

import argparse
import shutil
import tempfile
from typing import Any

from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    GoogleCloudOptions,
    PipelineOptions,
    TypeOptions,
)
from apache_beam.options.value_provider import RuntimeValueProvider
from apache_beam.runners import runner
from apache_beam.runners.pipeline_utils import group_by_key_input_visitor
from apache_beam.transforms import environments

from heron_core.errors import TopologyError, UsageError
from heronpy_compat.beam.in_tester import run_in_tester
from heronpy_compat.beam.on_processes import ProcessRun
from heronpy_compat.beam.plans import PipelinePlan
from heronpy_compat.beam.results import HeronpyResult, read_reports
from heronpy_compat.beam.translation import plan_of

TESTER, LOCAL = "tester", "local"
PARALLELISM = 2
"""Tasks of each stage but those that read an impulse, where `--parallelism` is not given."""


class HeronpyOptions(PipelineOptions):
    """Options of the runner, beside Beam's."""

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--engine",
            choices=[TESTER, LOCAL],
            default=LOCAL,
            help="tester: in this process, on a virtual clock. local: processes of this machine.",
        )
        parser.add_argument(
            "--topology_options",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="A config key of heronpy, for --engine local. Repeatable.",
        )


def _tasks(options: PipelineOptions) -> int:
    """`--parallelism` is Flink's option, -1 by default."""
    number = int(options.view_as(FlinkRunnerOptions).parallelism)
    if number == 0 or number < -1:
        raise UsageError(f"--parallelism: a number of tasks is 1 or more, not {number}")
    return PARALLELISM if number == -1 else number


def _refuse_virtual_clock(plan: PipelinePlan) -> None:
    """TopologyError for a TestStream whose events set the clock of processing time."""
    for source in plan.sources:
        if any(event.advance_secs for event in source.events):
            raise TopologyError(
                f"{source.name!r}: a TestStream advances the processing time, which only"
                f" --engine {TESTER} does"
            )


class HeronpyRunner(runner.PipelineRunner):
    """Runs pipelines as topologies, each stage as a bolt, exactly once."""

    def __init__(
        self, engine: str | None = None, parallelism: int | None = None, is_drain: bool = False
    ) -> None:
        """`engine` and `parallelism` are by default those of the pipeline's options; `is_drain`:
        unbounded splittable DoFns end early, by their `truncate`."""
        super().__init__()
        self._engine, self._parallelism, self._is_drain = engine, parallelism, is_drain

    def default_environment(self, options: PipelineOptions) -> Any:
        """DoFns run in this runner's processes."""
        return environments.EmbeddedPythonEnvironment.default()

    def run_pipeline(self, pipeline: Any, options: PipelineOptions) -> HeronpyResult:
        """Translate, and start; `wait_until_finish` of the result waits for the end."""
        RuntimeValueProvider.set_runtime_options({})
        pipeline.visit(
            group_by_key_input_visitor(
                not options.view_as(TypeOptions).allow_non_deterministic_key_coders
            )
        )
        proto = pipeline.to_runner_api(default_environment=self.default_environment(options))
        return self.run_portable_pipeline(proto, options)

    def run_portable_pipeline(self, pipeline: Any, options: PipelineOptions) -> HeronpyResult:
        """Start a pipeline given as a protocol buffer."""
        given = options.view_as(HeronpyOptions)
        engine = self._engine or given.engine
        name = options.view_as(GoogleCloudOptions).job_name or "beam"
        plan = plan_of(pipeline, name, self._parallelism or _tasks(options), self._is_drain)
        if engine == TESTER:
            return self._in_tester(plan)
        _refuse_virtual_clock(plan)
        return self._on_processes(plan, given.topology_options)

    def _in_tester(self, plan: PipelinePlan) -> HeronpyResult:
        folder = tempfile.mkdtemp(prefix="heronpy-beam-")
        try:
            run_in_tester(plan, folder)
            found = read_reports(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        result = HeronpyResult(lambda secs: True, lambda: None, lambda: found)
        result.wait_until_finish()
        return result

    def _on_processes(self, plan: PipelinePlan, topology_options: list[str]) -> HeronpyResult:
        run = ProcessRun(plan, topology_options)
        return HeronpyResult(run.wait, run.cancel, run.reports)
