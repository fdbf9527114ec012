"""The table of configuration keys: complete, consistent, and checked whatever a key's effect is."""

import pytest

from heron_core import config
from heron_core.config import keys, names
from heron_core.config.key import Key, Owner
from heron_core.errors import TopologyError

ENGINES = ("topology.", "heron.", "heronpy.")
NAMED = {
    value
    for name, value in vars(names).items()
    if name.isupper() and isinstance(value, str) and value.startswith(ENGINES)
}
ALL = sorted(keys.KEYS.values(), key=lambda key: key.name)


def test_each_name_is_a_row_of_its_own() -> None:
    rows = [key.name for found in keys.SUBJECTS.values() for key in found]
    assert sorted(rows) == sorted(NAMED)


@pytest.mark.parametrize("key", ALL, ids=lambda key: key.name)
def test_a_default_is_a_value_that_the_key_takes(key: Key) -> None:
    config.check({} if key.default is None else {key.name: key.default})
    assert key.default is None or not key.without


def test_a_bad_value_is_refused_where_the_key_has_no_effect() -> None:
    """Of another mode, of another policy, of a backend that is not chosen."""
    for key, value in (
        (names.CHECKPOINT_PAUSE_MS, "soon"),
        (names.AUTOSCALE_THRESHOLD_REPORTS, 0),
        (names.FFD_SORTING_STRATEGY, "DISK_FIRST"),
        (names.CONTAINER_PADDING_PERCENTAGE, 100),
        (names.RAM_MAP, "count"),
        (names.CPU_MAP, "count:none"),
        (names.METRICS_PORT, 70_000),
        (names.TRACE_ENDPOINT, "localhost:4318"),
        (names.WATERMARK_IDLE_MS, 0),
        (names.LATE_STREAM, ""),
        (names.SHELL_PENDING_MAX, "many"),
        (names.AUTOSCALE_COMPONENTS, 3),
        (names.AUTOSCALE_INSTANCES_MAX, {"count": "all"}),
    ):
        with pytest.raises(TopologyError, match=key):
            config.check({key: value})


def test_yaml_reads_on_and_off_as_booleans() -> None:
    assert config.autoscale_mode({names.AUTOSCALE_MODE: True}) == names.ON
    assert config.autoscale_mode({names.AUTOSCALE_MODE: False}) == names.OFF
    assert config.console_log_level({names.CONSOLE_LOG_LEVEL: False}) is None
    with pytest.raises(TopologyError, match=f"{names.CONSOLE_LOG_LEVEL} must be off or .*not True"):
        config.check({names.CONSOLE_LOG_LEVEL: True})


def test_an_owner_is_asked_for() -> None:
    """Each key is the topology's, or of the components that it names."""
    owned = [keys.owned_by(owner) for owner in Owner]
    assert sum(map(len, owned)) == len(keys.KEYS)
    assert names.MAX_SPOUT_PENDING in keys.owned_by(Owner.SPOUT)
