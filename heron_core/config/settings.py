"""Settings of a topology's config, by subject: settings spread over several keys, and defaults.

Every function takes the merged config (defaults < topology < command line < component) and
returns a typed value with its unit in the name, or raises TopologyError naming the key and valid
values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heron_core.algorithms.retries import RetryPolicy
from heron_core.config.keys import DEFAULTS, FALLBACKS, KEYS, given, value_of
from heron_core.config.names import *
from heron_core.config.readers import flag, seconds, share, variables, whole_number
from heron_core.errors import TopologyError, shown

__all__ = [
    "DEFAULTS",
    "KEYS",
    "SAME_IN_OTHER_WORDS",
    "LogSettings",
    "autoscale_mode",
    "autoscale_policy",
    "backpressure_mode",
    "backpressure_tuples",
    "check",
    "check_instances",
    "console_log_level",
    "environment",
    "exits_on_exception",
    "flag",
    "given",
    "instances_max",
    "log_settings",
    "metrics_host",
    "metrics_port",
    "reliability",
    "replay_policy",
    "restart_limit",
    "retry_policy",
    "saves_states",
    "seconds",
    "share",
    "state_backend",
    "stops_on_exception",
    "takes_checkpoints",
    "tick_interval_secs",
    "trace_endpoint",
    "trace_sample",
    "value_of",
    "watermark_sources",
    "whole_number",
    "with_defaults",
    "with_fallbacks",
]

SAME_IN_OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    STORM_ACKERS: (RELIABILITY_MODE,),
    TICK_TUPLE_FREQ_MS: (TICK_TUPLE_FREQ_SECS,),
    TICK_TUPLE_FREQ_SECS: (TICK_TUPLE_FREQ_MS,),
    WINDOW_LENGTH_COUNT: (WINDOW_LENGTH_MS,),
    WINDOW_LENGTH_MS: (WINDOW_LENGTH_COUNT,),
}
"""Key -> equivalent keys: a layer with one of them overrides lower layers with any of them."""


def with_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` over the defaults, Storm's keys translated where Heron's are not set."""
    merged = {**DEFAULTS, **config}
    if config.get(STORM_WORKERS) is not None and STMGRS not in config:
        merged[STMGRS] = value_of(config, STORM_WORKERS)
    if config.get(STORM_ACKERS) is not None and RELIABILITY_MODE not in config:
        ackers = value_of(config, STORM_ACKERS)
        merged[RELIABILITY_MODE] = ATLEAST_ONCE if ackers else ATMOST_ONCE
    if config.get(HERON_DROP_TUPLES) and BACKPRESSURE_MODE not in config:
        merged[BACKPRESSURE_MODE] = DROP if flag(config, HERON_DROP_TUPLES) else STAGE
    return merged


def with_fallbacks(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` on top of the defaults that component classes may override."""
    known = {key: value for key, value in config.items() if value is not None}
    return {**config, **FALLBACKS, **known}


def instances_max(config: Mapping[str, Any]) -> int:
    """How many instances a topology may have."""
    return int(value_of(with_defaults(config), INSTANCES_MAX))


def check_instances(config: Mapping[str, Any], instances: int) -> None:
    """TopologyError for more instances than a topology may have."""
    most = instances_max(config)
    if instances > most:
        raise TopologyError(
            f"{shown(instances)} instances exceed {INSTANCES_MAX}, which is {most}: use fewer "
            "instances, or raise the key"
        )


def reliability(config: Mapping[str, Any]) -> str:
    """The reliability mode."""
    return str(value_of(config, RELIABILITY_MODE))


def takes_checkpoints(config: Mapping[str, Any]) -> bool:
    """Whether state is saved, and restored after a failure."""
    return reliability(config) == EFFECTIVELY_ONCE


def saves_states(config: Mapping[str, Any]) -> bool:
    """Whether each instance saves its own state, for a replacement process."""
    return reliability(config) == ATLEAST_ONCE


def backpressure_tuples(config: Mapping[str, Any]) -> int:
    """How many tuples may wait for an instance, and as many be handed to it: few where checkpoints
    are taken, for a barrier waits behind them, and a bolt may turn slow at any moment."""
    fewest = CHECKPOINTED_TUPLES if takes_checkpoints(config) else WAITING_TUPLES
    return given(config, BACKPRESSURE_HIGH_TUPLES) or fewest


def exits_on_exception(config: Mapping[str, Any]) -> bool:
    """Whether an exception in `process` ends the process (Heron, pystorm) or fails the tuple."""
    return bool(value_of(config, BOLT_ON_EXCEPTION) == EXIT)


def stops_on_exception(config: Mapping[str, Any]) -> bool:
    """Whether an exception in `process` ends the topology, after the retries if there are any."""
    return bool(config[BOLT_ON_EXCEPTION] == STOP)


def retry_policy(config: Mapping[str, Any]) -> RetryPolicy:
    """Retry policy of a failing bolt, in a topology with checkpoints."""
    return RetryPolicy(
        value_of(config, BOLT_RETRIES),
        value_of(config, BOLT_RETRY_BACKOFF_MS) / 1000,
        is_endless=config[BOLT_ON_EXCEPTION] == RESTART,
    )


def replay_policy(config: Mapping[str, Any]) -> RetryPolicy:
    """When a source emits a tuple that failed once more."""
    most = value_of(config, REPLAY_MAX)
    first_secs = value_of(config, REPLAY_BACKOFF_MS) / 1000
    return RetryPolicy(most, first_secs, is_endless=not most)


def tick_interval_secs(config: Mapping[str, Any]) -> float | None:
    """Seconds between tick tuples, or None for no ticks; Java Heron's key in ms is accepted."""
    secs: float | None = given(config, TICK_TUPLE_FREQ_SECS)
    milliseconds: float | None = given(config, TICK_TUPLE_FREQ_MS)
    return milliseconds / 1000.0 if secs is None and milliseconds is not None else secs


def restart_limit(config: Mapping[str, Any]) -> int:
    """How often a process that keeps ending is restarted in a row; -1 for ever."""
    return int(value_of(config, RESTART_LIMIT))


def state_backend(config: Mapping[str, Any]) -> str:
    """Where keyed state is kept: memory (default), or rocksdb for state larger than memory."""
    return str(value_of(config, STATE_BACKEND))


def backpressure_mode(config: Mapping[str, Any]) -> str:
    """How a queue that is too full is answered: stage (default), spout (Heron's) or drop."""
    return str(value_of(config, BACKPRESSURE_MODE))


def watermark_sources(config: Mapping[str, Any]) -> str:
    """What a window bolt takes the least watermark of: its streams (Storm), or their tasks."""
    return str(value_of(config, WATERMARK_SOURCES))


def autoscale_mode(config: Mapping[str, Any]) -> str:
    """What autoscaling does: off (default), advise or on."""
    return str(value_of(config, AUTOSCALE_MODE))


def autoscale_policy(config: Mapping[str, Any]) -> str:
    """By which rule autoscaling decides: rates (default) or threshold."""
    return str(value_of(config, AUTOSCALE_POLICY))


def environment(config: Mapping[str, Any]) -> dict[str, str]:
    """Environment variables set by the topology for its components."""
    return variables(config, ENVIRONMENT)


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Format and limits of the log files of each process."""

    line_format: str = TEXT
    """TEXT, or JSON: an object for each line."""
    bytes_max: int = LOG_BYTES
    """Size of a file, after which another begins."""
    files: int = LOG_FILES
    """Full files that stay beside the current one."""


def log_settings(config: Mapping[str, Any]) -> LogSettings:
    """Settings of the log files, with defaults for keys that `config` lacks."""
    merged = {**DEFAULTS, **config}
    return LogSettings(
        str(value_of(merged, LOG_FORMAT)),
        int(value_of(merged, LOG_MAXIMUM_SIZE)),
        int(value_of(merged, LOG_MAXIMUM_FILES)),
    )


def console_log_level(config: Mapping[str, Any]) -> int | None:
    """Minimum `logging` level of user logs shown by a foreground run; None: off."""
    return LOG_LEVELS[value_of({**DEFAULTS, **config}, CONSOLE_LOG_LEVEL)]


def metrics_port(config: Mapping[str, Any]) -> int | None:
    """Where the topology master serves OpenMetrics, 0 for any free port; None for nowhere."""
    port: int | None = given(config, METRICS_PORT)
    return port


def metrics_host(config: Mapping[str, Any]) -> str:
    """Listen address of the port."""
    return str(value_of(config, METRICS_HOST))


def trace_sample(config: Mapping[str, Any]) -> int:
    """Sampling interval of a spout's tuples for traces; 0 for none."""
    return int(value_of(config, TRACE_SAMPLE))


def trace_endpoint(config: Mapping[str, Any]) -> str | None:
    """Where traces go by OTLP over HTTP; None for where OpenTelemetry's variables say."""
    url: str | None = given(config, TRACE_ENDPOINT)
    return url


def check(config: Mapping[str, Any]) -> None:
    """TopologyError for the first invalid value, including keys without effect."""
    merged = with_defaults(config)
    for key in KEYS.values():
        key.check(merged)
    low = value_of(merged, BACKPRESSURE_LOW_BYTES)
    whole_number(merged, BACKPRESSURE_HIGH_BYTES, low + 1)
