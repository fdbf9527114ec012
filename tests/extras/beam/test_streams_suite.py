"""Beam's tests of TestStream and of triggers, on HeronpyRunner in the tester.

A TestPipeline of these tests makes options of its own, so a fixture gives it the runner.
One task for each stage: the expected values of a group are in the order of their events.
"""

import unittest
from typing import Any

import pytest
from apache_beam.testing import test_stream_test
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.transforms import trigger_test

from heronpy_compat.beam import HeronpyRunner


@pytest.fixture(autouse=True)
def our_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = TestPipeline.__init__

    def begin_with_ours(self: Any, runner: Any = None, **options: Any) -> None:
        begin(self, runner or HeronpyRunner("tester", 1), **options)

    monkeypatch.setattr(TestPipeline, "__init__", begin_with_ours)


def does_not_pass(case: Any, name: str) -> Any:
    """The test of the case, which has to fail: docs/BEAM.md says why."""

    def run(self: Any) -> None:
        getattr(case, name)(self)

    return unittest.expectedFailure(run)


class TestStreams(test_stream_test.TestStreamTest):
    test_basic_execution_with_service = does_not_pass(
        test_stream_test.TestStreamTest, "test_basic_execution_with_service"
    )
    test_windowed_values_interpreted_correctly = does_not_pass(
        test_stream_test.TestStreamTest, "test_windowed_values_interpreted_correctly"
    )


class TestTriggers(trigger_test.TriggerPipelineTest):
    @unittest.skip("48 years of the tester's clock, which goes from timer to timer")
    def test_on_pane_watermark_hold_no_pipeline_stall(self) -> None:
        pass


class TestTranscripts(trigger_test.TestStreamTranscriptTest):
    test_known_late_data_watermark = does_not_pass(
        trigger_test.TestStreamTranscriptTest, "test_known_late_data_watermark"
    )
    test_timestamp_combiner_custom_timestamping_earliest_1 = does_not_pass(
        trigger_test.TestStreamTranscriptTest,
        "test_timestamp_combiner_custom_timestamping_earliest_1",
    )


del test_stream_test, trigger_test
