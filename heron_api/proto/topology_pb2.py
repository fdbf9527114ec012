"""The messages and enums of heronpy.proto.topology_pb2, as plain Python objects.

Supported, as in heronpy's generated classes: isinstance, enum `Value` and `Name`, reading and
writing attributes, iterating repeated fields, `HasField`, comparison. Messages are not
serialised: a topology's definition is stored as JSON (heron_core.topology), so SerializeToString
is absent. Names and numbers are those of Heron's heron/proto/topology.proto.
"""

from dataclasses import dataclass, field, fields


class _Enum:
    """Like protobuf's EnumTypeWrapper: maps names to numbers and back."""

    def __init__(self, name: str, numbers: dict[str, int]) -> None:
        self._name = name
        self._numbers = numbers

    def Value(self, name: str) -> int:  # noqa: N802 (protobuf's name)
        """The number of `name`; ValueError for an unknown name."""
        try:
            return self._numbers[name]
        except KeyError:
            raise ValueError(f"enum {self._name} has no value called {name!r}") from None

    def Name(self, number: int) -> str:  # noqa: N802 (protobuf's name)
        """The name of `number`; ValueError for an unknown number."""
        for name, known in self._numbers.items():
            if known == number:
                return name
        raise ValueError(f"enum {self._name} has no name for {number!r}")

    def keys(self) -> list[str]:
        """All names."""
        return list(self._numbers)

    def values(self) -> list[int]:
        """All numbers."""
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        """All names with their numbers."""
        return list(self._numbers.items())


def _enum(name: str, *names: str) -> _Enum:
    """An enum that counts from 1; as in protobuf, values are also constants of the module."""
    numbers = {each: number for number, each in enumerate(names, 1)}
    globals().update(numbers)
    return _Enum(name, numbers)


Grouping = _enum("Grouping", "SHUFFLE", "FIELDS", "ALL", "LOWEST", "NONE", "DIRECT", "CUSTOM")
Type = _enum("Type", "OBJECT")
ComponentObjectSpec = _enum(
    "ComponentObjectSpec",
    "JAVA_CLASS_NAME",
    "JAVA_SERIALIZED_OBJECT",
    "PYTHON_CLASS_NAME",
    "CPP_CLASS_INFO",
)
CustomGroupingObjectType = _enum("CustomGroupingObjectType", "JAVA_OBJECT", "PYTHON_OBJECT")
ConfigValueType = _enum(
    "ConfigValueType", "STRING_VALUE", "JAVA_SERIALIZED_VALUE", "PYTHON_SERIALIZED_VALUE"
)
TopologyState = _enum("TopologyState", "RUNNING", "PAUSED", "KILLED")


class _Message:
    """Base class of messages."""

    def HasField(self, name: str) -> bool:  # noqa: N802 (protobuf's name)
        """Whether the field `name` is set; ValueError if it is repeated or unknown."""
        known = {each.name for each in fields(self)}  # type: ignore[arg-type]
        value = getattr(self, name, None)
        if name not in known or isinstance(value, list):
            raise ValueError(f"{type(self).__name__} has no single field {name!r}")
        return value is not None


@dataclass
class StreamId(_Message):
    """A stream, given by its name and the emitting component."""

    id: str = ""
    component_name: str = ""


@dataclass
class _KeyType(_Message):
    key: str = ""
    type: int = 1


@dataclass
class StreamSchema(_Message):
    """The fields of a stream."""

    keys: list[_KeyType] = field(default_factory=list)

    KeyType = _KeyType


@dataclass
class OutputStream(_Message):
    """An output stream of a component."""

    stream: StreamId = field(default_factory=StreamId)
    schema: StreamSchema = field(default_factory=StreamSchema)


@dataclass
class InputStream(_Message):
    """An input stream of a bolt, with its grouping."""

    stream: StreamId = field(default_factory=StreamId)
    gtype: int = 1
    grouping_fields: StreamSchema | None = None
    custom_grouping_object: bytes | None = None
    type: int | None = None


@dataclass
class _KeyValue(_Message):
    key: str = ""
    value: str | None = None
    serialized_value: bytes | None = None
    type: int | None = None


@dataclass
class Config(_Message):
    """Keys with their values: scalars as strings, the rest serialised."""

    kvs: list[_KeyValue] = field(default_factory=list)

    KeyValue = _KeyValue


@dataclass
class Component(_Message):
    """Common part of spouts and bolts."""

    name: str = ""
    class_name: str | None = None
    serialized_object: bytes | None = None
    config: Config = field(default_factory=Config)
    spec: int | None = None


@dataclass
class Spout(_Message):
    """A spout and its output streams."""

    comp: Component = field(default_factory=Component)
    outputs: list[OutputStream] = field(default_factory=list)


@dataclass
class Bolt(_Message):
    """A bolt, its input streams and its output streams."""

    comp: Component = field(default_factory=Component)
    inputs: list[InputStream] = field(default_factory=list)
    outputs: list[OutputStream] = field(default_factory=list)


@dataclass
class Topology(_Message):
    """A whole topology."""

    id: str = ""
    name: str = ""
    spouts: list[Spout] = field(default_factory=list)
    bolts: list[Bolt] = field(default_factory=list)
    state: int | None = None
    topology_config: Config | None = None
