"""The parts of Storm's Thrift interface that topologies are made of (streamparse.thrift).

Field numbers and names are those of Storm's storm.thrift; the classes are plain Python.
"""

import sys
from enum import IntEnum
from typing import Any, NoReturn

from heron_core.errors import UsageError
from heron_core.thrift.structs import (
    BINARY,
    BOOL,
    DOUBLE,
    I32,
    I64,
    STRING,
    ListOf,
    MapOf,
    Struct,
    fields,
)


class JavaObjectArg(Struct):
    """One argument of a Java constructor; the assigned field determines the type."""

    FIELDS = fields(
        (1, "int_arg", I32),
        (2, "long_arg", I64),
        (3, "string_arg", STRING),
        (4, "bool_arg", BOOL),
        (5, "binary_arg", BINARY),
        (6, "double_arg", DOUBLE),
    )


class JavaObject(Struct):
    """A Java class with constructor arguments."""

    FIELDS = fields((1, "full_class_name", STRING), (2, "args_list", ListOf(JavaObjectArg)))


class NullStruct(Struct):
    """Marker without fields."""


class GlobalStreamId(Struct):
    """One stream of one component; equality and hash by fields.

    `componentId` is a component's name, or the specification until a name is assigned.
    """

    FIELDS = fields((1, "componentId", STRING), (2, "streamId", STRING))

    def __hash__(self) -> int:
        return hash((self.componentId, self.streamId))


class Grouping(Struct):
    """A grouping; the assigned field determines the kind, empty `fields` mean global."""

    FIELDS = fields(
        (1, "fields", ListOf(STRING)),
        (2, "shuffle", NullStruct),
        (3, "all", NullStruct),
        (4, "none", NullStruct),
        (5, "direct", NullStruct),
        (6, "custom_object", JavaObject),
        (7, "custom_serialized", BINARY),
        (8, "local_or_shuffle", NullStruct),
    )


class StreamInfo(Struct):
    """The fields of an output stream, and whether it is direct."""

    FIELDS = fields((1, "output_fields", ListOf(STRING)), (2, "direct", BOOL))


class ShellComponent(Struct):
    """A program of the multi-lang protocol and the argument."""

    FIELDS = fields((1, "execution_command", STRING), (2, "script", STRING))


class ComponentObject(Struct):
    """The implementation of a component; the assigned field determines the kind."""

    FIELDS = fields(
        (1, "serialized_java", BINARY), (2, "shell", ShellComponent), (3, "java_object", JavaObject)
    )


class ComponentCommon(Struct):
    """Common part of spouts and bolts."""

    FIELDS = fields(
        (1, "inputs", MapOf(GlobalStreamId, Grouping)),
        (2, "streams", MapOf(STRING, StreamInfo)),
        (3, "parallelism_hint", I32),
        (4, "json_conf", STRING),
    )


class SpoutSpec(Struct):
    """A spout of a StormTopology."""

    FIELDS = fields((1, "spout_object", ComponentObject), (2, "common", ComponentCommon))


class Bolt(Struct):
    """A bolt of a StormTopology."""

    FIELDS = fields((1, "bolt_object", ComponentObject), (2, "common", ComponentCommon))


class StateSpoutSpec(Struct):
    """A state spout of a StormTopology; Storm never had any."""

    FIELDS = fields((1, "state_spout_object", ComponentObject), (2, "common", ComponentCommon))


class StormTopology(Struct):
    """A topology in the form that Storm's Nimbus accepts."""

    FIELDS = fields(
        (1, "spouts", MapOf(STRING, SpoutSpec)),
        (2, "bolts", MapOf(STRING, Bolt)),
        (3, "state_spouts", MapOf(STRING, StateSpoutSpec)),
        (4, "worker_hooks", ListOf(BINARY)),
        (5, "dependency_jars", ListOf(STRING)),
        (6, "dependency_artifacts", ListOf(STRING)),
        (7, "storm_version", STRING),
        (8, "jdk_version", STRING),
    )


class TopologySummary(Struct):
    """One row of Nimbus's list of topologies."""

    FIELDS = fields(
        (1, "id", STRING),
        (2, "name", STRING),
        (3, "num_tasks", I32),
        (4, "num_executors", I32),
        (5, "num_workers", I32),
        (6, "uptime_secs", I32),
        (7, "status", STRING),
        (513, "sched_status", STRING),
        (514, "owner", STRING),
        (515, "replication_count", I32),
        (521, "requested_memonheap", DOUBLE),
        (522, "requested_memoffheap", DOUBLE),
        (523, "requested_cpu", DOUBLE),
        (524, "assigned_memonheap", DOUBLE),
        (525, "assigned_memoffheap", DOUBLE),
        (526, "assigned_cpu", DOUBLE),
    )


class KillOptions(Struct):
    """Options of a kill."""

    FIELDS = fields((1, "wait_secs", I32))


class TopologyInitialStatus(IntEnum):
    """Whether the spouts of a new topology start at once."""

    ACTIVE = 1
    INACTIVE = 2


class Credentials(Struct):
    """Names and secrets of a topology."""

    FIELDS = fields((1, "creds", MapOf(STRING, STRING)))


class SubmitOptions(Struct):
    """Options of a submit."""

    FIELDS = fields((1, "initial_status", I32), (2, "creds", Credentials))


class Nimbus:
    """Client of Storm's master, absent here; every call raises UsageError."""

    def __init__(self, *_: Any, **__: Any) -> NoReturn:
        raise UsageError(
            "heronpy has no Nimbus: use `heronpy submit`, `list`, `stats` and `kill` instead"
        )


storm_thrift = sys.modules[__name__]
"""The module under the name used by streamparse's users."""
