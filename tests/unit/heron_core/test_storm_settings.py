"""Storm's tasks and resources of components do here what they do there, or are refused."""

import pytest

from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_core.storm_settings import check_limits, settled
from heron_core.topology import ComponentSpec, Config, StreamSpec, TopologySpec
from heron_engine.scheduler.packing import pack, repack

WORD = (StreamSpec("default", ("word",)),)
GIB = 1 << 30


def topology(config: Config, own: Config | None = None, par: int = 2) -> TopologySpec:
    words = ComponentSpec("words", True, "m.Words", par, WORD, (), own or {})
    others = ComponentSpec("others", True, "m.Others", par, WORD)
    return TopologySpec("T", (words, others), config)


def numbers(config: Config, own: Config | None = None, par: int = 2) -> list[int]:
    return [each.parallelism for each in settled(topology(config, own, par)).components]


@pytest.mark.parametrize(
    ("config", "own", "expected"),
    [
        ({}, {}, [2, 2]),
        ({}, {keys.STORM_TASKS: 5}, [5, 2]),
        ({keys.STORM_TASKS: 4}, {}, [4, 4]),
        ({keys.STORM_TASKS: 4}, {keys.STORM_TASKS: 1}, [1, 4]),
        ({keys.STORM_TASKS_MAX: 1}, {}, [1, 1]),
        ({keys.STORM_TASKS_MAX: 3}, {keys.STORM_TASKS: 9}, [3, 2]),
        ({}, {keys.STORM_TASKS_MAX: 1}, [1, 2]),
        ({keys.STORM_TASKS: None}, {keys.STORM_TASKS_MAX: None}, [2, 2]),
        ({keys.STORM_TASKS: "3"}, {}, [3, 3]),
    ],
)
def test_tasks_are_instances_and_the_limit_holds(
    config: Config, own: Config, expected: list[int]
) -> None:
    assert numbers(config, own) == expected


@pytest.mark.parametrize("key", [keys.STORM_TASKS, keys.STORM_TASKS_MAX])
@pytest.mark.parametrize("value", [0, -1, "many", 1.5, True, float("nan")])
def test_a_number_of_tasks_that_is_none_is_refused(key: str, value: object) -> None:
    with pytest.raises(TopologyError, match=key):
        settled(topology({}, {key: value}))


def test_cores_and_memory_of_a_component_are_what_its_instances_get() -> None:
    own = {
        keys.STORM_CPU_PERCENT: 50, keys.STORM_HEAP_MB: 512, keys.STORM_OTHER_MEMORY_MB: 512,
    }  # fmt: skip
    plan = pack(settled(topology({keys.STORM_CPU_PERCENT: 200.0}, own, par=1)))
    sizes = {each.component: each.resource for each in plan.instances.values()}
    assert (sizes["words"].cpu, sizes["words"].ram_bytes) == (0.5, GIB)
    assert sizes["others"].cpu == 2.0


def test_the_packings_own_map_beats_storms_resources() -> None:
    config = {keys.RAM_MAP: f"words:{GIB}"}
    found = settled(topology(config, {keys.STORM_HEAP_MB: 64, keys.STORM_CPU_PERCENT: 10}))
    assert found.config[keys.RAM_MAP] == f"words:{GIB}"
    assert found.config[keys.CPU_MAP] == "words:0.1"
    assert settled(found).config == found.config


@pytest.mark.parametrize(
    "key", [keys.STORM_CPU_PERCENT, keys.STORM_HEAP_MB, keys.STORM_OTHER_MEMORY_MB]
)
@pytest.mark.parametrize("value", ["much", -1, float("nan"), float("inf"), 1e30, True])
def test_an_amount_that_is_none_is_refused(key: str, value: object) -> None:
    with pytest.raises(TopologyError, match=key):
        settled(topology({}, {keys.STORM_HEAP_MB: 1, key: value}))


def test_an_update_stays_within_the_limit_of_tasks() -> None:
    limited = settled(topology({keys.STORM_TASKS_MAX: 3}))
    check_limits(limited, {"words": 3})
    with pytest.raises(TopologyError, match=r"4 instances of words are more than topology\.max"):
        repack(limited, pack(limited), {"words": 4}, None)
