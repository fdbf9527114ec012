"""Keys of a topology's run: checkpoints and state, processes, containers, changes, observation."""

from collections.abc import Mapping
from typing import Any

from heron_core.config import names as n
from heron_core.config import readers as r
from heron_core.config.key import AT_LEAST, EXACTLY, TRACKED, Key, Owner
from heron_core.errors import TopologyError, shown
from heron_core.wire.pickled import Pickled

FOR_ALL = ""
"""In the place of a component's name: a limit for all that may be scaled."""


def _list_of_bolts(config: Mapping[str, Any], key: str) -> list[str]:
    """Names as a list, or as a text with commas or blanks between them."""
    given = config[key]
    names = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(names, list | tuple):
        raise TopologyError(f"{key} must be a list of bolts, not {shown(given)}")
    return [str(each) for each in names]


def _limits(config: Mapping[str, Any], key: str) -> dict[str, int]:
    """component -> its number; FOR_ALL -> the one number for all."""
    given = config[key]
    numbers = given if isinstance(given, Mapping) else {FOR_ALL: given}
    return {str(name): r.whole_number({key: numbers[name]}, key, 1) for name in numbers}


def _liveness(config: Mapping[str, Any], key: str) -> float:
    value = r.seconds(config, key)
    if value < n.LIVENESS_TIMEOUT_SECS_MIN:
        raise TopologyError(
            f"{key} must be at least {n.LIVENESS_TIMEOUT_SECS_MIN}: processes beat once a second"
        )
    return value


def _percentage(config: Mapping[str, Any], key: str) -> int:
    percentage = r.whole_number(config, key, 0)
    if percentage >= 100:
        raise TopologyError(f"{key} is {percentage}: use 0 to 99")
    return percentage


def _sorting(config: Mapping[str, Any], key: str) -> str:
    value = config[key]
    word = value.upper() if isinstance(value, str) else ""
    if word not in (n.RAM_FIRST, n.CPU_FIRST):
        raise TopologyError(f"{key} is {shown(value)}: use {n.RAM_FIRST} or {n.CPU_FIRST}")
    return word


def _other_memory(config: Mapping[str, Any], key: str) -> float:
    """MiB; 0 adds nothing."""
    value = config[key]
    is_zero = not isinstance(value, bool) and value in (0, "0")
    return 0.0 if is_zero else r.positive(config, key, n.MIB_MAX)


def _packing_class(config: Mapping[str, Any], key: str) -> str:
    """The algorithm of a class of Heron's, whatever package the name begins with."""
    value = config[key]
    for name, algorithm in n.HERON_PACKINGS.items():
        if isinstance(value, str) and value.rpartition(".")[2] == name:
            return algorithm
    raise TopologyError(f"{key} is {shown(value)}: use a {' or '.join(n.HERON_PACKINGS)}")


def _serializer(config: Mapping[str, Any], key: str) -> str:
    """`json` or `msgpack`, also by a Java class (org.apache.storm.multilang.JsonSerializer)."""
    value = config[key]
    last = value.rpartition(".")[2].lower() if isinstance(value, str) else ""
    for part, serializer in n.SERIALIZERS.items():
        if part in last:
            return serializer
    raise TopologyError(f"{key} must be json or msgpack, not {shown(value)}")


def _recipe(config: Mapping[str, Any], key: str) -> Any:
    """A mapping, which travels pickled where JSON cannot say its values."""
    value = config[key]
    if not isinstance(value, Mapping | Pickled):
        raise TopologyError(f"{key} is written by the frontend of Flux, and is not {shown(value)}")
    return value


STATE = (
    Key(
        n.CHECKPOINT_INTERVAL_SECS, r.seconds, 10,
        "from the start of a checkpoint to the start of the next one: after a failure tuples of"
        " this"
        " time are processed again",
        modes=TRACKED, see="CHECKPOINTS.md#settings",
        why="Heron's is 300; a checkpoint of a small state costs milliseconds",
    ),
    Key(
        n.CHECKPOINT_TIMEOUT_SECS, r.seconds, 60,
        "a checkpoint that takes longer has failed",
        modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#settings",
        why="a stage has about a second of work in its queues, and a slow disk takes seconds",
    ),
    Key(
        n.CHECKPOINT_PAUSE_MS, r.whole(0), 100,
        "the least time between the end of a checkpoint and the start of the next one",
        modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#settings",
        why="where a checkpoint takes longer than the interval, there is time for work between two",
    ),
    Key(
        n.ALIGNED_TIMEOUT_MS, r.whole(-1), 1000,
        "a barrier that has waited so long overtakes an instance's input; 0: at once, -1: never",
        modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#unaligned-barriers",
        why="a queue is a second of work at most: a barrier that waits longer is behind a bolt that"
        " turned slow",
    ),
    Key(
        n.CHECKPOINTS_RETAINED, r.whole(1), 3,
        "the completed checkpoints that are kept",
        modes=EXACTLY, on_spark=False, see="CHECKPOINTS.md#settings",
        why="one can be damaged, and the one before may be on its way out",
    ),
    Key(
        n.CHECKPOINT_STORE, r.text, None,
        "a folder or URL for states, which all hosts of a cluster must share (NFS, object store)",
        on_spark=False, without="a folder beside the logs", see="CHECKPOINTS.md#settings",
    ),
    Key(
        n.STATE_BACKEND, r.one_of(n.MEMORY, n.ROCKSDB), n.MEMORY,
        "where keyed state is: `memory`, or `rocksdb` for more than fits into it",
        see="STATE.md", why="a get of a dict costs a hundredth of one of a database",
    ),
    Key(
        n.STATE_FOLDER, r.text, None,
        "where rocksdb has its files", on_spark=False, without="the temporary folder",
    ),
)  # fmt: skip

PROCESSES = (
    Key(
        n.RESTART_LIMIT, r.whole(-1), -1,
        "consecutive restarts of one process before the topology fails; -1: without end, with"
        " pauses"
        " that grow to 30 s",
        owner=Owner.COMPONENT, see="ARCHITECTURE.md#failures-and-recovery",
    ),
    Key(
        n.LIVENESS_TIMEOUT_SECS, _liveness, 15,
        "a process without a heartbeat for this time is killed and restarted",
        on_spark=False,
        why="a process that is alive beats every second from a thread of its own; one that is"
        " stopped, or whose C code holds the interpreter this long, serves nothing",
    ),
    Key(
        n.ENVIRONMENT, r.variables, None, "environment variables of the components, `{NAME:"
        " value}`",
    ),
    Key(
        n.SHELL_COMMAND, r.words, None,
        "the program of a shell component and its arguments, a list (written by the frontends)",
        owner=Owner.COMPONENT,
    ),
    Key(
        n.SHELL_ENVIRONMENT, r.variables, None,
        "environment variables of a shell component (written by the frontends)",
        owner=Owner.COMPONENT,
    ),
    Key(
        n.SHELL_SERIALIZER, _serializer, None,
        "what a shell component speaks: `json` or `msgpack`",
        owner=Owner.COMPONENT, fallback=n.JSON, see="PORTING.md",
    ),
    Key(
        n.SHELL_TIMEOUT_SECS, r.seconds, None,
        "a shell component that is silent for so long after a question is restarted",
        owner=Owner.COMPONENT, fallback=30, why="Storm's, of its supervisor", see="PORTING.md",
    ),
    Key(
        n.SHELL_PENDING_MAX, r.whole(1), None,
        "tuples that a shell bolt has not answered", owner=Owner.BOLT, fallback=100, why="Storm's",
        see="PORTING.md",
    ),
    Key(
        n.FLUX_RECIPE, _recipe, None,
        "how a component of a Flux file is made (written by the frontend)", owner=Owner.COMPONENT,
    ),
)  # fmt: skip

CONTAINERS = (
    Key(
        n.STMGRS, r.whole(1), 1, "containers, each with a stream manager", on_spark=False,
    ),
    Key(
        n.STORM_WORKERS, r.whole(1), None, f"Storm's: means `{n.STMGRS}`", on_spark=False,
    ),
    Key(
        n.STORM_ACKERS, r.whole(0), None,
        "Storm's: 0 means at most once, more means at least once", see="GUIDE.md#configuration",
    ),
    Key(
        n.INSTANCES_MAX, r.whole(1), 10_000,
        "more instances are refused, at the start and by `heronpy update`; on one machine also more"
        " than its memory holds (8 MiB each) and than its limit of open files allows",
        why="far beyond what was ever measured here: a slip of the hand is not to fill a machine"
        " with"
        " processes",
    ),
    Key(
        n.COMPONENT_PARALLELISM, r.whole(1), None,
        "Heron's: the instances of a component, as its API writes it", owner=Owner.COMPONENT,
    ),
    Key(
        n.STORM_TASKS, r.whole(1), None,
        "Storm's: the number of instances, whatever the parallelism; in the topology's config"
        " for all",
        owner=Owner.COMPONENT,
    ),
    Key(
        n.STORM_TASKS_MAX, r.whole(1), None,
        "Storm's: a component has at most so many instances, at the start, by `update`, by"
        " autoscaling",
        owner=Owner.COMPONENT,
    ),
    Key(
        n.STORM_CPU_PERCENT, lambda config, key: r.positive(config, key, n.CORE_PERCENT_MAX), None,
        f"Storm's: becomes an entry of `{n.CPU_MAP}` (100 is a core)",
        owner=Owner.COMPONENT, on_spark=False,
    ),
    Key(
        n.STORM_HEAP_MB, lambda config, key: r.positive(config, key, n.MIB_MAX), None,
        f"Storm's: becomes an entry of `{n.RAM_MAP}`", owner=Owner.COMPONENT, on_spark=False,
    ),
    Key(
        n.STORM_OTHER_MEMORY_MB, _other_memory, None,
        f"Storm's: added to `{n.STORM_HEAP_MB}`", owner=Owner.COMPONENT, on_spark=False,
    ),
    Key(
        n.RAM_MAP, r.bytes_of_components, None,
        "`component:bytes,…`: packing reserves this amount for an instance; one that uses more,"
        " with"
        " the processes that it has started, is restarted, with a warning in the container's log at"
        " 90 %",
        on_spark=False,
    ),
    Key(
        n.CPU_MAP, r.cores_of_components, None,
        "`component:cores,…`: what packing reserves for an instance", on_spark=False,
    ),
    Key(
        n.DISK_MAP, r.bytes_of_components, None,
        "`component:bytes,…`: what packing reserves for an instance", on_spark=False,
    ),
    Key(
        n.PACKING_ALGORITHM, r.one_of(n.ROUND_ROBIN, n.FIRST_FIT_DECREASING), None,
        "which instance is in which container: `round_robin` or `first_fit_decreasing`",
        on_spark=False, without="`round_robin`",
    ),
    Key(
        n.HERON_PACKING_CLASS, _packing_class, None,
        "Heron's: the class of a packing, `RoundRobinPacking` or `FirstFitDecreasingPacking`",
        on_spark=False,
    ),
    Key(
        n.FFD_SORTING_STRATEGY, _sorting, None,
        "what `first_fit_decreasing` sorts by: `RAM_FIRST` or `CPU_FIRST`",
        on_spark=False, fallback=n.RAM_FIRST,
    ),
    Key(
        n.CONTAINER_CPU, r.core_count, None, "cores of a container", on_spark=False,
        without="the sum of its instances and the padding",
    ),
    Key(
        n.CONTAINER_RAM, r.size(1), None, "memory of a container", on_spark=False,
        without="the sum of its instances and the padding",
    ),
    Key(
        n.CONTAINER_DISK, r.size(1), None, "disk of a container", on_spark=False,
        without="the sum of its instances and the padding",
    ),
    Key(
        n.CONTAINER_CPU_PADDING, lambda config, key: r.core_count(config, key, zero=True), None,
        "cores for the processes of the engine in a container", on_spark=False, without="1,"
        " Heron's",
    ),
    Key(
        n.CONTAINER_RAM_PADDING, r.size(0), None,
        "memory for the processes of the engine in a container", on_spark=False,
        without="1 or 2 GB, Heron's",
    ),
    Key(
        n.CONTAINER_PADDING_PERCENTAGE, _percentage, None,
        "the same as a percentage of the container, with `first_fit_decreasing`; the larger counts",
        on_spark=False, fallback=10, why="Heron's",
    ),
    Key(
        n.CONTAINER_MAX_INSTANCES, r.whole(1), None,
        "instances of a container at most, with `first_fit_decreasing`",
        on_spark=False, fallback=10, why="Heron's",
    ),
    Key(
        n.STMGR_RAM, r.size(0), None, "Heron's: memory of the stream manager", on_spark=False,
        without="1 GB, Heron's",
    ),
    Key(
        n.METRICSMGR_RAM, r.size(0), None, "Heron's: memory of the metrics manager, which is"
        " reserved"
        " here too", on_spark=False, without="1 GB, Heron's",
    ),
    Key(
        n.CHECKPOINTMGR_RAM, r.size(0), None, "Heron's: memory of the checkpoint manager, which is"
        " reserved here too in `EFFECTIVELY_ONCE`", on_spark=False, without="1 GB, Heron's",
    ),
)  # fmt: skip

CHANGES = (
    Key(
        n.UPDATE_DEACTIVATE_WAIT_SECS, r.seconds, 60,
        "how long an update waits for tuples in flight", on_spark=False, see="UPDATING.md",
        why="Heron waits for nothing before it scales; what is in flight is done or has failed"
        " after"
        " twice the default message timeout",
    ),
    Key(
        n.UPDATE_REACTIVATE_WAIT_SECS, r.seconds, 600,
        "how long an update waits for added containers and new instances",
        on_spark=False, see="UPDATING.md",
        why="Heron's: a cluster may take minutes for new containers",
    ),
    Key(
        n.WARM_CONTAINERS, r.whole(0), 0,
        "so many containers wait on YARN, for one that is added or lost",
        on_spark=False, see="SCALING.md#warm-containers", why="what waits costs as much as what"
        " works",
    ),
    Key(
        n.AUTOSCALE_MODE, r.switch(n.OFF, n.ADVISE, n.ON), n.OFF,
        "`on`: the number of instances follows the load; `advise`: decisions are events, and"
        " nothing"
        " is changed",
        see="SCALING.md#autoscaling",
        why="another number of instances is the user's decision, as is the bill",
    ),
    Key(
        n.AUTOSCALE_POLICY, r.one_of(n.RATES, n.THRESHOLD), n.RATES,
        "`rates`: a model of the rates of all bolts (DS2); `threshold` (SEEP): one more instance"
        " for a"
        " bolt that was too busy in several consecutive measurements",
        see="SCALING.md#autoscaling",
    ),
    Key(
        n.AUTOSCALE_COMPONENTS, _list_of_bolts, None,
        "the bolts that may be scaled, a list", without="all bolts", see="SCALING.md#autoscaling",
    ),
    Key(
        n.AUTOSCALE_INSTANCES_MIN, _limits, None,
        "the fewest instances: one number for all bolts, or `{component: number}`",
        without="1", see="SCALING.md#autoscaling",
    ),
    Key(
        n.AUTOSCALE_INSTANCES_MAX, _limits, None,
        "the most instances: one number for all bolts, or `{component: number}`",
        without="four times the number of the submit", see="SCALING.md#autoscaling",
    ),
    Key(
        n.AUTOSCALE_INTERVAL_SECS, r.seconds, 5,
        "the time between two measurements", see="SCALING.md#autoscaling",
    ),
    Key(
        n.AUTOSCALE_WINDOW_SECS, r.seconds, 30,
        "rates are means over this time; the first decision comes after it",
        see="SCALING.md#autoscaling",
        why="six measurements: reports of a second and bursts of a few are levelled out",
    ),
    Key(
        n.AUTOSCALE_COOLDOWN_SECS, r.seconds, 60,
        "the time without a change after a change; doubled for each consecutive change that failed,"
        " up to an hour",
        see="SCALING.md#autoscaling",
        why="what waited meanwhile is worked off, and instances that came up cold are warm",
    ),
    Key(
        n.AUTOSCALE_SHRINK_WINDOW_SECS, r.seconds, 300,
        "instances are removed if they were not needed for this long", see="SCALING.md#autoscaling",
        why="Kubernetes' for its pods: a lull of a few minutes takes nothing away",
    ),
    Key(
        n.AUTOSCALE_MOVE_COST_SECS, r.seconds, 1,
        "what a change costs, as time in which the spouts are paused; the duration of the last"
        " change,"
        " if that is longer. A change that gains less before the next one is possible is not made",
        see="SCALING.md#autoscaling",
    ),
    Key(
        n.AUTOSCALE_TARGET_UTILIZATION, r.share, 0.75,
        "the utilisation that a change aims for", see="SCALING.md#autoscaling",
        why="bursts need some room",
    ),
    Key(
        n.AUTOSCALE_THRESHOLD_UTILIZATION, r.share, 0.7,
        "of the policy `threshold`: a bolt that is busier is too busy",
        see="SCALING.md#autoscaling",
        why="SEEP's",
    ),
    Key(
        n.AUTOSCALE_THRESHOLD_REPORTS, r.whole(1), 2,
        "of the policy `threshold`: in so many consecutive measurements",
        see="SCALING.md#autoscaling",
        why="SEEP's",
    ),
)  # fmt: skip

OBSERVATION = (
    Key(n.TOPOLOGY_NAME, r.text, None, "the topology's name (written by heronpy)"),
    Key(
        n.ORIGINAL_NAME, r.text, None,
        "the name in the topology's file, where it runs under another (written by heronpy)",
    ),
    Key(
        n.METRICS_INTERVAL_MS, r.whole(10), 1000,
        "the time between two reports of an instance", owner=Owner.COMPONENT,
    ),
    Key(
        n.DEBUG, r.flag, False, "debug lines in the logs", owner=Owner.COMPONENT,
    ),
    Key(
        n.LOG_FORMAT, r.one_of(n.TEXT, n.JSON), n.TEXT,
        "how the lines of logs look: `text`, or `json`, an object each",
    ),
    Key(
        n.CONSOLE_LOG_LEVEL, r.switch(*n.LOG_LEVELS), n.WARNING,
        "from which level on `heronpy run` shows what components log: `off`, `debug`, `info`,"
        " `warning`, `error`",
        on_spark=False,
    ),
    Key(
        n.METRICS_PORT, r.port, None,
        "where the topology master serves OpenMetrics; 0 for any port that is free",
        on_spark=False, without="metrics are not served", see="UI.md#openmetrics",
    ),
    Key(
        n.METRICS_HOST, r.address, "127.0.0.1",
        "the address of that port", on_spark=False, see="UI.md#openmetrics",
        why="a reader of the port sees all numbers, so that other hosts reach it only if asked",
    ),
    Key(
        n.TRACE_SAMPLE, r.whole(0), 0,
        "one in so many tuples of a spout is traced, to OpenTelemetry",
        modes=AT_LEAST, on_spark=False, see="UI.md#openmetrics",
        why="each sampled tuple costs a report of every instance that executes a part of its tree",
    ),
    Key(
        n.TRACE_ENDPOINT, r.url, None,
        "where traces go, by OTLP over HTTP: `http://localhost:4318/v1/traces`",
        modes=AT_LEAST, on_spark=False, without="where OpenTelemetry's variables say",
        see="UI.md#openmetrics",
    ),
)  # fmt: skip
