"""What a drawing of a topology says: a box for each component, an arrow for each pair of them."""

import os
from dataclasses import dataclass
from typing import Any

from heron_core.topology import ComponentSpec, InputSpec, TopologySpec

SHELL_COMMAND = "heronpy.shell.command"
"""Key of a multi-lang component's config: [program, argument, …]."""
FIELDS_SHOWN = 4
"""More of a stream's fields would make its arrow longer than anything else."""


@dataclass(frozen=True, slots=True)
class Box:
    """One component: its name, what it is made of, how many instances, spout or bolt."""

    name: str
    made_of: str
    parallelism: int
    is_spout: bool

    @property
    def lines(self) -> tuple[str, ...]:
        """What is told of it below its name."""
        instances = "instance" if self.parallelism == 1 else "instances"
        return (self.made_of, f"{self.parallelism} {instances}")


@dataclass(frozen=True, slots=True)
class Arrow:
    """All streams from one component to another, each with two lines of text."""

    source: str
    target: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """A topology to draw."""

    name: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def graph_of(topology: TopologySpec) -> Graph:
    """The topology's boxes in order, and its arrows."""
    boxes = tuple(
        Box(each.name, _made_of(each), each.parallelism, each.is_spout)
        for each in topology.components
    )
    lines: dict[tuple[str, str], list[str]] = {}
    for component in topology.components:
        for each in component.inputs:
            pair = (each.component, component.name)
            lines.setdefault(pair, []).extend(_lines(topology, each))
    arrows = tuple(Arrow(*pair, tuple(found)) for pair, found in lines.items())
    return Graph(topology.name, boxes, arrows)


def _made_of(component: ComponentSpec) -> str:
    """Its class, or its script if it is of another language."""
    command: Any = component.config.get(SHELL_COMMAND)
    if isinstance(command, list | tuple) and command:
        return " ".join(os.path.basename(str(each)) for each in command)
    return component.class_path.rpartition(".")[2]


def _lines(topology: TopologySpec, entry: InputSpec) -> list[str]:
    source = topology.by_name.get(entry.component)
    stream = source.stream(entry.stream) if source is not None else None
    fields = stream.fields if stream is not None else ()
    return [f"{entry.stream}: {_listed(fields)}", grouping_text(entry)]


def grouping_text(entry: InputSpec) -> str:
    """A grouping as it is written in a topology, such as fields(word)."""
    fields = entry.grouping.fields
    return (
        f"{entry.grouping.kind.value}({_listed(fields)})" if fields else entry.grouping.kind.value
    )


def _listed(fields: tuple[str, ...]) -> str:
    more = ", ..." if len(fields) > FIELDS_SHOWN else ""
    return ", ".join(fields[:FIELDS_SHOWN]) + more
