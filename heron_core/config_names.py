"""The keys of a topology's configuration, the words that they take, and their defaults.

Heron's keys, and Storm's where they mean the same. heron_core.config reads them.
"""

from collections.abc import Mapping
from typing import Any

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
    # Flink's, for each instance: what an ordinary service takes from one client.
    ASYNC_CAPACITY: 100,
    # Tuples of a task arrive in the order of their emit, and so they leave where they did before a
    # call became a coroutine. A slow one holds up at most the capacity.
    ASYNC_ORDERED: True,
    # Storm's message timeout: at least once a tuple has failed by then in any case.
    ASYNC_TIMEOUT_MS: 30_000,
    BOLT_RETRY_BACKOFF_MS: 100,
    # The first replay comes at once; a tuple that always fails is replayed twice a minute in the
    # end. Whoever promises at least once gives nothing up unasked.
    REPLAY_BACKOFF_MS: 100,
    REPLAY_MAX: 0,
    METRICS_INTERVAL_MS: 1000,
    LOG_FORMAT: TEXT,
    CONSOLE_LOG_LEVEL: WARNING,
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
    # A queue is a second of work at most; a barrier that waits longer is behind a bolt turned slow.
    ALIGNED_TIMEOUT_MS: 1000,
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
