"""Every knob of an instance, read once from the merged config of its component."""

import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from heron_core import config as keys
from heron_core.algorithms.retries import RetryPolicy


class InstanceOptions(Struct, frozen=True):
    """Knobs of one instance; defaults and their reasons stand in heron_core.config."""

    tracked: bool
    """At-least-once: roots, edges and acks travel."""
    max_spout_pending: int
    linger_secs: float
    batch_tuples: int
    batch_bytes: int
    message_bytes_max: int
    pickles: bool
    """Values that msgpack cannot carry travel as pickles."""
    serializer: str | None
    task_hooks: tuple[str, ...]
    metrics_interval_secs: float
    message_timeout_secs: float
    """Timeout of unacked tuples; infinity for none."""
    checkpoint_interval_secs: float
    """Interval of periodic state saves."""
    debug: bool
    exits_on_exception: bool
    stops_on_exception: bool
    retries: RetryPolicy
    """Handling of exceptions in a bolt, under checkpoints."""
    state_backend: str
    async_capacity: int
    """Coroutines of a bolt at a time."""
    async_ordered: bool
    async_timeout_secs: float
    stuck_secs: float
    """A call of user code that lasts longer is reported once, with its stack."""
    overtakes: bool = False
    """Whether a barrier may overtake, or else waits for back-pressure to end."""
    trace_sample: int = 0
    """One in so many roots is traced; 0 for none."""
    samples_keys: bool = True
    """Whether frequent keys of the input are looked for."""

    @staticmethod
    def of(config: Mapping[str, Any]) -> "InstanceOptions":
        """The options in `config` (topology and component config merged); TopologyError if bad."""
        merged = keys.with_defaults(config)
        hooks = merged.get(keys.AUTO_TASK_HOOKS) or ()
        return InstanceOptions(
            tracked=keys.reliability(merged) == keys.ATLEAST_ONCE,
            max_spout_pending=keys.value_of(merged, keys.MAX_SPOUT_PENDING),
            linger_secs=keys.value_of(merged, keys.LINGER_MS) / 1000,
            batch_tuples=keys.value_of(merged, keys.BATCH_TUPLES),
            batch_bytes=keys.value_of(merged, keys.BATCH_BYTES),
            message_bytes_max=keys.value_of(merged, keys.MESSAGE_BYTES_MAX),
            pickles=keys.flag(merged, keys.VALUES_PICKLE),
            serializer=merged.get(keys.SERIALIZER_CLASSNAME),
            task_hooks=(hooks,) if isinstance(hooks, str) else tuple(hooks),
            metrics_interval_secs=keys.value_of(merged, keys.METRICS_INTERVAL_MS) / 1000,
            message_timeout_secs=keys.seconds(merged, keys.MESSAGE_TIMEOUT_SECS)
            if keys.flag(merged, keys.ENABLE_MESSAGE_TIMEOUTS)
            else math.inf,
            checkpoint_interval_secs=keys.seconds(merged, keys.CHECKPOINT_INTERVAL_SECS),
            exits_on_exception=keys.exits_on_exception(merged),
            stops_on_exception=keys.stops_on_exception(merged),
            retries=keys.retry_policy(merged),
            state_backend=keys.state_backend(merged),
            async_capacity=keys.value_of(merged, keys.ASYNC_CAPACITY),
            async_ordered=keys.flag(merged, keys.ASYNC_ORDERED),
            async_timeout_secs=keys.value_of(merged, keys.ASYNC_TIMEOUT_MS) / 1000,
            debug=keys.flag(merged, keys.DEBUG),
            stuck_secs=keys.seconds(merged, keys.STUCK_REPORT_SECS),
            overtakes=keys.value_of(merged, keys.ALIGNED_TIMEOUT_MS) >= 0,
            trace_sample=keys.trace_sample(merged),
            samples_keys=keys.flag(merged, keys.SKEW_SAMPLE),
        )
