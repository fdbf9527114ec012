"""Scope of each configuration key: component kinds, modes, engines. Pure.

A key without effect in its place is reported before the topology starts. The module `spelling`
has keys without any effect.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from heron_core import config as keys
from heron_core.config import spelling
from heron_core.config.key import Owner
from heron_core.config.keys import KEYS, owned_by
from heron_core.dead_letters import ERRORS
from heron_core.library import PACKAGES
from heron_core.topology import ComponentSpec, Config, TopologySpec

TOPOLOGY_KEYS = owned_by(Owner.TOPOLOGY)
"""Keys that are read of the topology's config alone: a component's own value is ignored."""
SPOUT_KEYS = owned_by(Owner.SPOUT)
BOLT_KEYS = owned_by(Owner.BOLT)
MODES: Mapping[str, tuple[str, ...]] = {name: key.modes for name, key in KEYS.items() if key.modes}
"""Key -> only modes with an effect."""
SPARK_IDLE = frozenset(name for name, key in KEYS.items() if not key.on_spark)
"""Keys without an effect in a query of Spark, which has no containers, queues and trees."""

THRESHOLD_KEYS = frozenset((keys.AUTOSCALE_THRESHOLD_REPORTS, keys.AUTOSCALE_THRESHOLD_UTILIZATION))
"""Keys of the policy that adds an instance to a busy bolt."""
FIRST_FIT_KEYS = frozenset(
    (
        keys.CONTAINER_MAX_INSTANCES, keys.CONTAINER_PADDING_PERCENTAGE, keys.FFD_SORTING_STRATEGY,
    )
)  # fmt: skip
"""Keys of the packing that fills containers in order."""


BACKUP_KEYS = frozenset((keys.BACKUP_DURABLE_EVERY, keys.BACKUP_BYTES_MAX))
"""Of a backup in the memory of other containers."""
ASYNC_KEYS = frozenset((keys.ASYNC_CAPACITY, keys.ASYNC_ORDERED, keys.ASYNC_TIMEOUT_MS))
"""Of bolts whose `process` is a coroutine."""


class Idle(Struct, frozen=True):
    """A given key without effect."""

    key: str
    owner: str
    """Owner of the config: a component's name, or empty for the topology."""
    why: str
    """Follows "has no effect"."""


def component_config(config: Config, own: Config) -> dict[str, Any]:
    """Config of a component: its own over the topology's `config`, except for topology keys."""
    return {**config, **{key: own[key] for key in own if key not in TOPOLOGY_KEYS}}


def idle_keys(topology: TopologySpec, is_query: bool = False) -> Iterator[Idle]:
    """The given keys that have no effect; `is_query`: it becomes a query of Spark."""
    merged = keys.with_defaults(topology.config)
    if any(entry.stream == ERRORS for reader in topology.components for entry in reader.inputs):
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
    """Whether the component is certainly free of coroutines: its class was inspected, or is
    heronpy's."""
    is_known = bool(component.code) or component.class_path.startswith(PACKAGES)
    return component.is_spout or (is_known and not component.is_async)


def _says_nothing(key: str, value: Any) -> bool:
    """Whether a given value means "not set": Storm's null, and a trace sample of 0."""
    return value is None or (key == keys.TRACE_SAMPLE and not value)


def _idle_in(component: ComponentSpec, key: str) -> str:
    if key in TOPOLOGY_KEYS:
        return "in the config of a component: set it for the topology"
    if key in SPOUT_KEYS and not component.is_spout:
        return "on a bolt"
    if key in BOLT_KEYS and component.is_spout:
        return "on a spout"
    if key in ASYNC_KEYS and _is_function(component):
        return f"on a component that is not {_COROUTINE}"
    return ""


def _idle_everywhere(key: str, merged: Config, is_query: bool) -> str:
    if spelling.is_of_others(key):
        return "because it is a key of Storm or Heron"
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
    if key in BACKUP_KEYS and merged.get(keys.BACKUP) is None:
        return f"without {keys.BACKUP}: {keys.MEMORY}"
    if key == keys.STATE_FOLDER and merged[keys.STATE_BACKEND] != keys.ROCKSDB:
        return f"without {keys.STATE_BACKEND}: {keys.ROCKSDB}"
    if key == keys.STORM_OTHER_MEMORY_MB and merged.get(keys.STORM_HEAP_MB) is None:
        return f"without {keys.STORM_HEAP_MB}"
    return ""


def _fills_containers(merged: Config) -> bool:
    if merged.get(keys.PACKING_ALGORITHM) is not None:
        return bool(merged[keys.PACKING_ALGORITHM] == keys.FIRST_FIT_DECREASING)
    return str(merged.get(keys.HERON_PACKING_CLASS)).endswith("FirstFitDecreasingPacking")
