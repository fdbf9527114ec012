"""What an instance does is what the topology's config says, in its own units."""

import pytest

from heron_core import config as keys
from heron_instance.options import InstanceOptions
from tests.unit.heron_instance.test_drivers import bolt, spout


def test_milliseconds_of_the_config_are_seconds_here() -> None:
    assert (
        InstanceOptions.of(keys.with_defaults({keys.ASYNC_TIMEOUT_MS: 250})).async_timeout_secs
        == 0.25
    )


@pytest.mark.parametrize(("timeout_ms", "overtakes"), [(-1, False), (0, True), (1, True)])
def test_barriers_overtake_unless_the_timeout_is_switched_off(
    timeout_ms: int, overtakes: bool
) -> None:
    assert (
        InstanceOptions.of(keys.with_defaults({keys.ALIGNED_TIMEOUT_MS: timeout_ms})).overtakes
        is overtakes
    )


def test_nothing_is_counted_before_the_first_tuple() -> None:
    assert bolt().core.counts()[:2] == spout().core.counts()[:2] == (0, 0)
