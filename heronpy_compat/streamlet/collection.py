"""from_collection: a finite in-memory source; an extension of heronpy's API."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Self

from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.generator import Generator
from heronpy_compat.streamlet.impl.generatorspout import GeneratorStreamlet

ELEMENTS_MAX = 1_000_000
"""Elements travel inside of the topology, to every container: more of them belong into a file. The
limit also ends a collection without end (itertools.count)."""


class Collection(Generator):
    """The elements in order, once each; the position is the index of the next element.

    The first partition has all elements: a second partition, added by an update, starts without
    state and could not determine the elements already emitted.
    """

    def __init__(self, elements: tuple[Any, ...]) -> None:
        self._elements = elements
        self._next = 0

    def setup(self, context: Context) -> None:
        """Start at the first element."""
        self._next = 0 if context.get_partition_index() == 0 else len(self._elements)

    def get(self) -> Any:
        """The next element; StopIteration after the last element."""
        if self._next >= len(self._elements):
            raise StopIteration
        element = self._elements[self._next]
        self._next += 1
        return element

    def position(self) -> int:
        """Number of emitted elements."""
        return self._next

    def seek(self, position: int) -> None:
        """Continue after `position` elements."""
        self._next = position


class CollectionStreamlet(GeneratorStreamlet):
    """Result of `Builder.from_collection`."""

    prefix = "collection"

    def set_num_partitions(self, num_partitions: int) -> Self:
        """Accept one partition; StreamletError for any other number."""
        if num_partitions != 1:
            raise StreamletError(
                "a collection has one partition: spread its elements by "
                f"repartition({num_partitions})"
            )
        return self


def collection_of(elements: Iterable[Any]) -> Collection:
    """A Collection; StreamletError for a text, for None as an element (a Generator's "nothing
    now"), and for more than ELEMENTS_MAX elements."""
    if isinstance(elements, str | bytes) or not isinstance(elements, Iterable):
        raise StreamletError(
            f"from_collection takes a list of elements or another iterable, not {elements!r}"
        )
    kept = tuple(islice(elements, ELEMENTS_MAX + 1))
    if len(kept) > ELEMENTS_MAX:
        raise StreamletError(
            f"from_collection takes at most {ELEMENTS_MAX} elements: use new_source with a "
            "Generator for more"
        )
    if any(each is None for each in kept):
        raise StreamletError(
            f"from_collection: element {kept.index(None)} is None, which an element cannot be"
        )
    return Collection(kept)
