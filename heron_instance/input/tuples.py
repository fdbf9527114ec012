"""The tuple class of user code: the API's Tuple with fields of the engine."""

from functools import lru_cache, partial
from typing import Any

from heron_api.tuple import Schema, Tuple
from heron_core.native import roots_item
from heron_core.plans import PackingPlan
from heron_core.topology import SYSTEM_COMPONENT, TICK_STREAM, TopologySpec
from heron_frontends.adapters.tuple_layout import FromItems, Items, TupleLayout

_items = vars(Items)


class EngineTuple(FromItems, Tuple):
    """A Tuple made from the items of `tuple_layout`; its id is made only when asked for."""

    __slots__ = ()

    tuple_key = _items["tuple_key"]
    creation_time = _items["creation_time"]
    roots = roots_item(_items["roots"])

    @property
    def id(self) -> str:
        """The tuple's id, "0" when it is not anchored (heronpy)."""
        return "0" if self.roots is None else str(self.tuple_key)

    def __repr__(self) -> str:
        shown = ("id", "component", "stream", "task", "values")
        return f"Tuple({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def _replace(self, **changes: Any) -> Any:
        return type(self)(TupleLayout(tuple(self))._replace(**changes))

    def __reduce__(self) -> Any:
        """The class is created at the receiver, so the tuple is pickled with its field names."""
        return _remade, (tuple(self), self.fields)


EngineTuple.__name__ = EngineTuple.__qualname__ = Tuple.__name__


_RESERVED = frozenset(dir(EngineTuple)) - {"count", "index"}
"""Names of a tuple's own, which win over fields; methods of Python's tuples do not."""


def schema_of(topology: TopologySpec, packing: PackingPlan, task: int) -> Schema:
    """The fields of the streams that the component of `task` reads."""
    inputs = topology.by_name[packing.instances[task].component].inputs
    streams = {(each.component, each.stream): topology.by_name[each.component] for each in inputs}
    return {
        (name, stream): found.fields
        for (name, stream), source in streams.items()
        if (found := source.stream(stream)) is not None
    }


def tuple_class(schema: Schema) -> type[EngineTuple]:
    """The tuple class of one bolt, with the fields of the input streams.

    A field is an attribute of the class, so unread fields cost nothing.
    """
    names = {name for fields in schema.values() for name in fields}
    members: dict[str, Any] = {name: _field(name) for name in names if name not in _RESERVED}
    members |= {"__slots__": (), "schema": schema}
    if len(schema) == 1:
        (fields,) = schema.values()
        for position, name in enumerate(fields):
            if name not in _RESERVED:
                members[name] = property(_reader(position))
        members["__getitem__"] = _getitem_of_one_stream(fields)
    return type(Tuple.__name__, (EngineTuple,), members)


def _field(name: str) -> property:
    def value(self: Tuple) -> Any:
        try:
            return self[name]
        except KeyError:
            method = getattr(tuple, name, None)
            if method is None:
                raise AttributeError(self.no_field(name)) from None
            return partial(method, self)

    return property(value)


def _reader(position: int) -> Any:
    return lambda self: self.values[position]


def _getitem_of_one_stream(fields: tuple[str, ...]) -> Any:
    """As Tuple's, in a quarter of the time."""
    positions = {name: position for position, name in enumerate(fields)}
    general = Tuple.__getitem__

    def getitem(self: Tuple, at: Any) -> Any:
        try:
            return self.values[positions[at]]
        except (KeyError, TypeError):  # no field, a number or a slice; a tick has no values
            return general(self, at)

    return getitem


def _remade(items: tuple[Any, ...], fields: tuple[str, ...]) -> EngineTuple:
    found: EngineTuple = _class_of(items[1], items[2], fields)(items)
    return found


@lru_cache
def _class_of(component: str, stream: str, fields: tuple[str, ...]) -> type[EngineTuple]:
    return tuple_class({(component, stream): fields})


def tick_tuple(now: float) -> EngineTuple:
    """A tick (heron: id and stream "__tick", component "__system", no values)."""
    tick: EngineTuple = EngineTuple((0, SYSTEM_COMPONENT, TICK_STREAM, None, None, now, None))
    return tick
