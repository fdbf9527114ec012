"""What a stream manager does is what the topology's config says, in its own units."""

from heron_core import config as keys
from heron_engine.stream_manager.options import StreamManagerOptions
from heron_instance.emit.output_buffers import BUFFERS_COUNTED

BUFFERED_BYTES = BUFFERS_COUNTED * keys.value_of(keys.with_defaults({}), keys.BATCH_BYTES)
"""An instance may have them in a buffer beside its last tuple."""


def test_milliseconds_of_the_config_are_seconds_here() -> None:
    options = StreamManagerOptions.of(
        {
            keys.METRICS_INTERVAL_MS: 250,
            keys.BACKPRESSURE_TARGET_MS: 700,
            keys.ALIGNED_TIMEOUT_MS: 1500,
            keys.MESSAGE_TIMEOUT_SECS: 12,
        }
    )
    assert options.heartbeat_secs == 0.25
    assert options.target_secs == 0.7
    assert options.aligned_timeout_secs == 1.5
    assert options.message_timeout_secs == 12.0
    assert StreamManagerOptions.of({keys.METRICS_INTERVAL_MS: 10_000}).heartbeat_secs == 1.0


def test_a_batch_with_a_tuple_of_the_largest_size_behind_others_is_taken() -> None:
    options = StreamManagerOptions.of({keys.MESSAGE_BYTES_MAX: 5_000_000})
    assert options.frame_bytes_max > 5_000_000 + BUFFERED_BYTES


def test_limits_that_are_switched_off_are_none() -> None:
    options = StreamManagerOptions.of(
        {keys.ALIGNED_TIMEOUT_MS: -1, keys.ENABLE_MESSAGE_TIMEOUTS: False}
    )
    assert options.aligned_timeout_secs is None
    assert options.message_timeout_secs is None
    assert StreamManagerOptions.of({keys.ALIGNED_TIMEOUT_MS: 0}).aligned_timeout_secs == 0.0
