"""Bytes by instance and by container, as a stream manager's sockets carry them."""

from heron_core.wire.frames import FrameKind, header
from heron_engine.stream_manager.network import Network
from tests.unit.stream_manager.manager_support import link_frame

DATA = [header(FrameKind.DATA, 1, 2, 1, 1), b"x" * 76]
"""A hundred bytes of task 2, which is in container 2."""
FAIL = [header(FrameKind.FAIL, 1, 0, 1, 1), b"x" * 8]


def test_bytes_are_counted_by_instance_and_direction() -> None:
    network = Network()
    network.to_task(1, DATA)
    network.to_task(1, DATA)
    network.from_task(1, FAIL)
    found = network.statistics()
    assert (found["task_bytes_in"], found["task_bytes_out"]) == ({1: 200}, {1: 32})


def test_bytes_of_a_peer_are_counted_by_the_container_that_its_link_frame_names() -> None:
    network = Network()
    link = link_frame(1)
    network.to_peer(2, [link, *DATA])
    network.from_peer([link, *DATA])
    network.from_peer([link])
    network.from_peer([b"no"])
    network.from_peer([])
    found = network.statistics()
    assert found["peer_bytes_out"] == {2: len(link) + 100}
    assert found["peer_bytes_in"] == {2: 2 * len(link) + 100, 0: 2}
