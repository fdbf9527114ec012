"""The result of a run: its state, and the metrics that tasks have left in files."""

import os
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from apache_beam.portability.api import metrics_pb2
from apache_beam.runners.portability.fn_api_runner.fn_runner import RunnerResult
from apache_beam.runners.runner import PipelineState

from heronpy_compat.beam.metric_totals import MetricTotals


def read_reports(folder: str) -> dict[str, list[Any]]:
    """stage -> MonitoringInfos of its tasks, summed up."""
    by_stage: dict[str, list[Any]] = defaultdict(list)
    for name in sorted(os.listdir(folder)):
        if name.endswith("~"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            for line in file.read().split():
                info = metrics_pb2.MonitoringInfo.FromString(bytes.fromhex(line.decode()))
                by_stage[name.rsplit(".", 1)[0]].append(info)
    return {name: MetricTotals(infos).infos for name, infos in by_stage.items()}


class HeronpyResult(RunnerResult):
    """The PipelineResult of a run."""

    _state: Any

    def __init__(
        self, wait: Callable[[float | None], bool], cancel: Callable[[], None],
        reports: Callable[[], dict[str, list[Any]]],
    ) -> None:  # fmt: skip
        """`wait(secs)`: whether the run has ended; raises if it has failed."""
        super().__init__(PipelineState.RUNNING, {})
        self._wait, self._cancel, self._reports = wait, cancel, reports

    def wait_until_finish(self, duration: int | None = None) -> Any:
        """The state after the run, or after `duration` milliseconds.

        RuntimeError if the run has failed.
        """
        if PipelineState.is_terminal(self._state):
            return self._state
        try:
            has_ended = self._wait(None if duration is None else duration / 1_000)
        except BaseException:
            self._state = PipelineState.FAILED
            raise
        if has_ended:
            self._monitoring_infos_by_stage = self._reports()
            self._state = PipelineState.DONE
        return self._state

    def cancel(self) -> Any:
        """End the run; what is in flight is lost."""
        if not PipelineState.is_terminal(self._state):
            self._cancel()
            self._state = PipelineState.CANCELLED
        return self._state
