"""Where streamlets begin (heronpy.streamlet.builder)."""

from collections.abc import Callable, Iterable
from typing import Any

from heron_api.topology import TopologyBuilder
from heronpy_compat.streamlet.collection import CollectionStreamlet, collection_of
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.generator import Generator
from heronpy_compat.streamlet.impl.generatorspout import GeneratorStreamlet
from heronpy_compat.streamlet.impl.supplierspout import SupplierStreamlet
from heronpy_compat.streamlet.streamlet import Streamlet


class Builder:
    """Makes sources, and of them and what was derived from them a topology.

    Example:

        builder = Builder()
        builder.new_source(lambda: "hello world").flat_map(str.split).map(
            lambda word: (word, 1)
        ).reduce_by_key_and_window(
            WindowConfig.create_tumbling_window(10), lambda left, right: left + right
        ).log()
        Runner().run("WordCount", Config(), builder)
    """

    def __init__(self) -> None:
        self._sources: list[Streamlet] = []

    def new_source(self, source: Generator | Streamlet | Callable[[], Any]) -> Streamlet:
        """The streamlet of what `source` gives: a Generator, or a function called for each element.

        A function that raises StopIteration ends the source, as a Generator does. A streamlet that
        is a source of its own kind (PulsarStreamlet) is added as it is. RuntimeError for anything
        else.
        """
        streamlet: Streamlet
        if isinstance(source, Generator):
            streamlet = GeneratorStreamlet(source)
        elif isinstance(source, Streamlet):
            streamlet = source
        elif callable(source):
            streamlet = SupplierStreamlet(source)
        else:
            raise StreamletError(f"a source must be a Generator or a function, not {source!r}")
        self._sources.append(streamlet)
        return streamlet

    def from_collection(self, elements: Iterable[Any]) -> Streamlet:
        """The streamlet of these elements, each once, in order, in one partition; then the source
        ends. heronpy has none.

        With checkpoints the source continues where it was. RuntimeError for a text, None among
        the elements, or more than a million of them.
        """
        return self.new_source(CollectionStreamlet(collection_of(elements)))

    def build(self, bldr: TopologyBuilder) -> None:
        """Add a component to `bldr` for each streamlet; RuntimeError if one cannot be reached."""
        stage_names: set[str] = set()
        for source in self._sources:
            source._build(bldr, stage_names)
        for source in self._sources:
            if not source._all_built():
                raise StreamletError("the topology cannot be built: a source may be missing")
