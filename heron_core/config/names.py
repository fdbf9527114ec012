"""The names of a topology's configuration keys, and the words that they take.

Heron's keys, and Storm's where they mean the same. `heron_core.config.keys` has what each means.
"""

from collections.abc import Mapping

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
RUNNING, PAUSED = "RUNNING", "PAUSED"
"""Its values: whether the spouts emit from the start, or only after `heronpy activate`."""
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
ASYNC_CAPACITY = "topology.async.capacity"
ASYNC_ORDERED = "topology.async.ordered"
ASYNC_TIMEOUT_MS = "topology.async.timeout.ms"
BOLT_RETRY_BACKOFF_MS = "topology.bolt.retry.backoff.ms"
REPLAY_BACKOFF_MS = "topology.replay.backoff.ms"
REPLAY_MAX = "topology.replay.max"
DEAD_LETTER = "topology.dead.letter"
METRICS_INTERVAL_MS = "topology.metrics.interval.ms"
LOG_FORMAT = "topology.log.format"
CONSOLE_LOG_LEVEL = "topology.console.log.level"
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
ALIGNED_TIMEOUT_MS = "topology.checkpoint.aligned.timeout.ms"
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
STORM_TASKS = "topology.tasks"
STORM_TASKS_MAX = "topology.max.task.parallelism"
STORM_CPU_PERCENT = "topology.component.cpu.pcore.percent"
STORM_HEAP_MB = "topology.component.resources.onheap.memory.mb"
STORM_OTHER_MEMORY_MB = "topology.component.resources.offheap.memory.mb"
CPU_MAP = "topology.component.cpumap"
RAM_MAP = "topology.component.rammap"
DISK_MAP = "topology.component.diskmap"
STORM_ACKERS = "topology.acker.executors"

CONTAINER_CPU = "topology.container.cpu"
CONTAINER_RAM = "topology.container.ram"
CONTAINER_DISK = "topology.container.disk"
CONTAINER_CPU_PADDING = "topology.container.cpu.padding"
CONTAINER_RAM_PADDING = "topology.container.ram.padding"
CONTAINER_PADDING_PERCENTAGE = "topology.container.padding.percentage"
CONTAINER_MAX_INSTANCES = "topology.container.max.instances"
PACKING_ALGORITHM = "topology.packing.algorithm"
HERON_PACKING_CLASS = "heron.class.packing.algorithm"
FFD_SORTING_STRATEGY = "topology.packing.ffd.sorting.strategy"
STMGR_RAM = "topology.stmgr.ram"
METRICSMGR_RAM = "topology.metricsmgr.ram"
CHECKPOINTMGR_RAM = "topology.stateful.checkpointmanager.ram"
ORIGINAL_NAME = "topology.original_name"

SHELL_COMMAND = "heronpy.shell.command"
SHELL_ENVIRONMENT = "heronpy.shell.environment"
SHELL_SERIALIZER = "topology.multilang.serializer"
SHELL_TIMEOUT_SECS = "topology.subprocess.timeout.secs"
SHELL_PENDING_MAX = "topology.shellbolt.max.pending"
FLUX_RECIPE = "heronpy.flux.recipe"

SAME_IN_OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    STORM_ACKERS: (RELIABILITY_MODE,),
    TICK_TUPLE_FREQ_MS: (TICK_TUPLE_FREQ_SECS,),
    TICK_TUPLE_FREQ_SECS: (TICK_TUPLE_FREQ_MS,),
    WINDOW_LENGTH_COUNT: (WINDOW_LENGTH_MS,),
    WINDOW_LENGTH_MS: (WINDOW_LENGTH_COUNT,),
}
"""Key -> the keys that say the same in other words: a layer that has the one decides over what a
lower layer says by the other."""

LIVENESS_TIMEOUT_SECS_MIN = 2
WHOLE_NUMBER_MAX = 1 << 40
"""Of any key: a tebibyte, or 34 years in milliseconds. What is more is a slip of the hand, and sums
of it would no longer fit into a message."""
SECONDS_MAX = 1e9
"""31 years: whoever means "never" by so many seconds gets it, and every clock counts so far."""
PORT_MAX = 65535
BYTES_MAX = 1 << 50
"""A pebibyte: far more than a host has, and sums of it still fit into a message."""
CORES_MAX = 1e6
"""Of an instance or a container; far more than a host has."""
CORE_PERCENT_MAX = 1e8
"""A million cores, as the packing's maps take at most: Storm counts a core as 100."""
MIB_MAX = 1 << 30
"""A pebibyte, as the packing's maps take at most."""

ATMOST_ONCE = "ATMOST_ONCE"
ATLEAST_ONCE = "ATLEAST_ONCE"
EFFECTIVELY_ONCE = "EFFECTIVELY_ONCE"

FAIL = "fail"
EXIT = "exit"
RESTART = "restart"
STOP = "stop"

TEXT = "text"
JSON = "json"
WARNING = "warning"
MSGPACK = "msgpack"
SERIALIZERS = {JSON: JSON, MSGPACK: MSGPACK, "messagepack": MSGPACK}
"""What the last part of a serializer's name contains -> what a shell component speaks."""

MEMORY = "memory"
ROCKSDB = "rocksdb"

OFF = "off"
LOG_LEVELS = {
    OFF: None,
    "debug": 10,
    "info": 20,
    WARNING: 30,
    "error": 40,
}
"""As words, and as `logging` numbers them."""
ADVISE = "advise"
ON = "on"

RATES = "rates"
THRESHOLD = "threshold"

ROUND_ROBIN = "round_robin"
FIRST_FIT_DECREASING = "first_fit_decreasing"
HERON_PACKINGS = {
    "RoundRobinPacking": ROUND_ROBIN,
    "FirstFitDecreasingPacking": FIRST_FIT_DECREASING,
}
"""Heron's class, without its package -> the algorithm."""
RAM_FIRST = "RAM_FIRST"
CPU_FIRST = "CPU_FIRST"

STAGE = "stage"
SPOUT = "spout"
DROP = "drop"

CHECKPOINTED_TUPLES = 4096
"""Some ten milliseconds of work at full speed. A bolt that turns slow, a millisecond for a tuple,
has some ten seconds of work then. A mark of 1,024 costs a word count a third of its throughput,
this one a tenth (docs/CHECKPOINTS.md)."""
WAITING_TUPLES = 65_536
"""A minute's work of the same bolt, and more tuples of the size of a number than 256 KiB has."""
