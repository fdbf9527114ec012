"""Keys of the data's way: delivery, batches, back-pressure, user code that fails."""

from heron_core.config import readers as r
from heron_core.config import values as v
from heron_core.config.key import AT_LEAST, EXACTLY, TRACKED, Key, Owner, Subject
from heron_core.dead_letter_target import target_of

# A row is read as a paragraph.
# fmt: off
DELIVERY = Subject("Delivery")
RELIABILITY_MODE = DELIVERY.add(Key(
    "topology.reliability.mode", r.one_of(v.ATMOST_ONCE, v.ATLEAST_ONCE, v.EFFECTIVELY_ONCE),
    v.ATMOST_ONCE,
    "effect of a failure on tuples: `ATMOST_ONCE` loses some, `ATLEAST_ONCE` repeats some, "
    "`EFFECTIVELY_ONCE` does neither",
    see="CHECKPOINTS.md", why="Heron's",
))
MESSAGE_TIMEOUT_SECS = DELIVERY.add(Key(
    "topology.message.timeout.secs", r.seconds, 30,
    "a tuple whose tree is not acked within this time fails (after up to a fifth more)",
    on_spark=False, why="Storm's and Heron's",
))
ENABLE_MESSAGE_TIMEOUTS = DELIVERY.add(Key(
    "topology.enable.message.timeouts", r.flag, True,
    "false: a tuple never fails by time",
    modes=AT_LEAST, on_spark=False, why="Heron's",
))
MAX_SPOUT_PENDING = DELIVERY.add(Key(
    "topology.max.spout.pending", r.whole(1), 1000,
    "unfinished tracked tuples of each instance of a spout; at the limit `next_tuple` is not"
    " called",
    owner=Owner.SPOUT, modes=AT_LEAST, on_spark=False, see="GUIDE.md#topologymaxspoutpending",
    why="Heron's 100 starves a pipeline that moves batches; much more than 1,000 makes the replays"
    " of a slow bolt (10 ms a tuple) outlast the message timeout",
))
REPLAY_BACKOFF_MS = DELIVERY.add(Key(
    "topology.replay.backoff.ms", r.whole(1), 100,
    "pause before the second replay of a tuple; doubles up to 30 s",
    owner=Owner.SPOUT, modes=AT_LEAST, see="CONNECTORS.md#what-failed-comes-again",
    why="the first replay comes at once; a tuple that always fails is replayed twice a minute in"
    " the end",
))
REPLAY_MAX = DELIVERY.add(Key(
    "topology.replay.max", r.whole(0), 0,
    "maximum replays of a tuple, after which the tuple is abandoned; 0: no limit",
    owner=Owner.SPOUT, modes=AT_LEAST, see="CONNECTORS.md#what-failed-comes-again",
    why="a source that promises at least once abandons tuples only on request",
))
VALUES_PICKLE = DELIVERY.add(Key(
    "topology.values.pickle", r.flag, True,
    "false: values are neither pickled nor unpickled; an emit that needs pickle fails",
    owner=Owner.COMPONENT,
    why="any Python value travels; without pickle those of msgpack, tuples and sets do",
))
SERIALIZER_CLASSNAME = DELIVERY.add(Key(
    "topology.serializer.classname", r.text, None,
    "the class path of an IHeronSerializer",
    owner=Owner.COMPONENT, without="msgpack",
))
INITIAL_STATE = DELIVERY.add(Key(
    "topology.initial.state", r.one_of(v.RUNNING, v.PAUSED), None,
    "`PAUSED`: the spouts emit after `heronpy activate`", without="`RUNNING`",
))
STREAMLET_FUSION = DELIVERY.add(Key(
    "topology.streamlet.fusion", r.flag, True,
    "false: every streamlet stage runs as its own bolt",
    see="GUIDE.md#streamlets",
))
TRIDENT_BATCH_INTERVAL_MS = DELIVERY.add(Key(
    "topology.trident.batch.emit.interval.millis", r.whole(0), 500,
    "Trident: minimum time between the starts of two batches",
    owner=Owner.SPOUT, modes=AT_LEAST, on_spark=False, see="TRIDENT.md", why="Storm's",
))


BATCHES = Subject("Batches and queues")
LINGER_MS = BATCHES.add(Key(
    "topology.batch.linger.ms", r.whole(0), 2,
    "how long a tuple waits at most for its batch to fill; and, up to 2, how long a stream manager"
    " that passes many small batches on waits for more of them",
    owner=Owner.COMPONENT, on_spark=False,
    why=(
        "two milliseconds are below what a person or a downstream service notices. Compared "
        "with one millisecond they save 9 % of the CPU of acked tuples at full speed, and 4 % "
        "with `ATMOST_ONCE` (benchmarks/one_hop). A spout without output and a bolt without "
        "input do not wait"
    ),
))
BATCH_TUPLES = BATCHES.add(Key(
    "topology.batch.tuples", r.whole(1), 2048,
    "maximum tuples of a batch",
    owner=Owner.COMPONENT,
    why="at full speed two milliseconds bring up to 2,000 tuples, so that a batch is ended by the"
    " linger limit or by its bytes; messages of 512 tuples cost 10 to 15 % more CPU"
    " (benchmarks/one_hop)",
))
BATCH_BYTES = BATCHES.add(Key(
    "topology.batch.bytes", r.whole(1), 256 * 1024,
    "maximum bytes of a batch", owner=Owner.COMPONENT,
))
MESSAGE_BYTES_MAX = BATCHES.add(Key(
    "topology.message.bytes.max", r.whole(1), 10 * 1024 * 1024,
    "the emit of a tuple of more bytes fails", owner=Owner.COMPONENT,
    why="Heron's stream managers cut connections above 10 MB (heron_internals.yaml)",
))
BACKPRESSURE_TARGET_MS = BATCHES.add(Key(
    "topology.backpressure.target.ms", r.whole(1), 1000,
    "back-pressure starts when the instance needs longer than this for its queue",
    on_spark=False, see="BACKPRESSURE.md",
    why="pausing and resuming takes less than a second, and people accept a delay of a second",
))
BACKPRESSURE_HIGH_BYTES = BATCHES.add(Key(
    "topology.backpressure.high.bytes", r.whole(1), 4 * 1024 * 1024,
    "hard limit of a queue in bytes: its senders are paused",
    on_spark=False, see="BACKPRESSURE.md",
    why="a queue of 4 MiB is about 60 full batches: 50 ms of work at full speed",
))
BACKPRESSURE_LOW_BYTES = BATCHES.add(Key(
    "topology.backpressure.low.bytes", r.whole(0), 1024 * 1024,
    "a queue of fewer bytes ends the pause", on_spark=False, see="BACKPRESSURE.md",
))
BACKPRESSURE_HIGH_TUPLES = BATCHES.add(Key(
    "topology.backpressure.high.tuples", r.whole(1), None,
    "hard limit of a queue in tuples: the backlog of a bolt that suddenly slows down",
    on_spark=False, see="BACKPRESSURE.md",
    without=f"{v.CHECKPOINTED_TUPLES} in `EFFECTIVELY_ONCE`, else {v.WAITING_TUPLES}",
))
BACKPRESSURE_MODE = BATCHES.add(Key(
    "topology.backpressure.mode", r.one_of(v.STAGE, v.SPOUT, v.DROP), v.STAGE,
    "`stage`: a queue over its limit pauses its senders; `spout` (Heron's): all spouts; `drop`: "
    "tuples for a full queue are dropped and counted",
    on_spark=False, see="BACKPRESSURE.md",
))
HERON_DROP_TUPLES = BATCHES.add(Key(
    "topology.droptuples.upon.backpressure", r.flag, None,
    f"Heron's: true means `{BACKPRESSURE_MODE}: drop`", on_spark=False,
))
SKEW_SAMPLE = BATCHES.add(Key(
    "topology.skew.sample", r.flag, True,
    "look for frequent keys", owner=Owner.BOLT, see="SCALING.md#frequent-keys",
    why="at most 200 tuples a second are looked at, for 2 microseconds each",
))


USER_CODE = Subject("User code")
BOLT_ON_EXCEPTION = USER_CODE.add(Key(
    "topology.bolt.on.exception", r.one_of(v.FAIL, v.RESTART, v.STOP, v.EXIT), v.FAIL,
    "fate of a tuple when `process` raises. `fail`: the tuple fails (in `EFFECTIVELY_ONCE` "
    "after the retries). `restart`: in `EFFECTIVELY_ONCE` retries have no limit. `stop`: the "
    "topology ends as FAILED (in `EFFECTIVELY_ONCE` after the retries, retaining its "
    "checkpoints). `exit`: the process ends and is restarted, as with Heron and pystorm",
    owner=Owner.BOLT, see="CHECKPOINTS.md#a-bolt-that-raises",
))
BOLT_RETRIES = USER_CODE.add(Key(
    "topology.bolt.retries", r.whole(0), 3,
    "in `EFFECTIVELY_ONCE`: how often a bolt that raises tries again. In `ATLEAST_ONCE`: how often"
    " a tuple comes again before it is a dead letter",
    owner=Owner.BOLT, modes=TRACKED, on_spark=False, see="CHECKPOINTS.md#a-bolt-that-raises",
    why=(
        "after pauses of 100, 200 and 400 ms a refused connection usually works again, and a "
        "tuple that always raises blocks the others for less than a second"
    ),
))
BOLT_RETRY_BACKOFF_MS = USER_CODE.add(Key(
    "topology.bolt.retry.backoff.ms", r.whole(1), 100,
    "the first pause before a bolt tries again; it doubles up to 30 s",
    owner=Owner.BOLT, modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#a-bolt-that-raises",
))
DEAD_LETTER = USER_CODE.add(Key(
    "topology.dead.letter", target_of, None,
    "where abandoned tuples go: `file:FOLDER`, `kafka:TOPIC@HOST:PORT` or the name of a bolt",
    see="GUIDE.md#dead-letters",
))
ASYNC_CAPACITY = USER_CODE.add(Key(
    "topology.async.capacity", r.whole(1), 100,
    "coroutines of a bolt at a time, in each instance",
    owner=Owner.BOLT, see="GUIDE.md#calls-to-the-outside",
    why="Flink's, for each instance: an ordinary service accepts as many requests from one client",
))
ASYNC_ORDERED = USER_CODE.add(Key(
    "topology.async.ordered", r.flag, True,
    "false: answers leave as they come, not in the order of the tuples",
    owner=Owner.BOLT, see="GUIDE.md#calls-to-the-outside",
    why="tuples of a task arrive in the order of their emit, and leave so when a call becomes a"
    " coroutine; a slow one holds up at most the capacity",
))
ASYNC_TIMEOUT_MS = USER_CODE.add(Key(
    "topology.async.timeout.ms", r.whole(1), 30_000,
    "timeout of a coroutine, which is then cancelled and counts as if it had raised",
    owner=Owner.BOLT, see="GUIDE.md#calls-to-the-outside",
    why="Storm's message timeout: at least once a tuple has failed by then",
))
STUCK_REPORT_SECS = USER_CODE.add(Key(
    "topology.stuck.report.secs", r.seconds, 5,
    "a longer call of user code is reported with its stack, in the log and in stats",
    owner=Owner.COMPONENT, on_spark=False,
    why="Storm kills a worker whose component is silent for 30 s; here a report says where it is",
))
AUTO_TASK_HOOKS = USER_CODE.add(Key(
    "topology.auto.task.hooks", r.texts, None,
    "the class paths of task hooks, a list", owner=Owner.COMPONENT,
))
TICK_TUPLE_FREQ_SECS = USER_CODE.add(Key(
    "topology.tick.tuple.freq.secs", r.seconds, None,
    "seconds between two tick tuples", owner=Owner.BOLT, without="ticks are not sent",
))
TICK_TUPLE_FREQ_MS = USER_CODE.add(Key(
    "topology.tick.tuple.freq.ms", r.seconds, None,
    f"the same in milliseconds, as in Heron's Java API; `{TICK_TUPLE_FREQ_SECS}` wins",
    owner=Owner.BOLT,
))
