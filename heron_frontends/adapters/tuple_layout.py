"""What the engine keeps in a tuple, whatever class user code sees it as.

An adapter may have tuples of a class of its own (`EngineBolt.tuple_class`, heron_core.component):
a class that is made from an iterable of these items, in this order. What the engine asks of it are
`tuple_key`, `component`, `stream`, `creation_time` and `roots`.
"""

from typing import Any, NamedTuple

from heron_core.native import roots_item


class FromItems(tuple[Any, ...]):
    """First base of a namedtuple that is made from one iterable, as `tuple` is.

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
    """A number that no other tuple of this process has; 0 when nobody tracks the tuple."""
    component: str
    stream: str
    task: int | None
    values: Any
    creation_time: float
    """When its batch arrived, in seconds on the instance's clock."""
    roots: list[int] | None
    """[root, ack value] for each root in turn; emptied when the tuple is acked or failed. Tuples
    that share an edge share it (heron_instance.input.anchors)."""


class TupleLayout(FromItems, Items):
    """A tuple with these items, made from an iterable of them."""

    __slots__ = ()

    roots = roots_item(vars(Items)["roots"])
