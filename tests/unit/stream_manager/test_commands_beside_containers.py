"""A stream manager runs commands of `heronpy run-on-all`, unless its own config forbids them."""

from heron_core.wire import messages
from heron_engine.stream_manager import events
from heron_engine.stream_manager.core import StreamManager
from heron_engine.stream_manager.options import StreamManagerOptions
from tests.unit.stream_manager.manager_support import packing_of, topology_of

ASKED = messages.RunShell(3, "hostname", 10, 1000)


def connected(**config: str) -> StreamManager:
    """One with a master."""
    topology, packing = topology_of({"spout": []}, **config), packing_of({1: "spout"})
    identity = messages.RegisterStreamManager(
        container=1, incarnation=1, address="tcp://a:1", host="a", pid=1, epoch=0
    )
    made = StreamManager(topology, packing, identity, StreamManagerOptions.of(topology.config))
    made.handle(events.MasterConnected(), 0.0)
    return made


def test_a_command_is_started_and_its_result_goes_to_the_master() -> None:
    made = connected()
    said, started = made.handle(events.FromMaster(ASKED), 0.0)
    assert isinstance(said, events.StreamManagerLog)
    assert "'hostname'" in said.text
    assert started == events.StartShell(ASKED)
    result = messages.ShellRan(1, 3, "a", 0, "a\n")
    assert made.handle(events.ShellEnded(result), 1.0) == [events.ToMaster(result)]
    made.validate()


def test_a_topology_whose_config_forbids_commands_refuses_them() -> None:
    made = connected(**{"topology.run.on.all": "off"})
    (refused,) = made.handle(events.FromMaster(ASKED), 0.0)
    assert isinstance(refused, events.ToMaster)
    assert isinstance(refused.message, messages.ShellRan)
    assert refused.message.error == "topology.run.on.all is off here"
