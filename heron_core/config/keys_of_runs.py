"""Keys of a topology's run: checkpoints and state, processes, observation."""

from collections.abc import Mapping
from typing import Any

from heron_core.config import readers as r
from heron_core.config import values as v
from heron_core.config.key import AT_LEAST, EXACTLY, TRACKED, Key, Owner, Subject
from heron_core.errors import TopologyError, shown
from heron_core.wire.pickled import Pickled


def _liveness(config: Mapping[str, Any], key: str) -> float:
    value = r.seconds(config, key)
    if value < v.LIVENESS_TIMEOUT_SECS_MIN:
        raise TopologyError(
            f"{key} must be at least {v.LIVENESS_TIMEOUT_SECS_MIN}: processes beat once a second"
        )
    return value


def _serializer(config: Mapping[str, Any], key: str) -> str:
    """`json` or `msgpack`, also by a Java class (org.apache.storm.multilang.JsonSerializer)."""
    value = config[key]
    last = value.rpartition(".")[2].lower() if isinstance(value, str) else ""
    for part, serializer in v.SERIALIZERS.items():
        if part in last:
            return serializer
    raise TopologyError(f"{key} must be json or msgpack, not {shown(value)}")


def _recipe(config: Mapping[str, Any], key: str) -> Any:
    """A mapping, which travels pickled where JSON cannot say its values."""
    value = config[key]
    if not isinstance(value, Mapping | Pickled):
        raise TopologyError(f"{key} is written by the frontend of Flux, and is not {shown(value)}")
    return value


def _java_types(config: Mapping[str, Any], key: str) -> dict[str, str]:
    value = config[key]
    if not isinstance(value, Mapping) or not all(
        isinstance(field, str) and kind in v.JAVA_NUMBERS for field, kind in value.items()
    ):
        raise TopologyError(
            f"{key} must be {{FIELD: TYPE}} with {', '.join(v.JAVA_NUMBERS)}, not {shown(value)}"
        )
    return dict(value)


# A row is read as a paragraph.
# fmt: off
STATE = Subject("Checkpoints and state")
CHECKPOINT_INTERVAL_SECS = STATE.add(Key(
    "topology.stateful.checkpoint.interval.seconds", r.seconds, 10,
    "from the start of a checkpoint to the start of the next one: after a failure tuples of this"
    " time are processed again",
    modes=TRACKED, see="CHECKPOINTS.md#settings",
    why="Heron's is 300; a checkpoint of a small state costs milliseconds",
))
CHECKPOINT_TIMEOUT_SECS = STATE.add(Key(
    "topology.checkpoint.timeout.secs", r.seconds, 60,
    "a checkpoint that takes longer is aborted as failed",
    modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#settings",
    why="a stage has about a second of work in its queues, and a slow disk takes seconds",
))
CHECKPOINT_PAUSE_MS = STATE.add(Key(
    "topology.checkpoint.pause.ms", r.whole(0), 100,
    "the least time between the end of a checkpoint and the start of the next one",
    modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#settings",
    why="where a checkpoint takes longer than the interval, there is time for work between two",
))
ALIGNED_TIMEOUT_MS = STATE.add(Key(
    "topology.checkpoint.aligned.timeout.ms", r.whole(-1), 1000,
    (
        "a barrier that has waited this long overtakes an instance's input (unaligned); 0: at "
        "once, -1: never"
    ),
    modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#unaligned-barriers",
    why="a queue is a second of work at most: a barrier that waits longer is behind a bolt that"
    " turned slow",
))
CHECKPOINTS_RETAINED = STATE.add(Key(
    "topology.checkpoint.retained", r.whole(1), 3,
    "number of completed checkpoints to retain",
    modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#settings",
    why="one checkpoint can be damaged while its predecessor is being deleted",
))
CHECKPOINT_STORE = STATE.add(Key(
    "topology.checkpoint.store", r.text, None,
    "a folder or URL for states, which all hosts of a cluster must share (NFS, object store)",
    on_spark=False, without="a folder beside the logs", see="CHECKPOINTS.md#settings",
))
BACKUP = STATE.add(Key(
    "topology.stateful.backup", r.one_of(v.MEMORY), None,
    "`memory`: the stream managers of two other containers hold the states, so a killed process "
    "or container recovers without the checkpoint store",
    modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#backup-in-memory",
    without="states are in the checkpoint store alone",
))
BACKUP_DURABLE_EVERY = STATE.add(Key(
    "topology.stateful.backup.durable.every", r.whole(1), 10,
    "with a backup in memory, one of so many checkpoints is in the checkpoint store as well, and "
    "final: sinks commit and spouts ack at these alone",
    modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#backup-in-memory",
    why="100 s with the default interval: input to process again if all copies are lost at once",
))
BACKUP_BYTES_MAX = STATE.add(Key(
    "topology.stateful.backup.bytes.max", r.size(1), 256 * 1024 * 1024,
    "states that one stream manager holds for other containers; what exceeds it is written to "
    "the checkpoint store",
    modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#backup-in-memory",
    why="a quarter of the memory of a small container; a checkpoint under way counts besides the "
    "newest complete one",
))
STATE_BACKEND = STATE.add(Key(
    "topology.state.backend", r.one_of(v.MEMORY, v.ROCKSDB), v.MEMORY,
    "where keyed state is: `memory`, or `rocksdb` for more than fits into it",
    see="STATE.md", why="a get of a dict costs a hundredth of one of a database",
))
STATE_FOLDER = STATE.add(Key(
    "topology.state.folder", r.text, None,
    "folder of rocksdb's files", on_spark=False, without="the temporary folder",
))


PROCESSES = Subject("Processes")
RESTART_LIMIT = PROCESSES.add(Key(
    "topology.restart.limit", r.whole(-1), -1,
    "consecutive restarts of a process before the topology fails; -1: unlimited, with pauses "
    "that grow to 30 s",
    owner=Owner.COMPONENT, see="ARCHITECTURE.md#failures-and-recovery",
))
LIVENESS_TIMEOUT_SECS = PROCESSES.add(Key(
    "topology.liveness.timeout.secs", _liveness, 15,
    "a process without a heartbeat for this time is killed and restarted",
    on_spark=False,
    why=(
        "a live process sends a heartbeat every second from its own thread; a process that is "
        "stopped, or whose C code holds the interpreter for this long, does not serve"
    ),
))
ENVIRONMENT = PROCESSES.add(Key(
    "topology.environment", r.variables, None, "environment variables of the components, `{NAME:"
    " value}`",
))
SHELL_COMMAND = PROCESSES.add(Key(
    "heronpy.shell.command", r.words, None,
    "the program of a shell component and its arguments, a list (written by the frontends)",
    owner=Owner.COMPONENT,
))
SHELL_ENVIRONMENT = PROCESSES.add(Key(
    "heronpy.shell.environment", r.variables, None,
    "environment variables of a shell component (written by the frontends)",
    owner=Owner.COMPONENT,
))
SHELL_SERIALIZER = PROCESSES.add(Key(
    "topology.multilang.serializer", _serializer, None,
    "protocol of a shell component: `json` or `msgpack`",
    owner=Owner.COMPONENT, fallback=v.JSON, see="PORTING.md",
))
SHELL_TIMEOUT_SECS = PROCESSES.add(Key(
    "topology.subprocess.timeout.secs", r.seconds, None,
    "a shell component that does not answer for this long is restarted",
    owner=Owner.COMPONENT, fallback=30, why="Storm's, of its supervisor", see="PORTING.md",
))
SHELL_PENDING_MAX = PROCESSES.add(Key(
    "topology.shellbolt.max.pending", r.whole(1), None,
    "maximum unanswered tuples of a shell bolt", owner=Owner.BOLT, fallback=100, why="Storm's",
    see="PORTING.md",
))
FLUX_RECIPE = PROCESSES.add(Key(
    "heronpy.flux.recipe", _recipe, None,
    "constructor of a component of a Flux file (written by the frontend)", owner=Owner.COMPONENT,
))
JAVA_CLASS_PATH = PROCESSES.add(Key(
    "topology.classpath", r.paths, None,
    "jars and folders with the Java classes of a topology and with Storm's (`lib/*`: all jars of a"
    " folder), by paths from the topology's file",
    owner=Owner.COMPONENT, without="Storm's Java classes do not run",
    see="PORTING.md#java-classes-in-a-jvm",
))
JAVA_OPTIONS = PROCESSES.add(Key(
    "heronpy.java.options", r.options, None,
    "options of the JVM of a Java component, as `-Xmx512m`, a text or a list",
    owner=Owner.COMPONENT, see="PORTING.md#java-classes-in-a-jvm",
))
JAVA_TYPES = PROCESSES.add(Key(
    "heronpy.java.types", _java_types, None,
    "fields that a Java component reads as a narrower type than Long and Double, `{FIELD: int}`:"
    " `int`, `short`, `byte`, `float`",
    owner=Owner.BOLT, see="PORTING.md#java-classes-in-a-jvm",
))
JAVA_RECIPE = PROCESSES.add(Key(
    "heronpy.java.recipe", _recipe, None,
    "constructor of a Java component (written by the frontends)", owner=Owner.COMPONENT,
))


ACCESS = Subject("Rights on the topology")
TOPOLOGY_USERS = ACCESS.add(Key(
    "topology.users", r.names, None,
    "users who may see the topology and act on it by `heronpy ui`, besides its submitter and the"
    " operators of the service (Storm)",
    without="with none of the four keys: the rights of the service",
    see="UI.md#rights-on-one-topology",
))
TOPOLOGY_GROUPS = ACCESS.add(Key(
    "topology.groups", r.names, None, "groups with the same rights",
    see="UI.md#rights-on-one-topology",
))
TOPOLOGY_READONLY_USERS = ACCESS.add(Key(
    "topology.readonly.users", r.names, None, "users who may see the topology, and not act on it",
    see="UI.md#rights-on-one-topology",
))
TOPOLOGY_READONLY_GROUPS = ACCESS.add(Key(
    "topology.readonly.groups", r.names, None, "groups with the same rights",
    see="UI.md#rights-on-one-topology",
))


OBSERVATION = Subject("Logs, metrics, traces")
TOPOLOGY_NAME = OBSERVATION.add(Key(
    "topology.name", r.text, None, "the topology's name (written by heronpy)",
))
ORIGINAL_NAME = OBSERVATION.add(Key(
    "topology.original_name", r.text, None,
    "the name in the topology's file, where it runs under another (written by heronpy)",
))
METRICS_INTERVAL_MS = OBSERVATION.add(Key(
    "topology.metrics.interval.ms", r.whole(10), 1000,
    "the time between two reports of an instance", owner=Owner.COMPONENT,
))
DEBUG = OBSERVATION.add(Key(
    "topology.debug", r.flag, False, "debug lines in the logs", owner=Owner.COMPONENT,
))
LOG_FORMAT = OBSERVATION.add(Key(
    "topology.log.format", r.one_of(v.TEXT, v.JSON), v.TEXT,
    "format of log lines: `text`, or `json` (one object per line)",
))
LOG_MAXIMUM_SIZE = OBSERVATION.add(Key(
    "topology.log.maximum.size", r.size(v.LOG_BYTES_LEAST), v.LOG_BYTES,
    "size of a log file, as `20MB` or in bytes, after which the process begins another",
    why="Heron's limit (`heron.logging.maximum.size.mb`)",
))
LOG_MAXIMUM_FILES = OBSERVATION.add(Key(
    "topology.log.maximum.files", r.whole_to(1, v.LOG_FILES_MOST), v.LOG_FILES,
    "number of full log files that stay beside the current one of each process; the oldest is "
    "removed first",
    why="Heron's limit (`heron.logging.maximum.files`)",
))
CONSOLE_LOG_LEVEL = OBSERVATION.add(Key(
    "topology.console.log.level", r.switch(*v.LOG_LEVELS), v.WARNING,
    "minimum level of components' log lines that `heronpy run` shows: `off`, `debug`, `info`, "
    "`warning`, `error`",
    on_spark=False,
))
METRICS_PORT = OBSERVATION.add(Key(
    "topology.metrics.port", r.port, None,
    "where the topology master serves OpenMetrics; 0 for any port that is free",
    on_spark=False, without="metrics are not served", see="UI.md#openmetrics",
))
METRICS_HOST = OBSERVATION.add(Key(
    "topology.metrics.host", r.address, "127.0.0.1",
    "address of the metrics port", on_spark=False, see="UI.md#openmetrics",
    why="every client of the port can read all numbers, so other hosts need an explicit address",
))
ENDED_VISIBLE_HOURS = OBSERVATION.add(Key(
    "topology.ended.visible.hours", r.whole(0), 24,
    "how long the end of a topology is shown by `heronpy list --all`, the pages, both REST "
    "interfaces and the metrics, on each machine that has its state store; 0: not at all",
    why="a failure in the night is seen in the morning",
))
FLIGHT_RECORDER = OBSERVATION.add(Key(
    "topology.flight.recorder", r.switch(v.OFF, v.FAILURE, v.ON_DEMAND), v.OFF,
    "keep the newest input of each instance, and write it out for `heronpy replay`: `failure`, when"
    " user code raises, the process is killed, or `heronpy record` asks; `on-demand`, when `heronpy"
    " record` asks; or `off`",
    owner=Owner.COMPONENT, on_spark=False, see="REPLAY.md",
    why="the files have the tuples' values, and each message is copied once",
))
FLIGHT_RECORDER_MIB = OBSERVATION.add(Key(
    "topology.flight.recorder.mib", r.whole_to(1, v.RECORDER_MIB_MAX), 16,
    "MiB of input and output that each instance keeps, in a mapped file beside its log",
    owner=Owner.COMPONENT, on_spark=False, see="REPLAY.md",
    why="seconds of a busy bolt; all since the newest checkpoint has to fit for an exact replay",
))
FLIGHT_RECORDER_INCIDENTS = OBSERVATION.add(Key(
    "topology.flight.recorder.incidents", r.whole_to(1, v.INCIDENTS_MAX), 5,
    "number of incidents' files that stay for each instance; the oldest is removed first",
    owner=Owner.COMPONENT, on_spark=False, see="REPLAY.md",
    why="each is as large as the ring and the state",
))
TRACE_SAMPLE = OBSERVATION.add(Key(
    "topology.trace.sample", r.whole(0), 0,
    "one in this many tuples of a spout is traced, to OpenTelemetry",
    modes=AT_LEAST, on_spark=False, see="UI.md#openmetrics",
    why="each sampled tuple costs a report from every instance that executes a part of its tree",
))
TRACE_ENDPOINT = OBSERVATION.add(Key(
    "topology.trace.endpoint", r.url, None,
    "where traces go, by OTLP over HTTP: `http://localhost:4318/v1/traces`",
    modes=AT_LEAST, on_spark=False, without="where OpenTelemetry's variables say",
    see="UI.md#openmetrics",
))
