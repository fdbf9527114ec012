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
    rows = [key.name for subject in keys.SUBJECTS for key in subject.keys]
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


OF_EACH_TYPE = ("lots of", 7.5, True, ["lots", "of"], {"lots": "of"}, 1 << 60)


@pytest.mark.parametrize("key", ALL, ids=lambda key: key.name)
def test_a_value_of_another_type_is_refused(key: Key) -> None:
    """A key takes at most three of these types: an address is a text, a limit a number or a map."""
    for value in ({1j}, float("nan")):
        with pytest.raises(TopologyError, match=key.name):
            config.check({key.name: value})
    assert sum(_is_taken(key, value) for value in OF_EACH_TYPE) <= 3


def _is_taken(key: Key, value: object) -> bool:
    try:
        config.check({key.name: value})
    except TopologyError:
        return False
    return True


def test_values_of_storm_and_heron_are_refused_where_they_are_said() -> None:
    for key, value in (
        (names.STORM_OTHER_MEMORY_MB, "lots"),
        (names.STORM_OTHER_MEMORY_MB, False),
        (names.SHELL_SERIALIZER, "xml"),
        (names.HERON_PACKING_CLASS, "com.x.NoPacking"),
        (names.SHELL_COMMAND, 7),
        (names.SHELL_COMMAND, []),
        (names.FLUX_RECIPE, "recipe"),
    ):
        with pytest.raises(TopologyError, match=key):
            config.check({key: value})


def test_values_of_storm_and_heron_are_read() -> None:
    for key, value, means in (
        (names.STORM_OTHER_MEMORY_MB, 0, 0.0),
        (names.STORM_OTHER_MEMORY_MB, "128", 128.0),
        (names.SHELL_SERIALIZER, "org.apache.storm.multilang.JsonSerializer", names.JSON),
        (names.HERON_PACKING_CLASS, "x.RoundRobinPacking", names.ROUND_ROBIN),
        (names.SHELL_COMMAND, ["node", "split.js"], ("node", "split.js")),
    ):
        assert keys.value_of({key: value}, key) == means


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
