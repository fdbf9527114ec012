"""Levels, tasks, partitions, and what a query of Spark cannot do."""

import sys
from typing import Any

import pytest

from heron_connectors.spark import frames
from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_spark.compile.plan import compile_topology, problems

OUT = (StreamSpec("default", ("value",)),)
SHUFFLE = GroupingSpec(GroupingKind.SHUFFLE)


def component(
    name: str,
    *inputs: str,
    par: int = 1,
    path: str = "m.C",
    config: dict[str, object] | None = None,
) -> ComponentSpec:
    reads = tuple(InputSpec(each, "default", SHUFFLE) for each in inputs)
    return ComponentSpec(name, not inputs, path, par, OUT, reads, config or {})


def topology(*components: ComponentSpec, **config: object) -> TopologySpec:
    return TopologySpec("t", components, config)


def test_a_level_is_the_longest_path() -> None:
    plan = compile_topology(
        topology(
            component("late", "middle", "words"),
            component("words", par=2),
            component("middle", "words", par=3),
            component("other"),
        )
    )
    assert plan.levels == ((2, 3, 7), (4, 5, 6), (1,))
    assert plan.level_of[1] == 2


def test_task_ids_are_those_of_every_engine() -> None:
    plan = compile_topology(topology(component("words", par=2), component("count", "words", par=2)))
    assert plan.packing.tasks_of == {"words": [1, 2], "count": [3, 4]}
    assert [each.index for each in plan.packing.instances.values()] == [0, 1, 0, 1]


def test_partitions_are_no_more_than_slots_and_share_the_tasks() -> None:
    plan = compile_topology(topology(component("words"), component("count", "words", par=5)))
    assert [plan.partitions(level, 2) for level in (0, 1)] == [1, 2]
    assert [plan.tasks_at(1, partition, 2) for partition in (0, 1)] == [(2, 4, 6), (3, 5)]
    partition_of = plan.partition_of(2)
    assert partition_of == {1: (0, 0), 2: (1, 0), 3: (1, 1), 4: (1, 0), 5: (1, 1), 6: (1, 0)}


def test_nothing_is_tracked_whatever_the_config_says() -> None:
    spec = topology(
        component("words", config={keys.RELIABILITY_MODE: keys.ATLEAST_ONCE, "mine": 1}),
        **{keys.STORM_ACKERS: 2},
    )
    plan = compile_topology(spec)
    assert plan.topology.config[keys.RELIABILITY_MODE] == keys.ATMOST_ONCE
    assert plan.topology.components[0].config == {"mine": 1}


def test_a_plan_compiles_to_itself() -> None:
    plan = compile_topology(topology(component("words"), component("count", "words")))
    assert compile_topology(plan.topology).levels == plan.levels
    assert compile_topology(plan.topology).topology == plan.topology


def test_keys_without_meaning_are_told_of() -> None:
    spec = topology(component("words"), **{keys.MESSAGE_TIMEOUT_SECS: 5})
    (notice,) = compile_topology(spec).notices
    assert notice.startswith("topology.message.timeout.secs: without meaning on Spark")
    assert compile_topology(topology(component("words"))).notices == ()


def test_json_in_an_encoding_that_is_not_looked_through_is_told_of() -> None:
    options = {"encoding": "latin1", "lineSep": "|"}
    config: dict[str, Any] = {frames.SPARK_FORMAT: "json", frames.OPTIONS: options}
    (notice,) = compile_topology(topology(component("words", config=config))).notices
    assert notice.startswith(
        "spout 'words': JSON in latin1 is not looked through: Spark reads half"
    )
    config[frames.OPTIONS] = {"encoding": "UTF-8", "mode": "FAILFAST"}
    assert compile_topology(topology(component("words", config=config))).notices == ()


def test_a_cycle_is_refused_with_its_path() -> None:
    spec = topology(
        component("words"), component("a", "words", "c"), component("b", "a"), component("c", "b")
    )
    (problem,) = problems(spec)
    assert "(a -> b -> c -> a)" in problem
    assert "--engine native" in problem
    with pytest.raises(TopologyError, match="cannot have cycles"):
        compile_topology(spec)


def test_a_diamond_is_no_cycle() -> None:
    spec = topology(
        component("words"),
        component("a", "words"),
        component("b", "words"),
        component("c", "a", "b"),
    )
    assert problems(spec) == []


def test_programs_of_other_languages_are_refused() -> None:
    spec = topology(
        component("words", path="heron_frontends.adapters.multilang.ShellSpout"),
        component("count", "words", path="heron_frontends.adapters.multilang.ShellBolt"),
    )
    first, second = problems(spec)
    assert first.startswith("spout 'words' is a program in another language")
    assert second.startswith("bolt 'count' is")
    with pytest.raises(TopologyError, match=r"\(and 1 more\)"):
        compile_topology(spec)


def test_state_in_a_database_is_refused() -> None:
    with pytest.raises(TopologyError, match=r"topology\.state\.backend is rocksdb: on Spark"):
        compile_topology(topology(component("words"), **{keys.STATE_BACKEND: keys.ROCKSDB}))


def test_a_chain_longer_than_python_s_stack_is_compiled() -> None:
    length = sys.getrecursionlimit() + 100
    chain = [component("c0"), *(component(f"c{n}", f"c{n - 1}") for n in range(1, length))]
    assert len(compile_topology(topology(*chain)).levels) == length
