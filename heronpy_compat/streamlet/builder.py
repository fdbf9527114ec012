"""Builder: sources of streamlets (heronpy.streamlet.builder)."""

from collections.abc import Callable, Iterable
from typing import Any, overload

from heron_api.topology import TopologyBuilder
from heronpy_compat.streamlet.collection import CollectionStreamlet, collection_of
from heronpy_compat.streamlet.elements import Element
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.generator import Generator
from heronpy_compat.streamlet.impl.clientspout import ClientStreamlet
from heronpy_compat.streamlet.impl.generatorspout import GeneratorStreamlet
from heronpy_compat.streamlet.impl.supplierspout import SupplierStreamlet
from heronpy_compat.streamlet.localstreamlet import LocalChain, LocalStreamlet, Source
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
        self._sources: list[Streamlet[Any]] = []
        self._local_sources: list[tuple[str, Source, LocalChain]] = []

    @overload
    def new_source(self, source: Generator[Element]) -> Streamlet[Element]: ...
    @overload
    def new_source(self, source: Streamlet[Element]) -> Streamlet[Element]: ...
    @overload
    def new_source(self, source: Callable[[], Element | None]) -> Streamlet[Element]: ...
    def new_source(
        self, source: Generator[Any] | Streamlet[Any] | Callable[[], Any]
    ) -> Streamlet[Any]:
        """The streamlet of a source: a Generator, or a function called once per element.

        StopIteration from the function ends the source, like StopIteration from a Generator. A
        streamlet with a source of its own kind (PulsarStreamlet) is added unchanged. RuntimeError
        for any other type.
        """
        streamlet: Streamlet[Any]
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

    def from_collection(self, elements: Iterable[Element]) -> Streamlet[Element]:
        """A streamlet of the elements, in order and once each, in one partition; then the source
        ends. An extension of heronpy's API.

        With checkpoints the source continues at the saved position. RuntimeError for a text, for
        None as an element, or for more than a million elements.
        """
        return self.new_source(CollectionStreamlet(collection_of(elements)))

    def new_local_source(self, source: Source = None, name: str = "source") -> LocalStreamlet[Any]:
        """Elements of the client's process: of an iterable or async iterable, or fed by
        `flow.sources[name].send`. `remote()` leads into the topology; `materialize` runs both.

        RuntimeError for a second source of the name. An extension of heronpy's API.
        """
        if any(name == known for known, _, _ in self._local_sources):
            raise StreamletError(f"two local sources have the name {name!r}: rename one")

        def make_remote(chain: LocalChain) -> Streamlet[Any]:
            self._local_sources.append((name, source, chain))
            return self.new_source(ClientStreamlet(name))

        return LocalStreamlet(LocalChain(make_remote))

    def build(self, bldr: TopologyBuilder) -> None:
        """Add a component to `bldr` for each streamlet; RuntimeError if one cannot be reached."""
        stage_names: set[str] = set()
        for source in self._sources:
            source._build(bldr, stage_names)
        for source in self._sources:
            if not source._all_built():
                raise StreamletError("the topology cannot be built: a source may be missing")
