"""Definitions of a Flux file as values (Storm: org.apache.storm.flux.model)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heron_core.topology import GroupingKind
from heron_frontends.flux.documents import FilePosition, Located


@dataclass(frozen=True, slots=True)
class Argument:
    """A plain value, or one reference (`ref`) or several (`reflist`) to entries of `components`."""

    position: FilePosition
    value: Any = None
    references: tuple[str, ...] = ()
    is_list: bool = False

    def recipe(self) -> dict[str, Any]:
        """As it stands in a recipe: {"value": …}, {"ref": id} or {"reflist": [ids]}."""
        if self.is_list:
            return {"reflist": list(self.references)}
        return {"ref": self.references[0]} if self.references else {"value": self.value}


@dataclass(frozen=True, slots=True)
class Property:
    """An attribute or setter of an object, with its new value."""

    position: FilePosition
    name: str
    argument: Argument


@dataclass(frozen=True, slots=True)
class ConfigMethod:
    """A method that is called once when the object has been made."""

    position: FilePosition
    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class ObjectDefinition:
    """How to make an object: an entry of `components`, a spout, a bolt, a custom grouping."""

    position: FilePosition
    id: str
    class_name: str
    arguments: tuple[Argument, ...] = ()
    """Arguments of the constructor, or of `factory` if given."""
    factory: str | None = None
    properties: tuple[Property, ...] = ()
    methods: tuple[ConfigMethod, ...] = ()

    def all_arguments(self) -> list[Argument]:
        """Whatever in it may refer to `components`."""
        return [
            *self.arguments,
            *(each.argument for each in self.properties),
            *(argument for each in self.methods for argument in each.arguments),
        ]


@dataclass(frozen=True, slots=True)
class VertexDefinition:
    """A spout or a bolt."""

    object: ObjectDefinition
    is_spout: bool
    parallelism: int = 1
    task_count: int | None = None
    cpu_points: float | None = None
    """Storm's: 100 are one core."""
    heap_mib: float | None = None
    other_memory_mib: float | None = None
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The component's name in the topology."""
        return self.object.id

    @property
    def position(self) -> FilePosition:
        """Position of the definition."""
        return self.object.position

    @property
    def label(self) -> str:
        """As validation and errors call it."""
        return f"{'spout' if self.is_spout else 'bolt'} {self.id!r}"


@dataclass(frozen=True, slots=True)
class StreamDefinition:
    """One connection: the reading bolt, the stream read, and the grouping."""

    position: FilePosition
    source: str
    target: str
    stream: str
    kind: GroupingKind
    fields: tuple[str, ...] = ()
    custom: ObjectDefinition | None = None


@dataclass(frozen=True, slots=True)
class SourceDefinition:
    """`topologySource`: an object, or a function, that makes the whole topology."""

    object: ObjectDefinition
    method: str


@dataclass(frozen=True, slots=True)
class IncludeDefinition:
    """Another file whose definitions are taken over, instead of existing ones if `override`."""

    position: FilePosition
    file: str
    is_resource: bool
    override: bool


@dataclass(slots=True)
class TopologyDefinition:
    """Definitions of a file, including the definitions of merged includes."""

    position: FilePosition
    name: str | None = None
    config: dict[str, Located] = field(default_factory=dict)
    includes: tuple[IncludeDefinition, ...] = ()
    components: dict[str, ObjectDefinition] = field(default_factory=dict)
    vertices: dict[str, VertexDefinition] = field(default_factory=dict)
    streams: list[StreamDefinition] = field(default_factory=list)
    source: SourceDefinition | None = None
    is_herons: bool = False
    """An ECO file of Heron's API, which is at most once by default."""
