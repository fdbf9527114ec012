"""What is kept of heartbeats belongs to the packing plan that runs."""

from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.wire.messages import Heartbeat, InstanceReplaced, PauseStatistics
from heron_engine.topology_master.measurements import Measurements

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
    measurements.rescale(plans[1])
    paused = dict.fromkeys((1, 2), PauseStatistics((), 2.0, 0.0, 0.5))
    measurements.take_stream_manager(Heartbeat(1, {"waiting_bytes": {}}, {}, paused), plans[:2])
    assert measurements.pauses().keys() == {1, 2}
    measurements.rescale(plans[2])
    assert measurements.pauses().keys() == {1}
    measurements.validate({1}, {1, 3})


def test_a_task_that_is_removed_and_comes_again_waits_for_no_try_of_its_previous_self() -> None:
    topology = TopologySpec("t", (ComponentSpec("count", False, "m.B", 2),))
    measurements = Measurements(topology, packing(1, 2))
    measurements.replaced(InstanceReplaced(2, "was killed", 0, 0, 60_000), 100.0)
    assert next_tries(measurements) == {1: 0.0, 2: 60.0}
    for plan in (packing(1), packing(1, 2)):
        measurements.rescale(plan)
    assert next_tries(measurements) == {1: 0.0, 2: 0.0}
    measurements.rescale(packing(1, 3))
    assert next_tries(measurements).keys() == {1, 3}


def next_tries(measurements: Measurements) -> dict[int, float]:
    """Seconds until the next process of each task starts."""
    rows = measurements.instances("count", frozenset(), 100.0)
    return {each.task: each.next_try_secs for each in rows or ()}
