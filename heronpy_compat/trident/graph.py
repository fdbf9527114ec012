"""A Trident topology as a graph: spouts, operations, and the repartitionings between them. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from heronpy_compat.trident.errors import TridentError
from heronpy_compat.trident.partitioners import IdentityPartitioner, Partitioner
from heronpy_compat.trident.tuples import Names


@dataclass(eq=False)
class StreamNode:
    """Source of a stream."""

    number: int
    fields: Names
    parents: "tuple[StreamNode, ...]" = ()
    parallelism: int | None = None
    """Value of `parallelism_hint`."""
    label: str = ""
    """As `name` says."""


@dataclass(eq=False)
class SpoutNode(StreamNode):
    """A spout."""

    txid: str = ""
    """The spout's name, the key of its stored metadata."""
    spout: Any = None
    parallelism_max: int | None = None


@dataclass(eq=False)
class ProcessorNode(StreamNode):
    """An operation, executed by the processor (execution/processors.py)."""

    processor: Any = None
    state: int | None = None
    """Number of the state updated or read; the state's bolt runs the operation."""
    is_committer: bool = False
    """Whether the operation runs at the batch's commit."""


@dataclass(eq=False)
class PartitionNode(StreamNode):
    """A repartitioning of one parent."""

    partitioner: Partitioner = field(default_factory=IdentityPartitioner)


class TridentGraph:
    """The nodes in order of creation: parents first."""

    def __init__(self) -> None:
        self.nodes: list[StreamNode] = []

    @property
    def next_number(self) -> int:
        """The number of the next node."""
        return len(self.nodes)

    def add(self, node: StreamNode) -> StreamNode:
        """Add a node, whose parents are in the graph."""
        for parent in node.parents:
            if parent not in self.nodes:
                raise TridentError("streams of two topologies cannot be combined")
        self.nodes.append(node)
        return node

    def children(self, node: StreamNode) -> Iterator[StreamNode]:
        """The readers of a node, once each."""
        return (other for other in self.nodes if node in other.parents)

    def connected(self, node: StreamNode) -> list[StreamNode]:
        """The node's connected component, in both directions."""
        reached = {id(node)}
        grows = True
        while grows:
            before = len(reached)
            for other in self.nodes:
                around = {id(other), *map(id, other.parents)}
                if around & reached:
                    reached |= around
            grows = len(reached) > before
        return [other for other in self.nodes if id(other) in reached]

    def spouts(self) -> list[SpoutNode]:
        """All spouts."""
        return [node for node in self.nodes if isinstance(node, SpoutNode)]

    def processors(self) -> list[ProcessorNode]:
        """All operations, parents first."""
        return [node for node in self.nodes if isinstance(node, ProcessorNode)]
