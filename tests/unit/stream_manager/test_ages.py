"""How old a stream manager says that the oldest message and root of each place is."""

from collections.abc import Mapping
from typing import Any

from heron_core.wire import messages
from heron_engine.stream_manager import events
from tests.unit.stream_manager.manager_support import (
    FAR,
    NEAR,
    ROOT,
    SPOUT,
    Manager,
    ack,
    batch,
    init,
    link_frame,
    manager,
    of_type,
)


def told(made: Manager, secs: float = 1.0) -> Mapping[str, Any]:
    """The ages of the heartbeat after some seconds."""
    made.handle(events.FromMaster(messages.HeartbeatAck()))
    made.now += secs
    sent = [
        each.message for each in of_type(events.ToMaster, made.handle(events.StreamManagerTimer()))
    ]
    (heartbeat,) = (each for each in sent if isinstance(each, messages.Heartbeat))
    return heartbeat.metrics


def connected() -> Manager:
    """A stream manager that the master hears of."""
    made = manager()
    made.handle(events.MasterConnected())
    assert told(made)["oldest_message_secs"] == {NEAR: 0.0}
    return made


def test_a_message_ages_until_its_bolt_has_processed_it() -> None:
    made = connected()
    made.data(batch(NEAR))
    assert told(made)["oldest_message_secs"] == {NEAR: 1.0}
    made.data(batch(NEAR))
    assert told(made)["oldest_message_secs"] == {NEAR: 2.0}
    made.consumed(NEAR, 1)
    assert told(made)["oldest_message_secs"] == {NEAR: 2.0}, "the second one"
    made.consumed(NEAR, 1)
    assert told(made)["oldest_message_secs"] == {NEAR: 0.0}


def test_what_a_process_had_is_gone_with_it() -> None:
    made = connected()
    made.data(batch(NEAR, 200))
    assert told(made)["oldest_message_secs"] == {NEAR: 1.0}
    made.data(batch(NEAR, 200))
    made.data(batch(NEAR, 200))
    told(made)
    made.hello(NEAR, incarnation=2)
    queue = made.core.state.queues[NEAR]
    assert queue.left == 2, "the window is two messages"
    assert told(made)["oldest_message_secs"] == {NEAR: 2.0}


def test_a_root_ages_until_its_tree_is_complete() -> None:
    made = connected()
    made.data(init(SPOUT, ROOT, 7))
    told(made)
    made.data(init(SPOUT, ROOT + 1, 7))
    assert told(made)["oldest_root_secs"] == {SPOUT: 2.0}
    made.peer(ack(SPOUT, ROOT, 7))
    assert told(made)["oldest_root_secs"] == {SPOUT: 2.0}, "the other one"
    made.peer(ack(SPOUT, ROOT + 1, 7))
    assert told(made)["oldest_root_secs"] == {SPOUT: 0.0}


def test_the_roots_of_another_process_of_a_spout_begin_with_it() -> None:
    made = connected()
    made.data(init(SPOUT, ROOT + 1000, 7))
    assert told(made, 3.0)["oldest_root_secs"] == {SPOUT: 3.0}
    made.hello(SPOUT, incarnation=2)
    made.data(init(SPOUT, ROOT, 7), SPOUT, 2)  # it counts from anywhere
    assert told(made)["oldest_root_secs"] == {SPOUT: 1.0}


def test_a_message_on_a_link_ages_until_it_is_acknowledged() -> None:
    made = connected()
    made.data(batch(FAR))
    assert told(made)["oldest_link_secs"] == {2: 1.0}
    made.refused(batch(FAR))
    assert told(made)["oldest_link_secs"] == {2: 2.0}
    made.handle(events.FromPeer([link_frame(0, acked=1)]))
    assert told(made)["oldest_link_secs"] == {2: 2.0}, "the one that the socket refused"
    made.handle(events.PeerWritable(2))
    made.handle(events.FromPeer([link_frame(0, acked=2)]))
    assert told(made)["oldest_link_secs"] == {2: 0.0}
