"""From the graph to bolts: operations between repartitionings are merged, as in Storm. Pure.

Two groups of operations are merged into one bolt if all output of the first goes to the second, or
all input of the second comes from the first; tuples passed between bolts without a repartitioning
keep their partition. Operations on one state form one bolt. A spout is a component of its own. Each
connected part of the graph is a batch group with one coordinator.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from heronpy_compat.trident.errors import TridentError
from heronpy_compat.trident.graph import (
    PartitionNode,
    ProcessorNode,
    SpoutNode,
    StreamNode,
    TridentGraph,
)
from heronpy_compat.trident.partitioners import IdentityPartitioner, Partitioner


@dataclass(frozen=True)
class Receiver:
    """An operation that reads a stream, and the index of the stream among its parents."""

    number: int
    parent: int


@dataclass(frozen=True)
class DataStream:
    """Rows from one component to another."""

    name: str
    node: int
    """Number of the node that produces the rows."""
    source: str
    target: str
    group: str
    partitioner: Partitioner
    receivers: tuple[Receiver, ...]


@dataclass(frozen=True)
class ComponentPlan:
    """A spout, or a bolt with its operations."""

    name: str
    parallelism: int
    spout: SpoutNode | None
    nodes: tuple[ProcessorNode, ...]
    """Parents first."""
    inputs: tuple[DataStream, ...]
    outputs: tuple[DataStream, ...]
    groups: tuple[str, ...]
    committing: frozenset[str]
    """Batch groups whose batches the bolt commits."""

    def links(self) -> Mapping[int, tuple[Receiver, ...]]:
        """Node -> operations of the bolt that read the node directly."""
        return {
            node.number: tuple(
                Receiver(child.number, at)
                for child in self.nodes
                for at, parent in enumerate(child.parents)
                if parent is node
            )
            for node in self.nodes
        }

    def upstream(self, group: str) -> frozenset[str]:
        """Components that send rows of a batch group to the component."""
        return frozenset(stream.source for stream in self.inputs if stream.group == group)

    def downstream(self, group: str) -> frozenset[str]:
        """Components that receive rows of a batch group from the component."""
        return frozenset(stream.target for stream in self.outputs if stream.group == group)


@dataclass(frozen=True)
class TridentPlan:
    """All components except the coordinators, one per batch group."""

    components: tuple[ComponentPlan, ...]
    groups: tuple[str, ...]

    def of_group(self, group: str) -> list[ComponentPlan]:
        """The components of a batch group."""
        return [component for component in self.components if group in component.groups]

    def late(self, group: str) -> frozenset[str]:
        """Senders of rows during a commit: committing components and their successors."""
        late: set[str] = set()
        pending = [each for each in self.of_group(group) if group in each.committing]
        while pending:
            component = pending.pop()
            if component.name not in late:
                late.add(component.name)
                targets = component.downstream(group)
                pending.extend(each for each in self.components if each.name in targets)
        return frozenset(late)


class _Sets:
    """Disjoint sets of nodes."""

    def __init__(self, nodes: Iterable[StreamNode]) -> None:
        self._leader = {id(node): node for node in nodes}

    def leader(self, node: StreamNode) -> StreamNode:
        while (next_node := self._leader[id(node)]) is not node:
            node = next_node
        return node

    def join(self, first: StreamNode, second: StreamNode) -> None:
        one, other = self.leader(first), self.leader(second)
        # The older bolt leads, so that names follow the order of the program.
        low, high = sorted((one, other), key=lambda node: node.number)
        self._leader[id(high)] = low


class _Planner:
    def __init__(self, graph: TridentGraph, prefix: str) -> None:
        self.graph = graph
        self.prefix = prefix
        self.bolts = _Sets(graph.nodes)
        self._join_states()
        while self._merged_once():
            pass
        self.names = self._component_names()
        self.groups = self._batch_groups()

    def _join_states(self) -> None:
        by_state: dict[int, ProcessorNode] = {}
        for node in self.graph.processors():
            if node.state is not None:
                self.bolts.join(by_state.setdefault(node.state, node), node)

    def _leaders(self) -> list[StreamNode]:
        return [node for node in self.graph.processors() if self.bolts.leader(node) is node]

    def _members(self, leader: StreamNode) -> list[ProcessorNode]:
        nodes = self.graph.processors()
        return [node for node in nodes if self.bolts.leader(node) is leader]

    def _next_to(self, leader: StreamNode, is_after: bool) -> list[StreamNode | None]:
        """The successors or predecessors of a bolt; None for a node that is not an operation."""
        neighbours: dict[int, StreamNode | None] = {}
        for node in self._members(leader):
            for other in self.graph.children(node) if is_after else node.parents:
                bolt = self.bolts.leader(other) if isinstance(other, ProcessorNode) else None
                if bolt is not leader:
                    neighbours[id(bolt)] = bolt
        return list(neighbours.values())

    def _merged_once(self) -> bool:
        for leader in self._leaders():
            for is_after in (True, False):
                neighbours = self._next_to(leader, is_after)
                if len(neighbours) == 1 and neighbours[0] is not None:
                    self.bolts.join(leader, neighbours[0])
                    return True
        return False

    def _component_names(self) -> dict[int, str]:
        names = {id(spout): f"{self.prefix}spout-{spout.txid}" for spout in self.graph.spouts()}
        for number, leader in enumerate(self._leaders()):
            members = self._members(leader)
            labels = list(dict.fromkeys(node.label for node in members if node.label))
            name = "-".join([f"{self.prefix}b-{number}", *labels])
            names.update((id(node), name) for node in members)
        return names

    def _batch_groups(self) -> dict[int, str]:
        connected = _Sets(self.graph.nodes)
        for node in self.graph.nodes:
            for parent in node.parents:
                connected.join(node, parent)
        groups: dict[int, str] = {}
        for node in self.graph.nodes:
            leader = connected.leader(node)
            group = groups.setdefault(id(leader), f"bg{len(set(groups.values()))}")
            groups[id(node)] = group
        return groups

    def streams(self) -> list[DataStream]:
        """Output streams of a component, one per source, repartitioning and target."""
        receivers: dict[tuple[int, str], list[Receiver]] = {}
        origins: dict[tuple[int, str], tuple[StreamNode, StreamNode, Partitioner]] = {}
        for node in self.graph.processors():
            for at, parent in enumerate(node.parents):
                source, partitioner = _origin(parent)
                target = self.names[id(node)]
                if partitioner is None:
                    if self.names[id(source)] == target:
                        continue
                    partitioner = IdentityPartitioner()
                key = (parent.number, target)
                receivers.setdefault(key, []).append(Receiver(node.number, at))
                origins.setdefault(key, (source, node, partitioner))
        return [
            DataStream(
                f"rows-{parent}-{self.names[id(node)]}",
                source.number,
                self.names[id(source)],
                self.names[id(node)],
                self.groups[id(node)],
                partitioner,
                tuple(receivers[parent, target]),
            )
            for (parent, target), (source, node, partitioner) in origins.items()
        ]


def _origin(parent: StreamNode) -> tuple[StreamNode, Partitioner | None]:
    """The node that supplies a node's rows, and the repartitioning; the last repartitioning
    decides."""
    partitioner = None
    while isinstance(parent, PartitionNode):
        partitioner = partitioner or parent.partitioner
        parent = parent.parents[0]
    return parent, partitioner


def plan_of(graph: TridentGraph, prefix: str = "") -> TridentPlan:
    """The components of a graph; TridentError for an invalid graph."""
    spouts = graph.spouts()
    if not spouts:
        raise TridentError("a Trident topology needs a spout: new_stream(name, spout)")
    planner = _Planner(graph, prefix)
    streams = planner.streams()
    _refuse_circles(streams)
    members: dict[str, list[StreamNode]] = {}
    for node in [*spouts, *graph.processors()]:
        members.setdefault(planner.names[id(node)], []).append(node)
    parallelism = _parallelism(members, streams)
    components = tuple(
        _component(name, nodes, parallelism[name], streams, planner)
        for name, nodes in members.items()
    )
    return TridentPlan(
        components, tuple(dict.fromkeys(planner.groups[id(each)] for each in spouts))
    )


def _component(
    name: str,
    nodes: list[StreamNode],
    parallelism: int,
    streams: list[DataStream],
    planner: _Planner,
) -> ComponentPlan:
    operations = tuple(node for node in nodes if isinstance(node, ProcessorNode))
    return ComponentPlan(
        name,
        parallelism,
        next((node for node in nodes if isinstance(node, SpoutNode)), None),
        operations,
        tuple(stream for stream in streams if stream.target == name),
        tuple(stream for stream in streams if stream.source == name),
        tuple(dict.fromkeys(planner.groups[id(node)] for node in nodes)),
        frozenset(planner.groups[id(node)] for node in operations if node.is_committer),
    )


def _parallelism(
    members: Mapping[str, list[StreamNode]], streams: list[DataStream]
) -> dict[str, int]:
    """Component -> tasks: components whose tuples keep their partition have the same number, the
    highest hint of theirs, below the lowest maximum of their spouts."""
    tied = {name: {name} for name in members}
    for stream in streams:
        if isinstance(stream.partitioner, IdentityPartitioner):
            together = tied[stream.source] | tied[stream.target]
            tied.update((name, together) for name in together)
    numbers = {}
    for name, together in tied.items():
        nodes = [node for other in together for node in members[other]]
        number = max([1, *(node.parallelism for node in nodes if node.parallelism)])
        limits = [node.parallelism_max for node in nodes if isinstance(node, SpoutNode)]
        numbers[name] = min([number, *(limit for limit in limits if limit)])
    return numbers


def _refuse_circles(streams: list[DataStream]) -> None:
    """TridentError if a component would wait for its own rows, e.g. a query of a state updated by
    the batch in progress after a repartitioning."""
    readers: dict[str, set[str]] = {}
    for stream in streams:
        readers.setdefault(stream.source, set()).add(stream.target)
    for name in readers:
        reached, open_names = set[str](), list(readers[name])
        while open_names:
            following = open_names.pop()
            if following not in reached:
                reached.add(following)
                open_names.extend(readers.get(following, ()))
        if name in reached:
            raise TridentError(
                f"{name} would wait for its own tuples: the stream that updates a state cannot "
                "query the state after a repartitioning"
            )
