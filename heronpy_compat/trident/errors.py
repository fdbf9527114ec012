"""Errors of Trident: how a topology is built, and how user code fails a batch."""

from heron_api.requests.basic_bolt import FailedException as FailedException
from heron_core.errors import TopologyError


class TridentError(TopologyError, RuntimeError):
    """A Trident topology is built wrongly, or uses what is not here; one line."""


class ReportedFailedException(FailedException):
    """As FailedException, and its text is among the errors of the log."""
