"""Faults found by fuzzing, each with the minimal steps, as regressions.

Each exception left the process's loop and ended the process, unless its comment says otherwise.
"""

from typing import Any

import msgpack
import pytest

from heron_core.errors import ProtocolError
from heron_core.wire import message_codec, messages
from heron_core.wire.frames import FrameKind, header
from heron_core.wire.values import pack_fields, packer, unpack

from . import world
from .manager import INCARNATION
from .targets import TARGETS


def registration(task: int, incarnation: int, pid: int) -> bytes:
    message = messages.RegisterInstance(task=task, incarnation=incarnation, pid=pid)
    return message_codec.encode(message)


HELLO_3 = ("control", 3, 103, registration(3, 103, 1))
REGISTER_1 = (
    b"one",
    message_codec.encode(
        messages.RegisterStreamManager(
            container=1, incarnation=5, address="tcp://127.0.0.1:1", host="here", pid=7, epoch=0
        )
    ),
)


def _packed(*fields: Any) -> bytes:
    data: bytes = msgpack.packb(fields)
    return data


def _plan(**changed: Any) -> tuple[str, bytes]:
    return ("master", _packed("Plan", world.plan(**changed)))


def _heartbeat(
    snapshots: dict[int, Any] | None = None,
    paused: dict[int, Any] | None = None,
    metrics: dict[str, Any] | None = None,
) -> tuple[bytes, bytes]:
    told = {"waiting_bytes": {}} if metrics is None else metrics
    return (b"one", _packed("Heartbeat", 1, told, snapshots or {}, paused or {}))


def _snapshot(**changed: Any) -> dict[int, Any]:
    return {world.SPLIT: {**world.snapshot(world.SPLIT), **changed}}


STATS = (b"me", message_codec.encode(messages.Command("stats", {})))

FOUND: dict[str, tuple[str, list[Any]]] = {
    # A tracked batch with ids of one byte was taken by the window; at the restart of its bolt its
    # roots had to be failed.
    "lost batch with broken ids": ("manager", [
        HELLO_3,
        ("instance", 2, 102, [header(FrameKind.DATA, 3, 2, 3, 10, 0, 5), b"", b"M", b""]),
        ("control", 3, 104, registration(3, 104, 1)),
    ]),
    "report of a task that is elsewhere": ("manager", [
        ("instance", 6, 106, [b"H\x01\x09\x00\x00\x00\x05\x00" + bytes(16)]),
    ]),
    "registration for another task": ("manager", [
        ("control", 2, 102, registration(127, 102, 2)),
    ]),
    # The cause could not be lifted: the spout would have been paused for good.
    "cause named by a stranger": ("manager", [
        ("instance", 3, 103, [header(FrameKind.CONTROL, 2, 2054, 6, 1),
                              message_codec.encode(messages.BackPressureCause(6, True))]),
    ]),
    "cause of a type that has no hash": ("manager", [
        ("peer", [header(FrameKind.CONTROL, 3, 2, 6, 1), _packed("BackPressureCause", {}, True)]),
    ]),
    # The message was delivered to its first task before the check of the second.
    "fan-out with too few ids": ("manager", [
        HELLO_3,
        ("instance", 2, 7, [
            header(FrameKind.FANOUT, 3, 2, 1, 3, 0, 15), b"\3\0\0\0", b"", b"", b"",
        ]),
    ]),
    "epoch beyond 32 bits": ("manager", [_plan(epoch=1 << 32)]),
    "plan without a peer": ("manager", [_plan(stream_managers={"1": "tcp://127.0.0.1:1"})]),
    "plan that is none": ("manager", [("master", _packed("Plan", {}))]),
    "plan with an address that is none": ("manager", [
        _plan(stream_managers={"1": "tcp://127.0.0.1:1", "2": 7}),
    ]),
    "FinishBolts of a number": ("manager", [("master", _packed("FinishBolts", 15))]),
    "registration of a process without number": ("manager", [
        ("control", 3, 103, _packed("RegisterInstance", 3, "a", 1)),
    ]),
    # The stream manager could decode the metrics, but its master not the heartbeat around them.
    "metrics that nest 1,022 deep": ("manager", [
        ("connected",),
        ("control", 2, 102, b"\x93\xa4Beat\x02\x81\xa4user" + b"\x91" * 1022 + b"\x01"),
        ("timer", 2.0),
    ]),
    # A fault of the check, not of the process: its new process had a number in use.
    "a process with the number of the check's, which another one replaces": ("manager", [
        ("mode", "stage"),
        ("control", 2, INCARNATION, registration(2, INCARNATION, 1)),
        ("control", 2, 102, registration(2, 102, 1)),
    ]),
    "ids are missing": ("instance", [(2, [header(FrameKind.DATA, 2, 2, 6, 9, 0, 5), b""])]),
    "body that is a number": ("instance", [(2, [header(FrameKind.DATA, 3, 1, 2, 1), b"\x07"])]),
    "roots are missing": ("instance", [(1, [header(FrameKind.ACKED, 3, 1, 1, 65)])]),
    "arguments that are a number": ("master", [(b"", _packed("Command", "stats", -1))]),
    "component of a type that has no hash": ("master", [
        (b"", _packed("Command", "stats", {"component": {"emitted": {}}})),
    ]),
    # The end waits for finished spouts only, without this one: a finite run never ended.
    "a bolt that finishes as a spout": ("master", [(b"", _packed("SpoutFinished", 2, True))]),
    "failure of an unknown task": ("master", [(b"", _packed("InstanceFailed", 99, "x"))]),
    "snapshot without executed": ("master", [
        REGISTER_1, _heartbeat({2: {"emitted": {}, "finished": False}}), STATS,
    ]),
    "snapshot of an unknown task": ("master", [
        REGISTER_1, _heartbeat({99: world.snapshot(world.SPLIT)}), STATS,
    ]),
    "numbers whose sum does not fit into a message": ("master", [
        REGISTER_1, _heartbeat(_snapshot(executed=(1 << 64) - 1)), STATS,
        _heartbeat(_snapshot(executed=(1 << 64) - 1, incarnation=1)), STATS,
    ]),
    "histogram beyond the longest of times": ("master", [
        REGISTER_1,
        _heartbeat(_snapshot(execute={"total_secs": 1.0, "number": 1, "histogram": {1 << 40: 1}})),
        STATS,
    ]),
    "heartbeat without waiting_bytes": ("master", [
        REGISTER_1, _heartbeat(metrics={"waiting_bytas": {}}), STATS,
    ]),
    "paused by an unknown task": ("master", [
        REGISTER_1, _heartbeat(paused={2: ((99,), 1.0, 1.0, 1.0)}), STATS,
    ]),
    "no packing": ("plans", [{"topology": "t", "epoch": 1, "state": "RUNNING"}]),
    "a name that is not text": ("plans", [world.plan(topology=b"bytes")]),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    # The sender's peers were all stopped by these steps.
    target, steps = FOUND[name]
    TARGETS[target].run(steps)


def test_tuples_within_tuples_arrive_however_deep() -> None:
    # A value of 200 tuples within each other ended the bolt's process by a stack overflow, again
    # after each replay.
    value: Any = ()
    for _ in range(200):
        value = (value, {1})
    with pytest.raises(ValueError, match="within each other"):
        packer()([value])
    assert unpack(pack_fields(packer(), [value], "spout", "default", ["nested"])) == [value]


def test_bytes_that_nest_deep_end_no_process() -> None:
    # The opposite side: bytes outside of our packer's output.
    data = b"\x90"
    for _ in range(400):
        data = b"\xc9" + len(data).to_bytes(4, "big") + b"\x01" + data
    with pytest.raises(ValueError, match="within each other"):
        unpack(data)


def test_a_refused_message_is_not_logged_whole() -> None:
    # The whole field was put into the error: a line of a megabyte in the log.
    deep = {str(at): {str(inner): ["x" * 50] * 50 for inner in range(50)} for at in range(50)}
    with pytest.raises(ProtocolError) as refused:
        message_codec.decode(_packed("RegisterInstance", deep, 1, 2))
    assert len(str(refused.value)) < 400
