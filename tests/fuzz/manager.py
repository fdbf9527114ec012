"""A stream manager between instances, peers and a master with arbitrary messages.

The core is surrounded by a model of stream_manager/server.py with its bytes and instructions.
"""

from array import array
from functools import partial
from itertools import count
from random import Random
from typing import Any

from heron_core import config as keys
from heron_core import transition_log
from heron_core.errors import ProtocolError
from heron_core.plans import EPOCH_MAX
from heron_core.records import replace
from heron_core.wire import message_codec, messages
from heron_core.wire.batch import check_batch
from heron_core.wire.frames import (
    Flag,
    FrameKind,
    Frames,
    header,
    parse_header,
    with_consumed,
)
from heron_core.wire.links import LinkHeader, encode_link, parse_link
from heron_core.wire.local_stream import CONTROL, DATA, ConnectionName, parse_hello
from heron_core.wire.merged import split
from heron_core.wire.packets import check_barrier, check_watermark
from heron_engine.stream_manager import events
from heron_engine.stream_manager.core import StreamManager
from heron_engine.stream_manager.options import StreamManagerOptions

from . import world
from .mutate import mutated_frames, mutated_message, some

HIGH_BYTES, LOW_BYTES, WINDOW_BYTES, PIPELINED_BYTES = 6000, 2000, 4000, 500
STEPS_MAX = 30
LOCAL = (world.SPOUT, world.SPLIT, world.EVERY, world.EVERY + 1)
INCARNATION = 1 << 60
"""Of the final processes, or the next unused number."""
ROUNDS_MAX = 1000


def manager_steps(rng: Random) -> list[Any]:
    """A mode of back-pressure, or checkpoints; then arriving messages."""
    mode = some(rng, (keys.STAGE, keys.STAGE, keys.SPOUT, keys.DROP, keys.EFFECTIVELY_ONCE))
    steps: list[Any] = [("mode", mode)]
    if rng.randrange(4):
        steps.extend(_beginning(mode))
    steps.extend(_step(rng) for _ in range(rng.randrange(1, STEPS_MAX)))
    return steps


def _plan(mode: str, epoch: int = world.EPOCH) -> messages.Plan:
    if mode != keys.EFFECTIVELY_ONCE:
        return messages.Plan(world.plan(epoch))
    return messages.Plan(world.plan(epoch, restore={"checkpoint": 0, "members": None}))


def _beginning(mode: str) -> list[Any]:
    registrations = [
        (
            "control",
            task,
            100 + task,
            message_codec.encode(
                messages.RegisterInstance(task=task, incarnation=100 + task, pid=1)
            ),
        )
        for task in LOCAL
    ]
    return [
        ("connected",),
        ("master", message_codec.encode(_plan(mode))),
        *registrations,
    ]


def _step(rng: Random) -> Any:
    task = some(rng, (*LOCAL, rng.randrange(10)))
    incarnation = some(rng, (100 + task, 100 + task, 7))
    match rng.randrange(11):
        case 0 | 1 | 2:
            frames = mutated_frames(rng, some(rng, some(rng, world.kinds_to_managers())))
            if frames and len(frames[0]) == 24 and rng.randrange(2):
                frames[0] = with_consumed(frames[0], some(rng, (1, 2, 5, 65535)))
            return ("instance", task, incarnation, frames)
        case 3 | 4:
            frames = mutated_frames(rng, some(rng, some(rng, world.kinds_to_managers())))
            return ("peer", some(rng, (_link_head(rng), None)), frames)
        case 5:
            return ("control", task, incarnation, _message(rng, messages.FromInstance))
        case 6:
            return ("master", _message(rng, messages.ToStreamManager))
        case 7:
            return ("timer", some(rng, (0.1, 1.0, 1.1, 6.0)))
        case 8:
            return ("full", rng.randrange(2) == 0)
        case 9:
            return ("client", some(rng, (b"a", b"b")), _message(rng, messages.StateQuestion))
        case _:
            return some(rng, (("writable",), ("connected",), ("replaced",)))


def _link_head(rng: Random) -> tuple[int, ...]:
    """Header of a link frame: mostly of the next message of container 2, sometimes arbitrary."""
    number, acked = rng.randrange(4), rng.randrange(4)
    sender, generation = some(rng, ((88, 1), (88, 1), (99, 2), (7, 0)))
    acked_sender = some(rng, (0, 5))  # 5 is this stream manager's incarnation
    flags, container = rng.randrange(4), some(rng, (2, 2, 2, 1, 77))
    probe, echo = rng.randrange(3), rng.randrange(3)
    return (
        flags, container, probe, echo, generation, some(rng, (0, world.EPOCH)), sender, number,
        acked_sender, acked,
    )  # fmt: skip


def _message(rng: Random, expected: Any) -> bytes:
    """Mostly of an expected class."""
    options = world.messages_of(expected) if rng.randrange(8) else world.control_messages()
    return mutated_message(rng, message_codec.encode(some(rng, options)))


_OF_THE_MASTER: dict[str, events.ControlEvent] = {
    "connected": events.MasterConnected(),
    "replaced": events.MasterReplaced(),
}


class Fake:
    """The server around the core: messages are encoded, full peers refuse."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        exactly = mode == keys.EFFECTIVELY_ONCE
        config = {
            keys.BACKPRESSURE_MODE: keys.STAGE if exactly else mode,
            keys.RELIABILITY_MODE: mode if exactly else keys.ATLEAST_ONCE,
            keys.BACKPRESSURE_HIGH_BYTES: HIGH_BYTES,
            keys.BACKPRESSURE_LOW_BYTES: LOW_BYTES,
        }
        self.topology = world.topology(**config)
        known = StreamManagerOptions.of(self.topology.config)
        options = replace(known, window_bytes=WINDOW_BYTES, pipelined_bytes=PIPELINED_BYTES)
        register = messages.RegisterStreamManager(
            container=1, incarnation=5, address="tcp://127.0.0.1:1", host="here", pid=7, epoch=0
        )
        self.core = StreamManager(self.topology, world.PACKING, register, options)
        self.now = 0.0
        self.full = False
        self.to_locals: list[events.ToLocal] = []

    def counted(self) -> int:
        """All counted losses."""
        return sum(self.core.state.counters.values())

    def handle(self, event: events.Event) -> None:
        """An event, and the messages sent in response."""
        self._handle(event)
        self._handle(events.InputTaken())

    def _handle(self, event: events.Event) -> None:
        """As Server.handle."""
        refused: list[int] = []
        for each in self.core.handle(event, self.now):
            match each:
                case events.ToPeer(container, number):
                    assert container in self.core.state.peers  # a changed plan may have more
                    parse_link(each.frames)
                    if container == 2 and self.full:
                        refused.append(number)
                case events.ToLocal(task, incarnation, frames):
                    parse_hello(ConnectionName(DATA, task, incarnation).hello)
                    for message in split(frames):
                        self._check(message)
                    self.to_locals.append(each)
                case events.ToLocalControl(task, incarnation, message):
                    parse_hello(ConnectionName(CONTROL, task, incarnation).hello)
                    message_codec.decode(message_codec.encode(message))
                case events.ToMaster(message) | events.ToClient(_, message):
                    message_codec.decode(message_codec.encode(message))
        if refused:
            self._handle(events.PeerBlocked(2, next(filter(None, refused), 0)))

    @staticmethod
    def _check(frames: Frames) -> None:
        """Messages to an instance are well-formed, for any input."""
        head = parse_header(frames[0])
        if head.kind == FrameKind.DATA:
            check_batch(head, frames)
        elif head.kind == FrameKind.BARRIER:
            check_barrier(head, frames)
        elif head.kind == FrameKind.WATERMARK:
            check_watermark(head, frames)
        else:
            assert head.kind in (FrameKind.ACKED, FrameKind.FAILED, FrameKind.EXPIRED)

    def take(self, step: Any) -> None:
        """Take a step."""
        match step:
            case "mode", _:
                pass
            case "instance", task, incarnation, frames:
                self.handle(events.FromInstance(task, incarnation, list(frames)))
            case "peer", head, frames:
                link = [] if head is None else [encode_link(LinkHeader(*head))]
                self.handle(events.FromPeer([*link, *frames]))
            case "control", task, incarnation, data:
                self._decoded(
                    data, lambda found: events.FromInstanceControl(task, incarnation, found)
                )
            case "master", data:
                self._decoded(data, events.FromMaster)
            case "client", client, data:
                self._decoded(data, partial(events.FromClient, client))
            case "timer", secs:
                self.now += secs
                self.handle(events.StreamManagerTimer())
            case "full", full:
                self.full = full
            case ("writable",):
                if 2 in self.core.blocked_peers():
                    self.handle(events.PeerWritable(2))
            case (word,):
                self.handle(_OF_THE_MASTER[word])

    def _decoded(self, data: bytes, event: Any) -> None:
        try:
            made = event(message_codec.decode(data))
        except ProtocolError as error:
            made = events.StreamManagerMalformed(str(error))
        self.handle(made)


def run_manager(steps: list[Any]) -> None:
    """Nothing raises, the state fits together after each step, and sound messages work
    afterwards."""
    fake = Fake(next((step[1] for step in steps if step[0] == "mode"), keys.STAGE))
    for step in steps:
        before = fake.counted()
        fake.take(step)
        assert fake.counted() >= before
        fake.core.validate()
    _still_works(fake)


def _still_works(fake: Fake) -> None:
    """New processes register; a batch arrives, is acked, and its spout gets the result."""
    core = fake.core
    fake.full = False
    for _ in range(ROUNDS_MAX):
        if not core.blocked_peers():
            break
        fake.handle(events.PeerWritable(2))
    assert not core.blocked_peers(), "the peer's queue does not empty"
    if not set(LOCAL) <= core.state.queues.keys():
        return  # a plan that was changed at random has moved them elsewhere
    if fake.mode == keys.EFFECTIVELY_ONCE:
        if core.epoch == EPOCH_MAX:
            return
        # All tasks are restored, so that queues are released.
        plan = _plan(fake.mode, max(core.epoch + 1, world.EPOCH))
        fake.handle(events.FromMaster(plan))
    incarnation = _unused_incarnation(fake)
    for task in LOCAL:
        # Born after all registrations so far: of two processes the later-born stays.
        born_ms = (core.state.queues[task].born_ms or 0) + 1
        hello = messages.RegisterInstance(
            task=task, incarnation=incarnation, pid=1, born_ms=born_ms
        )
        fake.handle(events.FromInstanceControl(task, incarnation, hello))
        assert core.state.queues[task].incarnation == incarnation, "a new process is refused"
        _consume(fake, task, incarnation)
    for task in LOCAL:  # a registration may have failed roots, of which a spout was notified
        _consume(fake, task, incarnation)
    root, edge = (world.SPOUT << 44) + 12345, 99
    ids = array("Q", (root, edge)).tobytes()
    flags = Flag.TRACKED | Flag.BEGINS
    head = header(FrameKind.DATA, core.epoch, world.SPOUT, world.SPLIT, 1, 0, flags)
    _arrives(fake, world.SPLIT, world.SPOUT, incarnation, [head, b"\xdd\0\0\0\1\x92\1\2", ids])
    ack = [header(FrameKind.ACK, core.epoch, world.SPLIT, world.SPOUT, 1), ids]
    told = _arrives(fake, world.SPOUT, world.SPLIT, incarnation, ack)
    assert told[1] == ids[:8]
    core.validate()
    assert len(core.transition_log().steps) <= transition_log.STEPS_MAX
    str(core.transition_log())


def _unused_incarnation(fake: Fake) -> int:
    """An unused number of a process: the number of an earlier, replaced process would rightly be
    refused."""
    queues = [fake.core.state.queues[task] for task in LOCAL]
    known = {number for each in queues for number in (*each.superseded, each.incarnation)}
    return next(number for number in count(INCARNATION) if number not in known)


def _consume(fake: Fake, task: int, incarnation: int) -> None:
    """The instance reports consumption until its queue is empty."""
    head = with_consumed(header(FrameKind.CONSUMED, fake.core.epoch, task, 0, 0), 65535)
    queue = fake.core.state.queues[task]
    for _ in range(ROUNDS_MAX):
        fake.handle(events.FromInstance(task, incarnation, [head]))
        if not queue.waiting and not queue.handed:
            return
    raise AssertionError(f"the queue of task {task} does not empty")


def _arrives(fake: Fake, receiver: int, sender: int, incarnation: int, frames: Frames) -> Frames:
    fake.to_locals.clear()
    before = fake.core.state.counters["malformed"]
    fake.handle(events.FromInstance(sender, incarnation, frames))
    assert fake.core.state.counters["malformed"] == before
    (told,) = fake.to_locals
    assert (told.task, told.incarnation) == (receiver, incarnation)
    return told.frames
