"""A Beam pipeline as components of a topology: plain values that travel in their config.

A *stage* is a chain of transforms that Beam's translations have fused. An *edge* leads from an
output of one stage to one reader, as a stream of the topology; the rows of an edge are
`(kind, slot, data)`:

| kind | slot | data |
|---|---|---|
| DATA | position of the reader's task, or EVERYONE | encoded windowed values |
| WATERMARK | EVERYONE | event time in microseconds since 1970 |

A watermark follows the data before it, as both are rows of one stream.
"""

import base64
import pickle
from dataclasses import dataclass
from typing import Any

DATA, WATERMARK = 0, 1
EVERYONE = -1
ROW_FIELDS = ["kind", "slot", "data"]
PLAN = "beam.plan"
"""Config key: the plan of the component."""
REPORTS = "beam.reports"
"""Config key: folder for the metrics of each task."""

FINALIZES = "beam.finalizes.at.once"
"""Config key: whether callbacks of BundleFinalizerParam need no checkpoint, as in the tester."""

SPREAD, KEYED, COPIED = "spread", "keyed", "copied"
"""How an edge divides its elements: in turn, by key, all to each task."""


@dataclass(frozen=True, slots=True)
class EdgePlan:
    """An output of a stage to one reader."""

    stream: str
    transform: str
    """The writing transform of the stage."""
    coder: str
    """Coder of the windowed values."""
    mode: str
    slots: int
    """Tasks of the reader."""


@dataclass(frozen=True, slots=True)
class InputPlan:
    """An input of a stage: the streams of one PCollection."""

    transform: str
    """The reading transform of the stage."""
    sources: tuple[tuple[str, str], ...]
    """(component, stream)"""
    coder: str
    windowing: str
    """Windowing strategy of what is read."""
    group: "GroupPlan | None" = None


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """GroupByKey in front of an input: `coder` of what comes in, `coder` of the input behind it."""

    coder: str
    windowing: str


@dataclass(frozen=True, slots=True)
class SidePlan:
    """A side input of a transform."""

    transform: str
    tag: str
    sources: tuple[tuple[str, str], ...]
    coder: str
    access: str
    """URN: by iteration, or by key."""
    proto: bytes
    """Beam's SideInput."""
    fires_early: bool
    """Whether its first pane makes a window ready, before the window has ended."""


@dataclass(frozen=True, slots=True)
class TimerPlan:
    """A family of timers."""

    transform: str
    family: str
    coder: str
    by_event_time: bool


@dataclass(frozen=True, slots=True)
class StagePlan:
    """Everything a task needs to run a stage."""

    name: str
    """Component of the topology."""
    label: str
    """The transforms, for messages."""
    descriptor: bytes
    """Beam's ProcessBundleDescriptor."""
    inputs: tuple[InputPlan, ...]
    sides: tuple[SidePlan, ...]
    edges: tuple[EdgePlan, ...]
    timers: tuple[TimerPlan, ...]
    parallelism: int
    resumes: bool
    """Whether the stage may have work left when its input has ended: a splittable DoFn, timers or
    triggers of processing time."""

    @property
    def reads(self) -> tuple[tuple[str, str], ...]:
        """(component, stream) of all inputs and side inputs."""
        found = [each.sources for each in self.inputs] + [each.sources for each in self.sides]
        return tuple(source for sources in found for source in sources)


@dataclass(frozen=True, slots=True)
class EventPlan:
    """An event of a TestStream; one of the last three is given."""

    tag: str
    elements: bytes = b""
    """Encoded windowed values."""
    watermark_micros: int | None = None
    advance_secs: float = 0.0


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """A spout: impulses, or the events of a TestStream."""

    name: str
    edges: tuple[tuple[str, EdgePlan], ...]
    """(tag of the output, edge)"""
    events: tuple[EventPlan, ...]


@dataclass(frozen=True, slots=True)
class PipelinePlan:
    """A pipeline as a topology."""

    name: str
    sources: tuple[SourcePlan, ...]
    stages: tuple[StagePlan, ...]


def packed(plan: StagePlan | SourcePlan) -> str:
    """A plan as text for the config of a component."""
    return base64.b64encode(pickle.dumps(plan)).decode("ascii")


def unpacked(config: dict[str, Any]) -> Any:
    """The plan in the config of a component."""
    return pickle.loads(base64.b64decode(config[PLAN]))
