"""What the engine keeps in a tuple, whatever class user code sees it as.

A door may have tuples of a class of its own (`tuple_class` of a component, heron_instance/bolt.py):
a subclass of tuple made with `tuple.__new__` from these items, in this order. What the engine asks
of it are `component`, `stream`, `creation_time` and `roots`.
"""

from typing import Any, NamedTuple


class TupleLayout(NamedTuple):
    """The items of a tuple."""

    key: int
    """A random number; 0 when nobody tracks the tuple."""
    component: str
    stream: str
    task: int | None
    values: Any
    creation_time: float
    """When its batch arrived, in seconds on the instance's clock."""
    roots: list[int] | None
    """[root, ack value] for each root in turn; emptied when the tuple is acked or failed."""
