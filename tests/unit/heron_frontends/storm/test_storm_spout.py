"""Spout and ReliableSpout of pystorm: emits, replays, and who is told of what."""

from array import array
from typing import Any

import pytest

from heron_core.errors import ComponentError
from heron_core.topology import StreamSpec
from heron_core.wire.frames import FrameKind, header
from tests.unit.heron_frontends.storm.storm_support import EPOCH, Running, start

OUTPUTS = (StreamSpec("default", ("a", "b")), StreamSpec("direct", ("c",), direct=True))


def scripted(base: Any, **members: Any) -> type:
    """A spout whose next_tuple does what its `script` says, once."""

    def initialize(self: Any, conf: Any, ctx: Any) -> None:
        self.script = list
        self.seen = []

    def next_tuple(self: Any) -> None:
        script, self.script = self.script, list
        script()

    return type("Scripted", (base,), {"initialize": initialize, "next_tuple": next_tuple,
                                      **members})  # fmt: skip


def started(kind: type, **config: Any) -> Running:
    return start(kind, spout=True, outputs=OUTPUTS, **config)


def emits(made: Running, *rows: Any) -> None:
    """One call of next_tuple that emits these (values, id)."""

    def script() -> None:
        for values, tup_id in rows:
            made.user.emit(values, tup_id=tup_id)

    made.user.script = script
    made.core.turn(made.now + 1)


def told(made: Running, kind: FrameKind) -> None:
    """What became of everything that is pending."""
    roots = list(made.core.collector.pending)
    frames = [header(kind, EPOCH, 0, 1, len(roots)), array("Q", roots).tobytes()]
    made.core.deliver(frames)


def noting(name: str) -> Any:
    """A callback that notes its id."""
    return lambda self, tup_id: self.seen.append((name, tup_id))


def test_emits_with_and_without_an_id(storm: Any) -> None:
    made = started(scripted(storm.Spout, ack=noting("ack"), fail=noting("fail")))
    emits(made, (["a", 1], None), (("b", 2), ("tuple", "id")))
    assert sorted(made.values()) == [["a", 1], ["b", 2]]
    assert list(made.core.collector.pending.values()) == [("tuple", "id")]
    told(made, FrameKind.ACKED)
    emits(made, (["c", 3], "three"))
    told(made, FrameKind.FAILED)
    assert made.user.seen == [("ack", ("tuple", "id")), ("fail", "three")]


def test_a_spout_that_wants_no_acks_is_not_called(storm: Any) -> None:
    made = started(scripted(storm.Spout))
    assert made.core._ack is None
    emits(made, (["a", 1], 1))
    told(made, FrameKind.ACKED)
    assert made.core.statistics().acked == 1


def test_task_ids_and_direct_emits(storm: Any) -> None:
    made = started(scripted(storm.Spout))
    found = []

    def script() -> None:
        found.append(made.user.emit(["a", 1], need_task_ids=True))
        found.append(made.user.emit([1], stream="direct", direct_task=4, need_task_ids=True))
        found.append(made.user.emit([1], stream="direct", direct_task=4))
        with pytest.raises(RuntimeError, match="is not a direct stream"):
            made.user.emit(["a", 1], direct_task=4)
        with pytest.raises(TypeError, match="must be either lists or tuples"):
            made.user.emit("ab")

    made.user.script = script
    made.core.turn(made.now + 1)
    (task,), direct, nothing = found
    assert 2 <= task <= 5
    assert (direct, nothing) == ([4], None)


def test_a_reliable_spout_needs_an_id(storm: Any) -> None:
    made = started(scripted(storm.ReliableSpout))
    with pytest.raises(ValueError, match="You must provide a tuple ID"):
        made.user.emit(["a", 1])


def test_a_reliable_spout_replays_max_fails_times_and_then_acks(storm: Any) -> None:
    made = started(scripted(storm.ReliableSpout, max_fails=2))
    emits(made, (["a", 1], "one"))
    assert made.user.unacked_tuples == {"one": (["a", 1], None, None, False)}
    for fails in (1, 2):
        told(made, FrameKind.FAILED)
        assert made.user.failed_tuples == {"one": fails}
        assert list(made.core.collector.pending.values()) == ["one"]
    told(made, FrameKind.FAILED)
    assert (made.user.unacked_tuples, made.user.failed_tuples) == ({}, {})
    assert not made.core.collector.pending
    assert made.values() == [["a", 1]] * 3


def test_an_ack_forgets_the_tuple(storm: Any) -> None:
    made = started(scripted(storm.ReliableSpout))
    emits(made, (["a", 1], "one"), (["b", 2], "two"))
    told(made, FrameKind.FAILED)
    told(made, FrameKind.ACKED)
    assert (made.user.unacked_tuples, made.user.failed_tuples) == ({}, {})


def test_the_users_own_emit_sees_replays(storm: Any) -> None:
    class Own(scripted(storm.ReliableSpout)):  # type: ignore[misc]
        def emit(self, tup: Any, **kwargs: Any) -> Any:
            self.seen.append(kwargs["tup_id"])
            return super().emit(tup, **kwargs)

    made = started(Own)
    emits(made, (["a", 1], "one"))
    told(made, FrameKind.FAILED)
    assert made.user.seen == ["one", "one"]
    assert made.values() == [["a", 1]] * 2


def test_activate_and_deactivate(storm: Any) -> None:
    def activate(self: Any) -> None:
        self.seen.append("activate")

    def deactivate(self: Any) -> None:
        self.seen.append("deactivate")

    made = started(scripted(storm.Spout, activate=activate, deactivate=deactivate))
    made.core.set_active(False)
    made.core.set_active(True)
    assert made.user.seen == ["activate", "deactivate", "activate"]


def test_the_users_own_run_reads_commands(storm: Any) -> None:
    class Own(scripted(storm.Spout, ack=noting("ack"))):  # type: ignore[misc]
        def read_command(self) -> Any:
            command = super().read_command()
            self.seen.append(command["command"])
            return command

    made = started(Own)
    emits(made, (["a", 1], 7))
    told(made, FrameKind.ACKED)
    assert made.user.seen == ["activate", "next", "next", "ack", ("ack", 7)]


def test_an_exception_is_reported_and_the_spout_goes_on(storm: Any) -> None:
    made = started(scripted(storm.Spout))
    made.user.script = lambda: 1 // 0
    made.core.turn(made.now + 1)
    assert "ZeroDivisionError" in made.errors[0]
    emits(made, (["a", 1], None))
    assert made.values() == [["a", 1]]


def test_exit_on_exception_ends_the_process(storm: Any) -> None:
    made = started(scripted(storm.Spout, exit_on_exception=True))
    made.user.script = lambda: 1 // 0
    with pytest.raises(ComponentError, match=r"tested: exit_on_exception.*ZeroDivisionError"):
        made.core.turn(made.now + 1)


def test_a_spout_may_say_that_it_has_finished(storm: Any) -> None:
    made = started(scripted(storm.Spout))
    made.user.script = made.user.finish
    made.core.turn(made.now + 1)
    assert made.core.finished
