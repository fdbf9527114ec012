"""Flow along the edges of a topology, and the slowest path of tuples."""

from collections.abc import Mapping

from heron_core.stats import ComponentStats
from heron_core.topology import TopologySpec
from heron_graph.graph import graph_of
from heron_graph.layers import layers_of

Edge = tuple[str, str]


def edges_of(spec: TopologySpec) -> tuple[Edge, ...]:
    """Each pair of components that streams join, once."""
    found = {
        (entry.component, component.name): None
        for component in spec.components
        for entry in component.inputs
        if entry.component in spec.by_name
    }
    return tuple(found)


def flows(spec: TopologySpec, components: Mapping[str, ComponentStats]) -> dict[Edge, float]:
    """edge -> estimated tuples per second: the reader's executed tuples, divided over its
    sources by their output, because edges are not counted separately."""
    edges = edges_of(spec)
    rates: dict[Edge, float] = {}
    for source, target in edges:
        emitted = {name: _emitted(components, name) for name, each in edges if each == target}
        total = sum(emitted.values())
        part = emitted[source] / total if total else 1 / len(emitted)
        reader = components.get(target)
        rates[source, target] = part * (reader.executed_per_sec if reader is not None else 0.0)
    return rates


def _emitted(components: Mapping[str, ComponentStats], name: str) -> float:
    found = components.get(name)
    return found.emitted_per_sec if found is not None else 0.0


def stay_ms(component: ComponentStats) -> float:
    """Time of a tuple in a component: queueing plus processing."""
    if component.type == "spout":
        return 0.0
    worked = component.latency.process.mean_ms or component.latency.execute.mean_ms or 0.0
    return component.queue_secs * 1000 + worked


def critical_path(
    spec: TopologySpec, components: Mapping[str, ComponentStats]
) -> tuple[tuple[str, ...], float]:
    """The path on which a tuple takes longest, and how long in milliseconds. Edges that close a
    cycle do not count."""
    layers = layers_of(graph_of(spec))
    before: dict[str, list[str]] = {}
    for source, target in layers.paths:
        before.setdefault(target, []).append(source)
    longest: dict[str, tuple[tuple[str, ...], float]] = {}
    for name in (name for column in layers.columns for name in column):
        if name not in spec.by_name:  # a waypoint
            continue
        ways = [longest[source] for source in before.get(name, ())]
        path, stay = max(ways, key=lambda way: way[1], default=((), 0.0))
        own = stay_ms(components[name]) if name in components else 0.0
        longest[name] = ((*path, name), stay + own)
    return max(longest.values(), key=lambda way: way[1], default=((), 0.0))
