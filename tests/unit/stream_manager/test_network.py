"""Bytes by instance and by container, as a stream manager's sockets carry them."""

from heron_core.wire.frames import Kind, header
from heron_core.wire.merged import merge
from heron_core.wire.messages import BackPressureCause
from heron_core.wire.packets import encode_control
from stream_manager.network import Network

CONTAINER_OF = {1: 1, 2: 2, 3: 3}
DATA = [header(Kind.DATA, 1, 2, 1, 1), b"x" * 76]
"""A hundred bytes of task 2, which is in container 2."""
FAIL = [header(Kind.FAIL, 1, 0, 1, 1), b"x" * 8]
"""A stream manager's own, which does not say where it is."""


def test_bytes_are_counted_by_instance_and_direction() -> None:
    network = Network(CONTAINER_OF.get)
    network.to_task(1, DATA)
    network.to_task(1, DATA)
    network.from_task(1, FAIL)
    found = network.statistics()
    assert (found["task_bytes_in"], found["task_bytes_out"]) == ({1: 200}, {1: 32})


def test_a_peer_is_known_by_what_it_has_sent_once() -> None:
    network = Network(CONTAINER_OF.get)
    network.to_peer(2, DATA)
    network.from_peer(b"first", FAIL)
    network.from_peer(b"first", merge([FAIL, DATA]))
    network.from_peer(b"first", FAIL)
    network.from_peer(b"second", encode_control(1, 3, 0, BackPressureCause(1, True)))
    network.from_peer(b"third", [b"no message"])
    found = network.statistics()
    assert found["peer_bytes_out"] == {2: 100}
    assert found["peer_bytes_in"].keys() == {0, 2, 3}
    assert found["peer_bytes_in"][0] == 32 + len(b"no message")
    assert found["peer_bytes_in"][2] > 100 + 2 * 32
