"""Errors for messages that violate the protocol."""

import re

import pytest

from heron_core.errors import ProtocolError
from heron_core.wire.frames import FrameKind, header
from tests.unit.heron_instance.instance_support import EPOCH, OTHER, SOURCE
from tests.unit.heron_instance.test_drivers import bolt


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        (
            [header(FrameKind.DATA, EPOCH, 99, SOURCE, 0), b"\x90"],
            "task 99 sent stream 0, absent from the plan",
        ),
        (
            [header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 0, stream=7), b"\x90"],
            f"task {OTHER} (other) sent stream 7, absent from the plan",
        ),
        (
            [header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 3), b"\x91\x90"],
            f"task {OTHER} (other) sent a body that is not a list of 3 tuples",
        ),
        (
            [header(FrameKind.ACK, EPOCH, OTHER, SOURCE, 0), b"\x90"],
            f"task {OTHER} sent a frame of kind {int(FrameKind.ACK)} to a bolt",
        ),
    ],
)
def test_a_malformed_message_names_its_sender(frames: list[bytes], text: str) -> None:
    """Messages of one version are valid, so the log has to lead to the host with another one."""
    with pytest.raises(ProtocolError, match=f"^{re.escape(text)}: install one version of heronpy"):
        bolt().core.deliver(frames)
