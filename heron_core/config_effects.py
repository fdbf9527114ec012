"""Where each configuration key has an effect: on whom, in which mode, on which engine. Pure.

A key that is given where it has none is named before the topology runs. `heron_core.config_keys`
has the keys that have none anywhere.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from heron_core import config as keys
from heron_core import config_keys
from heron_core.dead_letters import ERRORS
from heron_core.library import PACKAGES
from heron_core.topology import ComponentSpec, Config, TopologySpec

TOPOLOGY_KEYS = frozenset(
    (
        keys.AUTOSCALE_COMPONENTS, keys.AUTOSCALE_COOLDOWN_SECS, keys.AUTOSCALE_INSTANCES_MAX,
        keys.AUTOSCALE_INSTANCES_MIN, keys.AUTOSCALE_INTERVAL_SECS, keys.AUTOSCALE_MODE,
        keys.AUTOSCALE_MOVE_COST_SECS, keys.AUTOSCALE_POLICY, keys.AUTOSCALE_SHRINK_WINDOW_SECS,
        keys.AUTOSCALE_TARGET_UTILIZATION, keys.AUTOSCALE_THRESHOLD_REPORTS,
        keys.AUTOSCALE_THRESHOLD_UTILIZATION, keys.AUTOSCALE_WINDOW_SECS,
        keys.BACKPRESSURE_HIGH_BYTES, keys.BACKPRESSURE_HIGH_TUPLES, keys.BACKPRESSURE_LOW_BYTES,
        keys.BACKPRESSURE_MODE, keys.BACKPRESSURE_TARGET_MS, keys.HERON_DROP_TUPLES,
        keys.ALIGNED_TIMEOUT_MS, keys.CHECKPOINTS_RETAINED, keys.CHECKPOINT_INTERVAL_SECS,
        keys.CHECKPOINT_PAUSE_MS, keys.CHECKPOINT_STORE, keys.CHECKPOINT_TIMEOUT_SECS,
        keys.CONSOLE_LOG_LEVEL, keys.DEAD_LETTER, keys.ENABLE_MESSAGE_TIMEOUTS,
        keys.ENVIRONMENT, keys.INITIAL_STATE, keys.INSTANCES_MAX, keys.LIVENESS_TIMEOUT_SECS,
        keys.LOG_FORMAT,
        keys.MESSAGE_TIMEOUT_SECS, keys.METRICS_HOST, keys.METRICS_PORT, keys.RELIABILITY_MODE,
        keys.STATE_BACKEND, keys.STATE_FOLDER, keys.STMGRS, keys.STORM_ACKERS, keys.STORM_WORKERS,
        keys.STREAMLET_FUSION, keys.TOPOLOGY_NAME, keys.TRACE_ENDPOINT, keys.TRACE_SAMPLE,
        keys.UPDATE_DEACTIVATE_WAIT_SECS, keys.UPDATE_REACTIVATE_WAIT_SECS, keys.WARM_CONTAINERS,
        keys.CPU_MAP, keys.RAM_MAP, keys.DISK_MAP, "topology.container.cpu",
        "topology.container.cpu.padding", "topology.container.disk",
        "topology.container.max.instances", "topology.container.padding.percentage",
        "topology.container.ram", "topology.container.ram.padding", "topology.metricsmgr.ram",
        "topology.original_name", "topology.packing.algorithm",
        "topology.packing.ffd.sorting.strategy", "topology.stateful.checkpointmanager.ram",
        "topology.stmgr.ram", "heron.class.packing.algorithm",
    )
)  # fmt: skip
"""Keys that are read of the topology's config alone: a component's own value is ignored."""
SPOUT_KEYS = frozenset((keys.MAX_SPOUT_PENDING, keys.REPLAY_BACKOFF_MS, keys.REPLAY_MAX))
BOLT_KEYS = frozenset(
    (
        keys.ASYNC_CAPACITY, keys.ASYNC_ORDERED, keys.ASYNC_TIMEOUT_MS, keys.BOLT_ON_EXCEPTION,
        keys.BOLT_RETRIES, keys.BOLT_RETRY_BACKOFF_MS, keys.LATE_STREAM, keys.SKEW_SAMPLE,
        keys.TICK_TUPLE_FREQ_MS, keys.TICK_TUPLE_FREQ_SECS, keys.TIMESTAMP_AHEAD_MS,
        keys.TIMESTAMP_FIELD, keys.TIMESTAMP_LAG_MS, keys.WATERMARK_END_AFTER_MS,
        keys.WATERMARK_IDLE_MS, keys.WATERMARK_INTERVAL_MS, keys.WATERMARK_SOURCES,
        keys.WINDOW_LATENESS_MS, keys.WINDOW_LENGTH_COUNT, keys.WINDOW_LENGTH_MS,
        keys.WINDOW_SLIDE_COUNT, keys.WINDOW_SLIDE_MS, "topology.shellbolt.max.pending",
    )
)  # fmt: skip
COMPONENT_KEYS = frozenset(
    (
        keys.AUTO_TASK_HOOKS, keys.BATCH_BYTES, keys.BATCH_TUPLES, keys.COMPONENT_PARALLELISM,
        keys.DEBUG, keys.LINGER_MS, keys.MESSAGE_BYTES_MAX, keys.METRICS_INTERVAL_MS,
        keys.RESTART_LIMIT, keys.SERIALIZER_CLASSNAME, keys.STUCK_REPORT_SECS, keys.VALUES_PICKLE,
        keys.STORM_CPU_PERCENT, keys.STORM_HEAP_MB, keys.STORM_OTHER_MEMORY_MB, keys.STORM_TASKS,
        keys.STORM_TASKS_MAX, "topology.multilang.serializer", "topology.subprocess.timeout.secs",
        "heronpy.flux.recipe", "heronpy.shell.command", "heronpy.shell.environment",
    )
)  # fmt: skip
"""Keys of which a component may have a value of its own."""

_AT_LEAST = (keys.ATLEAST_ONCE,)
_EXACTLY = (keys.EFFECTIVELY_ONCE,)
MODES: Mapping[str, tuple[str, ...]] = {
    keys.MAX_SPOUT_PENDING: _AT_LEAST,
    keys.ENABLE_MESSAGE_TIMEOUTS: _AT_LEAST,
    keys.REPLAY_BACKOFF_MS: _AT_LEAST,
    keys.REPLAY_MAX: _AT_LEAST,
    keys.TRACE_SAMPLE: _AT_LEAST,
    keys.TRACE_ENDPOINT: _AT_LEAST,
    keys.BOLT_RETRIES: (*_AT_LEAST, *_EXACTLY),
    keys.BOLT_RETRY_BACKOFF_MS: _EXACTLY,
    keys.ALIGNED_TIMEOUT_MS: _EXACTLY,
    keys.CHECKPOINTS_RETAINED: _EXACTLY,
    keys.CHECKPOINT_PAUSE_MS: _EXACTLY,
    keys.CHECKPOINT_TIMEOUT_SECS: _EXACTLY,
    keys.CHECKPOINT_INTERVAL_SECS: (*_AT_LEAST, *_EXACTLY),
}
"""Key -> the only modes in which it has an effect."""
SPARK_IDLE = frozenset(
    (
        keys.ALIGNED_TIMEOUT_MS, keys.BACKPRESSURE_HIGH_BYTES, keys.BACKPRESSURE_HIGH_TUPLES,
        keys.BACKPRESSURE_LOW_BYTES, keys.BACKPRESSURE_MODE, keys.BACKPRESSURE_TARGET_MS,
        keys.BOLT_RETRIES, keys.BOLT_RETRY_BACKOFF_MS, keys.CHECKPOINTS_RETAINED,
        keys.CHECKPOINT_PAUSE_MS, keys.CHECKPOINT_STORE, keys.CHECKPOINT_TIMEOUT_SECS,
        keys.CONSOLE_LOG_LEVEL, keys.ENABLE_MESSAGE_TIMEOUTS, keys.HERON_DROP_TUPLES,
        keys.LINGER_MS, keys.LIVENESS_TIMEOUT_SECS, keys.MAX_SPOUT_PENDING,
        keys.MESSAGE_TIMEOUT_SECS, keys.METRICS_HOST, keys.METRICS_PORT, keys.STATE_FOLDER,
        keys.STMGRS, keys.STORM_WORKERS, keys.STUCK_REPORT_SECS, keys.TRACE_ENDPOINT,
        keys.TRACE_SAMPLE, keys.UPDATE_DEACTIVATE_WAIT_SECS, keys.UPDATE_REACTIVATE_WAIT_SECS,
        keys.WARM_CONTAINERS, keys.CPU_MAP, keys.RAM_MAP, keys.STORM_CPU_PERCENT,
        keys.STORM_HEAP_MB, keys.STORM_OTHER_MEMORY_MB, keys.DISK_MAP,
        "topology.container.cpu", "topology.container.cpu.padding", "topology.container.disk",
        "topology.container.max.instances", "topology.container.padding.percentage",
        "topology.container.ram", "topology.container.ram.padding", "topology.metricsmgr.ram",
        "topology.packing.algorithm", "topology.packing.ffd.sorting.strategy",
        "topology.stateful.checkpointmanager.ram", "topology.stmgr.ram",
        "heron.class.packing.algorithm",
    )
)  # fmt: skip
"""Keys without an effect in a query of Spark, which has no containers, queues and trees."""


THRESHOLD_KEYS = frozenset((keys.AUTOSCALE_THRESHOLD_REPORTS, keys.AUTOSCALE_THRESHOLD_UTILIZATION))
"""Of the policy that adds an instance to a bolt that is too busy."""
FIRST_FIT_KEYS = frozenset(
    (
        "topology.container.max.instances", "topology.container.padding.percentage",
        "topology.packing.ffd.sorting.strategy",
    )
)  # fmt: skip
"""Of the packing that fills one container after the other."""


ASYNC_KEYS = frozenset((keys.ASYNC_CAPACITY, keys.ASYNC_ORDERED, keys.ASYNC_TIMEOUT_MS))
"""Of bolts whose `process` is a coroutine."""


class Idle(Struct, frozen=True):
    """A key that is given where it has no effect."""

    key: str
    owner: str
    """Of the config that has it: a component's name, or empty for the topology's."""
    why: str
    """Follows "has no effect"."""


def component_config(config: Config, own: Config) -> dict[str, Any]:
    """The config that a component gets: its own over that of the topology, `config`, but for the
    keys that are the topology's."""
    return {**config, **{key: own[key] for key in own if key not in TOPOLOGY_KEYS}}


def idle_keys(topology: TopologySpec, is_query: bool = False) -> Iterator[Idle]:
    """The given keys that have no effect; `is_query`: it becomes a query of Spark."""
    merged = keys.with_defaults(topology.config)
    if any(each.stream == ERRORS for reader in topology.components for each in reader.inputs):
        merged = {**merged, keys.DEAD_LETTER: ERRORS}  # a bolt reads letters, whatever is set
    has_coroutines = not all(map(_is_function, topology.components))
    for key, value in topology.config.items():
        why = "" if _says_nothing(key, value) else _idle_everywhere(key, merged, is_query)
        if key in ASYNC_KEYS and not has_coroutines:
            why = why or f"without {_COROUTINE}"
        # -w says the same in Storm's words and in ours: named once is enough.
        if why and not (key == keys.STMGRS and keys.STORM_WORKERS in topology.config):
            yield Idle(key, "", why)
    for component in topology.components:
        for key in component.config:
            why = _idle_in(component, key) or _idle_everywhere(key, merged, is_query)
            if why:
                yield Idle(key, component.name, why)


_COROUTINE = "a bolt whose process is `async def`"


def _is_function(component: ComponentSpec) -> bool:
    """Whether nothing of it is a coroutine for certain: its class was looked at, or is ours."""
    is_known = bool(component.code) or component.class_path.startswith(PACKAGES)
    return component.is_spout or (is_known and not component.is_async)


def _says_nothing(key: str, value: Any) -> bool:
    """Of a key that is given: Storm's null says that it is not set."""
    return value is None or (key == keys.TRACE_SAMPLE and not value)


def _idle_in(component: ComponentSpec, key: str) -> str:
    if key in TOPOLOGY_KEYS:
        return "in the config of a component: set it for the topology"
    if key in SPOUT_KEYS and not component.is_spout:
        return "on a bolt"
    if key in BOLT_KEYS and component.is_spout:
        return "on a spout"
    if key in ASYNC_KEYS and _is_function(component):
        return f"on other than {_COROUTINE}"
    return ""


def _idle_everywhere(key: str, merged: Config, is_query: bool) -> str:
    if config_keys.is_of_others(key):
        return "here: it is a key of Storm or Heron"
    if is_query:
        return "with --engine spark" if key in SPARK_IDLE else ""
    return _idle_in_mode(key, keys.reliability(merged)) or _idle_beside(key, merged)


def _idle_in_mode(key: str, mode: str) -> str:
    if key == keys.MESSAGE_TIMEOUT_SECS and mode != keys.ATLEAST_ONCE:
        return f"in {mode} but for shell components and the connectors of Kafka and Pulsar"
    modes = MODES.get(key, (mode,))
    return "" if mode in modes else f"in {mode}, only in {' and '.join(modes)}"


def _idle_beside(key: str, merged: Config) -> str:
    """By what another key says, or does not say."""
    is_tracked = keys.reliability(merged) == keys.ATLEAST_ONCE
    if key == keys.BOLT_RETRIES and is_tracked and merged.get(keys.DEAD_LETTER) is None:
        return f"in {keys.ATLEAST_ONCE} without {keys.DEAD_LETTER}"
    if key in THRESHOLD_KEYS and merged[keys.AUTOSCALE_POLICY] == "rates":
        return f"with {keys.AUTOSCALE_POLICY}: rates"
    if key == keys.AUTOSCALE_SHRINK_WINDOW_SECS and merged[keys.AUTOSCALE_POLICY] != "rates":
        return f"without {keys.AUTOSCALE_POLICY}: rates"
    if key in FIRST_FIT_KEYS and not _fills_containers(merged):
        return "without topology.packing.algorithm: first_fit_decreasing"
    if key == keys.METRICS_HOST and merged.get(keys.METRICS_PORT) is None:
        return f"without {keys.METRICS_PORT}"
    if key == keys.TRACE_ENDPOINT and not merged.get(keys.TRACE_SAMPLE):
        return f"without {keys.TRACE_SAMPLE}"
    if key == keys.STATE_FOLDER and merged[keys.STATE_BACKEND] != keys.ROCKSDB:
        return f"without {keys.STATE_BACKEND}: {keys.ROCKSDB}"
    if key == keys.STORM_OTHER_MEMORY_MB and merged.get(keys.STORM_HEAP_MB) is None:
        return f"without {keys.STORM_HEAP_MB}"
    return ""


def _fills_containers(merged: Config) -> bool:
    ours, herons = "topology.packing.algorithm", "heron.class.packing.algorithm"
    if merged.get(ours) is not None:
        return bool(merged[ours] == "first_fit_decreasing")
    return str(merged.get(herons)).endswith("FirstFitDecreasingPacking")
