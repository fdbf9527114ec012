"""Topology configuration: Heron's keys, Storm's where they mean the same, defaults and readers.

Every reader takes the merged config (defaults < topology < command line < component) and returns
a typed value with its unit in the name, or raises TopologyError naming the key and what it takes.
"""

from collections.abc import Mapping
from typing import Any

from heron_core.algorithms.retries import RetryPolicy
from heron_core.config_names import *
from heron_core.dead_letter_target import target_of
from heron_core.errors import TopologyError, shown


def with_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` over the defaults, Storm's keys translated where Heron's are not set."""
    merged = {**DEFAULTS, **config}
    if STORM_WORKERS in config and STMGRS not in config:
        merged[STMGRS] = config[STORM_WORKERS]
    if config.get(STORM_ACKERS) is not None and RELIABILITY_MODE not in config:
        ackers = whole_number(config, STORM_ACKERS, 0)
        merged[RELIABILITY_MODE] = ATLEAST_ONCE if ackers else ATMOST_ONCE
    if config.get(HERON_DROP_TUPLES) and BACKPRESSURE_MODE not in config:
        merged[BACKPRESSURE_MODE] = DROP if flag(config, HERON_DROP_TUPLES) else STAGE
    return merged


def whole_number(config: Mapping[str, Any], key: str, least: int) -> int:
    """The value of `key` as an int of at least `least`, and no absurd one."""
    value = config[key]
    try:
        number = int(value)
        # A float has no room for each int: 2**53 + 1 is none.
        is_whole = isinstance(value, int | str) or float(value) == number
        exact = is_whole and not isinstance(value, bool)
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact or number < least:
        raise TopologyError(f"{key} must be a whole number of at least {least}, not {shown(value)}")
    if number > WHOLE_NUMBER_MAX:
        raise TopologyError(f"{key} must be at most {WHOLE_NUMBER_MAX}, not {shown(value)}")
    return number


def restart_limit(config: Mapping[str, Any]) -> int:
    """How often a process that keeps ending is restarted in a row; -1 for ever."""
    return whole_number(config, RESTART_LIMIT, -1)


def seconds(config: Mapping[str, Any], key: str) -> float:
    """The value of `key` in seconds, a positive number; a string of digits is accepted."""
    value = config[key]
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if isinstance(value, bool) or not 0.0 < number < float("inf"):
        raise TopologyError(f"{key} must be a positive number of seconds, not {shown(value)}")
    if number > SECONDS_MAX:
        raise TopologyError(f"{key} must be at most {SECONDS_MAX:.0f} seconds, not {shown(value)}")
    return number


def share(config: Mapping[str, Any], key: str) -> float:
    """The value of `key` as a share above 0 and below 1."""
    value = config[key]
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if isinstance(value, bool) or not 0.0 < number < 1.0:
        raise TopologyError(f"{key} must be a number between 0 and 1, not {shown(value)}")
    return number


def flag(config: Mapping[str, Any], key: str) -> bool:
    """The value of `key` as a bool; the strings true and false are accepted in any case."""
    value = config[key]
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise TopologyError(f"{key} must be true or false, not {shown(value)}")


def instances_max(config: Mapping[str, Any]) -> int:
    """How many instances a topology may have."""
    return whole_number(with_defaults(config), INSTANCES_MAX, 1)


def check_instances(config: Mapping[str, Any], instances: int) -> None:
    """TopologyError for more instances than a topology may have."""
    most = instances_max(config)
    if instances > most:
        raise TopologyError(
            f"{shown(instances)} instances are more than {INSTANCES_MAX}, which is {most}: use"
            " fewer, or raise that key"
        )


def reliability(config: Mapping[str, Any]) -> str:
    """The reliability mode."""
    return _one_of(config, RELIABILITY_MODE, ATMOST_ONCE, ATLEAST_ONCE, EFFECTIVELY_ONCE)


def takes_checkpoints(config: Mapping[str, Any]) -> bool:
    """Whether state is saved, and the topology goes back to it after a failure."""
    return reliability(config) == EFFECTIVELY_ONCE


def saves_states(config: Mapping[str, Any]) -> bool:
    """Whether each instance saves its own state, for the process that replaces it."""
    return reliability(config) == ATLEAST_ONCE


def state_backend(config: Mapping[str, Any]) -> str:
    """Where keyed state is kept: memory (default), or rocksdb for state larger than memory."""
    return _one_of(config, STATE_BACKEND, MEMORY, ROCKSDB)


def backpressure_mode(config: Mapping[str, Any]) -> str:
    """How a queue that is too full is answered: stage (default), spout (Heron's) or drop."""
    return _one_of(config, BACKPRESSURE_MODE, STAGE, SPOUT, DROP)


def backpressure_tuples(config: Mapping[str, Any]) -> int:
    """How many tuples may wait for an instance, and as many be handed to it: few where checkpoints
    are taken, for a barrier waits behind them, and a bolt may turn slow at any moment."""
    if config.get(BACKPRESSURE_HIGH_TUPLES) is not None:
        return whole_number(config, BACKPRESSURE_HIGH_TUPLES, 1)
    return CHECKPOINTED_TUPLES if takes_checkpoints(config) else WAITING_TUPLES


def exits_on_exception(config: Mapping[str, Any]) -> bool:
    """Whether an exception in `process` ends the process (Heron, pystorm) or fails the tuple."""
    return _one_of(config, BOLT_ON_EXCEPTION, FAIL, RESTART, STOP, EXIT) == EXIT


def stops_on_exception(config: Mapping[str, Any]) -> bool:
    """Whether an exception in `process` ends the topology, after the retries if there are any."""
    return bool(config[BOLT_ON_EXCEPTION] == STOP)


def retry_policy(config: Mapping[str, Any]) -> RetryPolicy:
    """When a bolt that raised tries again, in a topology that takes checkpoints."""
    return RetryPolicy(
        whole_number(config, BOLT_RETRIES, 0),
        whole_number(config, BOLT_RETRY_BACKOFF_MS, 1) / 1000,
        is_endless=config[BOLT_ON_EXCEPTION] == RESTART,
    )


def replay_policy(config: Mapping[str, Any]) -> RetryPolicy:
    """When a source emits a tuple that failed once more."""
    most = whole_number(config, REPLAY_MAX, 0)
    first_secs = whole_number(config, REPLAY_BACKOFF_MS, 1) / 1000
    return RetryPolicy(most, first_secs, is_endless=not most)


def watermark_sources(config: Mapping[str, Any]) -> str:
    """What a window bolt takes the least watermark of: its streams (Storm), or their tasks."""
    return _one_of(config, WATERMARK_SOURCES, OF_STREAMS, OF_TASKS)


def autoscale_mode(config: Mapping[str, Any]) -> str:
    """What autoscaling does: off (default), advise or on. YAML reads both words as booleans."""
    value = config[AUTOSCALE_MODE]
    if isinstance(value, bool):
        return ON if value else OFF
    return _one_of(config, AUTOSCALE_MODE, OFF, ADVISE, ON)


def autoscale_policy(config: Mapping[str, Any]) -> str:
    """By which rule autoscaling decides: rates (default) or threshold."""
    return _one_of(config, AUTOSCALE_POLICY, "rates", "threshold")


def environment(config: Mapping[str, Any]) -> dict[str, str]:
    """The environment variables that the topology sets for its components."""
    found = config.get(ENVIRONMENT) or {}
    if not isinstance(found, Mapping):
        raise TopologyError(f"{ENVIRONMENT} must be {{NAME: value}}, not {shown(found)}")
    return {str(name): str(value) for name, value in found.items()}


def _one_of(config: Mapping[str, Any], key: str, *choices: str) -> str:
    value = config[key]
    if value not in choices:
        raise TopologyError(f"{key} must be {' or '.join(choices)}, not {shown(value)}")
    return str(value)


def _text(config: Mapping[str, Any], key: str) -> None:
    value = config.get(key)
    if value is not None and not isinstance(value, str):
        raise TopologyError(f"{key} must be a text, not {shown(value)}")


def _texts(config: Mapping[str, Any], key: str) -> None:
    value = config.get(key)
    is_list = isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)
    if value is not None and not is_list:
        raise TopologyError(f"{key} must be a list of texts, not {shown(value)}")


def log_format(config: Mapping[str, Any]) -> str:
    """How the lines of logs look: text (default), or json, an object each."""
    return _one_of({LOG_FORMAT: TEXT, **config}, LOG_FORMAT, TEXT, JSON)


def console_log_level(config: Mapping[str, Any]) -> int | None:
    """From which level on a foreground run shows what user code logs, as `logging` numbers them;
    None for off."""
    if config.get(CONSOLE_LOG_LEVEL) is False:  # YAML's word for off
        return None
    level = _one_of({CONSOLE_LOG_LEVEL: WARNING, **config}, CONSOLE_LOG_LEVEL, *LOG_LEVELS)
    return LOG_LEVELS[level]


def metrics_port(config: Mapping[str, Any]) -> int | None:
    """Where the topology master serves OpenMetrics, 0 for any free port; None for nowhere."""
    if config.get(METRICS_PORT) is None:
        return None
    port = whole_number(config, METRICS_PORT, 0)
    if port > PORT_MAX:
        raise TopologyError(f"{METRICS_PORT} must be a port, at most {PORT_MAX}, not {port}")
    return port


def metrics_host(config: Mapping[str, Any]) -> str:
    """The address of that port."""
    host = config[METRICS_HOST]
    if not isinstance(host, str) or not host:
        raise TopologyError(f'{METRICS_HOST} must be an address as "127.0.0.1", not {shown(host)}')
    return host


def trace_sample(config: Mapping[str, Any]) -> int:
    """One in so many tuples of a spout is traced; 0 for none."""
    return whole_number(config, TRACE_SAMPLE, 0)


def trace_endpoint(config: Mapping[str, Any]) -> str | None:
    """Where traces go by OTLP over HTTP; None for where OpenTelemetry's variables say."""
    url = config.get(TRACE_ENDPOINT)
    if url is None:
        return None
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        example = "http://localhost:4318/v1/traces"
        raise TopologyError(f"{TRACE_ENDPOINT} must be a URL as {example}, not {shown(url)}")
    return url


def tick_interval_secs(config: Mapping[str, Any]) -> float | None:
    """Seconds between tick tuples, or None for no ticks; Java Heron's key in ms is accepted."""
    if config.get(TICK_TUPLE_FREQ_SECS) is not None:
        return seconds(config, TICK_TUPLE_FREQ_SECS)
    if config.get(TICK_TUPLE_FREQ_MS) is not None:
        return seconds(config, TICK_TUPLE_FREQ_MS) / 1000.0
    return None


def check(config: Mapping[str, Any]) -> None:
    """Read every known key once, so that a bad value is found before anything starts."""
    merged = with_defaults(config)
    reliability(merged)
    _one_of({INITIAL_STATE: RUNNING, **config}, INITIAL_STATE, RUNNING, PAUSED)
    _texts(merged, AUTO_TASK_HOOKS)
    for key in (SERIALIZER_CLASSNAME, CHECKPOINT_STORE, STATE_FOLDER):
        _text(merged, key)
    backpressure_mode(merged)
    state_backend(merged)
    exits_on_exception(merged)
    retry_policy(merged)
    replay_policy(merged)
    target_of(merged.get(DEAD_LETTER))
    environment(merged)
    tick_interval_secs(merged)
    log_format(merged)
    console_log_level(merged)
    metrics_port(merged)
    metrics_host(merged)
    trace_sample(merged)
    trace_endpoint(merged)
    seconds(merged, MESSAGE_TIMEOUT_SECS)
    for key in (STUCK_REPORT_SECS, UPDATE_DEACTIVATE_WAIT_SECS, UPDATE_REACTIVATE_WAIT_SECS,
                CHECKPOINT_INTERVAL_SECS, CHECKPOINT_TIMEOUT_SECS):  # fmt: skip
        seconds(merged, key)
    if seconds(merged, LIVENESS_TIMEOUT_SECS) < LIVENESS_TIMEOUT_SECS_MIN:
        raise TopologyError(
            f"{LIVENESS_TIMEOUT_SECS} must be at least {LIVENESS_TIMEOUT_SECS_MIN}: "
            "processes beat once a second"
        )
    for key in (ENABLE_MESSAGE_TIMEOUTS, ASYNC_ORDERED, DEBUG, VALUES_PICKLE, STREAMLET_FUSION,
                SKEW_SAMPLE):  # fmt: skip
        flag(merged, key)
    for key in (STMGRS, INSTANCES_MAX, ASYNC_CAPACITY, ASYNC_TIMEOUT_MS, MAX_SPOUT_PENDING,
                BATCH_TUPLES, BATCH_BYTES, MESSAGE_BYTES_MAX, BACKPRESSURE_TARGET_MS,
                CHECKPOINTS_RETAINED):  # fmt: skip
        whole_number(merged, key, 1)
    for key in (LINGER_MS, BACKPRESSURE_LOW_BYTES, CHECKPOINT_PAUSE_MS):
        whole_number(merged, key, 0)
    restart_limit(merged)
    whole_number(merged, ALIGNED_TIMEOUT_MS, -1)
    backpressure_tuples(merged)
    low = whole_number(merged, BACKPRESSURE_LOW_BYTES, 0)
    whole_number(merged, BACKPRESSURE_HIGH_BYTES, low + 1)
    whole_number(merged, METRICS_INTERVAL_MS, 10)
    whole_number(merged, WARM_CONTAINERS, 0)
