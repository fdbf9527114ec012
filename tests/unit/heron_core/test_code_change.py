"""New code for a topology that runs: whom it concerns, and what is refused."""

from typing import Any

import pytest

from heron_core.code_change import changed_code
from heron_core.errors import HeronError
from heron_core.plans import packing_from_json, packing_to_json
from heron_core.records import replace
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_engine.scheduler.packing import pack, repack
from heron_engine.scheduler.packing.code_packing import pack_code

OUT = (StreamSpec("default", ("key",)),)
INSTANCES = {"words": 1, "split": 2, "count": 3}


def reads(component: str) -> tuple[InputSpec, ...]:
    """One stream of a component."""
    return (InputSpec(component, "default", GroupingSpec(GroupingKind.SHUFFLE)),)


def bolt(name: str, source: str, number: int = 1) -> ComponentSpec:
    """A bolt that reads another component."""
    path = f"first.{name}"
    return ComponentSpec(name, False, path, number, OUT, reads(source), code=f"code of {name}")


WORDS = ComponentSpec("words", True, "first.words", 1, OUT, code="code of words")
SPLIT, COUNT = bolt("split", "words", 2), replace(bolt("count", "split", 3), keeps_state=True)
RUNNING = TopologySpec("t", (WORDS, SPLIT, COUNT), {"a": 1}, ("/first",), "/first/first.py")


def code(*components: ComponentSpec, **more: Any) -> TopologySpec:
    """What was loaded from another file."""
    return replace(
        RUNNING, components=components, search_paths=("/second",), main_file="/second/second.py",
        **more,
    )  # fmt: skip


def test_a_class_that_has_changed_is_replaced_and_nobody_else() -> None:
    # The others are found in another module now, and are the same.
    elsewhere = [replace(each, class_path=f"second.{each.name}") for each in (WORDS, SPLIT)]
    new = replace(COUNT, class_path="second.count", code="another code")
    change = changed_code(RUNNING, code(*elsewhere, new), INSTANCES)
    assert (change.replaced, change.rewired) == (("count",), ())
    assert change.unchanged == ("words", "split")
    assert change.topology.search_paths == ("/second", "/first")
    assert str(change) == "replaced: count; untouched: words, split"
    assert changed_code(RUNNING, code(*elsewhere, COUNT), INSTANCES).is_nothing


def test_who_gets_another_reader_is_restarted_and_the_config_of_the_submit_stays() -> None:
    more = code(WORDS, SPLIT, COUNT, bolt("top", "split"), config={"a": 2})
    change = changed_code(RUNNING, more, INSTANCES)
    assert (change.replaced, change.rewired, change.added) == ((), ("split",), ("top",))
    assert change.topology.config == {"a": 1}
    assert change.notes == ("the topology's own config stays as submitted: a",)


def test_a_scaled_component_keeps_its_number_of_instances() -> None:
    change = changed_code(RUNNING, code(WORDS, SPLIT, COUNT), INSTANCES | {"count": 7})
    assert change.topology.by_name["count"].parallelism == 7
    assert "count keeps its 7 instances (the new code has 3)" in change.notes[0]


def test_state_that_nobody_takes_any_more_is_dropped_on_purpose_alone() -> None:
    fewer = code(WORDS, SPLIT)
    with pytest.raises(HeronError, match="has state of count, which the new code has not"):
        changed_code(RUNNING, fewer, INSTANCES)
    change = changed_code(RUNNING, fewer, INSTANCES, allow_non_restored=True)
    assert (change.removed, change.rewired) == (("count",), ("split",))
    assert "count was removed: its state is dropped" in change.notes


def test_a_bolt_does_not_become_a_spout_and_code_is_not_changed_in_place() -> None:
    spout = replace(COUNT, is_spout=True, inputs=())
    with pytest.raises(HeronError, match="count is a bolt in the running topology, but a spout"):
        changed_code(RUNNING, code(WORDS, SPLIT, spout), INSTANCES)
    edited = replace(RUNNING, components=(WORDS, SPLIT, replace(COUNT, code="another code")))
    with pytest.raises(HeronError, match="was started from, and count was changed in place"):
        changed_code(RUNNING, edited, INSTANCES)


@pytest.mark.parametrize("algorithm", ["round_robin", "first_fit_decreasing"])
def test_new_instances_take_the_place_of_the_old_ones(algorithm: str) -> None:
    config = {"topology.packing.algorithm": algorithm, "topology.stmgrs": 2}
    running = replace(RUNNING, config=config)
    current = pack(running)
    new = replace(COUNT, code="another code")
    change = changed_code(running, code(WORDS, SPLIT, new, bolt("top", "count", 2)), INSTANCES)
    plan = packing_from_json(packing_to_json(pack_code(current, change)))
    staying = current.tasks_of["words"] + current.tasks_of["split"]
    assert all(plan.instances[each] == current.instances[each] for each in staying)
    assert plan.tasks_of["count"] == [7, 8, 9]
    assert plan.tasks_of["top"] == [10, 11]
    before = [current.container_of[each] for each in current.tasks_of["count"]]
    assert [plan.container_of[each] for each in (7, 8, 9)] == before
    assert [plan.instances[each].index for each in (7, 8, 9)] == [0, 1, 2]
    assert plan.changed is not None
    assert plan.changed.by_name["count"].code == "another code"
    scaled = repack(plan.changed, plan, {"split": 3})
    assert scaled.changed == plan.changed
