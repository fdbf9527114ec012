"""Labels of nodes on YARN: which partition each container is asked for in."""

from typing import Any

import pytest

from heron_core import config as keys
from heron_core.errors import TopologyError, UsageError
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.backends.yarn.core import Core
from heron_engine.scheduler.backends.yarn.events import (
    Allocated,
    Ask,
    AskFor,
    ContainerCompleted,
    ContainerStarted,
    Grant,
    Registered,
    YarnPlanChanged,
)
from heron_engine.scheduler.backends.yarn.partitions import check_partitions, partitions
from heron_engine.scheduler.backends.yarn.requests import waiting_words
from heron_engine.scheduler.backends.yarn.standby import STANDBY_FIRST
from heron_engine.scheduler.packing import pack

ASK = Ask(512, 1)
GPU = {"partition": "gpu"}


def training(config: dict[str, Any], **constraints: dict[str, Any]) -> TopologySpec:
    """Samples, and a model that needs other machines."""
    components = (
        ComponentSpec("samples", True, "module.Samples", 2),
        ComponentSpec("train", False, "module.Train", 2),
    )
    return TopologySpec("training", components, {**config, keys.CONSTRAINTS: constraints})


def test_containers_have_the_partition_of_their_components() -> None:
    spec = training({}, train=GPU)
    assert partitions(spec, pack(spec)) == {2: "gpu"}


def test_the_partition_of_a_topology_is_the_master_s_as_well() -> None:
    spec = training({keys.NODE_LABELS: {"partition": "west"}}, train=GPU)
    assert partitions(spec, pack(spec)) == {0: "west", 1: "west", 2: "gpu"}


@pytest.mark.parametrize(
    ("config", "constraints"),
    [({keys.NODE_LABELS: {"disk": "ssd"}}, {}), ({}, {"train": {"disk": "ssd", **GPU}})],
)
def test_another_label_is_refused_with_the_one_that_there_is(
    config: dict[str, Any], constraints: dict[str, Any]
) -> None:
    spec = training(config, **constraints)
    with pytest.raises(TopologyError, match=r"the label 'disk' .* use partition: NAME"):
        partitions(spec, pack(spec))


def test_an_empty_name_is_refused() -> None:
    """The container would go where the topology's label says, and not where the queue says."""
    spec = training({keys.NODE_LABELS: {"partition": "west"}}, train={"partition": ""})
    with pytest.raises(TopologyError, match="partition is empty"):
        partitions(spec, pack(spec))


@pytest.mark.parametrize(
    ("wanted", "nodes", "accessible", "reason"),
    [
        (
            {"gpu"},
            {},
            {"*"},
            r"no partition 'gpu' \(its partitions: none: yarn.node-labels.enabled",
        ),
        ({"moon"}, {"gpu": 1, "edge": 2}, {"*"}, r"'moon' \(its partitions: edge, gpu\)"),
        ({"gpu"}, {"gpu": 0}, {"*"}, r"no node of YARN is in the partition gpu: .*HOST=gpu"),
        ({"gpu"}, {"gpu": 1}, {"edge"}, r"the queue default of YARN has no access to .* gpu"),
    ],
)
def test_a_partition_that_cannot_be_had_is_refused_before_the_submit(
    wanted: set[str], nodes: dict[str, int], accessible: set[str], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        check_partitions(wanted, nodes, accessible, "default")


@pytest.mark.parametrize("accessible", [{"*"}, {"gpu", "edge"}])
def test_a_partition_of_the_queue_is_taken(accessible: set[str]) -> None:
    check_partitions({"gpu"}, {"gpu": 1}, accessible, "default")
    check_partitions(set(), {}, set(), "default")


def grant(number: int) -> Grant:
    """Of YARN's, of the size that was asked for."""
    return Grant(f"container_{number}", number, "node:1", "node:2", ASK)


def asked(core: Core, event: Any) -> list[AskFor]:
    """The requests that an event leads to."""
    done = core.handle(event, 100.0)
    core.validate()
    return [each for each in done if isinstance(each, AskFor)]


def test_a_container_is_asked_for_in_its_partition_and_again_after_a_loss() -> None:
    core = Core(3)
    core.handle(YarnPlanChanged({1: ASK, 2: ASK}, partitions={2: "gpu"}), 100.0)
    assert asked(core, Registered()) == [AskFor(1, ASK), AskFor(2, ASK, "gpu")]
    assert "container 2 (512 MB, 1 vcores in partition gpu)" in waiting_words(core.slots.values())
    core.handle(Allocated(grant(2)), 100.0)
    core.handle(ContainerStarted(grant(2).id), 100.0)
    assert asked(core, ContainerCompleted(grant(2).id, -100, "")) == [AskFor(2, ASK, "gpu")]
    assert asked(core, YarnPlanChanged({1: ASK, 2: ASK}, partitions={1: "a", 2: "gpu"})) == [
        AskFor(1, ASK, "a")
    ]


def test_a_standby_container_replaces_those_of_its_partition_alone() -> None:
    """It is in the partition of the topology."""
    core = Core(3, standby=1)
    where = {0: "west", 1: "west", 2: "gpu"}
    core.handle(YarnPlanChanged({1: ASK, 2: ASK}, partitions=where), 100.0)
    assert AskFor(STANDBY_FIRST, ASK, "west") in asked(core, Registered())
    for number in (1, 2, STANDBY_FIRST):
        core.handle(Allocated(grant(number)), 100.0)
        core.handle(ContainerStarted(grant(number).id), 100.0)
    assert asked(core, ContainerCompleted(grant(2).id, -100, "")) == [AskFor(2, ASK, "gpu")]
    assert asked(core, ContainerCompleted(grant(1).id, -100, "")) == [
        AskFor(STANDBY_FIRST, ASK, "west")
    ]
