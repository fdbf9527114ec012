"""What an instance does is what the topology's config says, in its own units."""

import pytest

from heron_core import config as keys
from heron_instance.options import Options


def test_milliseconds_of_the_config_are_seconds_here() -> None:
    assert Options.of(keys.with_defaults({keys.ASYNC_TIMEOUT_MS: 250})).async_timeout_secs == 0.25


@pytest.mark.parametrize(("timeout_ms", "overtakes"), [(-1, False), (0, True), (1, True)])
def test_barriers_overtake_unless_the_timeout_is_switched_off(
    timeout_ms: int, overtakes: bool
) -> None:
    assert (
        Options.of(keys.with_defaults({keys.ALIGNED_TIMEOUT_MS: timeout_ms})).overtakes is overtakes
    )
