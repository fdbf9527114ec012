"""Keys that are given where they have no effect, and who reads a component's own value."""

import pytest

from heron_core import config as keys
from heron_core.config.effects import (
    ASYNC_KEYS,
    component_config,
    idle_keys,
)
from heron_core.records import replace
from heron_core.topology import ComponentSpec, Config, StreamSpec, TopologySpec

WORD = (StreamSpec("default", ("word",)),)


def idle(
    config: Config, *, spout: Config | None = None, bolt: Config | None = None, query: bool = False
) -> set[tuple[str, str, str]]:
    """(owner, key, why) of a topology with these configs."""
    components = (
        ComponentSpec("words", True, "m.Words", 1, WORD, (), spout or {}),
        ComponentSpec("count", False, "m.Count", 1, (), (), bolt or {}),
    )
    found = idle_keys(TopologySpec("T", components, config), query)
    return {(each.owner, each.key, each.why) for each in found}


@pytest.mark.parametrize(
    ("key", "value", "mode", "why"),
    [
        (keys.MAX_SPOUT_PENDING, 5, keys.ATMOST_ONCE, "in ATMOST_ONCE, only in ATLEAST_ONCE"),
        (keys.REPLAY_MAX, 5, keys.EFFECTIVELY_ONCE, "in EFFECTIVELY_ONCE, only in ATLEAST_ONCE"),
        (keys.BOLT_RETRIES, 5, keys.ATLEAST_ONCE, "in ATLEAST_ONCE without topology.dead.letter"),
        (
            keys.CHECKPOINT_INTERVAL_SECS, 5, keys.ATMOST_ONCE,
            "in ATMOST_ONCE, only in ATLEAST_ONCE and EFFECTIVELY_ONCE",
        ),
        (
            keys.MESSAGE_TIMEOUT_SECS, 5, keys.ATMOST_ONCE,
            "in ATMOST_ONCE but for shell components and the connectors of Kafka and Pulsar",
        ),
        (keys.METRICS_HOST, "0.0.0.0", keys.ATLEAST_ONCE, "without topology.metrics.port"),
        (
            keys.STATE_FOLDER, "/tmp", keys.EFFECTIVELY_ONCE,
            "without topology.state.backend: rocksdb",
        ),
        ("topology.optimize", True, keys.ATLEAST_ONCE, "because it is a key of Storm or Heron"),
    ],
)  # fmt: skip
def test_a_key_with_an_effect_only_elsewhere_says_where(
    key: str, value: object, mode: str, why: str
) -> None:
    assert idle({keys.RELIABILITY_MODE: mode, key: value}) == {("", key, why)}


@pytest.mark.parametrize("key", sorted(ASYNC_KEYS))
def test_keys_of_coroutines_are_named_where_no_bolt_is_one(key: str) -> None:
    def found(*bolts: ComponentSpec) -> set[tuple[str, str]]:
        words = ComponentSpec("words", True, "m.Words", 1, WORD, code="1")
        topology = TopologySpec("T", (words, *bolts), {key: 7})
        return {(each.owner, each.why) for each in idle_keys(topology)}

    looked_at = ComponentSpec("count", False, "m.Count", 1, code="2")
    ours = ComponentSpec("sink", False, "heron_connectors.files.sink.FileSink", 1)
    coroutine = ComponentSpec("ask", False, "m.Ask", 1, code="3", is_async=True)
    unknown = ComponentSpec("far", False, "m.Elsewhere", 1)
    why = "without a bolt whose process is `async def`"
    assert found(looked_at, ours) == {("", why)}
    assert found(looked_at, coroutine) == found(looked_at, unknown) == set()
    own = replace(looked_at, config={key: 7})
    assert found(own, coroutine) == {
        ("count", ("on a component that is not a bolt whose process is `async def`"))
    }
    assert found(replace(coroutine, config={key: 7})) == set()


def test_a_key_that_has_an_effect_is_not_named() -> None:
    at_least = {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE}
    assert idle({**at_least, keys.MAX_SPOUT_PENDING: 5, keys.MESSAGE_TIMEOUT_SECS: 3}) == set()
    assert idle({**at_least, keys.BOLT_RETRIES: 5, keys.DEAD_LETTER: "file:/tmp/letters"}) == set()
    assert idle({keys.TRACE_SAMPLE: 0, keys.MAX_SPOUT_PENDING: None}) == set()
    assert idle(at_least, spout={keys.MAX_SPOUT_PENDING: 5, keys.STORM_TASKS: 2}) == set()


def test_a_key_of_the_topology_in_a_components_config_is_named_and_ignored() -> None:
    own = {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE, "table.path": "/data"}
    why = "in the config of a component: set it for the topology"
    assert idle({}, bolt=own) == {("count", keys.RELIABILITY_MODE, why)}
    merged = component_config({keys.RELIABILITY_MODE: keys.ATLEAST_ONCE}, own)
    assert merged == {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE, "table.path": "/data"}


def test_a_spouts_key_on_a_bolt_and_a_bolts_on_a_spout_are_named() -> None:
    at_least = {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE}
    found = idle(at_least, spout={keys.TICK_TUPLE_FREQ_SECS: 1}, bolt={keys.MAX_SPOUT_PENDING: 1})
    assert found == {
        ("words", keys.TICK_TUPLE_FREQ_SECS, "on a spout"),
        ("count", keys.MAX_SPOUT_PENDING, "on a bolt"),
    }


def test_with_spark_the_keys_of_queues_and_containers_are_named() -> None:
    given = {keys.STMGRS: 2, keys.STORM_WORKERS: 2, keys.MAX_SPOUT_PENDING: 5, "mine": 1}
    why = "with --engine spark"
    assert idle(given, query=True) == {
        ("", keys.STORM_WORKERS, why),
        ("", keys.MAX_SPOUT_PENDING, why),
    }


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({keys.AUTOSCALE_THRESHOLD_REPORTS: 3}, "with topology.autoscale.policy: rates"),
        (
            {keys.AUTOSCALE_SHRINK_WINDOW_SECS: 3, keys.AUTOSCALE_POLICY: "threshold"},
            "without topology.autoscale.policy: rates",
        ),
        (
            {"topology.container.max.instances": 3},
            "without topology.packing.algorithm: first_fit_decreasing",
        ),
    ],
)
def test_keys_of_another_policy_are_named(config: Config, why: str) -> None:
    assert {each[2] for each in idle(config)} == {why}


def test_keys_of_the_policy_that_is_chosen_are_not_named() -> None:
    own = {keys.AUTOSCALE_THRESHOLD_REPORTS: 3, keys.AUTOSCALE_POLICY: "threshold"}
    fills = {"topology.packing.ffd.sorting.strategy": "RAM_FIRST"}
    assert idle({**own, **fills, "topology.packing.algorithm": "first_fit_decreasing"}) == set()
    herons = "com.twitter.heron.packing.binpacking.FirstFitDecreasingPacking"
    assert idle({**fills, "heron.class.packing.algorithm": herons}) == set()
