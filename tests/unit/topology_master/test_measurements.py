"""What is kept of heartbeats belongs to the packing plan that runs."""

from heron_core.instance_report import NOTHING_REPORTED, to_wire
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.records import replace
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.wire.messages import Heartbeat, InstanceReplaced, PauseStatistics
from heron_engine.topology_master.measurements import Measurements
from heron_engine.topology_master.physical_plan import CurrentPlan

NOTHING = Resource(0.0, 0, 0)


def packing(*tasks: int) -> PackingPlan:
    """One container with instances of `count`."""
    instances = tuple(
        InstancePlan(task, "count", index, NOTHING) for index, task in enumerate(tasks)
    )
    return PackingPlan("t", (ContainerPlan(1, instances, NOTHING),))


def test_pauses_of_a_removed_task_are_forgotten_by_the_next_update() -> None:
    """Simulation, seed 410317 of effectively once: a stream manager names a task that an update
    has removed, and says nothing more before the next update."""
    plans = packing(1, 2), packing(1), packing(1, 3)
    topology = TopologySpec("t", (ComponentSpec("count", False, "m.B", 2),))
    measurements = Measurements(topology, plans[0])
    measurements.rescale(plans[1], 2.0)
    paused = dict.fromkeys((1, 2), PauseStatistics((), 2.0, 0.0, 0.5))
    measurements.take_stream_manager(
        Heartbeat(1, {"waiting_bytes": {}}, {}, paused), plans[:2], 2.0
    )
    assert measurements.pauses().keys() == {1, 2}
    measurements.rescale(plans[2], 3.0)
    assert measurements.pauses().keys() == {1}
    measurements.validate({1}, {1, 3})


def test_a_task_that_is_removed_and_comes_again_waits_for_no_try_of_its_previous_self() -> None:
    topology = TopologySpec("t", (ComponentSpec("count", False, "m.B", 2),))
    measurements = Measurements(topology, packing(1, 2))
    measurements.replaced(InstanceReplaced(2, "was killed", 0, 0, 60_000), 100.0)
    assert next_tries(measurements) == {1: 0.0, 2: 60.0}
    for plan in (packing(1), packing(1, 2)):
        measurements.rescale(plan, 101.0)
    assert next_tries(measurements) == {1: 0.0, 2: 0.0}
    measurements.rescale(packing(1, 3), 102.0)
    assert next_tries(measurements).keys() == {1, 3}


def next_tries(measurements: Measurements) -> dict[int, float]:
    """Seconds until the next process of each task starts."""
    rows = measurements.instances("count", frozenset(), 100.0)
    return {each.task: each.next_try_secs for each in rows or ()}


def test_instances_that_an_update_adds_start_until_they_report() -> None:
    measurements = Measurements(
        TopologySpec("t", (ComponentSpec("count", False, "m.B", 2),)), packing(1)
    )
    registered_at = {1: 50.0}
    assert measurements.starting({1}, registered_at, 60.0) == {}, "it is heard of"
    measurements.rescale(packing(1, 2), 100.0)
    assert measurements.starting({1}, registered_at, 101.0) == {2: 1.0}
    assert measurements.starting({1}, {}, 101.0) == {}, "its container is silent, so it is down"


def test_an_instance_that_starts_with_a_queue_is_not_said_not_to_run() -> None:
    measurements = Measurements(
        TopologySpec("t", (ComponentSpec("count", False, "m.B", 2),)), packing(1, 2)
    )
    queue = {"waiting_bytes": {1: 9, 2: 9}, "waiting_tuples": {1: 3, 2: 3}}
    plan = CurrentPlan(packing(1, 2), None)
    for task in (1, 2):
        measurements.take_report(1, task, to_wire(replace(NOTHING_REPORTED, at=1.0)), plan, 99.0)
    measurements.replaced(InstanceReplaced(2, "was killed", 0, 0, 0), 100.0)
    measurements.take_stream_manager(Heartbeat(1, queue, {}, {}), [packing(1, 2)], 100.0)
    assert measurements.unheard(1.5, 103.0) == {1: 3.0}
