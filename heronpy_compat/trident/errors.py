"""Errors of Trident: how a topology is built, and how user code fails a batch."""

from heron_api.requests.basic_bolt import FailedException as FailedException
from heron_core.errors import TopologyError


class TridentError(TopologyError, RuntimeError):
    """A Trident topology is built wrongly, or uses what is not here; one line.

    Example:

        from heronpy_compat.trident import TridentTopology

        try:
            TridentTopology().build("Words", {"topology.reliability.mode": "ATMOST_ONCE"})
        except TridentError as error:
            print(error)
    """


class ReportedFailedException(FailedException):
    """As FailedException, and its text is among the errors of the log.

    Example:

        class Write(Filter):
            def is_keep(self, tup):
                if not tup[0]:
                    raise ReportedFailedException("the row has no key")
                return True
    """
