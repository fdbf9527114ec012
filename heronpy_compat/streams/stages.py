"""The stages that streamlets do not have: the user's spouts and bolts, Storm's windows, states."""

from collections.abc import Iterator, Mapping
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.component.component_spec import GlobalStreamId
from heron_api.stream import Grouping
from heron_api.topology import TopologyBuilder
from heron_api.windows.windowed_bolt import TupleWindow, WindowedBolt
from heron_core.errors import TopologyError
from heron_core.topology import DEFAULT_STREAM
from heronpy_compat.streamlet.impl.keygrouping import key_and_value
from heronpy_compat.streamlet.impl.stage import FUNCTION, ElementBolt, StageStreamlet
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM, StreamletBoltBase
from heronpy_compat.streamlet.keyedprocess import KeyedProcess, ProcessContext
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streams.aggregators import KeyStateUpdater, StreamAggregator
from heronpy_compat.streams.window_operations import WindowRun
from heronpy_compat.streams.windows import StreamWindows

RUN, SOURCES, TIMESTAMP = "stream_window_run", "stream_window_sources", "stream_timestamp"
"""Keys of a window's component config."""
UPDATE = -1
"""Instead of the number of a query: an element that changes a state."""


class TupleMapBolt(ElementBolt):
    """Makes an element of each tuple of a spout."""

    def process(self, tup: Any) -> None:
        """The mapper's."""
        self.emit([self.function(tup)], stream=OUTPUT_STREAM, anchors=[tup])
        self.ack(tup)


class SpoutStreamlet(Streamlet):
    """Stage of `newStream` for a spout class: the spout and a mapping bolt."""

    def __init__(self, spout: Any, mapper: Any, config: Mapping[str, Any]) -> None:
        super().__init__()
        self._spout, self._mapper, self._config = spout, mapper, dict(config)

    def _build_this(self, builder: TopologyBuilder, stage_names: set[str]) -> bool:
        name = self._take_name("spout", stage_names)
        self._component = f"{name}-elements"
        builder.add_spout(name, self._spout, self.get_num_partitions(), config=self._config)
        builder.add_bolt(
            self._component,
            TupleMapBolt,
            self.get_num_partitions(),
            {GlobalStreamId(name, DEFAULT_STREAM): Grouping.SHUFFLE},
            config={FUNCTION: self._mapper},
        )
        return True


class ValueTuplesBolt(Bolt):
    """Makes a tuple of each element."""

    outputs = ["value"]

    def process(self, tup: Any) -> None:
        """Emit and ack."""
        self.emit([tup.values[0]], anchors=[tup])
        self.ack(tup)


class PairTuplesBolt(Bolt):
    """Makes a tuple of each pair."""

    outputs = ["key", "value"]

    def process(self, tup: Any) -> None:
        """Emit and ack."""
        self.emit([*key_and_value(tup.values[0], "to")], anchors=[tup])
        self.ack(tup)


class SinkStreamlet(StageStreamlet):
    """Sink of `to`: a user's bolt, which receives tuples."""

    prefix = "to"

    def __init__(
        self, sink: Any, parallelism: int, is_pair: bool, config: Mapping[str, Any], of: Streamlet
    ) -> None:
        super().__init__(of)
        self._sink, self._sink_config = sink, dict(config)
        self._parallelism = parallelism
        self.bolt = PairTuplesBolt if is_pair else ValueTuplesBolt

    def _add_bolt(self, builder: TopologyBuilder, stage_names: set[str]) -> None:
        super()._add_bolt(builder, stage_names)
        name = f"{self.get_name()}-{self._sink.__name__}"
        source = GlobalStreamId(self._component_name(), DEFAULT_STREAM)
        builder.add_bolt(
            name,
            self._sink,
            self._parallelism,
            {source: Grouping.SHUFFLE},
            config=self._sink_config,
        )


class StreamWindowBolt(WindowedBolt, StreamletBoltBase):
    """Gives the elements of each window to the operations behind it."""

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Window settings, as for any windowed bolt of Storm."""
        try:
            cls._checked(config)
        except TopologyError as error:
            return str(error)
        return None

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Take the operations out of the config."""
        self._run: WindowRun = config[RUN]
        self._sources = [tuple(source) for source in config[SOURCES]]
        self._timestamp = config.get(TIMESTAMP)
        super().initialize(config, context)

    def execute(self, window: TupleWindow) -> None:
        """A stream on both sides of a join has the role of both sides."""
        tuples = window.get()
        parts = [
            [tup.values[0] for tup in tuples if (tup.component, tup.stream) == source]
            for source in self._sources
        ]
        for element in self._run(parts):
            self.emit([element], stream=OUTPUT_STREAM)


class TimedStreamWindowBolt(StreamWindowBolt):
    """Windows by event time; the user's function gives an element's timestamp."""

    def timestamp(self, tup: Any) -> Any:
        """The user's function of the element."""
        assert self._timestamp is not None
        return self._timestamp(tup.values[0])


class StreamWindowStreamlet(StageStreamlet):
    """Output of windows. One partition processes all elements, as Storm's count windows require."""

    prefix = "window"

    def __init__(self, windows: StreamWindows, run: WindowRun, *parents: Streamlet) -> None:
        config = {**windows.config(), RUN: run}
        if windows.timestamp is not None:
            config[TIMESTAMP] = windows.timestamp
        super().__init__(*parents, config=config)
        self.bolt = StreamWindowBolt if windows.timestamp is None else TimedStreamWindowBolt
        self.set_num_partitions(1)

    def _component_config(self) -> dict[str, Any]:
        sources = [[each._component_name(), each._output] for each in self._parents]
        return {**self._config, SOURCES: sources}


class RunningAggregate(KeyedProcess):
    """An aggregate of all elements of a key so far, emitted with each of them."""

    def __init__(self, aggregator: StreamAggregator, is_keyed: bool) -> None:
        self._aggregator, self._is_keyed = aggregator, is_keyed

    def open(self, context: ProcessContext) -> None:
        """Keyed state: survives a restart of the process."""
        self.aggregate = context.value_state("aggregate")

    def process_element(self, element: Any, context: ProcessContext) -> Iterator[Any]:
        """(key, result), or the result of a stream without keys."""
        stored = self.aggregate.get()
        before = self._aggregator.init() if stored is None else stored[0]
        value = element[1] if self._is_keyed else element
        aggregate = self._aggregator.apply(before, value)
        self.aggregate.put((aggregate,))
        result = self._aggregator.result(aggregate)
        yield (context.key, result) if self._is_keyed else result


class StateByKey(KeyedProcess):
    """One state per key. Elements (UPDATE, key, value) change the state; elements (number of a
    query, key, None) read the state; each output names its kind."""

    def __init__(self, updater: KeyStateUpdater) -> None:
        self._updater = updater

    def open(self, context: ProcessContext) -> None:
        """Keyed state: survives a restart of the process."""
        self.stored = context.value_state("state")

    def process_element(self, element: Any, context: ProcessContext) -> Iterator[Any]:
        """(UPDATE or number of a query, key, state)."""
        number, key, value = element
        stored = self.stored.get()
        if number == UPDATE:
            before = self._updater.init() if stored is None else stored[0]
            stored = (self._updater.apply(before, value),)
            self.stored.put(stored)
        yield number, key, None if stored is None else stored[0]
