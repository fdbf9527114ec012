"""What Nimbus is asked and answers, besides topologies: Storm's structs and exceptions.

Field numbers and names come from Storm's storm.thrift. Additions of Storm 2 are optional, and left
out of answers without an equivalent here.
"""

from heron_core.thrift.calls import StormException
from heron_core.thrift.structs import BOOL, DOUBLE, I32, I64, STRING, ListOf, MapOf, Struct
from heron_core.thrift.structs import fields as struct_fields
from heronpy_compat.streamparse.thrift import GlobalStreamId, TopologySummary

BY_STREAM = MapOf(STRING, MapOf(STRING, I64))
BY_INPUT = MapOf(STRING, MapOf(GlobalStreamId, I64))
MEAN_BY_STREAM = MapOf(STRING, MapOf(STRING, DOUBLE))
MEAN_BY_INPUT = MapOf(STRING, MapOf(GlobalStreamId, DOUBLE))
"""Window -> stream -> number."""


class SupervisorSummary(Struct):
    """A machine."""

    FIELDS = struct_fields(
        (1, "host", STRING),
        (2, "uptime_secs", I32),
        (3, "num_workers", I32),
        (4, "num_used_workers", I32),
        (5, "supervisor_id", STRING),
        (6, "version", STRING),
    )


class NimbusSummary(Struct):
    """A Nimbus: the local process."""

    FIELDS = struct_fields(
        (1, "host", STRING),
        (2, "port", I32),
        (3, "uptime_secs", I32),
        (4, "isLeader", BOOL),
        (5, "version", STRING),
    )


class ClusterSummary(Struct):
    """Machines, topologies and Nimbus."""

    FIELDS = struct_fields(
        (1, "supervisors", ListOf(SupervisorSummary)),
        (2, "nimbus_uptime_secs", I32),
        (3, "topologies", ListOf(TopologySummary)),
        (4, "nimbuses", ListOf(NimbusSummary)),
    )


class ErrorInfo(Struct):
    """An error of user code."""

    FIELDS = struct_fields((1, "error", STRING), (2, "error_time_secs", I32), (3, "host", STRING))


class BoltStats(Struct):
    """Of an executor of a bolt."""

    FIELDS = struct_fields(
        (1, "acked", BY_INPUT),
        (2, "failed", BY_INPUT),
        (3, "process_ms_avg", MEAN_BY_INPUT),
        (4, "executed", BY_INPUT),
        (5, "execute_ms_avg", MEAN_BY_INPUT),
    )


class SpoutStats(Struct):
    """Of an executor of a spout."""

    FIELDS = struct_fields(
        (1, "acked", BY_STREAM), (2, "failed", BY_STREAM), (3, "complete_ms_avg", MEAN_BY_STREAM)
    )


class ExecutorSpecificStats(Struct):
    """The field set determines the kind."""

    FIELDS = struct_fields((1, "bolt", BoltStats), (2, "spout", SpoutStats))


class ExecutorStats(Struct):
    """Numbers of an executor."""

    FIELDS = struct_fields(
        (1, "emitted", BY_STREAM),
        (2, "transferred", BY_STREAM),
        (3, "specific", ExecutorSpecificStats),
        (4, "rate", DOUBLE),
    )


class ExecutorInfo(Struct):
    """The first and the last task of an executor: here the same."""

    FIELDS = struct_fields((1, "task_start", I32), (2, "task_end", I32))


class ExecutorSummary(Struct):
    """An executor: here an instance."""

    FIELDS = struct_fields(
        (1, "executor_info", ExecutorInfo),
        (2, "component_id", STRING),
        (3, "host", STRING),
        (4, "port", I32),
        (5, "uptime_secs", I32),
        (7, "stats", ExecutorStats),
    )


class TopologyInfo(Struct):
    """One topology with its executors."""

    FIELDS = struct_fields(
        (1, "id", STRING),
        (2, "name", STRING),
        (3, "uptime_secs", I32),
        (4, "executors", ListOf(ExecutorSummary)),
        (5, "status", STRING),
        (6, "errors", MapOf(STRING, ListOf(ErrorInfo))),
        (513, "sched_status", STRING),
        (514, "owner", STRING),
        (515, "replication_count", I32),
    )


class GetInfoOptions(Struct):
    """Requested errors: all (0), none (1), or one per component (2)."""

    FIELDS = struct_fields((1, "num_err_choice", I32))


class RebalanceOptions(Struct):
    """Changes of a rebalance."""

    FIELDS = struct_fields(
        (1, "wait_secs", I32), (2, "num_workers", I32), (3, "num_executors", MapOf(STRING, I32))
    )


class AlreadyAliveException(StormException):
    """A topology of the name is already running."""


class NotAliveException(StormException):
    """Unknown name or id."""


class InvalidTopologyException(StormException):
    """An invalid topology, name or request."""
