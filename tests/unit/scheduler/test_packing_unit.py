"""Packing by Heron's rules: worked examples, refusals, and what a dry run prints."""

import json
import re
from typing import Any

import pytest

from heron_core.errors import TopologyError, UsageError
from heron_core.plans import (
    GIB,
    MIB,
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    Resource,
    packing_from_json,
    packing_to_json,
)
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.packing import algorithm_name, pack
from heron_engine.scheduler.packing.render import render

HERON_ROUND_ROBIN = "org.apache.heron.packing.roundrobin.RoundRobinPacking"
FIRST_FIT = {"topology.packing.algorithm": "first_fit_decreasing"}


def topology(config: dict[str, Any], **parallelism: int) -> TopologySpec:
    """A topology with the components given, the first one its spout."""
    components = tuple(
        ComponentSpec(name, number == 0, f"module.{name}", count)
        for number, (name, count) in enumerate(parallelism.items())
    )
    return TopologySpec("wordcount", components, config)


def placed(plan: PackingPlan) -> list[list[tuple[int, str, int]]]:
    """For each container its (task, component, index)."""
    return [
        [(each.task, each.component, each.index) for each in container.instances]
        for container in plan.containers
    ]


def test_round_robin_deals_in_order_of_declaration() -> None:
    # The topology of every first try: no resources set, two containers.
    plan = pack(topology({"topology.stmgrs": 2}, word=2, count=3))
    assert placed(plan) == [
        [(1, "word", 0), (3, "count", 0), (5, "count", 2)],
        [(2, "word", 1), (4, "count", 1)],
    ]
    assert [container.id for container in plan.containers] == [1, 2]
    assert {each.resource for each in plan.instances.values()} == {Resource(1.0, GIB, GIB)}
    # One core, 2 GB (stream and metrics manager) and 12 GB of disk are Heron's padding; disk is
    # sized for the fullest container.
    assert plan.containers[0].resource == Resource(4.0, 5 * GIB, 15 * GIB)
    assert plan.containers[1].resource == Resource(3.0, 4 * GIB, 15 * GIB)


def test_one_container_is_the_default() -> None:
    # `heronpy run` of a topology without any config.
    plan = pack(topology({}, word=1, count=2))
    assert plan.container_of == {1: 1, 2: 1, 3: 1}
    assert plan.tasks_of == {"word": [1], "count": [2, 3]}
    assert packing_from_json(packing_to_json(plan)) == plan


def test_storms_workers_are_containers() -> None:
    # A streamparse project sets topology.workers.
    assert len(pack(topology({"topology.workers": 2}, word=2)).containers) == 2
    with pytest.raises(TopologyError, match=r"^topology\.workers is 3 .* use 1 to 2$"):
        pack(topology({"topology.workers": 3}, word=2))


def test_round_robin_spreads_the_big_ones_but_numbers_by_declaration() -> None:
    # Two 4 GB joins must not meet in one container only because a small spout came first.
    config = {"topology.stmgrs": 2, "topology.component.rammap": f"join:{4 * GIB}"}
    plan = pack(topology(config, word=1, join=2, count=1))
    assert placed(plan) == [[(1, "word", 0), (2, "join", 0)], [(3, "join", 1), (4, "count", 0)]]
    assert plan.instances[2].resource.ram_bytes == 4 * GIB
    assert plan.instances[1].resource.ram_bytes == GIB
    assert [each.resource.ram_bytes for each in plan.containers] == [7 * GIB, 7 * GIB]


def test_round_robin_shares_out_a_container_of_a_given_size() -> None:
    # What padding and the rammap leave is for the others; strings come from YAML and heronpy.
    config = {
        "topology.container.ram": str(10 * GIB),
        "topology.container.cpu": "5",
        "topology.container.disk": 20 * GIB,
        "topology.component.rammap": f" join : {2 * GIB} ",
        "topology.component.cpumap": "join:2.0",
        "topology.component.diskmap": f"join:{19 * GIB}",
    }
    plan = pack(topology(config, word=2, join=1))
    assert plan.instances[3].resource == Resource(2.0, 2 * GIB, 19 * GIB)
    assert plan.instances[1].resource == Resource(1.0, 3 * GIB, GIB // 2)
    assert plan.containers[0].resource == Resource(5.0, 10 * GIB, 20 * GIB)


def test_padding_keys_replace_herons_gigabytes() -> None:
    # Our stream manager needs 50 MB: the owner of a small machine says so.
    config = {"topology.container.ram.padding": 64 * MIB, "topology.container.cpu.padding": 0}
    assert pack(topology(config, word=1)).containers[0].resource == Resource(
        1.0, GIB + 64 * MIB, 13 * GIB
    )
    config = {"topology.stmgr.ram": 100 * MIB, "topology.metricsmgr.ram": 0}
    assert pack(topology(config, word=1)).containers[0].resource.ram_bytes == GIB + 100 * MIB


def test_instances_may_eat_into_the_padding() -> None:
    # Heron warns and goes on when the rammap leaves less than the padding.
    config = {
        "topology.container.ram": 4 * GIB,
        "topology.component.rammap": f"word:{3 * GIB}",
    }
    plan = pack(topology(config, word=1, count=2))
    assert [each.resource.ram_bytes for each in plan.instances.values()] == [
        3 * GIB,
        GIB // 2,
        GIB // 2,
    ]
    assert plan.containers[0].resource.ram_bytes == 4 * GIB


def test_first_fit_opens_as_few_containers_as_needed() -> None:
    # 10 GB containers of which 1 GB is padding: 9 default instances fit, topology.stmgrs or not.
    plan = pack(topology({**FIRST_FIT, "topology.stmgrs": 7}, word=2, count=10))
    assert [len(each.instances) for each in plan.containers] == [9, 3]
    assert plan.containers[0].resource == Resource(10.0, 10 * GIB, 10 * GIB)
    assert plan.containers[1].resource == Resource(4.0, 4 * GIB, 4 * GIB)
    assert plan.tasks_of == {"word": [1, 2], "count": list(range(3, 13))}


def test_first_fit_fills_gaps_with_the_small_ones() -> None:
    # 5 + 3 GB and 1 GB of padding fill the first container to 9; the second 5 opens a new one.
    config = {
        **FIRST_FIT,
        "topology.component.rammap": f"small:{GIB},middle:{3 * GIB},big:{5 * GIB}",
    }
    plan = pack(topology(config, small=2, middle=2, big=2))
    assert placed(plan) == [
        [(1, "small", 0), (3, "middle", 0), (5, "big", 0)],
        [(2, "small", 1), (4, "middle", 1), (6, "big", 1)],
    ]


def test_first_fit_sorts_by_cpu_when_told() -> None:
    # A CPU-bound component goes first, so it shares with memory-bound ones.
    config = {
        **FIRST_FIT,
        "topology.component.cpumap": "busy:6,large:1",
        "topology.component.rammap": f"busy:{GIB},large:{6 * GIB}",
        "topology.packing.ffd.sorting.strategy": "cpu_first",
    }
    assert placed(pack(topology(config, large=1, busy=2))) == [
        [(1, "large", 0), (2, "busy", 0)],
        [(3, "busy", 1)],
    ]
    config["topology.packing.ffd.sorting.strategy"] = "RAM_FIRST"
    assert placed(pack(topology(config, busy=2, large=1))) == [
        [(1, "busy", 0), (3, "large", 0)],
        [(2, "busy", 1)],
    ]


def test_first_fit_honours_the_most_instances() -> None:
    # At most two processes of Python on a machine of any size.
    config = {
        **FIRST_FIT,
        "topology.container.max.instances": 2,
        "topology.container.ram": 100 * GIB,
        "topology.container.cpu": 100,
        "topology.container.disk": 100 * GIB,
    }
    plan = pack(topology(config, word=5))
    assert [len(each.instances) for each in plan.containers] == [2, 2, 1]
    # Padding: 10 % of such a container is more than Heron's amounts.
    assert plan.containers[2].resource == Resource(11.0, 11 * GIB, 11 * GIB)


def test_first_fit_counts_each_resource() -> None:
    # Disk is what runs out here: 9 GB beside the padding, 4 GB each.
    config = {**FIRST_FIT, "topology.component.diskmap": f"word:{4 * GIB}"}
    assert [len(each.instances) for each in pack(topology(config, word=3)).containers] == [2, 1]


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({}, "round_robin"),
        ({"topology.packing.algorithm": "first_fit_decreasing"}, "first_fit_decreasing"),
        ({"heron.class.packing.algorithm": HERON_ROUND_ROBIN}, "round_robin"),
        (
            {"heron.class.packing.algorithm": "com.twitter.x.FirstFitDecreasingPacking"},
            "first_fit_decreasing",
        ),
        (
            {
                "topology.packing.algorithm": "round_robin",
                "heron.class.packing.algorithm": "FirstFitDecreasingPacking",
            },
            "round_robin",
        ),
    ],
)
def test_the_algorithm_is_chosen_by_name_or_herons_class(config: dict[str, Any], name: str) -> None:
    # A packing.yaml from a Heron cluster works as it is.
    assert algorithm_name(config) == name
    containers = pack(topology({**config, "topology.stmgrs": 2}, word=2)).containers
    assert len(containers) == (2 if name == "round_robin" else 1)


RAM_MAP = "topology.component.rammap"
REFUSALS: list[tuple[dict[str, Any], str]] = [
    (
        {"topology.stmgrs": 5},
        "topology.stmgrs is 5 but the topology has only 3 instances: use 1 to 3",
    ),
    ({"topology.stmgrs": 0}, "topology.stmgrs must be a whole number of at least 1, not 0"),
    ({"topology.packing.algorithm": "best"}, "must be round_robin or first_fit_decreasing"),
    (
        {"heron.class.packing.algorithm": "a.ResourceCompliantRRPacking"},
        "use a RoundRobinPacking or FirstFitDecreasingPacking",
    ),
    ({RAM_MAP: "word"}, f"{RAM_MAP} has the entry 'word': use 'component:bytes,component:bytes'"),
    ({RAM_MAP: "word:1.5"}, "'word:1.5'"),
    ({RAM_MAP: "word:-1"}, "'word:-1'"),
    ({RAM_MAP: ":1073741824"}, "':1073741824'"),
    ({RAM_MAP: "word:99999999,"}, "the entry ''"),
    ({RAM_MAP: "word:99999999,word:99999999"}, "each component once"),
    ({RAM_MAP: "wrd:99999999"}, f"{RAM_MAP} names the component 'wrd': the topology has word, cou"),
    ({"topology.component.cpumap": "word:0"}, "'component:cores,component:cores'"),
    ({"topology.component.diskmap": "word:x"}, "topology.component.diskmap has the entry 'word:x'"),
    (
        {RAM_MAP: "word:1000"},
        "an instance of word gets 1000 bytes of memory: give it at least 1677",
    ),
    (
        {"topology.container.cpu": "many"},
        "topology.container.cpu must be a number of cores above 0",
    ),
    ({"topology.container.cpu": True}, "topology.container.cpu must be a number of cores above 0"),
    ({"topology.container.ram": 0}, "topology.container.ram must be a whole number of at least 1"),
    ({"topology.container.cpu.padding": -1}, "must be a number of cores of at least 0, not -1"),
]
ROUND_ROBIN_REFUSALS: list[tuple[dict[str, Any], str]] = [
    (
        {"topology.container.ram": 2 * GIB},
        "topology.container.ram is 2147483648, which is too small for 3 more instances in ",
    ),
    (
        {"topology.container.ram": 2 * GIB + 48 * MIB - 3},
        "an instance of word gets 16777215 bytes of memory",
    ),
    (
        {"topology.container.ram": 3 * GIB, RAM_MAP: f"count:{2 * GIB}"},
        "asks for 4294967296 in container 1, but topology.container.ram is 3221225472: set it to",
    ),
    (
        {"topology.container.disk": GIB, "topology.component.diskmap": f"count:{GIB}"},
        "topology.component.diskmap asks for 2147483648 in container 1",
    ),
]
FIRST_FIT_REFUSALS: list[tuple[dict[str, Any], str]] = [
    (
        {RAM_MAP: f"word:{10 * GIB}"},
        "an instance of word does not fit: set topology.container.ram to at least 11930464712, not",
    ),
    ({"topology.component.cpumap": "count:20"}, "set topology.container.cpu to at least 22.2"),
    ({"topology.container.disk": GIB}, "set topology.container.disk to at least"),
    ({"topology.component.cpumap": "count:0.05"}, "gets 0.05 cores: give it at least 0.1"),
    ({"topology.container.max.instances": 0}, "topology.container.max.instances must be a whole"),
    ({"topology.container.padding.percentage": -1}, "padding.percentage must be a whole number"),
    ({"topology.container.padding.percentage": 100}, "percentage is 100: use 0 to 99"),
    ({"topology.packing.ffd.sorting.strategy": "x"}, "'x': use RAM_FIRST or CPU_FIRST"),
]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        *REFUSALS,
        *ROUND_ROBIN_REFUSALS,
        *(({**FIRST_FIT, **config}, message) for config, message in FIRST_FIT_REFUSALS),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_cannot_be_packed_is_refused_by_name(config: dict[str, Any], message: str) -> None:
    # The author reads a line with the key and a right value.
    with pytest.raises(TopologyError) as caught:
        pack(topology(config, word=1, count=2))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_container_size_that_is_advised_suffices() -> None:
    # The padding grows with the container; the author follows each advice once and is done.
    config: dict[str, Any] = {
        **FIRST_FIT,
        RAM_MAP: f"word:{10 * GIB}",
        "topology.component.cpumap": "word:20",
        "topology.component.diskmap": f"word:{30 * GIB}",
    }
    for key in ("cpu", "ram", "disk"):
        with pytest.raises(TopologyError, match=f"set topology.container.{key} to") as caught:
            pack(topology(config, word=1))
        advised = re.search(r"set (\S+) to at least (\S+),", str(caught.value))
        assert advised is not None
        config[advised[1]] = advised[2]
    assert len(pack(topology(config, word=2)).containers) == 2


def test_a_topology_without_instances_is_refused() -> None:
    # A generated topology with a computed parallelism of 0.
    for config in ({}, FIRST_FIT):
        with pytest.raises(TopologyError, match="wordcount has no components"):
            pack(topology(config))
        with pytest.raises(TopologyError, match="component word has parallelism 0: use at least 1"):
            pack(topology(config, word=0))
    with pytest.raises(TopologyError, match=r"only 1 instance: use 1$"):
        pack(topology({"topology.stmgrs": 2}, word=1))


# The example of Heron's own tests (SubmitDryRunOutputATableNonRich.txt), in order of task id.
SMALL = Resource(1.5, 2 * GIB, 0)
PLAN = PackingPlan(
    "test-topology",
    tuple(
        ContainerPlan(
            number,
            (
                InstancePlan(number, "exclaim1", number - 1, SMALL),
                InstancePlan(number + 2, "exclaim1", number + 1, SMALL),
                InstancePlan(number + 4, "word", number - 1, SMALL),
            ),
            Resource(6.0, 7 * GIB, 7 * GIB),
        )
        for number in (1, 2)
    ),
)
TABLE = """\
Total number of containers: 2
Using packing class: org.apache.heron.packing.roundrobin.RoundRobinPacking
Container 1
CPU: 6.0, RAM: 7168 MB, Disk: 7168 MB
====================================================
| component | task ID | CPU | RAM (MB) | disk (MB) |
----------------------------------------------------
|  exclaim1 |       1 | 1.5 |     2048 |         0 |
|  exclaim1 |       3 | 1.5 |     2048 |         0 |
|      word |       5 | 1.5 |     2048 |         0 |
====================================================

Container 2
CPU: 6.0, RAM: 7168 MB, Disk: 7168 MB
====================================================
| component | task ID | CPU | RAM (MB) | disk (MB) |
----------------------------------------------------
|  exclaim1 |       2 | 1.5 |     2048 |         0 |
|  exclaim1 |       4 | 1.5 |     2048 |         0 |
|      word |       6 | 1.5 |     2048 |         0 |
===================================================="""


def test_a_dry_run_prints_herons_table() -> None:
    # Scripts that read `heron submit --dry-run` read ours.
    assert render(PLAN, HERON_ROUND_ROBIN, "table") == TABLE


def test_a_long_name_widens_the_table() -> None:
    # Names of a generated topology.
    instance = InstancePlan(1, "a-component-with-a-long-name", 0, Resource(1.0, 1536 * 1024, 0))
    plan = PackingPlan("t", (ContainerPlan(1, (instance,), Resource(1.0, GIB, GIB)),))
    lines = render(plan, "round_robin", "table").splitlines()
    assert len({len(line) for line in lines[4:]}) == 1
    assert "| a-component-with-a-long-name |       1 | 1.0 |        2 |         0 |" in lines


def test_a_dry_run_prints_herons_json() -> None:
    # ... and programs read the JSON.
    read = json.loads(render(PLAN, "round_robin", "json"))
    assert list(read) == ["packingClass", "topology", "containers"]
    assert (read["packingClass"], read["topology"]) == ("round_robin", "test-topology")
    assert [container["id"] for container in read["containers"]] == [1, 2]
    assert read["containers"][0]["resources"] == {"cpu": 6.0, "ram": 7 * GIB, "disk": 7 * GIB}
    assert read["containers"][1]["components"][2] == {
        "component": "word",
        "id": 6,
        "index": 1,
        "resources": {"cpu": 1.5, "ram": 2 * GIB, "disk": 0},
    }


def test_a_dry_run_prints_the_raw_plan() -> None:
    # Heron's default format.
    plan = PackingPlan("t", (ContainerPlan(1, PLAN.containers[0].instances[:1], SMALL),))
    resource = (
        "{cpu: 1.500000, ram: ByteAmount{2.0 GB (2147483648 bytes)}, disk: ByteAmount{0 bytes}}"
    )
    assert render(plan, "round_robin", "raw") == (
        "Packing class: round_robin\nTopology: t\nPacking plan:\n"
        "{plan-id: t, containers-list: [{container-id: 1, instances-list: ["
        "{component-name: exclaim1, task-id: 1, component-index: 0, instance-resource: "
        f"{resource}}}], required-resource: {resource}}}]}}"
    )


def test_an_unknown_format_names_the_choices() -> None:
    # A typing mistake in --dry-run-format.
    with pytest.raises(UsageError, match="'yaml': use raw, table, json"):
        render(PLAN, "round_robin", "yaml")
