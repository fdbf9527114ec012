"""Output streams and groupings (heronpy.api.stream)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from heron_api.custom_grouping import ICustomGrouping
from heron_api.errors import WrongArgumentError
from heron_api.serializer import default_serializer
from heron_core.field_types import declared_types
from heron_core.topology import DEFAULT_STREAM, GroupingKind, GroupingSpec
from heron_core.validation import choices


class Stream:
    """An output stream; a plain string in `outputs` is a field of the default stream instead.

        class Words(Spout):
            outputs = ["word", Stream(fields=["reason"], name="errors")]

    Fields may have types, {"reason": "string"}: then each emit is checked (GUIDE.md).

    On a stream with `direct=True` each emit names the task that gets the tuple (`direct_task`),
    and the bolts that read it must use Grouping.DIRECT.
    """

    DEFAULT_STREAM_ID = DEFAULT_STREAM

    def __init__(
        self,
        fields: Iterable[str] | Mapping[str, str] | None = None,
        name: str = DEFAULT_STREAM,
        direct: bool = False,
    ) -> None:
        """Wrong types raise TypeError."""
        if fields is not None and not isinstance(fields, (list, tuple, dict)):
            raise WrongArgumentError(
                "fields of a Stream must be a list or tuple of strings, or a dict of field to "
                f"type, not {fields!r}"
            )
        self.fields = _strings("fields of a Stream", fields or ())
        self.types = field_types(f"Stream {name!r}", fields)
        """Types of the fields; empty if not declared."""
        if not isinstance(name, str):
            raise WrongArgumentError(f"name of a Stream must be a string, not {name!r}")
        self.stream_id = name
        if not isinstance(direct, bool):
            raise WrongArgumentError(f"direct of a Stream must be True or False, not {direct!r}")
        self.direct = direct

    def __repr__(self) -> str:
        return f"Stream(fields={self.fields!r}, name={self.stream_id!r}, direct={self.direct!r})"


Outputs = Sequence[str | Stream] | Mapping[str, str]
"""Declared outputs: fields of the default stream and Streams, or {field: type}."""


def field_types(label: str, fields: Any) -> tuple[str, ...]:
    """The types of {field: type}; empty for a list. WrongArgumentError for an invalid type."""
    if not isinstance(fields, Mapping):
        return ()
    try:
        return declared_types(label, fields)
    except TypeError as error:
        raise WrongArgumentError(str(error)) from None


def _strings(what: str, values: Iterable[Any]) -> list[str]:
    names = list(values)
    for each in names:
        if not isinstance(each, str):
            raise WrongArgumentError(f"{what} must be strings, not {each!r}")
    return names


class FieldGrouping(NamedTuple):
    """Result of `Grouping.fields`.

    Example:

        from heronpy_compat import Grouping

        assert Grouping.fields("word", "day").fields == ["word", "day"]
    """

    gtype: int
    fields: list[str]


class PartialKeyGrouping(NamedTuple):
    """Result of `Grouping.partial_key`.

    Example:

        from heronpy_compat import Grouping

        assert Grouping.partial_key("word").fields == ["word"]
    """

    gtype: int
    fields: list[str]


class CustomGrouping(NamedTuple):
    """Result of `Grouping.custom`.

    Example:

        from heronpy_compat import Grouping
        from heronpy_compat.api.custom_grouping import ICustomGrouping

        class ByParity(ICustomGrouping):
            def prepare(self, context, component, stream, target_tasks):
                self.tasks = target_tasks

            def choose_tasks(self, values):
                return [self.tasks[values[0] % len(self.tasks)]]

        assert isinstance(Grouping.custom(ByParity()), CustomGrouping)
    """

    gtype: int
    python_serialized: bytes


AnyGrouping = int | FieldGrouping | PartialKeyGrouping | CustomGrouping
"""A constant of Grouping, or the result of `Grouping.fields`, `partial_key` or `custom`."""

# Numbers of Heron's proto/topology.proto; 8 and 9 are ours.
_FIELDS = 2
_CUSTOM = 7
_PARTIAL_KEY = 9


class _GroupingNames(type):
    """Suggests the closest name for an unknown attribute of Grouping."""

    if not TYPE_CHECKING:  # a type checker reports the name itself

        def __getattr__(cls, name: str) -> Any:
            if not name.startswith("_"):
                hint = choices("groupings", name, _GROUPING_NAMES)
                raise AttributeError(f"Grouping has no {name!r}; {hint}")
            raise AttributeError(name)


class Grouping(metaclass=_GroupingNames):
    """Groupings: distribution of a stream's tuples over the tasks of the reading bolt.

    SHUFFLE: evenly; LOCAL_OR_SHUFFLE: evenly within the container if possible; ALL: to every
    task; GLOBAL (LOWEST): to the task with the lowest id; NONE: like SHUFFLE; DIRECT: to the
    task named by the emitter; `fields`: equal values to one task; `partial_key`: equal values to
    the less loaded of two tasks; `custom`: chosen by your ICustomGrouping.
    """

    SHUFFLE = 1
    ALL = 3
    LOWEST = 4
    NONE = 5
    DIRECT = 6
    LOCAL_OR_SHUFFLE = 8
    GLOBAL = LOWEST

    FIELDS = FieldGrouping
    PARTIAL_KEY = PartialKeyGrouping
    CUSTOM = CustomGrouping

    @classmethod
    def is_grouping_sane(cls, gtype: object) -> bool:
        """Whether `gtype` can be used in `inputs`."""
        if isinstance(gtype, FieldGrouping):
            return gtype.gtype == _FIELDS and bool(gtype.fields)
        if isinstance(gtype, PartialKeyGrouping):
            return gtype.gtype == _PARTIAL_KEY and bool(gtype.fields)
        if isinstance(gtype, CustomGrouping):
            return gtype.gtype == _CUSTOM and isinstance(gtype.python_serialized, bytes)
        return type(gtype) is int and gtype in _PLAIN_KINDS

    @classmethod
    def fields(cls, *fields: Any) -> FieldGrouping:
        """Tuples with equal values in `fields` (strings, or one list of strings) go to one task.

        TypeError for a field name that is not a string, ValueError without a field.
        """
        return FieldGrouping(_FIELDS, _grouping_fields("fields", fields))

    @classmethod
    def partial_key(cls, *fields: Any) -> PartialKeyGrouping:
        """Like `fields`, but each value has two tasks, and a tuple goes to the less loaded task.

        For skewed keys: a hot key does not overload one task. Aggregations must merge two
        partial results per key (Storm: PartialKeyGrouping).
        """
        return PartialKeyGrouping(_PARTIAL_KEY, _grouping_fields("partial_key", fields))

    @classmethod
    def custom(cls, customgrouper: ICustomGrouping | str) -> CustomGrouping:
        """Grouping by `customgrouper`: an ICustomGrouping or its class path. WrongArgumentError for
        another type."""
        if not isinstance(customgrouper, (ICustomGrouping, str)):
            raise WrongArgumentError(
                "Grouping.custom takes an instance of ICustomGrouping or its class path as a"
                f" string, not {customgrouper!r}"
            )
        return cls.custom_serialized(default_serializer.serialize(customgrouper), is_java=False)

    @classmethod
    def custom_serialized(cls, serialized: bytes, is_java: bool = True) -> CustomGrouping:
        """Like `custom`, for a pickled object; Java objects are not supported. WrongArgumentError
        unless bytes."""
        if not isinstance(serialized, bytes):
            raise WrongArgumentError(f"Grouping.custom_serialized takes bytes, not {serialized!r}")
        if is_java:
            raise NotImplementedError(
                "custom groupings in Java are not supported: use Grouping.custom with an"
                " ICustomGrouping, or is_java=False for a pickled one"
            )
        return CustomGrouping(_CUSTOM, serialized)

    @classmethod
    def custom_object(cls, java_class_name: str, arg_list: list[Any]) -> CustomGrouping:
        """Not supported, in heronpy neither: NotImplementedError."""
        raise NotImplementedError(
            f"custom groupings in Java ({java_class_name}) are not supported: use Grouping.custom"
            " with an ICustomGrouping"
        )


_GROUPING_NAMES = (
    "SHUFFLE", "LOCAL_OR_SHUFFLE", "ALL", "GLOBAL", "LOWEST", "NONE", "DIRECT",
    "fields", "partial_key", "custom",
)  # fmt: skip
_PLAIN_KINDS = {
    Grouping.SHUFFLE: GroupingKind.SHUFFLE,
    Grouping.ALL: GroupingKind.ALL,
    Grouping.LOWEST: GroupingKind.GLOBAL,
    Grouping.NONE: GroupingKind.NONE,
    Grouping.DIRECT: GroupingKind.DIRECT,
    Grouping.LOCAL_OR_SHUFFLE: GroupingKind.LOCAL_OR_SHUFFLE,
}


def _grouping_fields(method: str, fields: tuple[Any, ...]) -> list[str]:
    if len(fields) == 1 and isinstance(fields[0], (list, tuple)):
        fields = tuple(fields[0])
    names = _strings(f"arguments of Grouping.{method}", fields)
    if not names:
        raise WrongArgumentError(
            f'Grouping.{method} needs at least one field, as in {method}("word")'
        )
    return names


def grouping_spec(grouping: Any) -> GroupingSpec:
    """A sane grouping as the core's value."""
    if isinstance(grouping, FieldGrouping):
        return GroupingSpec(GroupingKind.FIELDS, tuple(grouping.fields))
    if isinstance(grouping, PartialKeyGrouping):
        return GroupingSpec(GroupingKind.PARTIAL_KEY, tuple(grouping.fields))
    if isinstance(grouping, CustomGrouping):
        return GroupingSpec(GroupingKind.CUSTOM, custom=grouping.python_serialized)
    return GroupingSpec(_PLAIN_KINDS[grouping])
