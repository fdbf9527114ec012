"""An update without checkpoints meets an instance amid a call or a message: a call held by
back-pressure amid its emits returns, and the rest of the message waits."""

import asyncio
from array import array
from collections import Counter
from functools import reduce
from operator import xor
from pathlib import Path
from typing import Any

import pytest

from heron_api.state.stateful_component import StatefulComponent
from heron_core import config as keys
from heron_core.wire import messages
from heron_core.wire.frames import Flag, FrameKind, Frames, header, parse_header, u64_array
from heron_instance.events import ControlReceived, InstanceReceived, Turn
from heronpy_compat import Bolt
from tests.unit.heron_instance.instance_support import OTHER, SOURCE, batch
from tests.unit.heron_instance.test_scaling_with_state import KEYS, Count
from tests.unit.heron_instance.test_state_transfer import MODES, TWO, Process, mine

OUTPUT = 1000
"""Tuples emitted by a call."""
SECS = 0.05
"""Time of a tuple in a sink turned slow."""
EDGE = 77
AT, MANY = 12, 60
"""The tuple with the event."""


class Fan(Bolt):
    """Makes many tuples of each input; paused amid the first call."""

    paused: Any = None

    def initialize(self, config: Any, context: Any) -> None:
        self.done = 0

    def process(self, tup: Any) -> None:
        for number in range(OUTPUT):
            self.emit([number, "x" * 400], anchors=[tup])
            if (self.done, number) == (0, OUTPUT // 2):
                type(self).paused()
        self.done += 1
        self.ack(tup)


class SlowCount(Count):
    """Slow, with an event in a call."""

    process_of: Any = None
    heard: Any = None
    calls = 0

    def process(self, tup: Any) -> None:
        super().process(tup)
        self.ack(tup)
        type(self).calls += 1
        type(self).process_of.now += SECS
        if type(self).calls == AT and type(self).heard is not None:
            heard, type(self).heard = type(self).heard, None
            heard()


def control(process: Process, message: Any) -> None:
    """What the control thread does about a message while the main thread is in a call."""
    process.core.control.received(ControlReceived(message), process.now)


def emitted(process: Process) -> Counter[int]:
    """epoch -> tuples in the batches that were sent."""
    heads = [parse_header(each[0]) for each in process.sent]
    found: Counter[int] = Counter()
    for each in heads:
        found[each.epoch] += each.items if each.kind == FrameKind.DATA else 0
    return found


@MODES
def test_a_call_that_back_pressure_holds_does_not_hold_an_update(mode: str, tmp_path: Path) -> None:
    fan = Process(Fan, tmp_path, mode)
    fan.plan(1)
    update = [messages.Pause(True), fan.plan_of(2, TWO)]
    fan.meanwhile = lambda: control(fan, update.pop(0))
    Fan.paused = lambda: control(fan, messages.Pause(True))
    fan.handle(InstanceReceived(batch(*([each, "x"] for each in range(3)))))
    assert not update
    assert fan.component.done == 1, "one call is let out, and no other begins"
    assert emitted(fan) == {1: OUTPUT}, "the routes are those of before"
    assert fan.shared.epoch_taken == 2
    fan.handle(Turn())
    assert fan.component.done == 1, "back-pressure holds it again"
    fan.core.validate()
    control(fan, messages.Pause(False))
    fan.handle(Turn())
    assert fan.component.done == 3
    fan.core.report_consumed()
    assert emitted(fan) == {1: OUTPUT, 2: 2 * OUTPUT}


def slow_count(mode: str, folder: Path) -> Process:
    made = Process(SlowCount, folder, mode)
    made.plan(1)
    SlowCount.process_of, SlowCount.calls, SlowCount.heard = made, 0, None
    return made


@MODES
def test_what_is_on_its_way_to_keys_that_move_fails_and_is_counted(
    mode: str, tmp_path: Path
) -> None:
    sink = slow_count(mode, tmp_path)
    wanted = messages.SaveForUpdate(5, 1, (SOURCE,))
    SlowCount.heard = lambda: control(sink, wanted)
    roots = [(5 << 44 | each, 1) for each in range(1, MANY + 1)]
    tracked = mode == keys.ATLEAST_ONCE
    values = [[KEYS[each % len(KEYS)], "x"] for each in range(MANY)]
    sink.handle(InstanceReceived(batch(*values, roots=roots if tracked else (), epoch=1)))
    sink.handle(Turn())
    (stored,) = sink.said
    assert stored.size_bytes, "it saves its state between two tuples"
    before = sum(sink.counts.values())
    assert AT <= before <= AT + 2
    assert sink.plan(2, TWO, (SOURCE,), rescaled=2) == [messages.Restored(SOURCE, 1, 2)]
    sink.plan(2, TWO, rescaled=2)  # the update is done
    sink.handle(Turn())
    sink.core.report_consumed()
    assert set(sink.counts) <= set(mine(0)), "what it has no key for was not processed"
    numbers = sink.core.driver.statistics()
    assert (numbers.failed, numbers.executed) == (MANY - before, MANY)
    assert numbers.failed_for_good == (0 if tracked else MANY - before)
    failed = [each for each in sink.sent if parse_header(each[0]).kind == FrameKind.FAIL]
    assert bool(failed) == tracked
    # Tuples of the new plan are processed, also in a process started later.
    sink.handle(InstanceReceived(batch([min(mine(0)), "x"], epoch=2)))
    assert sink.core.driver.statistics().executed == MANY + 1
    later = Process(Count, tmp_path, mode, plan=TWO)
    later.plan(2, TWO, rescaled=2)
    later.handle(
        InstanceReceived(batch([min(mine(0)), "x"], roots=roots[:1] if tracked else (), epoch=1))
    )
    later.handle(Turn())
    assert later.core.driver.statistics().fenced == 1


def run_of(size: int) -> Frames:
    """A message whose tuples are one run: all with a root and an edge."""
    _, body = batch(*([each, "x"] for each in range(size)))
    head = header(FrameKind.DATA, 1, OTHER, SOURCE, size, 0, Flag.TRACKED | Flag.RUNS)
    ids = array("Q", [5 << 44 | 1, EDGE]).tobytes()
    return [head, body, ids, array("I", [size]).tobytes()]


@pytest.mark.parametrize("is_run", [True, False])
def test_a_message_that_is_cut_is_acked_as_a_whole(is_run: bool, tmp_path: Path) -> None:
    sink = slow_count(keys.ATLEAST_ONCE, tmp_path)
    taken_after: list[int] = []

    def take() -> None:
        sink.shared.call(lambda: taken_after.append(SlowCount.calls))
        control(sink, sink.plan_of(1))

    SlowCount.heard = take
    root = 5 << 44 | 1
    values = [[0, "x"]] * MANY
    roots = [(root, 1 << each) for each in range(MANY)]
    sink.handle(InstanceReceived(run_of(MANY) if is_run else batch(*values, roots=roots)))
    assert AT <= taken_after[0] <= AT + 2
    sink.core.report_consumed()
    assert SlowCount.calls == MANY
    value = 0
    for each in sink.sent:
        if parse_header(each[0]).kind == FrameKind.ACK:
            pairs = u64_array(each[1])
            assert set(pairs[::2]) == {root}
            value ^= reduce(xor, pairs[1::2])
    assert value == (EDGE if is_run else (1 << MANY) - 1)


class Asking(Bolt, StatefulComponent):
    """Waits for the outside."""

    def init_state(self, stateful_state: Any) -> None:
        stateful_state.put("who", 1)

    def pre_save(self, checkpoint_id: Any) -> None:
        """It is there."""

    async def process(self, tup: Any) -> None:
        await asyncio.sleep(3600)


@MODES
def test_coroutines_under_way_whose_state_moves_fail_and_are_counted(
    mode: str, tmp_path: Path
) -> None:
    bolt = Process(Asking, tmp_path, mode)
    bolt.plan(1)
    tracked = mode == keys.ATLEAST_ONCE
    roots = [(5 << 44 | each, 1) for each in range(1, 4)]
    bolt.handle(
        InstanceReceived(batch(*([each, "x"] for each in range(3)), roots=roots if tracked else ()))
    )
    bolt.handle(Turn())
    bolt.save()
    assert bolt.plan(2, TWO, (SOURCE,), rescaled=2) == [messages.Restored(SOURCE, 1, 2)]
    numbers = bolt.core.driver.statistics()
    assert numbers.failed == 3
    assert numbers.failed_for_good == (0 if tracked else 3)
    failed = [each for each in bolt.sent if parse_header(each[0]).kind == FrameKind.FAIL]
    assert bool(failed) == tracked
    bolt.core.close_component()
