"""Every knob of a stream manager, read once from the topology's config."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from heron_core import config as keys
from heron_core.state.backup import BackupRule
from heron_engine.stream_manager.link import LINK_BYTES_MAX
from heron_engine.stream_manager.turn_rests import REST_SECS

BUFFER_BYTES_MAX = 2 * 1024 * 1024
"""Most that an instance buffers beside its last tuple (emit.output_buffers: 1 MiB)."""


class StreamManagerOptions(Struct, frozen=True):
    """Options of one stream manager."""

    message_timeout_secs: float | None
    """None: trees never expire (topology.enable.message.timeouts is false)."""
    backpressure: str
    """stage, spout or drop (heron_core.config)"""
    high_water_bytes: int
    low_water_bytes: int
    high_water_tuples: int
    """Limit of delivered tuples, and of queued tuples; counted by their output if larger."""
    target_secs: float
    """A queue is too long when its instance needs longer for it; the bytes are the hard bound."""
    frame_bytes_max: int
    """A longer frame cuts its connection: the largest tuple, and a buffer of full batches."""
    checkpoints: bool = False
    """Effectively once: barriers are aligned, and the topology is restored from a checkpoint."""
    aligned_timeout_secs: float | None = None
    """Wait after which a barrier overtakes an instance's input; None: never."""
    aligned_bytes_max: int = 64 * 1024 * 1024
    """What is held back for one instance behind barriers: some seconds of data; then the checkpoint
    is aborted (Heron: 100 MB)."""
    backup: BackupRule | None = None
    """Rule for states of other containers' instances in memory; None: no backup."""
    expiry_buckets: int = 5
    """Trees expire between T and T + T/5; more buckets are more precise, and slower to search."""
    window_bytes: int = 1024 * 1024
    """What an instance may have been sent and not yet processed: 10 ms of work at full speed, so it
    never waits for the next batch, and all that a dying instance can take along."""
    pipelined_bytes: int = 64 * 1024
    """Smallest delivery to a busy instance: some milliseconds of work, enough to deliver the
    next message. Smaller amounts wait until the instance is idle."""
    at_once_bytes: int = 1024
    """A quick instance that has less than this is handed what comes at once: at low load, a few
    small messages, no tuple waits for the report of the one before."""
    link_bytes_max: int = LINK_BYTES_MAX
    """Limit of unacknowledged data for another stream manager."""
    runs_commands: bool = True
    """Whether `heronpy run-on-all` may run commands here."""
    rest_secs: float = REST_SECS
    """Of a busy stream manager between two turns; 0.0: it never rests (turn_rests.py)."""
    heartbeat_secs: float = 1.0
    master_silent_secs: float = 3.0
    """After three unanswered heartbeats the master is looked up again."""

    @staticmethod
    def of(config: Mapping[str, Any]) -> "StreamManagerOptions":
        """The options in a topology's config; TopologyError if a value is bad."""
        merged = keys.with_defaults(config)
        expire = keys.flag(merged, keys.ENABLE_MESSAGE_TIMEOUTS)
        interval_ms = keys.value_of(merged, keys.METRICS_INTERVAL_MS)
        return StreamManagerOptions(
            message_timeout_secs=keys.seconds(merged, keys.MESSAGE_TIMEOUT_SECS)
            if expire
            else None,
            backpressure=keys.backpressure_mode(merged),
            high_water_bytes=keys.value_of(merged, keys.BACKPRESSURE_HIGH_BYTES),
            low_water_bytes=keys.value_of(merged, keys.BACKPRESSURE_LOW_BYTES),
            high_water_tuples=keys.backpressure_tuples(merged),
            target_secs=keys.value_of(merged, keys.BACKPRESSURE_TARGET_MS) / 1000,
            frame_bytes_max=keys.value_of(merged, keys.MESSAGE_BYTES_MAX) + BUFFER_BYTES_MAX,
            checkpoints=keys.takes_checkpoints(merged),
            aligned_timeout_secs=_aligned_timeout_secs(merged),
            backup=BackupRule.of(config),
            runs_commands=keys.value_of(merged, keys.RUN_ON_ALL) == keys.ON,
            rest_secs=min(REST_SECS, keys.value_of(merged, keys.LINGER_MS) / 1000),
            heartbeat_secs=min(1.0, interval_ms / 1000),
        )


def _aligned_timeout_secs(config: Mapping[str, Any]) -> float | None:
    timeout_ms = keys.value_of(config, keys.ALIGNED_TIMEOUT_MS)
    return None if timeout_ms < 0 else timeout_ms / 1000
