"""Common base of stages with event time: config, late elements, keys."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from heron_api.component.component_spec import GlobalStreamId
from heron_api.custom_grouping import ICustomGrouping
from heron_api.stream import Grouping, Stream
from heron_api.windows.clocked_bolt import name_of
from heron_api.windows.event_time import EventClock, EventTimeSettings, request_ticks
from heron_api.windows.retaining_bolt import RetainingBolt
from heron_api.windows.saved_windows import KeyOf, whole_key
from heron_core import config as keys
from heron_core.algorithms.event_windows.aggregates import Aggregate
from heron_core.algorithms.event_windows.assigners import Assigner
from heron_core.algorithms.event_windows.strategies import WatermarkStrategy
from heron_core.algorithms.event_windows.triggers import AT_WATERMARK, Trigger
from heron_core.algorithms.event_windows.values import TimeWindow
from heron_core.algorithms.hashing import NotHashable, slot, stable_hash
from heron_core.errors import ComponentError
from heronpy_compat.streamlet.elements import Element
from heronpy_compat.streamlet.impl.stage import StageStreamlet
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_FIELD, OUTPUT_STREAM
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streamlet.window import Window

LATE = "late"
"""The stream of late elements."""
STAGE = "event_stage"
"""The key of an EventStage in a component's config; it travels as cloudpickle."""
RIGHT_COMPONENT, RIGHT_STREAM = "event_right_component", "event_right_stream"
"""Where the elements of the right side of a join come from."""


@dataclass(frozen=True, slots=True)
class Side:
    """Accessors for the elements of one streamlet; without a key function all elements have one
    key."""

    timestamp: Callable[[Any], Any] | None
    key: Callable[[Any], Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStage:
    """The description of a stage that the bolt receives in its config."""

    left: Side
    right: Side | None = None
    lag_ms: int = 0
    watermarks: WatermarkStrategy | None = None
    idle_ms: int | None = None
    lateness_ms: int = 0
    window: Assigner | None = None
    trigger: Trigger = AT_WATERMARK
    aggregate: Aggregate | None = None
    function: Callable[[Any, Any], Any] | None = None
    process: Any = None
    """A KeyedProcess."""
    kind: str = "inner"
    bounds_ms: tuple[int, int] = (0, 0)


class FunctionKeyGrouping(ICustomGrouping):
    """Elements with equal keys go to the same partition, in every process."""

    def __init__(self, key_function: Callable[[Any], Any]) -> None:
        self._key_function = key_function

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        """Any of `target_tasks`."""
        self._tasks = target_tasks
        self._where = f"key_by of what {component} emits"

    def choose_tasks(self, values: list[Any]) -> list[int]:
        """The task of the key."""
        try:
            hashed = stable_hash([self._key_function(values[0])])
        except NotHashable as error:
            raise ComponentError(f"{self._where}: {error}") from None
        return [self._tasks[slot(hashed, len(self._tasks))]]


class EventStageBolt(RetainingBolt):
    """A bolt of a stage with event time."""

    outputs = [Stream([OUTPUT_FIELD], OUTPUT_STREAM), Stream([OUTPUT_FIELD], LATE)]
    settings: EventTimeSettings

    def begin(self, config: dict[str, Any], context: Any) -> EventClock:
        """Read the config and ask for ticks; returns the clock."""
        self.stage: EventStage = config[STAGE]
        self._right = (config.get(RIGHT_COMPONENT), config.get(RIGHT_STREAM))
        self.by_event_time = self.stage.left.timestamp is not None
        self.settings = EventTimeSettings.of(config, keys.OF_TASKS, has_time=True)
        request_ticks(context, self.settings, self.stage.trigger)
        return EventClock(
            name_of(self, context), self.settings, context, self.window_clock, self.timestamp,
            self.stage.watermarks, lambda tup: tup.values[0],
        )  # fmt: skip

    def grouping_key(self) -> KeyOf:
        """Elements are grouped by the key of their windows, if they have keys."""
        return None if self.stage.left.key is None else whole_key

    def is_right(self, tup: Any) -> bool:
        """Whether an element is of the right side of a join."""
        return (tup.component, tup.stream) == self._right

    def side(self, tup: Any) -> Side:
        """Accessors of an element."""
        if self.stage.right is not None and self.is_right(tup):
            return self.stage.right
        return self.stage.left

    def timestamp(self, tup: Any) -> Any:
        """An element's milliseconds since 1970."""
        function = self.side(tup).timestamp
        return None if function is None else function(tup.values[0])

    def key(self, tup: Any) -> Hashable:
        """The key of an element; ComponentError for an invalid key."""
        function = self.side(tup).key
        if function is None:
            return None
        key = function(tup.values[0])
        try:
            hash(key)
        except TypeError:
            raise ComponentError(f"key_by: a key must be hashable, not {key!r}") from None
        hashable: Hashable = key
        return hashable

    def emit_element(self, element: Any, anchors: list[Any]) -> None:
        """One element of the stage's streamlet."""
        self.emit([element], stream=OUTPUT_STREAM, anchors=anchors)


class EventStageStreamlet(StageStreamlet[Element]):
    """A streamlet of an EventStageBolt; late elements go to `late_elements`."""

    def __init__(self, stage: EventStage, *parents: Streamlet) -> None:
        super().__init__(*parents)
        self._stage = stage
        self._has_late = False
        if stage.left.key is None:
            self.set_num_partitions(1)

    def late_elements(self) -> Streamlet[Any]:
        """The late elements, unchanged; without a reader they are logged."""
        late = LateStreamlet(self)
        self._has_late = True
        self._add_child(late)
        return late

    def _calculate_inputs(self) -> dict[GlobalStreamId, Any]:
        sides = (self._stage.left, self._stage.right or self._stage.left)
        return {
            GlobalStreamId(parent._component_name(), parent._output): _grouping_of(side)
            for parent, side in zip(self._parents, sides, strict=False)
        }

    def _component_config(self) -> dict[str, Any]:
        stage, right = self._stage, self._parents[-1]
        config = {
            STAGE: stage,
            RIGHT_COMPONENT: right._component_name(),
            RIGHT_STREAM: right._output,
            keys.TIMESTAMP_LAG_MS: stage.lag_ms,
            keys.WINDOW_LATENESS_MS: stage.lateness_ms,
        }
        if stage.idle_ms is not None:
            config[keys.WATERMARK_IDLE_MS] = stage.idle_ms
        if self._has_late:
            config[keys.LATE_STREAM] = LATE
        return config


class LateStreamlet(Streamlet):
    """The second output of a stage; adds no component."""

    def __init__(self, stage: EventStageStreamlet) -> None:
        super().__init__()
        self._stage_streamlet = stage
        self._output = LATE
        self.set_num_partitions(stage.get_num_partitions())

    def get_name(self) -> str | None:
        """The name of the stage's component."""
        return self._stage_streamlet.get_name()

    def _build_this(self, builder: Any, stage_names: set[str]) -> bool:
        return True


def _grouping_of(side: Side) -> Any:
    return Grouping.SHUFFLE if side.key is None else Grouping.custom(FunctionKeyGrouping(side.key))


def window_of(window: TimeWindow) -> Window:
    """A window in heronpy's seconds."""
    return Window(window.start_ms / 1000, window.end_ms / 1000)
