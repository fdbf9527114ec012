"""Local parts of a graph: operations of a client's process, as asyncio generators.

    typed = builder.new_local_source()                   # local: fed by flow.source.send
    words = typed.map(str.lower).remote()                # from here on in the topology
    counts = words.flat_map(str.split).group_by(same).count().local()   # in the client again
    busy = counts.filter(lambda pair: pair[1] > 10)      # read by flow.sink

`materialize` (materializer.py) runs both.
"""

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic

from heronpy_compat.streamlet.elements import Element
from heronpy_compat.streamlet.errors import StreamletError

if TYPE_CHECKING:
    from heronpy_compat.streamlet.streamlet import Streamlet

Step = Callable[[AsyncIterator[Any]], AsyncIterator[Any]]
MakeRemote = Callable[["LocalChain"], "Streamlet[Any]"]


class LocalChain:
    """The local operations at one end of a graph, in order."""

    def __init__(self, make_remote: MakeRemote | None = None) -> None:
        self.steps: list[Step] = []
        self.make_remote = make_remote
        """Of a source's chain; None for the chain behind a sink."""
        self.is_closed = False

    def generator(self, elements: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The elements that leave the chain."""
        for step in self.steps:
            elements = step(elements)
        return elements


class LocalStreamlet(Generic[Element]):
    """A stream of elements in the client's process. Each has one reader."""

    def __init__(self, chain: LocalChain) -> None:
        self._chain = chain
        self._length = len(chain.steps)

    def map(self, function: Callable[[Element], Any]) -> "LocalStreamlet[Any]":
        """The function's result for each element; the function may be a coroutine."""
        return self._then("map", lambda elements: _mapped(elements, function), function)

    def flat_map(self, function: Callable[[Element], Any]) -> "LocalStreamlet[Any]":
        """The items of the function's result, which is an iterable."""
        return self._then("flat_map", lambda elements: _flattened(elements, function), function)

    def filter(self, function: Callable[[Element], Any]) -> "LocalStreamlet[Element]":
        """The elements for which the function returns a true value."""
        return self._then("filter", lambda elements: _filtered(elements, function), function)

    def through(
        self, generator_function: Callable[[AsyncIterator[Element]], AsyncIterator[Any]]
    ) -> "LocalStreamlet[Any]":
        """The elements that an async generator makes of these: `async def f(elements)` with
        `async for` and `yield`."""
        if not inspect.isasyncgenfunction(generator_function):
            raise StreamletError(
                f"through takes an `async def` with `yield`, not {generator_function!r}"
            )
        return self._then("through", generator_function, generator_function)

    def remote(self) -> "Streamlet[Element]":
        """The streamlet of these elements in the topology; only in front of the topology."""
        if self._chain.make_remote is None:
            raise StreamletError(
                "a local part behind the topology cannot lead back into it: give the graph another"
                " local source, and `await flow.sources[NAME].send(row)` in the loop over flow.sink"
            )
        self._check_reader("remote")
        self._chain.is_closed = True
        return self._chain.make_remote(self._chain)

    def _then(self, what: str, step: Step, function: Any) -> "LocalStreamlet[Any]":
        if not callable(function):
            raise StreamletError(f"{what} takes a function, not {function!r}")
        self._check_reader(what)
        self._chain.steps.append(step)
        return LocalStreamlet(self._chain)

    def _check_reader(self, what: str) -> None:
        if self._chain.is_closed or self._length != len(self._chain.steps):
            raise StreamletError(
                f"{what}: the local streamlet has a reader already: continue with the streamlet"
                " that the first operation returned"
            )


async def _value(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


async def _mapped(
    elements: AsyncIterator[Any], function: Callable[[Any], Any]
) -> AsyncIterator[Any]:
    async for element in elements:
        yield await _value(function(element))


async def _flattened(
    elements: AsyncIterator[Any], function: Callable[[Any], Any]
) -> AsyncIterator[Any]:
    async for element in elements:
        for item in await _value(function(element)):
            yield item


async def _filtered(
    elements: AsyncIterator[Any], function: Callable[[Any], Any]
) -> AsyncIterator[Any]:
    async for element in elements:
        if await _value(function(element)):
            yield element


Source = AsyncIterable[Any] | Iterable[Any] | None


async def elements_of(source: AsyncIterable[Any] | Iterable[Any]) -> AsyncIterator[Any]:
    """The elements of either kind of iterable."""
    if isinstance(source, AsyncIterable):
        async for element in source:
            yield element
    else:
        for element in source:
            yield element
