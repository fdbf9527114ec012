"""What a stream manager tells the master of its instances."""

from heron_core.wire import messages
from heron_engine.stream_manager import events
from tests.unit.stream_manager.manager_support import (
    Manager,
    of_type,
    packing_of,
    physical,
    topology_of,
)

SPOUT, BOLT = 1, 2


def connected() -> Manager:
    """A stream manager with a master and two instances."""
    made = Manager(
        topology_of({"spout": [], "bolt": ["spout"]}), packing_of({1: "spout", 2: "bolt"})
    )
    made.handle(events.MasterConnected())
    for task in (SPOUT, BOLT):
        made.hello(task)
        made.control(task, messages.InstanceHeartbeat(task, {"executed": task}))
    return made


def told(made: Manager) -> set[int]:
    """The instances in the heartbeat that is due in a second."""
    made.now += 1.0
    sent = [
        each.message for each in of_type(events.ToMaster, made.handle(events.StreamManagerTimer()))
    ]
    (heartbeat,) = (each for each in sent if isinstance(each, messages.Heartbeat))
    return set(heartbeat.instances)


def test_the_master_hears_of_an_instance_when_it_has_something_new() -> None:
    made = connected()
    assert told(made) == {SPOUT, BOLT}
    assert told(made) == set()
    made.control(BOLT, messages.InstanceHeartbeat(BOLT, {"executed": 7}))
    assert told(made) == {BOLT}


def test_another_master_hears_of_all() -> None:
    made = connected()
    told(made)
    made.handle(events.MasterConnected())
    assert told(made) == {SPOUT, BOLT}


def test_a_stream_manager_looks_once_for_the_master_after_the_one_that_was_killed() -> None:
    made = connected()
    assert of_type(events.FindMaster, made.handle(events.MasterReplaced()))
    assert not of_type(events.FindMaster, made.handle(events.MasterReplaced()))
    made.handle(events.MasterConnected())
    assert told(made) == {SPOUT, BOLT}


def test_a_new_plan_is_answered_with_all_of_its_instances() -> None:
    # What was told before was of no container that the master's plan had.
    made = connected()
    told(made)
    made.handle(events.FromMaster(physical(made.packing, 2)))
    assert told(made) == {SPOUT, BOLT}
