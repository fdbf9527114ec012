"""The words that configuration keys take, and the limits of their numbers."""

RUNNING, PAUSED = "RUNNING", "PAUSED"
"""Whether the spouts emit from the start, or only after `heronpy activate`."""

OF_STREAMS = "streams"
OF_TASKS = "tasks"

LIVENESS_TIMEOUT_SECS_MIN = 2
WHOLE_NUMBER_MAX = 1 << 40
"""Of any key: a tebibyte, or 34 years in milliseconds. What is more is a slip of the hand, and sums
of it would no longer fit into a message."""
SECONDS_MAX = 1e9
"""31 years: large enough for "never", and within the range of every clock."""
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

JAVA_NUMBERS = ("int", "short", "byte", "float")
"""Types that a field of a Java component may have in place of Long or Double."""

TEXT = "text"
JSON = "json"
WARNING = "warning"
MSGPACK = "msgpack"
SERIALIZERS = {JSON: JSON, MSGPACK: MSGPACK, "messagepack": MSGPACK}
"""Part of a serializer's class name -> protocol of a shell component."""

MEMORY = "memory"
ROCKSDB = "rocksdb"

OFF = "off"
FAILURE = "failure"
ON_DEMAND = "on-demand"
RECORDER_MIB_MAX = 4096
"""Of a flight recorder: a larger ring is a disk's work at each restart."""
INCIDENTS_MAX = 1000
"""Of an instance: a folder of more is no use to people."""
LOG_LEVELS = {
    OFF: None,
    "debug": 10,
    "info": 20,
    WARNING: 30,
    "error": 40,
}
"""Level names -> `logging` numbers."""
LOG_BYTES_LEAST = 64 * 1024
"""A log that rotates with each traceback would lose what it is kept for."""
LOG_BYTES = 100 * 1024 * 1024
LOG_FILES = 5
"""Heron's limits (heron_internals.yaml: maximum.size.mb 100, maximum.files 5)."""
LOG_FILES_MOST = 1000
"""Each rotation renames every full file."""
ADVISE = "advise"
ON = "on"

RATES = "rates"
THRESHOLD = "threshold"

LIMITS_WHERE_POSSIBLE, LIMITS_REQUIRED = "where_possible", "required"
"""Of a container's CPU and memory; or OFF."""
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
