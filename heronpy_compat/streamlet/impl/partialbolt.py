"""aggregate with partials: windows whose elements are aggregated by several partitions first."""

from typing import Any

from heron_api.component.component_spec import GlobalStreamId
from heron_api.stream import Grouping
from heron_api.topology_context import TopologyContext
from heron_api.windows.event_time import MILLISECONDS
from heron_api.windows.partial_runner import (
    LINGER_MS,
    EmittedPart,
    PartialPlan,
    PartialRunner,
    WatermarkOfPart,
)
from heron_core.records import replace
from heron_core.state.monoid import Merged, Monoid
from heronpy_compat.streamlet.impl.eventstage import (
    EventStage,
    EventStageBolt,
    EventStageStreamlet,
    Side,
)
from heronpy_compat.streamlet.impl.eventwindowbolt import EventWindowStreamlet
from heronpy_compat.streamlet.streamlet import Streamlet


class PartialStageBolt(EventStageBolt):
    """Aggregates a partition's elements by key and slice of the window."""

    time_runner: PartialRunner

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Make the values, and ask for ticks."""
        clock, stage = self.begin(config, context), config["event_stage"]
        plan = PartialPlan(stage.aggregate, stage.window)
        self.time_runner = PartialRunner(
            self, clock, self.settings, plan, self.saved_state, self._emit_part
        )
        if isinstance(context, TopologyContext):
            context.request_ticks(LINGER_MS / MILLISECONDS)

    def process(self, tup: Any) -> None:
        """Add an element."""
        element = tup.values[0]
        self.time_runner.process(tup, self.key(tup), lambda: element, element)

    def fail_retained(self) -> bool:
        """Fail the elements before the emit of their values; the other values can be divided."""
        self.time_runner.fail_retained()
        return True

    def _emit_part(self, part: EmittedPart, anchors: list[Any]) -> None:
        self.emit_element(list(part), anchors)


class PartialStreamlet(EventStageStreamlet):
    """The values of the partitions; an element comes to any partition."""

    prefix = "partial"
    bolt = PartialStageBolt

    def _calculate_inputs(self) -> dict[GlobalStreamId, Any]:
        parent = self._parents[0]
        return {GlobalStreamId(parent._component_name(), parent._output): Grouping.SHUFFLE}


class MergedElements(Merged):
    """The aggregate of a PartialStreamlet's values."""

    def add(self, accumulator: Any, value: Any) -> Any:
        """See Merged."""
        return super().add(accumulator, EmittedPart(*value).partial)


class MergedStreamlet(EventWindowStreamlet):
    """Windows of the values of all partitions."""

    prefix = "merged"

    def late_elements(self) -> Streamlet:
        """The late elements, which leave at the partial stage: values are never late."""
        partial = self._parents[0]
        assert isinstance(partial, PartialStreamlet)
        return partial.late_elements()


def merged_partials(
    stage: EventStage, monoid: Monoid[Any], parent: Streamlet, partitions: int
) -> tuple[PartialStreamlet, MergedStreamlet]:
    """The two stages; `stage` describes an aggregate."""
    partial = PartialStreamlet(stage, parent)
    partial.set_num_partitions(partitions)
    merge = replace(
        stage,
        left=Side(_time_of, None if stage.left.key is None else _key_of),
        watermarks=WatermarkOfPart(_watermark_of),
        aggregate=MergedElements(monoid),
    )
    return partial, MergedStreamlet(merge, partial)


def _time_of(element: Any) -> Any:
    return EmittedPart(*element).time_ms


def _key_of(element: Any) -> Any:
    return EmittedPart(*element).key


def _watermark_of(element: Any) -> Any:
    return EmittedPart(*element).watermark_ms
