"""Layout of a tuple for the engine, under any class that user code sees.

An adapter may have a tuple class of its own (`EngineBolt.tuple_class`, heron_core.component),
constructed from an iterable of these items in this order. The engine reads the attributes
`tuple_key`, `component`, `stream`, `creation_time` and `roots`.
"""

from typing import Any, NamedTuple

from heron_core.native import roots_item


class FromItems(tuple[Any, ...]):
    """First base of a namedtuple constructed from one iterable, like `tuple`.

    No Python code runs then: a namedtuple's own constructor takes twice the time, and so does
    calling `tuple.__new__` with the class.
    """

    __slots__ = ()
    __new__ = tuple.__new__

    def __getnewargs__(self) -> Any:
        return (tuple(self),)


class Items(NamedTuple):
    """The items of a tuple."""

    tuple_key: int
    """A number unique in the process; 0 for an untracked tuple."""
    component: str
    stream: str
    task: int | None
    values: Any
    creation_time: float
    """When its batch arrived, in seconds on the instance's clock."""
    roots: list[int] | None
    """[root, ack value] for each root in turn; emptied by the ack or fail of the tuple. Tuples of
    one edge share the list (heron_instance.input.anchors).
    """


class TupleLayout(FromItems, Items):
    """A tuple of these items, constructed from an iterable."""

    __slots__ = ()

    roots = roots_item(vars(Items)["roots"])
