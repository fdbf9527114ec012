"""Sinks of a job with checkpoints of its own: output of earlier runs belongs to the same job.

Other sinks warn of the output of an unknown run, which reads again from the beginning; a job with
`task.checkpoint.factory` continues behind the offsets of the earlier run.
"""

from heron_connectors.files.sink import FileSink
from heron_connectors.kafka.sink import KafkaSink


class ContinuedFiles(FileSink):
    """Files of all runs of a job."""

    def unknown_output(self) -> str:
        """See TwoPhaseSink: earlier runs are known."""
        return ""

    def output_of_another_run(self, run: str) -> str:
        """See TwoPhaseSink: earlier runs are continued."""
        return ""


class ContinuedTopic(KafkaSink):
    """Records of all runs of a job."""

    def unknown_output(self) -> str:
        """See TwoPhaseSink: earlier runs are known."""
        return ""

    def output_of_another_run(self, run: str) -> str:
        """See TwoPhaseSink: earlier runs are continued."""
        return ""
