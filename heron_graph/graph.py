"""A topology as a graph: a node per component, an edge per pair of components joined by streams."""

from dataclasses import dataclass
from typing import Any

from heron_core.config.names import SHELL_COMMAND
from heron_core.number_text import counted
from heron_core.topology import DEFAULT_STREAM, ComponentSpec, InputSpec, TopologySpec

FIELDS_SHOWN = 4
"""Fields shown of a stream: a longer list would dominate the edge's length."""


@dataclass(frozen=True, slots=True)
class ComponentNode:
    """One component: name, class or script, number of instances, spout or bolt."""

    name: str
    implementation: str
    parallelism: int
    is_spout: bool

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines of text below the name."""
        return (self.implementation, counted(self.parallelism, "instance"))


@dataclass(frozen=True, slots=True)
class Edge:
    """All streams from one component to another, each with two lines of text."""

    source: str
    target: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """A topology to draw."""

    name: str
    nodes: tuple[ComponentNode, ...]
    edges: tuple[Edge, ...]


def graph_of(topology: TopologySpec) -> Graph:
    """The topology's components in order, and the edges between the components."""
    nodes = tuple(
        ComponentNode(spec.name, _implementation(spec), spec.parallelism, spec.is_spout)
        for spec in topology.components
    )
    lines: dict[tuple[str, str], list[str]] = {}
    for component in topology.components:
        for entry in component.inputs:
            pair = (entry.component, component.name)
            lines.setdefault(pair, []).extend(_lines(topology, entry))
    edges = tuple(Edge(*pair, tuple(texts)) for pair, texts in lines.items())
    return Graph(topology.name, nodes, edges)


def _implementation(component: ComponentSpec) -> str:
    """Name of the class, or of the script for a component in another language."""
    command: Any = component.config.get(SHELL_COMMAND)
    if isinstance(command, list | tuple) and command:
        return " ".join(str(word).rpartition("/")[2] for word in command)
    return component.class_path.rpartition(".")[2]


def _lines(topology: TopologySpec, entry: InputSpec) -> list[str]:
    source = topology.by_name.get(entry.component)
    stream = source.stream(entry.stream) if source is not None else None
    fields = stream.fields if stream is not None else ()
    listed = _listed(fields)
    if entry.stream != DEFAULT_STREAM:
        listed = f"{entry.stream}: {listed}"
    return [listed, grouping_text(entry)]


def grouping_text(entry: InputSpec) -> str:
    """A grouping in the notation of a topology, such as fields(word)."""
    fields = entry.grouping.fields
    return (
        f"{entry.grouping.kind.value}({_listed(fields)})" if fields else entry.grouping.kind.value
    )


def _listed(fields: tuple[str, ...]) -> str:
    more = ", ..." if len(fields) > FIELDS_SHOWN else ""
    return ", ".join(fields[:FIELDS_SHOWN]) + more
