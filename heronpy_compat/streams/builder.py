"""StreamBuilder (org.apache.storm.streams): sources, and the topology of all streams."""

from collections.abc import Mapping
from typing import Any

from heron_api.topology import TopologyBuilder
from heron_core import config as keys
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.stage import checked_function
from heronpy_compat.streamlet.runner import Runner
from heronpy_compat.streams.mappers import PairValueMapper
from heronpy_compat.streams.stages import SpoutStreamlet
from heronpy_compat.streams.stream import PairStream, Stream, StreamGraph


class StreamBuilder:
    """Makes streams of spouts, or of functions, and of them a topology."""

    def __init__(self) -> None:
        self._graph = StreamGraph()
        self._streamlets = Builder()
        self._is_built = False

    def newStream(
        self,
        source: Any,
        mapper: Any = None,
        parallelism: int = 1,
        config: Mapping[str, Any] | None = None,
    ) -> Any:
        """The default stream of a spout. The mapper converts tuples to elements, by default to the
        first value; a PairValueMapper gives a PairStream. `source` is a spout class, or, as in
        streamlets, a Generator or a function that returns elements; the latter two need no mapper.
        StreamletError for an invalid parallelism, mapper or config."""
        if type(parallelism) is not int or parallelism < 1:
            raise StreamletError(f"newStream: parallelism is a number from 1 on: {parallelism!r}")
        if isinstance(source, type):
            chosen = _first_value if mapper is None else checked_function("newStream", mapper)
            streamlet = self._streamlets.new_source(SpoutStreamlet(source, chosen, config or {}))
        elif mapper is not None or config:
            raise StreamletError("newStream: a mapper and a config are for the class of a spout")
        else:
            streamlet = self._streamlets.new_source(source)
        streamlet.set_num_partitions(parallelism)
        kind = PairStream if isinstance(mapper, PairValueMapper) else Stream
        return kind(self._graph, lambda: streamlet)

    def build(self, topology: TopologyBuilder) -> None:
        """Add a component to `topology` for each stage."""
        self._streamlets_of_all().build(topology)

    def build_and_submit(self, name: str, config: Mapping[str, Any] | None = None) -> None:
        """Submit the topology `name`. As in Storm it is at least once, unless
        `topology.acker.executors` is 0 or `config` says another mode."""
        given = dict(config or {})
        if not {keys.RELIABILITY_MODE, keys.STORM_ACKERS} & given.keys():
            given[keys.RELIABILITY_MODE] = keys.ATLEAST_ONCE
        Runner().run(name, Config(given), self._streamlets_of_all())

    def _streamlets_of_all(self) -> Builder:
        if not self._is_built:
            self._graph.build()
            self._is_built = True
        return self._streamlets


def _first_value(tup: Any) -> Any:
    return tup.values[0]
