"""Topology configuration: Heron's keys, Storm's where they mean the same, defaults and readers.

Every reader takes the merged config (defaults < topology < command line < component) and returns
a typed value with its unit in the name, or raises TopologyError naming the key and what it takes.
"""

from collections.abc import Mapping
from typing import Any

from heron_core.algorithms.retries import RetryPolicy
from heron_core.errors import TopologyError, shown

STMGRS = "topology.stmgrs"
INSTANCES_MAX = "topology.instances.max"
RELIABILITY_MODE = "topology.reliability.mode"
MESSAGE_TIMEOUT_SECS = "topology.message.timeout.secs"
ENABLE_MESSAGE_TIMEOUTS = "topology.enable.message.timeouts"
MAX_SPOUT_PENDING = "topology.max.spout.pending"
TICK_TUPLE_FREQ_SECS = "topology.tick.tuple.freq.secs"
TICK_TUPLE_FREQ_MS = "topology.tick.tuple.freq.ms"
COMPONENT_PARALLELISM = "topology.component.parallelism"
SERIALIZER_CLASSNAME = "topology.serializer.classname"
AUTO_TASK_HOOKS = "topology.auto.task.hooks"
DEBUG = "topology.debug"
TOPOLOGY_NAME = "topology.name"
INITIAL_STATE = "topology.initial.state"
LINGER_MS = "topology.batch.linger.ms"
BATCH_TUPLES = "topology.batch.tuples"
BATCH_BYTES = "topology.batch.bytes"
MESSAGE_BYTES_MAX = "topology.message.bytes.max"
RESTART_LIMIT = "topology.restart.limit"
BACKPRESSURE_HIGH_BYTES = "topology.backpressure.high.bytes"
BACKPRESSURE_HIGH_TUPLES = "topology.backpressure.high.tuples"
BACKPRESSURE_TARGET_MS = "topology.backpressure.target.ms"
BACKPRESSURE_LOW_BYTES = "topology.backpressure.low.bytes"
BACKPRESSURE_MODE = "topology.backpressure.mode"
LIVENESS_TIMEOUT_SECS = "topology.liveness.timeout.secs"
STUCK_REPORT_SECS = "topology.stuck.report.secs"
BOLT_ON_EXCEPTION = "topology.bolt.on.exception"
BOLT_RETRIES = "topology.bolt.retries"
BOLT_RETRY_BACKOFF_MS = "topology.bolt.retry.backoff.ms"
REPLAY_BACKOFF_MS = "topology.replay.backoff.ms"
REPLAY_MAX = "topology.replay.max"
METRICS_INTERVAL_MS = "topology.metrics.interval.ms"
LOG_FORMAT = "topology.log.format"
METRICS_PORT = "topology.metrics.port"
METRICS_HOST = "topology.metrics.host"
TRACE_SAMPLE = "topology.trace.sample"
TRACE_ENDPOINT = "topology.trace.endpoint"
VALUES_PICKLE = "topology.values.pickle"
UPDATE_DEACTIVATE_WAIT_SECS = "topology.update.deactivate.wait.secs"
UPDATE_REACTIVATE_WAIT_SECS = "topology.update.reactivate.wait.secs"
WINDOW_LENGTH_COUNT = "topology.bolts.window.length.count"
WINDOW_LENGTH_MS = "topology.bolts.window.length.duration.ms"
WINDOW_SLIDE_COUNT = "topology.bolts.window.sliding.interval.count"
WINDOW_SLIDE_MS = "topology.bolts.window.sliding.interval.duration.ms"
WINDOW_LATENESS_MS = "topology.bolts.window.allowed.lateness.ms"
TIMESTAMP_FIELD = "topology.bolts.tuple.timestamp.field.name"
TIMESTAMP_LAG_MS = "topology.bolts.tuple.timestamp.max.lag.ms"
TIMESTAMP_AHEAD_MS = "topology.bolts.tuple.timestamp.max.ahead.ms"
LATE_STREAM = "topology.bolts.late.tuple.stream"
WATERMARK_INTERVAL_MS = "topology.bolts.watermark.event.interval.ms"
WATERMARK_IDLE_MS = "topology.bolts.watermark.idle.ms"
WATERMARK_END_AFTER_MS = "topology.bolts.watermark.end.after.ms"
WATERMARK_SOURCES = "topology.bolts.watermark.sources"

CHECKPOINT_INTERVAL_SECS = "topology.stateful.checkpoint.interval.seconds"
CHECKPOINT_TIMEOUT_SECS = "topology.checkpoint.timeout.secs"
CHECKPOINT_PAUSE_MS = "topology.checkpoint.pause.ms"
CHECKPOINTS_RETAINED = "topology.checkpoint.retained"
CHECKPOINT_STORE = "topology.checkpoint.store"
STATE_BACKEND = "topology.state.backend"
STATE_FOLDER = "topology.state.folder"
STREAMLET_FUSION = "topology.streamlet.fusion"

ENVIRONMENT = "topology.environment"

WARM_CONTAINERS = "topology.warm.containers"
AUTOSCALE_MODE = "topology.autoscale.mode"
AUTOSCALE_POLICY = "topology.autoscale.policy"
AUTOSCALE_COMPONENTS = "topology.autoscale.components"
AUTOSCALE_INTERVAL_SECS = "topology.autoscale.interval.secs"
AUTOSCALE_WINDOW_SECS = "topology.autoscale.window.secs"
AUTOSCALE_COOLDOWN_SECS = "topology.autoscale.cooldown.secs"
AUTOSCALE_SHRINK_WINDOW_SECS = "topology.autoscale.shrink.window.secs"
AUTOSCALE_MOVE_COST_SECS = "topology.autoscale.move.cost.secs"
AUTOSCALE_TARGET_UTILIZATION = "topology.autoscale.target.utilization"
AUTOSCALE_THRESHOLD_UTILIZATION = "topology.autoscale.threshold.utilization"
AUTOSCALE_THRESHOLD_REPORTS = "topology.autoscale.threshold.reports"
AUTOSCALE_INSTANCES_MIN = "topology.autoscale.instances.min"
AUTOSCALE_INSTANCES_MAX = "topology.autoscale.instances.max"
SKEW_SAMPLE = "topology.skew.sample"

OF_STREAMS = "streams"
OF_TASKS = "tasks"

HERON_DROP_TUPLES = "topology.droptuples.upon.backpressure"
STORM_WORKERS = "topology.workers"
STORM_ACKERS = "topology.acker.executors"

LIVENESS_TIMEOUT_SECS_MIN = 2
WHOLE_NUMBER_MAX = 1 << 40
"""Of any key: a tebibyte, or 34 years in milliseconds. What is more is a slip of the hand, and sums
of it would no longer fit into a message."""
SECONDS_MAX = 1e9
"""31 years: whoever means "never" by so many seconds gets it, and every clock counts so far."""
PORT_MAX = 65535

ATMOST_ONCE = "ATMOST_ONCE"
ATLEAST_ONCE = "ATLEAST_ONCE"
EFFECTIVELY_ONCE = "EFFECTIVELY_ONCE"

FAIL = "fail"
EXIT = "exit"
RESTART = "restart"
STOP = "stop"

TEXT = "text"
JSON = "json"

MEMORY = "memory"
ROCKSDB = "rocksdb"

OFF = "off"
ADVISE = "advise"
ON = "on"

STAGE = "stage"
SPOUT = "spout"
DROP = "drop"

CHECKPOINTED_TUPLES = 4096
"""Some ten milliseconds of work at full speed. A bolt that turns slow, a millisecond for a tuple,
has some ten seconds of work then. A mark of 1,024 costs a word count a third of its throughput,
this one a tenth (docs/CHECKPOINTS.md)."""
WAITING_TUPLES = 65_536
"""A minute's work of the same bolt, and more tuples of the size of a number than 256 KiB has."""

DEFAULTS: Mapping[str, Any] = {
    DEBUG: False,
    STREAMLET_FUSION: True,
    STMGRS: 1,
    # Far beyond what was ever measured here: a slip of the hand, or a file that somebody made, is
    # not to fill a machine with processes.
    INSTANCES_MAX: 10_000,
    MESSAGE_TIMEOUT_SECS: 30,
    ENABLE_MESSAGE_TIMEOUTS: True,
    # Heron's 100 starves a pipeline that moves batches; much more than 1,000 makes the replays of
    # a slow bolt (10 ms a tuple) outlast the message timeout.
    MAX_SPOUT_PENDING: 1000,
    RELIABILITY_MODE: ATMOST_ONCE,
    # Two milliseconds are below what a person or a downstream service notices; against one they
    # save 9 % of the CPU of acked tuples at full speed, and 4 % at most once (benchmarks/one_hop).
    # A spout that has nothing to emit, and a bolt without input, wait for none of it.
    LINGER_MS: 2,
    # At full speed two milliseconds bring up to 2,000 tuples, so a batch is ended by the linger
    # limit or by 256 KiB; messages of 512 tuples cost 10 to 15 % more CPU (benchmarks/one_hop).
    BATCH_TUPLES: 2048,
    BATCH_BYTES: 262144,
    # Heron's stream managers cut connections above 10 MB (heron_internals.yaml).
    MESSAGE_BYTES_MAX: 10 * 1024 * 1024,
    RESTART_LIMIT: -1,  # without end (heron_core.algorithms.backoff)
    # A process that is alive beats every second from a thread of its own; one that is stopped, or
    # whose C code holds the interpreter this long, helps nobody.
    LIVENESS_TIMEOUT_SECS: 15,
    # A second of work is more than a pause and its end take, and what a person accepts to wait.
    BACKPRESSURE_TARGET_MS: 1000,
    # A queue of 4 MiB is about 60 full batches: 50 ms of work at full speed.
    BACKPRESSURE_HIGH_BYTES: 4 * 1024 * 1024,
    BACKPRESSURE_LOW_BYTES: 1024 * 1024,
    BACKPRESSURE_MODE: STAGE,
    BOLT_ON_EXCEPTION: FAIL,
    # With pauses of 100, 200 and 400 ms: a connection that was refused is there again, and a tuple
    # that always raises holds the others for less than a second.
    BOLT_RETRIES: 3,
    BOLT_RETRY_BACKOFF_MS: 100,
    # The first replay comes at once; a tuple that always fails is replayed twice a minute in the
    # end. Whoever promises at least once gives nothing up unasked.
    REPLAY_BACKOFF_MS: 100,
    REPLAY_MAX: 0,
    METRICS_INTERVAL_MS: 1000,
    LOG_FORMAT: TEXT,
    # Whoever reaches the port reads all numbers, so nobody else does unless somebody says so.
    METRICS_HOST: "127.0.0.1",
    # Each sampled tuple costs a report of every instance that executes a part of its tree.
    TRACE_SAMPLE: 0,
    # Any Python value travels; without pickle only those of msgpack, tuples and sets do.
    VALUES_PICKLE: True,
    # Storm kills a worker whose component is silent for 30 s; here somebody is told where it is.
    STUCK_REPORT_SECS: 5,
    # Heron's is 300: that much is processed again after a failure. A checkpoint of a small state
    # costs milliseconds.
    CHECKPOINT_INTERVAL_SECS: 10,
    # A stage has about a second of work in its queues, and a slow disk takes seconds.
    CHECKPOINT_TIMEOUT_SECS: 60,
    # Where a checkpoint takes longer than the interval, there is time for work between two.
    CHECKPOINT_PAUSE_MS: 100,
    # One can be damaged, and the one before may be on its way out.
    CHECKPOINTS_RETAINED: 3,
    # A get of a dict costs a hundredth of one of a database.
    STATE_BACKEND: MEMORY,
    # Heron waits for nothing before it scales; what is in flight is done or has failed after twice
    # the default message timeout.
    UPDATE_DEACTIVATE_WAIT_SECS: 60,
    # Heron's: a cluster may take minutes for new containers.
    UPDATE_REACTIVATE_WAIT_SECS: 600,
    # What waits costs as much as what works.
    WARM_CONTAINERS: 0,
    # Another number of instances is the user's decision, as is who pays for them.
    AUTOSCALE_MODE: OFF,
    AUTOSCALE_POLICY: "rates",
    AUTOSCALE_INTERVAL_SECS: 5,
    # Six looks: reports of a second and bursts of a few are levelled out.
    AUTOSCALE_WINDOW_SECS: 30,
    # What waited meanwhile is worked off, and instances that came up cold are warm.
    AUTOSCALE_COOLDOWN_SECS: 60,
    # Kubernetes' for its pods: a lull of a few minutes takes nothing away.
    AUTOSCALE_SHRINK_WINDOW_SECS: 300,
    AUTOSCALE_MOVE_COST_SECS: 1,
    AUTOSCALE_TARGET_UTILIZATION: 0.75,
    # SEEP's.
    AUTOSCALE_THRESHOLD_UTILIZATION: 0.7,
    AUTOSCALE_THRESHOLD_REPORTS: 2,
    # At most 200 tuples a second are looked at, for 2 microseconds each.
    SKEW_SAMPLE: True,
}


def with_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` over the defaults, Storm's keys translated where Heron's are not set."""
    merged = {**DEFAULTS, **config}
    if STORM_WORKERS in config and STMGRS not in config:
        merged[STMGRS] = config[STORM_WORKERS]
    if config.get(STORM_ACKERS) is not None and RELIABILITY_MODE not in config:
        ackers = whole_number(config, STORM_ACKERS, 0)
        merged[RELIABILITY_MODE] = ATLEAST_ONCE if ackers else ATMOST_ONCE
    if config.get(HERON_DROP_TUPLES) and BACKPRESSURE_MODE not in config:
        merged[BACKPRESSURE_MODE] = DROP if flag(config, HERON_DROP_TUPLES) else STAGE
    return merged


def whole_number(config: Mapping[str, Any], key: str, least: int) -> int:
    """The value of `key` as an int of at least `least`, and no absurd one."""
    value = config[key]
    try:
        number = int(value)
        exact = not isinstance(value, bool) and float(value) == number
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact or number < least:
        raise TopologyError(f"{key} must be a whole number of at least {least}, not {shown(value)}")
    if number > WHOLE_NUMBER_MAX:
        raise TopologyError(f"{key} must be at most {WHOLE_NUMBER_MAX}, not {shown(value)}")
    return number


def restart_limit(config: Mapping[str, Any]) -> int:
    """How often a process that keeps ending is restarted in a row; -1 for ever."""
    return whole_number(config, RESTART_LIMIT, -1)


def seconds(config: Mapping[str, Any], key: str) -> float:
    """The value of `key` in seconds, a positive number; a string of digits is accepted."""
    value = config[key]
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if isinstance(value, bool) or not 0.0 < number < float("inf"):
        raise TopologyError(f"{key} must be a positive number of seconds, not {shown(value)}")
    if number > SECONDS_MAX:
        raise TopologyError(f"{key} must be at most {SECONDS_MAX:.0f} seconds, not {shown(value)}")
    return number


def share(config: Mapping[str, Any], key: str) -> float:
    """The value of `key` as a share above 0 and below 1."""
    value = config[key]
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if isinstance(value, bool) or not 0.0 < number < 1.0:
        raise TopologyError(f"{key} must be a number between 0 and 1, not {shown(value)}")
    return number


def flag(config: Mapping[str, Any], key: str) -> bool:
    """The value of `key` as a bool; the strings true and false are accepted in any case."""
    value = config[key]
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise TopologyError(f"{key} must be true or false, not {shown(value)}")


def instances_max(config: Mapping[str, Any]) -> int:
    """How many instances a topology may have."""
    return whole_number(with_defaults(config), INSTANCES_MAX, 1)


def check_instances(config: Mapping[str, Any], instances: int) -> None:
    """TopologyError for more instances than a topology may have."""
    most = instances_max(config)
    if instances > most:
        raise TopologyError(
            f"{shown(instances)} instances are more than {INSTANCES_MAX}, which is {most}: use"
            " fewer, or raise that key"
        )


def reliability(config: Mapping[str, Any]) -> str:
    """The reliability mode."""
    return _one_of(config, RELIABILITY_MODE, ATMOST_ONCE, ATLEAST_ONCE, EFFECTIVELY_ONCE)


def takes_checkpoints(config: Mapping[str, Any]) -> bool:
    """Whether state is saved, and the topology goes back to it after a failure."""
    return reliability(config) == EFFECTIVELY_ONCE


def saves_states(config: Mapping[str, Any]) -> bool:
    """Whether each instance saves its own state, for the process that replaces it."""
    return reliability(config) == ATLEAST_ONCE


def state_backend(config: Mapping[str, Any]) -> str:
    """Where keyed state is kept: memory (default), or rocksdb for state larger than memory."""
    return _one_of(config, STATE_BACKEND, MEMORY, ROCKSDB)


def backpressure_mode(config: Mapping[str, Any]) -> str:
    """How a queue that is too full is answered: stage (default), spout (Heron's) or drop."""
    return _one_of(config, BACKPRESSURE_MODE, STAGE, SPOUT, DROP)


def backpressure_tuples(config: Mapping[str, Any]) -> int:
    """How many tuples may wait for an instance, and as many be handed to it: few where checkpoints
    are taken, for a barrier waits behind them, and a bolt may turn slow at any moment."""
    if config.get(BACKPRESSURE_HIGH_TUPLES) is not None:
        return whole_number(config, BACKPRESSURE_HIGH_TUPLES, 1)
    return CHECKPOINTED_TUPLES if takes_checkpoints(config) else WAITING_TUPLES


def exits_on_exception(config: Mapping[str, Any]) -> bool:
    """Whether an exception in `process` ends the process (Heron, pystorm) or fails the tuple."""
    return _one_of(config, BOLT_ON_EXCEPTION, FAIL, RESTART, STOP, EXIT) == EXIT


def stops_on_exception(config: Mapping[str, Any]) -> bool:
    """Whether an exception in `process` ends the topology, after the retries if there are any."""
    return bool(config[BOLT_ON_EXCEPTION] == STOP)


def retry_policy(config: Mapping[str, Any]) -> RetryPolicy:
    """When a bolt that raised tries again, in a topology that takes checkpoints."""
    return RetryPolicy(
        whole_number(config, BOLT_RETRIES, 0),
        whole_number(config, BOLT_RETRY_BACKOFF_MS, 1) / 1000,
        is_endless=config[BOLT_ON_EXCEPTION] == RESTART,
    )


def replay_policy(config: Mapping[str, Any]) -> RetryPolicy:
    """When a source emits a tuple that failed once more."""
    most = whole_number(config, REPLAY_MAX, 0)
    first_secs = whole_number(config, REPLAY_BACKOFF_MS, 1) / 1000
    return RetryPolicy(most, first_secs, is_endless=not most)


def watermark_sources(config: Mapping[str, Any]) -> str:
    """What a window bolt takes the least watermark of: its streams (Storm), or their tasks."""
    return _one_of(config, WATERMARK_SOURCES, OF_STREAMS, OF_TASKS)


def autoscale_mode(config: Mapping[str, Any]) -> str:
    """What autoscaling does: off (default), advise or on. YAML reads both words as booleans."""
    value = config[AUTOSCALE_MODE]
    if isinstance(value, bool):
        return ON if value else OFF
    return _one_of(config, AUTOSCALE_MODE, OFF, ADVISE, ON)


def autoscale_policy(config: Mapping[str, Any]) -> str:
    """By which rule autoscaling decides: rates (default) or threshold."""
    return _one_of(config, AUTOSCALE_POLICY, "rates", "threshold")


def environment(config: Mapping[str, Any]) -> dict[str, str]:
    """The environment variables that the topology sets for its components."""
    found = config.get(ENVIRONMENT) or {}
    if not isinstance(found, Mapping):
        raise TopologyError(f"{ENVIRONMENT} must be {{NAME: value}}, not {shown(found)}")
    return {str(name): str(value) for name, value in found.items()}


def _one_of(config: Mapping[str, Any], key: str, *choices: str) -> str:
    value = config[key]
    if value not in choices:
        raise TopologyError(f"{key} must be {' or '.join(choices)}, not {shown(value)}")
    return str(value)


def log_format(config: Mapping[str, Any]) -> str:
    """How the lines of logs look: text (default), or json, an object each."""
    return _one_of({LOG_FORMAT: TEXT, **config}, LOG_FORMAT, TEXT, JSON)


def metrics_port(config: Mapping[str, Any]) -> int | None:
    """Where the topology master serves OpenMetrics, 0 for any free port; None for nowhere."""
    if config.get(METRICS_PORT) is None:
        return None
    port = whole_number(config, METRICS_PORT, 0)
    if port > PORT_MAX:
        raise TopologyError(f"{METRICS_PORT} must be a port, at most {PORT_MAX}, not {port}")
    return port


def metrics_host(config: Mapping[str, Any]) -> str:
    """The address of that port."""
    host = config[METRICS_HOST]
    if not isinstance(host, str) or not host:
        raise TopologyError(f'{METRICS_HOST} must be an address as "127.0.0.1", not {shown(host)}')
    return host


def trace_sample(config: Mapping[str, Any]) -> int:
    """One in so many tuples of a spout is traced; 0 for none."""
    return whole_number(config, TRACE_SAMPLE, 0)


def trace_endpoint(config: Mapping[str, Any]) -> str | None:
    """Where traces go by OTLP over HTTP; None for where OpenTelemetry's variables say."""
    url = config.get(TRACE_ENDPOINT)
    if url is None:
        return None
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        example = "http://localhost:4318/v1/traces"
        raise TopologyError(f"{TRACE_ENDPOINT} must be a URL as {example}, not {shown(url)}")
    return url


def tick_interval_secs(config: Mapping[str, Any]) -> float | None:
    """Seconds between tick tuples, or None for no ticks; Java Heron's key in ms is accepted."""
    if config.get(TICK_TUPLE_FREQ_SECS) is not None:
        return seconds(config, TICK_TUPLE_FREQ_SECS)
    if config.get(TICK_TUPLE_FREQ_MS) is not None:
        return seconds(config, TICK_TUPLE_FREQ_MS) / 1000.0
    return None


def check(config: Mapping[str, Any]) -> None:
    """Read every known key once, so that a bad value is found before anything starts."""
    merged = with_defaults(config)
    reliability(merged)
    backpressure_mode(merged)
    state_backend(merged)
    exits_on_exception(merged)
    retry_policy(merged)
    replay_policy(merged)
    environment(merged)
    tick_interval_secs(merged)
    log_format(merged)
    metrics_port(merged)
    metrics_host(merged)
    trace_sample(merged)
    trace_endpoint(merged)
    seconds(merged, MESSAGE_TIMEOUT_SECS)
    for key in (STUCK_REPORT_SECS, UPDATE_DEACTIVATE_WAIT_SECS, UPDATE_REACTIVATE_WAIT_SECS,
                CHECKPOINT_INTERVAL_SECS, CHECKPOINT_TIMEOUT_SECS):  # fmt: skip
        seconds(merged, key)
    if seconds(merged, LIVENESS_TIMEOUT_SECS) < LIVENESS_TIMEOUT_SECS_MIN:
        raise TopologyError(
            f"{LIVENESS_TIMEOUT_SECS} must be at least {LIVENESS_TIMEOUT_SECS_MIN}: "
            "processes beat once a second"
        )
    for key in (ENABLE_MESSAGE_TIMEOUTS, DEBUG, VALUES_PICKLE, STREAMLET_FUSION, SKEW_SAMPLE):
        flag(merged, key)
    for key in (STMGRS, INSTANCES_MAX, MAX_SPOUT_PENDING, BATCH_TUPLES, BATCH_BYTES,
                MESSAGE_BYTES_MAX, BACKPRESSURE_TARGET_MS, CHECKPOINTS_RETAINED):  # fmt: skip
        whole_number(merged, key, 1)
    for key in (LINGER_MS, BACKPRESSURE_LOW_BYTES, CHECKPOINT_PAUSE_MS):
        whole_number(merged, key, 0)
    restart_limit(merged)
    backpressure_tuples(merged)
    low = whole_number(merged, BACKPRESSURE_LOW_BYTES, 0)
    whole_number(merged, BACKPRESSURE_HIGH_BYTES, low + 1)
    whole_number(merged, METRICS_INTERVAL_MS, 10)
    whole_number(merged, WARM_CONTAINERS, 0)
