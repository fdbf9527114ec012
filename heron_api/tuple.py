"""The input tuple of a bolt (heronpy.api.tuple)."""

from collections import namedtuple
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from heron_core.topology import SYSTEM_COMPONENT, TICK_STREAM

Schema = Mapping[tuple[str, str], tuple[str, ...]]
"""(component, stream) -> names of the fields"""

if TYPE_CHECKING:
    from typing import NamedTuple

    class _Items(NamedTuple):
        id: str
        component: str
        stream: str
        task: int | None
        values: Any
else:
    _Items = namedtuple("_Items", "id component stream task values")


class Tuple(_Items):
    """One received tuple: `tup["word"]`, `tup.word`, or `tup.values[0]`.

    `values` is the list of field values in the order of the stream's fields (None for a tick),
    `fields` the list of names. `component` and `stream` name the source, `task` the emitting
    task; `id` is "0" for an untracked tuple. A field with one of these names, or
    `creation_time`, `roots`, `tuple_key`, is read with brackets.
    """

    __slots__ = ()
    schema: ClassVar[Schema] = {}
    """Fields of the possible streams; empty for a tuple created by a test."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, in order; empty for a tick."""
        return type(self).schema.get((self.component, self.stream), ())

    def __getitem__(self, at: Any) -> Any:
        """The value of field `at`; KeyError with the list of fields for an unknown name."""
        if type(at) is not str:
            return tuple.__getitem__(self, at)
        fields = self.fields
        if at not in fields:
            raise KeyError(self.no_field(at))
        return self.values[fields.index(at)]

    if TYPE_CHECKING:
        # A bolt's tuples have an attribute for each field (heron_instance.input.tuples). Were there
        # this method at run time, every access to any attribute would be slower.
        def __getattr__(self, name: str) -> Any: ...

    def no_field(self, name: str) -> str:
        """Message for a name that is not a field of the tuple."""
        from heron_core.validation import choices  # only when something is wrong already

        origin = f"{self.component}.{self.stream}"
        return f"Tuple of {origin} has no field {name!r}; {choices('fields', name, self.fields)}"


class TupleHelper:
    """Template of tick tuples: TICK_TUPLE_ID as id and stream, from the system component."""

    TICK_TUPLE_ID = TICK_STREAM
    TICK_SOURCE_COMPONENT = SYSTEM_COMPONENT
