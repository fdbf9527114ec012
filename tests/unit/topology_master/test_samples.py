"""Samples of a stream: who is asked, what is refused, and what is kept of the answers."""

from typing import Any

import pytest

from heron_core.errors import HeronError, ProtocolError
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire.messages import SampleTuples, TuplesSampled
from heron_engine.topology_master.samples import SAMPLES_KEPT, Samples
from tests.unit.topology_master.test_trace_export import PACKING, RESOURCE

READ = InputSpec("split", "default", GroupingSpec(GroupingKind.SHUFFLE))
TOPOLOGY = TopologySpec(
    "words",
    (
        ComponentSpec("lines", True, "m.S", 1),
        ComponentSpec(
            "split", False, "m.B", 1, (StreamSpec("default", ("w",)), StreamSpec("late", ("w",)))
        ),
        ComponentSpec("count", False, "m.C", 2, (), (READ,)),
    ),
)
ASKED = {"component": "split", "count": 3}


def test_the_instances_of_a_component_are_asked_and_the_first_answers_kept() -> None:
    samples = Samples(TOPOLOGY)
    request = samples.begin(ASKED, PACKING)
    assert request == SampleTuples(1, (2,), "default", 3, 10)
    assert samples.found(1, PACKING) == {"tuples": [], "complete": False}
    samples.take(TuplesSampled(2, 1, {"tuples": [{"w": "a"}, {"w": None}]}))
    samples.take(TuplesSampled(2, 1, {"tuples": [{"w": 1}, {"w": 2}]}))
    found = samples.found(1, PACKING)
    assert found["complete"]
    assert [each["values"] for each in found["tuples"]] == [{"w": "a"}, {"w": None}, {"w": 1}]
    assert found["tuples"][0]["instance"] == "split[0]"


def test_what_nobody_asked_for_is_left_out() -> None:
    samples = Samples(TOPOLOGY)
    samples.begin(ASKED, PACKING)
    samples.take(TuplesSampled(3, 1, {"tuples": [{"w": "of another component"}]}))
    samples.take(TuplesSampled(2, 9, {"tuples": [{"w": "of another sample"}]}))
    assert samples.found(1, PACKING)["tuples"] == []


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"component": "splt"}, "no component 'splt'; did you mean 'split'?"),
        ({"stream": "lat"}, "split declares no stream 'lat'; did you mean 'late'?"),
        ({"stream": "late"}, "split.late has no subscribers"),
        ({"count": 0}, "count must be a whole number from 1 to 100, not 0"),
        ({"count": "x" * 1000}, "count must be a whole number"),
        ({"secs": 61}, "secs must be a whole number from 1 to 60, not 61"),
    ],
)
def test_what_cannot_be_seen_is_refused_in_one_line(changed: dict[str, Any], error: str) -> None:
    with pytest.raises(HeronError) as refused:
        Samples(TOPOLOGY).begin({**ASKED, **changed}, PACKING)
    assert error in str(refused.value)
    assert len(str(refused.value)) < 300


def test_old_samples_are_forgotten() -> None:
    samples = Samples(TOPOLOGY)
    for _ in range(SAMPLES_KEPT + 1):
        samples.begin(ASKED, PACKING)
    with pytest.raises(HeronError, match="unknown sample 1: take a new sample"):
        samples.found(1, PACKING)
    assert samples.found(2, PACKING)["tuples"] == []


@pytest.mark.parametrize(
    "tuples",
    [{}, {"tuples": "x"}, {"tuples": ["x"]}, {"tuples": [{"w": "x" * 5000}]},
     {"tuples": [{"w": {"deep": 1}}]}, {"tuples": [{1: "x"}]}],
)  # fmt: skip
def test_an_answer_that_makes_no_sense_is_refused(tuples: dict[str, Any]) -> None:
    samples = Samples(TOPOLOGY)
    samples.begin(ASKED, PACKING)
    with pytest.raises(ProtocolError):
        samples.take(TuplesSampled(2, 1, tuples))


def test_an_instance_that_has_been_scaled_away_is_shown_by_its_task() -> None:
    samples = Samples(TOPOLOGY)
    more = PackingPlan(
        "words",
        (ContainerPlan(1, (InstancePlan(2, "split", 0, RESOURCE),), RESOURCE),
         ContainerPlan(2, (InstancePlan(9, "split", 1, RESOURCE),), RESOURCE)),
    )  # fmt: skip
    assert samples.begin(ASKED, more).tasks == (2, 9)
    samples.take(TuplesSampled(9, 1, {"tuples": [{"w": "a"}]}))
    (row,) = samples.found(1, PACKING)["tuples"]
    assert (row["task"], row["instance"]) == (9, "9")
