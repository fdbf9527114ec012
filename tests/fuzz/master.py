"""A topology master with arbitrary senders."""

import json
from random import Random
from typing import Any

from heron_core.errors import ProtocolError
from heron_core.wire import message_codec, messages
from heron_engine.topology_master import events
from heron_engine.topology_master.core import TopologyMaster
from heron_engine.topology_master.options import MasterOptions

from . import world
from .mutate import mutated_message, some

STEPS_MAX = 30
CHECKPOINTS = "checkpoints"
"""A step after which the topology takes updates, from the beginning."""
SENDERS = (b"one", b"two", b"three")


def master_steps(rng: Random) -> list[Any]:
    """Messages, their senders, and the passage of time."""
    steps: list[Any] = []
    if rng.randrange(4):
        registers = [
            each
            for each in world.control_messages()
            if type(each) is messages.RegisterStreamManager
        ]
        steps = [(SENDERS[at], message_codec.encode(each)) for at, each in enumerate(registers)]
    if rng.randrange(2):
        steps.append(CHECKPOINTS)
    for _ in range(rng.randrange(1, STEPS_MAX)):
        if rng.randrange(5) == 0:
            steps.append(some(rng, (0.01, 0.6, 3.0)))
        else:
            expected = world.messages_of(messages.FromStreamManager | messages.Command)
            options = expected if rng.randrange(8) else world.control_messages()
            data = mutated_message(rng, message_codec.encode(some(rng, options)))
            steps.append((some(rng, SENDERS), data))
    return steps


class Fake:
    """The server around the core."""

    def __init__(self, checkpoints: bool) -> None:
        self.options = MasterOptions(
            "RUNNING", checkpoints=checkpoints, checkpoint_interval_secs=0.5
        )
        self.core = TopologyMaster(world.topology(), world.PACKING, self.options)
        self.now = 0.0
        self.sent: list[events.Send] = []

    def receive(self, sender: bytes, data: bytes) -> None:
        """As Server._receive."""
        try:
            event: events.Event = events.MasterReceived(sender, message_codec.decode(data))
        except ProtocolError as error:
            event = events.MasterMalformed(str(error))
        self.handle(event)

    def handle(self, event: events.Event) -> None:
        """Sent messages can be encoded, stored values are JSON."""
        for each in self.core.handle(event, self.now):
            match each:
                case events.Send(_, message):
                    message_codec.decode(message_codec.encode(message))
                    self.sent.append(each)
                case events.StorePlan(plan) | events.StorePacking(plan):
                    json.dumps(plan)
                case events.StoreState(_, _, _, update):
                    json.dumps(update)
                case events.StoreStatistics(statistics):
                    kept = json.loads(json.dumps(statistics))
                    self.successor(statistics=kept)
                case events.SeekStates(number, tasks):
                    missing = tasks[:1] if self.now % 2 < 1 else ()
                    self.handle(events.StatesSought(number, "/store", missing))
                case events.StoreCheckpoints(checkpoints):
                    kept = json.loads(json.dumps(checkpoints))
                    self.successor(checkpoints=kept)

    def successor(self, **stored: Any) -> None:
        """The next master understands the stored values."""
        TopologyMaster(world.topology(), world.PACKING, self.options, **stored)

    def passes(self, secs: float) -> None:
        """Time goes by."""
        self.now += secs
        self.handle(events.MasterTimer())


def run_master(steps: list[Any]) -> None:
    """Without an exception; unknown processes stay out of the state, and a command is answered
    afterwards."""
    fake = Fake(CHECKPOINTS in steps)
    for step in steps:
        if isinstance(step, float):
            fake.passes(step)
        elif step != CHECKPOINTS:
            fake.receive(*step)
        fake.core.validate()
    _still_works(fake)


def _still_works(fake: Fake) -> None:
    for container in (1, 2):
        register = messages.RegisterStreamManager(
            container=container,
            incarnation=9,
            address=f"tcp://127.0.0.1:{container}",
            host="new",
            pid=1,
            epoch=0,
        )
        fake.receive(b"new-%d" % container, message_codec.encode(register))
    fake.passes(1.0)
    fake.sent.clear()
    for container in (1, 2):
        beat = messages.Heartbeat(container, {"waiting_bytes": {}}, {}, {})
        fake.receive(b"new-%d" % container, message_codec.encode(beat))
    served = {each.receiver for each in fake.sent if each.message == messages.HeartbeatAck()}
    assert served == {b"new-1", b"new-2"}
    fake.sent.clear()
    fake.receive(
        b"somebody", message_codec.encode(messages.Command("stats", {"component": "split"}))
    )
    (answer,) = fake.sent
    assert isinstance(answer.message, messages.Reply)
    assert answer.message.ok
    # An update started by a command may have added a container.
    assert {1, 2} <= set(json.loads(json.dumps(dict(answer.message.data)))["containers"])
