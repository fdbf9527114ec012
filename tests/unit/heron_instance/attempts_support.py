"""Bolts that raise in topologies with checkpoints, and the view of their neighbours."""

from collections.abc import Callable
from typing import Any, ClassVar

import msgpack

from heron_api.state.stateful_component import (
    StatefulComponent,
    TwoPhaseStatefulComponent,
)
from heron_core.algorithms.event_windows.values import END_OF_TIME
from heron_core.dead_letters import FIELDS
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, Frames, parse_header
from heron_core.wire.packets import encode_barrier
from heron_instance.events import InputEmpty, InstanceReceived, SendControl, Turn
from heronpy_compat import Bolt
from tests.unit.heron_instance.checkpointed_support import ME, Process
from tests.unit.heron_instance.instance_support import OTHER, batch

REFUSED = "ConnectionRefusedError: it is away"


class World:
    """State outside of the process, living on when an object is recreated."""

    def __init__(self) -> None:
        self.calls = 0
        self.refuses: Callable[[Any, int], bool] = lambda value, call: False

    def asked(self, value: Any) -> None:
        self.calls += 1
        if self.refuses(value, self.calls):
            raise ConnectionRefusedError("it is away")


class Remembering(StatefulComponent):
    """Counts in its state and in an attribute, emits, and raises afterwards."""

    world: ClassVar[World]
    emit: Any

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        self.heard: list[str] = []
        self.seen: list[Any] = list(self.state.get("seen") or [])

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("seen", self.seen)

    def count(self, value: Any) -> None:
        self.seen.append(value)
        self.state.put(value, (self.state.get(value) or 0) + 1)
        self.emit([value, "y"])
        self.world.asked(value)


class Asking(Remembering, Bolt):
    """A coroutine for tuples, ticks, watermarks and the end."""

    def process(self, tup: Any) -> None:
        self.count(tup.values[0])

    def process_tick(self, tup: Any) -> None:
        self.seen.append("tick")
        self.emit(["tick", "y"])
        self.world.asked("tick")

    def on_watermark(self, watermark_ms: int) -> None:
        self.heard.append(f"mark {watermark_ms}")
        if watermark_ms < END_OF_TIME:
            self.seen.append(f"mark {watermark_ms}")

    def on_finish(self) -> None:
        self.seen.append("end")
        self.emit(["end", "y"])
        self.world.asked("end")


class Cluster(Process):
    """The instance, and the effects of its messages on its neighbours: both are restored on
    request."""

    def __init__(
        self, kind: Any, letters: bool = False, declares: bool = True, **config: Any
    ) -> None:
        given = {key.replace("_", "."): each for key, each in config.items()}
        super().__init__(kind, config=given, letters=letters, declares=declares)
        self.epoch, self.completed, self.restores = 1, 0, 0
        self.step_secs = 10.0
        """How fast time passes."""
        self.emitted: dict[int, list[Any]] = {}
        self.letters: dict[int, list[Any]] = {}
        self.said: list[Any] = []
        kind.world = World()
        self.begin(1)

    @property
    def world(self) -> World:
        found: World = type(self.component).world
        return found

    def tuples(self, *values: Any) -> None:
        """Tuples come, and come again after each restore."""
        while not self.run([values_batch(values, self.epoch)]):
            pass

    def one_by_one(self, *values: Any) -> None:
        """In separate messages."""
        while not self.run([values_batch([each], self.epoch) for each in values]):
            pass

    def run(self, frames: list[Frames]) -> bool:
        """Messages come; whether all went well, without a replay."""
        for each in frames:
            self._take(self.handle(InstanceReceived(each)))
            if not self.settle():
                return False
        return True

    def settle(self) -> bool:
        """Time passes until quiet; whether all tuples went well."""
        for _ in range(1000):
            self._take(self.handle(Turn()))
            self._take(self.handle(InputEmpty()))
            wanted = [each for each in self.said if isinstance(each, messages.RestoreWanted)]
            if wanted:
                assert wanted == [messages.RestoreWanted(ME, self.epoch, wanted[0].reason)]
                self.restore()
                return False
            driver: Any = self.core.driver
            if not driver.is_trying and not driver.awaits_restore:
                return True
            self.now += self.step_secs
        raise AssertionError("it never ends")

    def _take(self, out: list[Any]) -> None:
        self.said += [each.message for each in out if isinstance(each, SendControl)]
        for head, *rest in self.sent:
            if parse_header(head).kind == FrameKind.DATA:
                rows, epoch = msgpack.unpackb(rest[0]), parse_header(head).epoch
                values = [each[0] for each in rows if len(each) == 2]
                self.emitted.setdefault(epoch, []).extend(values)
                letters = [each for each in rows if len(each) == len(FIELDS)]
                self.letters.setdefault(epoch, []).extend(letters)
        self.sent.clear()

    def restore(self) -> None:
        self.said.clear()
        self.restores += 1
        self.epoch += 1
        self.begin(self.epoch, self.completed)

    @property
    def name(self) -> str:
        return str(self.core.instance.context.get_component_id())

    def checkpoint(self) -> None:
        self.completed += 1
        self._take(
            self.handle(InstanceReceived(encode_barrier(self.epoch, OTHER, ME, self.completed)))
        )
        self._take(self.handle(Turn()))
        self.hear(messages.CheckpointCompleted(self.completed, self.epoch))

    @property
    def of_now(self) -> list[Any]:
        """Emits since the topology's last restore."""
        return self.emitted.get(self.epoch, [])

    @property
    def letters_of_now(self) -> list[Any]:
        """Dead letters since the topology's last restore."""
        return self.letters.get(self.epoch, [])

    def numbers(self) -> tuple[int, int]:
        """Processed, and failed for good."""
        found = self.core.driver.statistics()
        return self.core.driver.counts()[1], found.failed_for_good


def values_batch(values: Any, epoch: int) -> Frames:
    return batch(*([each, "x"] for each in values), epoch=epoch)


class Refusing(Bolt):
    world: ClassVar[World]

    def process(self, tup: Any) -> None:
        self.fail(tup)


class Prepared(Asking, TwoPhaseStatefulComponent):
    """A bolt with effects of pre_save outside: only the topology can undo its work."""


def reported_abandoned(bolt: Cluster) -> list[int]:
    """The checkpoints that cover tuples abandoned, unlike completed ones."""
    return [each.checkpoint for each in abandoned(bolt) if each.is_new]


def abandoned(bolt: Cluster) -> list[Any]:
    return [each for each in bolt.said if isinstance(each, messages.TuplesAbandoned)]
