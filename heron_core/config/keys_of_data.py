"""Keys of the data's way: delivery, batches, back-pressure, user code that fails, windows."""

from heron_core.config import names as n
from heron_core.config import readers as r
from heron_core.config.key import AT_LEAST, EXACTLY, TRACKED, Key, Owner
from heron_core.dead_letter_target import target_of

_DAY_MS = 24 * 60 * 60 * 1000

DELIVERY = (
    Key(
        n.RELIABILITY_MODE, r.one_of(n.ATMOST_ONCE, n.ATLEAST_ONCE, n.EFFECTIVELY_ONCE),
        n.ATMOST_ONCE,
        "what a failure may do to tuples: `ATMOST_ONCE` loses some, `ATLEAST_ONCE` repeats some,"
        " `EFFECTIVELY_ONCE` does neither",
        see="CHECKPOINTS.md", why="Heron's",
    ),
    Key(
        n.MESSAGE_TIMEOUT_SECS, r.seconds, 30,
        "a tuple whose tree is not acked within this time fails (after up to a fifth more)",
        on_spark=False, why="Storm's and Heron's",
    ),
    Key(
        n.ENABLE_MESSAGE_TIMEOUTS, r.flag, True,
        "false: a tuple never fails by time",
        modes=AT_LEAST, on_spark=False, why="Heron's",
    ),
    Key(
        n.MAX_SPOUT_PENDING, r.whole(1), 1000,
        "unfinished tracked tuples of each instance of a spout; at the limit `next_tuple` is not"
        " called",
        owner=Owner.SPOUT, modes=AT_LEAST, on_spark=False, see="GUIDE.md#topologymaxspoutpending",
        why="Heron's 100 starves a pipeline that moves batches; much more than 1,000 makes the"
        " replays of a slow bolt (10 ms a tuple) outlast the message timeout",
    ),
    Key(
        n.REPLAY_BACKOFF_MS, r.whole(1), 100,
        "the pause before a source emits a tuple that failed a second time; it doubles up to 30 s",
        owner=Owner.SPOUT, modes=AT_LEAST, see="CONNECTORS.md#what-failed-comes-again",
        why="the first replay comes at once; a tuple that always fails is replayed twice a"
        " minute in"
        " the end",
    ),
    Key(
        n.REPLAY_MAX, r.whole(0), 0,
        "a tuple is abandoned after so many replays; 0: never",
        owner=Owner.SPOUT, modes=AT_LEAST, see="CONNECTORS.md#what-failed-comes-again",
        why="a source that promises at least once abandons nothing unasked",
    ),
    Key(
        n.VALUES_PICKLE, r.flag, True,
        "false: nothing is pickled and no pickle is opened; an emit that needs one fails",
        owner=Owner.COMPONENT,
        why="any Python value travels; without pickle those of msgpack, tuples and sets do",
    ),
    Key(
        n.SERIALIZER_CLASSNAME, r.text, None,
        "the class path of an IHeronSerializer",
        owner=Owner.COMPONENT, without="msgpack",
    ),
    Key(
        n.INITIAL_STATE, r.one_of(n.RUNNING, n.PAUSED), None,
        "`PAUSED`: the spouts emit after `heronpy activate`", without="`RUNNING`",
    ),
    Key(
        n.STREAMLET_FUSION, r.flag, True,
        "false: each stage of streamlets is a bolt of its own",
        see="GUIDE.md#streamlets",
    ),
)  # fmt: skip

BATCHES = (
    Key(
        n.LINGER_MS, r.whole(0), 2,
        "how long a tuple waits at most for its batch to fill",
        owner=Owner.COMPONENT, on_spark=False,
        why="two milliseconds are below what a person or a downstream service notices; against one"
        " they save 9 % of the CPU of acked tuples at full speed, and 4 % at most once"
        " (benchmarks/one_hop); a spout that has nothing to emit and a bolt without input wait for"
        " none of it",
    ),
    Key(
        n.BATCH_TUPLES, r.whole(1), 2048,
        "a batch of so many tuples is full",
        owner=Owner.COMPONENT,
        why="at full speed two milliseconds bring up to 2,000 tuples, so that a batch is ended"
        " by the"
        " linger limit or by its bytes; messages of 512 tuples cost 10 to 15 % more CPU"
        " (benchmarks/one_hop)",
    ),
    Key(
        n.BATCH_BYTES, r.whole(1), 256 * 1024,
        "a batch of so many bytes is full", owner=Owner.COMPONENT,
    ),
    Key(
        n.MESSAGE_BYTES_MAX, r.whole(1), 10 * 1024 * 1024,
        "the emit of a tuple of more bytes fails", owner=Owner.COMPONENT,
        why="Heron's stream managers cut connections above 10 MB (heron_internals.yaml)",
    ),
    Key(
        n.BACKPRESSURE_TARGET_MS, r.whole(1), 1000,
        "a queue is too long when its instance needs longer for it",
        on_spark=False, see="BACKPRESSURE.md",
        why="a second of work is more than a pause and its end take, and what a person accepts to"
        " wait",
    ),
    Key(
        n.BACKPRESSURE_HIGH_BYTES, r.whole(1), 4 * 1024 * 1024,
        "the hard limit of a queue in bytes: it pauses those who fill the queue",
        on_spark=False, see="BACKPRESSURE.md",
        why="a queue of 4 MiB is about 60 full batches: 50 ms of work at full speed",
    ),
    Key(
        n.BACKPRESSURE_LOW_BYTES, r.whole(0), 1024 * 1024,
        "a queue of fewer bytes ends the pause", on_spark=False, see="BACKPRESSURE.md",
    ),
    Key(
        n.BACKPRESSURE_HIGH_TUPLES, r.whole(1), None,
        "the hard limit of a queue in tuples: what a bolt that turns slow has before it",
        on_spark=False, see="BACKPRESSURE.md",
        without=f"{n.CHECKPOINTED_TUPLES} in `EFFECTIVELY_ONCE`, else {n.WAITING_TUPLES}",
    ),
    Key(
        n.BACKPRESSURE_MODE, r.one_of(n.STAGE, n.SPOUT, n.DROP), n.STAGE,
        "`stage`: a queue that is too long pauses those who fill it; `spout` (Heron's): all spouts;"
        " `drop`: tuples for a full queue are dropped and counted",
        on_spark=False, see="BACKPRESSURE.md",
    ),
    Key(
        n.HERON_DROP_TUPLES, r.flag, None,
        f"Heron's: true means `{n.BACKPRESSURE_MODE}: drop`", on_spark=False,
    ),
    Key(
        n.SKEW_SAMPLE, r.flag, True,
        "look for frequent keys", owner=Owner.BOLT, see="SCALING.md#frequent-keys",
        why="at most 200 tuples a second are looked at, for 2 microseconds each",
    ),
)  # fmt: skip

USER_CODE = (
    Key(
        n.BOLT_ON_EXCEPTION, r.one_of(n.FAIL, n.RESTART, n.STOP, n.EXIT), n.FAIL,
        "what becomes of a tuple when `process` raises. `fail`: it fails, in `EFFECTIVELY_ONCE`"
        " after"
        " the retries. `restart`: there it is tried without end. `stop`: the topology ends as"
        " FAILED,"
        " in `EFFECTIVELY_ONCE` after the retries and with its checkpoints kept. `exit`: the"
        " process"
        " ends and is restarted, as with Heron and pystorm",
        owner=Owner.BOLT, see="CHECKPOINTS.md#a-bolt-that-raises",
    ),
    Key(
        n.BOLT_RETRIES, r.whole(0), 3,
        "in `EFFECTIVELY_ONCE`: how often a bolt that raises tries again. In `ATLEAST_ONCE`: how"
        " often a tuple comes again before it is a dead letter",
        owner=Owner.BOLT, modes=TRACKED, on_spark=False, see="CHECKPOINTS.md#a-bolt-that-raises",
        why="with pauses of 100, 200 and 400 ms a connection that was refused is there again, and a"
        " tuple that always raises holds the others for less than a second",
    ),
    Key(
        n.BOLT_RETRY_BACKOFF_MS, r.whole(1), 100,
        "the first pause before a bolt tries again; it doubles up to 30 s",
        owner=Owner.BOLT, modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#a-bolt-that-raises",
    ),
    Key(
        n.DEAD_LETTER, lambda config, key: target_of(config[key]), None,
        "where abandoned tuples go: `file:FOLDER`, `kafka:TOPIC@HOST:PORT` or the name of a"
        " bolt",
        see="GUIDE.md#dead-letters",
    ),
    Key(
        n.ASYNC_CAPACITY, r.whole(1), 100,
        "coroutines of a bolt at a time, in each instance",
        owner=Owner.BOLT, see="GUIDE.md#calls-to-the-outside",
        why="Flink's, for each instance: what an ordinary service takes from one client",
    ),
    Key(
        n.ASYNC_ORDERED, r.flag, True,
        "false: answers leave as they come, not in the order of the tuples",
        owner=Owner.BOLT, see="GUIDE.md#calls-to-the-outside",
        why="tuples of a task arrive in the order of their emit, and leave so when a call becomes a"
        " coroutine; a slow one holds up at most the capacity",
    ),
    Key(
        n.ASYNC_TIMEOUT_MS, r.whole(1), 30_000,
        "a coroutine that takes longer is cancelled, and counts as if it had raised",
        owner=Owner.BOLT, see="GUIDE.md#calls-to-the-outside",
        why="Storm's message timeout: at least once a tuple has failed by then",
    ),
    Key(
        n.STUCK_REPORT_SECS, r.seconds, 5,
        "a call of user code that lasts longer is reported with its stack, in log and stats",
        owner=Owner.COMPONENT, on_spark=False,
        why="Storm kills a worker whose component is silent for 30 s; here a report says where"
        " it is",
    ),
    Key(
        n.AUTO_TASK_HOOKS, r.texts, None,
        "the class paths of task hooks, a list", owner=Owner.COMPONENT,
    ),
    Key(
        n.TICK_TUPLE_FREQ_SECS, r.seconds, None,
        "seconds between two tick tuples", owner=Owner.BOLT, without="ticks are not sent",
    ),
    Key(
        n.TICK_TUPLE_FREQ_MS, r.seconds, None,
        f"the same in milliseconds, as in Java's Heron; `{n.TICK_TUPLE_FREQ_SECS}` is read first",
        owner=Owner.BOLT,
    ),
)  # fmt: skip

WINDOWS = (
    Key(
        n.WINDOW_LENGTH_MS, r.whole(1), None,
        "the length of the windows of a `WindowedBolt`, this or the count",
        owner=Owner.BOLT, see="WINDOWS.md",
    ),
    Key(
        n.WINDOW_LENGTH_COUNT, r.whole(1), None,
        "the length of the windows of a `WindowedBolt` in tuples",
        owner=Owner.BOLT, see="WINDOWS.md",
    ),
    Key(
        n.WINDOW_SLIDE_MS, r.whole(1), None,
        "the time between two windows of a `WindowedBolt`, this or the count",
        owner=Owner.BOLT, without="a window with each tuple", see="WINDOWS.md",
    ),
    Key(
        n.WINDOW_SLIDE_COUNT, r.whole(1), None,
        "the tuples between two windows of a `WindowedBolt`",
        owner=Owner.BOLT, without="a window with each tuple", see="WINDOWS.md",
    ),
    Key(
        n.TIMESTAMP_FIELD, r.name, None,
        "the field with the milliseconds since 1970, or a datetime (UTC without a time zone)",
        owner=Owner.BOLT, without="windows by processing time", see="WINDOWS.md",
    ),
    Key(
        n.TIMESTAMP_LAG_MS, r.whole(0), None,
        "the lag: the largest disorder of events",
        owner=Owner.BOLT, fallback=0, without="or what the bolt's class says",
        why="Storm's: no disorder", see="WINDOWS.md",
    ),
    Key(
        n.TIMESTAMP_AHEAD_MS, r.whole(0), None,
        "a tuple whose timestamp is further ahead of the clock fails, because it would make all"
        " others late",
        owner=Owner.BOLT, fallback=_DAY_MS, see="WINDOWS.md",
        why="a clock that is wrong by its time zone is within a day",
    ),
    Key(
        n.WATERMARK_INTERVAL_MS, r.whole(0), None,
        "the time between two watermarks; 0: after each tuple",
        owner=Owner.BOLT, fallback=1000, why="Storm's", see="WINDOWS.md",
    ),
    Key(
        n.WATERMARK_IDLE_MS, r.whole(1), None,
        "a source that is silent for so long is left out of the watermark",
        owner=Owner.BOLT, without="never", see="WINDOWS.md",
    ),
    Key(
        n.WATERMARK_END_AFTER_MS, r.whole(1), None,
        "silence of all sources after which open windows are completed",
        owner=Owner.BOLT, without="never", see="WINDOWS.md",
    ),
    Key(
        n.WATERMARK_SOURCES, r.one_of(n.OF_STREAMS, n.OF_TASKS), None,
        "the watermark is the lowest of these: `streams` or `tasks`",
        owner=Owner.BOLT, without="`tasks`; bolts of Storm and heronpy: `streams`",
        see="WINDOWS.md",
    ),
    Key(
        n.WINDOW_LATENESS_MS, r.whole(0), None,
        "how late a tuple may be for a window that was shown already; not for `WindowedBolt`",
        owner=Owner.BOLT, fallback=0, without="or what the bolt's class says",
        see="WINDOWS.md",
    ),
    Key(
        n.LATE_STREAM, r.name, None,
        "a declared stream with the one field `late_tuple`: the list of the values of a late tuple",
        owner=Owner.BOLT, without="late tuples are counted and dropped", see="WINDOWS.md",
    ),
)  # fmt: skip
