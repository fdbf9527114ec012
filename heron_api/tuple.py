"""The input tuple of a bolt (heronpy.api.tuple)."""

from collections import namedtuple
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from heron_core.topology import SYSTEM_COMPONENT, TICK_STREAM

Schema = Mapping[tuple[str, str], tuple[str, ...]]
"""(component, stream) -> names of the fields"""

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    # The named tuple as type checkers see it, without being a tuple: a checker ignores the
    # __getitem__ of a tuple's class, and `count: int` would clash with tuple.count.
    class _Items:
        def __new__(
            cls,
            id: str,  # noqa: A002
            component: str,
            stream: str,
            task: int | None,
            values: Any,
        ) -> Self: ...
        @property
        def id(self) -> str: ...
        @property
        def component(self) -> str: ...
        @property
        def stream(self) -> str: ...
        @property
        def task(self) -> int | None: ...
        @property
        def values(self) -> Any: ...

        _fields: ClassVar[tuple[str, ...]]

        def _replace(self, **changes: Any) -> Self: ...
        def _asdict(self) -> dict[str, Any]: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __len__(self) -> int: ...
else:
    _Items = namedtuple("_Items", "id component stream task values")


class Row(_Items):
    """Base of declared rows: the fields of a stream with their types, for editors and checkers.

        class Click(Row):
            page: str
            time_ms: int

        class Total(Bolt[Click]):
            def process(self, tup):  # of type Click
                self.emit([tup.page.lower(), tup.time_ms // 1000])

    A declared row has the fields of its class and of a Tuple, so a misspelt field is an error
    before the topology runs. Rows are not created: the engine's tuples are Tuples, whatever row a
    bolt declares, and values are checked by the declared types of the stream alone.
    `heronpy types` writes the rows of a topology, brackets included.
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
            return tuple.__getitem__(self, at)  # type: ignore[call-overload]
        fields = self.fields
        if at not in fields:
            raise KeyError(self.no_field(at))
        return self.values[fields.index(at)]

    def no_field(self, name: str) -> str:
        """Message for a name that is not a field of the tuple."""
        from heron_core.validation import choices  # only when something is wrong already

        origin = f"{self.component}.{self.stream}"
        return f"Tuple of {origin} has no field {name!r}; {choices('fields', name, self.fields)}"


class Tuple(Row):
    """One received tuple: `tup["word"]`, `tup.word`, or `tup.values[0]`.

    `values` is the list of field values in the order of the stream's fields (None for a tick),
    `fields` the list of names. `component` and `stream` name the source, `task` the emitting
    task; `id` is "0" for an untracked tuple. A field with one of these names, or
    `creation_time`, `roots`, `tuple_key`, is read with brackets.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        # A bolt's tuples have an attribute for each field (heron_instance.input.tuples). At run
        # time this method would delay each access to an attribute.
        def __getattr__(self, name: str) -> Any: ...


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    ReadRow = TypeVar("ReadRow", bound=Row, default=Tuple)
    """The row that a bolt reads; a Tuple of any fields unless declared."""
else:
    from typing import TypeVar

    ReadRow = TypeVar("ReadRow")  # a default needs Python 3.13


class TupleHelper:
    """Template of tick tuples: TICK_TUPLE_ID as id and stream, from the system component.

    Example:

        def is_tick(tup):
            return tup.stream == TupleHelper.TICK_TUPLE_ID
    """

    TICK_TUPLE_ID = TICK_STREAM
    TICK_SOURCE_COMPONENT = SYSTEM_COMPONENT
