"""The stream manager's server carries out what the core decides, in the order of the decisions."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from heron_core.wire.frames import Frames
from heron_engine.stream_manager import events, server
from heron_io.processes import SupervisorLink
from heron_io.security import Keys
from tests.unit.stream_manager.manager_support import packing_of, topology_of

PEER = 2
LINK = b"link frame"
STANDS = [b"cause stands"]
LIFTED = [b"cause lifted"]


class Peer:
    """A socket with a record of sent messages."""

    def __init__(self) -> None:
        self.sent: list[Frames] = []
        self._frames: Frames = []

    def send(self, frame: bytes, flags: int) -> None:
        """Take one frame of a message."""
        self._frames.append(frame)
        if not flags & zmq.SNDMORE:
            self.sent.append(self._frames)
            self._frames = []

    def close(self, linger: int) -> None:
        """Nothing is to be let go."""


class Core:
    """Decides as the real one does when a peer with a full queue is replaced."""

    def handle(self, event: events.Event, now: float) -> list[events.Instruction]:
        """A new plan: the cause is announced; the new socket takes all waiting messages: lifted."""
        if isinstance(event, events.PeerWritable):
            return [events.ToPeer(PEER, 2, LINK, [(0, LIFTED)])]
        stands = events.ToPeer(PEER, 1, LINK, [(0, STANDS)])
        return [events.ConnectPeers({PEER: "tcp://new"}), stands]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[server.StreamManagerServer]:
    """A server without a loop."""
    lifeline, parent = os.pipe()
    place = server.StreamManagerArguments(
        1, str(tmp_path / "local"), f"file://{tmp_path}", Keys.new()
    )
    made = server.StreamManagerServer(
        topology_of({"spout": (), "bolt": ("spout",)}),
        packing_of({1: "spout"}, {2: "bolt"}),
        place,
        SupervisorLink(lifeline),
    )
    yield made
    made.close()
    os.close(lifeline)
    os.close(parent)


def test_a_cause_is_named_to_a_new_peer_before_it_is_lifted(
    served: server.StreamManagerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A stream manager is replaced with messages waiting. In the reverse order the new manager would
    # keep its instances paused for ever, by a cause without a lift.
    peer = Peer()
    monkeypatch.setattr(server, "connect_dealer", lambda *_: peer)
    core: Any = Core()
    served.core = core
    served.handle(events.FromMaster("a plan"))
    assert peer.sent == [[LINK, *STANDS], [LINK, *LIFTED]]


class BrokenCore:
    """Has a bug."""

    def handle(self, event: events.Event, now: float) -> list[events.Instruction]:
        """Raises an error other than ProtocolError."""
        raise KeyError(event)


def test_a_bug_of_ours_costs_one_message_and_is_counted_apart(
    served: server.StreamManagerServer, caplog: pytest.LogCaptureFixture
) -> None:
    # The topology goes on, and the master shows that something is wrong with us and not with peers.
    core: Any = BrokenCore()
    served.core = core
    served.handle(events.StreamManagerTimer())
    served.handle(events.StreamManagerTimer())
    assert served.statistics()["internal_errors"] == 2
    assert len([each for each in caplog.records if each.exc_info]) == 1
