"""An instance's core with a flight recorder, and replays of the recorded incidents."""

import logging
from array import array
from collections.abc import Mapping
from random import Random
from typing import Any

from heron_api.state.stateful_component import StatefulComponent
from heron_core.flight_records import HEADER_BYTES, RecordRing
from heron_core.incidents import Incident
from heron_core.plans import PhysicalPlan, TopologyState, physical_to_json
from heron_core.state.file_snapshot import as_bytes
from heron_core.topology import StreamSpec
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, Frames
from heron_core.wire.merged import merge
from heron_core.wire.packets import encode_roots, encode_watermark
from heron_instance.control_core import Identity
from heron_instance.core import InstanceCore
from heron_instance.events import ControlReceived, InputEmpty, InstanceReceived, Turn
from heron_instance.flight_recorder import FlightRecorder, LeftRing, Recorded
from heron_instance.recording_files import RecordedTask, incident_of
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.shared_state import SharedState
from heron_tester.replay import Replay, recorded_topology
from heron_tester.replay_result import ReplayResult
from heronpy_compat import Bolt, Spout
from tests.unit.heron_instance.instance_support import (
    OTHER,
    SHUFFLE,
    SOURCE,
    batch,
    packing,
    reads,
    topology_of,
)

EPOCH = 1
RING_BYTES = 1 << 20


class Totals(Bolt, StatefulComponent):
    """Emits a running total and, with a tick, the time; raises at negative values."""

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        self.ticks = 0

    def process(self, tup: Any) -> None:
        (value,) = tup.values
        if value < 0:
            raise ValueError(f"{value} is below zero")
        total = (self.state.get("total") or 0) + value
        self.state.put("total", total)
        self.emit([total, tup.creation_time])

    def process_tick(self, tup: Any) -> None:
        self.emit([tup.creation_time, self.state.get("total")])


class CorrectedTotals(Totals):
    def process(self, tup: Any) -> None:
        if tup.values[0] >= 0:
            super().process(tup)


class Counter(Spout, StatefulComponent):
    """Emits numbers, failed numbers again; raises at a number."""

    RAISES_AT = 25

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        self.again: list[Any] = []

    def next_tuple(self) -> None:
        if self.again:
            number = self.again.pop()
        else:
            number = (self.state.get("number") or 0) + 1
            self.state.put("number", number)
        if number == self.RAISES_AT:
            raise ValueError("enough")
        self.emit([number, 0], tup_id=number)

    def fail(self, tup_id: Any) -> None:
        self.again.append(tup_id)


class RecordedRun:
    """A core that records."""

    def __init__(
        self,
        kind: type,
        mode: str,
        config: Mapping[str, Any] | None = None,
        ring_bytes: int = RING_BYTES,
        fields: tuple[str, ...] = ("a", "b"),
        on_demand: bool = False,
    ) -> None:
        self.now = 100.0
        self.kept: list[Recorded] = []
        self.sent: list[Frames] = []
        self.ring = RecordRing.begun(bytearray(HEADER_BYTES + ring_bytes), 5.0)
        self.recorder = FlightRecorder(self.ring, self._clock, self._keep, None, on_demand)
        self.topology = topology_of(
            kind, (StreamSpec("default", fields),), [reads(SHUFFLE)],
            {"topology.reliability.mode": mode, **(config or {})},
        )  # fmt: skip
        is_exact = mode == "EFFECTIVELY_ONCE"
        environment = InstanceEnvironment(
            self._clock, Random(1), self.recorder.sending(self.sent.extend), _admit,
            logging.Logger("tested"), load_state=_no_state if is_exact else None,
            fails_at_once=True, recorder=self.recorder,
        )  # fmt: skip
        identity = Identity(SOURCE, 7, 5)
        self.core = InstanceCore(self.topology, packing(), identity, environment, SharedState())
        plan = PhysicalPlan("t", EPOCH, TopologyState.RUNNING, packing(), {1: "a", 2: "b"})
        self.hear(messages.Plan(physical_to_json(plan)))

    def _clock(self) -> float:
        return self.now

    def _keep(self, recorded: Recorded) -> str:
        self.kept.append(recorded)
        return "some.incident"

    def hear(self, message: Any) -> None:
        self.core.handle(ControlReceived(message), self.now)
        self.core.handle(Turn(), self.now)

    def receive(self, *several: Frames) -> None:
        """Receive messages together."""
        self.core.handle(InstanceReceived(merge(several)), self.now)

    def idle(self) -> None:
        """Without input: time for a tick, or for a spout's turn."""
        self.core.handle(InputEmpty(), self.now)

    def save(self, number: int) -> bytes:
        """Take a checkpoint; returns the state."""
        self.core.driver.flush()
        self.core.instance.adapter.pre_save(str(number))
        state = as_bytes(self.core.instance.state.deferred_snapshot())
        self.recorder.saved(number, state)
        return state

    def fail(self, roots: list[int]) -> None:
        """Tuples of a spout have failed."""
        self.receive(encode_roots(FrameKind.FAILED, EPOCH, OTHER, SOURCE, array("Q", roots)))

    def demanded(self) -> Incident:
        """An incident of now."""
        self.core.driver.flush()
        self.recorder.demanded()
        return self.incident()

    def incident(self) -> Incident:
        """The newest incident."""
        return incident_of(self._task(), self.kept[-1], 5.0)

    def killed(self, number: int, state: bytes | None, how: str) -> Incident:
        """The incident made by the task's next process, which begins with a state."""
        left = LeftRing(self.ring.content(), how, 5.0)
        return incident_of(self._task(), left.recorded(number, state), 5.0)

    def _task(self) -> RecordedTask:
        return RecordedTask(self.topology, packing(), SOURCE, "run", "")


def values(*numbers: int) -> Frames:
    """A message to the tested bolt."""
    return batch(*([each] for each in numbers), epoch=EPOCH)


def watermark(milliseconds: int) -> Frames:
    """How far the source of the tested bolt is."""
    return encode_watermark(EPOCH, OTHER, SOURCE, milliseconds)


def replayed(incident: Incident, kind: type | None = None) -> ReplayResult:
    """The replay, with the recorded class or another one."""
    topology = recorded_topology(incident)
    if kind is not None:
        topology = topology.with_class("tested", f"{kind.__module__}.{kind.__qualname__}")
    return Replay(incident, topology).run()


def _admit() -> None:
    """Always."""


def _no_state(checkpoint: int, task: int) -> bytes:
    raise AssertionError("nothing is restored")
