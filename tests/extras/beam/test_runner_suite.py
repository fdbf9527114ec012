"""Beam's own suites of runners, shipped in its package, on HeronpyRunner in the tester."""

import apache_beam as beam
from apache_beam.runners.portability.fn_api_runner import fn_runner_test

from heronpy_compat.beam import HeronpyRunner


class TestRunner(fn_runner_test.FnApiRunnerTest):
    def create_pipeline(self, is_drain: bool = False) -> beam.Pipeline:
        return beam.Pipeline(runner=HeronpyRunner("tester", 2, is_drain))


del fn_runner_test
