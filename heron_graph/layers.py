"""Layers of a graph (Sugiyama's method): cycle removal, layer assignment, crossing reduction.

A layer is a column. Spouts are in the first, a bolt is one column after the last of its sources
(longest path). Edges that close a cycle are ignored by the layout and drawn backwards. An edge
over several columns has a waypoint (a dummy node) in each column between, which leads the edge
past the nodes of the column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from heron_core.graph_walks import levels
from heron_graph.graph import Graph

Pair = tuple[str, str]
SWEEPS = 8
"""Passes over the columns to reduce crossings; the order settles after three or four."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Columns of nodes in order from top to bottom; a node may be a waypoint."""

    columns: tuple[tuple[str, ...], ...]
    paths: Mapping[Pair, tuple[str, ...]]
    """Forward edge -> nodes on its path, both ends included."""
    backward: tuple[Pair, ...]
    """Edges that close a cycle."""


def layers_of(graph: Graph) -> Layers:
    """Columns and paths for a graph; names are unique, edges may form cycles."""
    names = [node.name for node in graph.nodes]
    pairs = [(edge.source, edge.target) for edge in graph.edges]
    spouts = {node.name for node in graph.nodes if node.is_spout}
    forward = _forward(names, pairs, spouts)
    column = _columns(names, forward, spouts)
    columns: list[list[str]] = [[] for _ in range(max(column.values(), default=0) + 1)]
    for name, at in column.items():
        columns[at].append(name)
    paths: dict[Pair, tuple[str, ...]] = {}
    for source, target in forward:
        between = range(column[source] + 1, column[target])
        waypoints = [f"{source}\0{target}\0{at}" for at in between]
        for at, waypoint in zip(between, waypoints, strict=True):
            columns[at].append(waypoint)
        paths[source, target] = (source, *waypoints, target)
    _reduce_crossings(columns, [step for path in paths.values() for step in pairwise(path)])
    backward = tuple(pair for pair in pairs if pair not in paths)
    return Layers(tuple(map(tuple, columns)), paths, backward)


def _forward(names: list[str], pairs: list[Pair], spouts: set[str]) -> list[Pair]:
    """The edges without those that close a cycle in a search from the spouts."""
    targets: dict[str, list[str]] = {name: [] for name in names}
    for source, target in pairs:
        if source in targets and target in targets:
            targets[source].append(target)
    kept: set[Pair] = set()
    state: dict[str, bool] = {}  # True while the search is below the node, False when it is done
    for start in sorted(names, key=lambda name: name not in spouts):
        if start in state:
            continue
        state[start] = True
        stack = [(start, iter(targets[start]))]
        while stack:
            name, rest = stack[-1]
            target = next(rest, "")  # no component is called so
            if not target:
                state[name] = False
                stack.pop()
                continue
            if state.get(target) is not True and target not in spouts:
                kept.add((name, target))
            if target not in state:
                state[target] = True
                stack.append((target, iter(targets[target])))
    return [pair for pair in pairs if pair in kept]


def _columns(names: list[str], forward: list[Pair], spouts: set[str]) -> dict[str, int]:
    """name -> column: the longest path from a spout; a bolt without a spout is in the second."""
    sources: dict[str, set[str]] = {name: set() for name in names}
    for source, target in forward:
        sources[target].add(source)
    return levels(sources, {name: 1 for name in names if name not in spouts})


def _reduce_crossings(columns: list[list[str]], pairs: list[Pair]) -> None:
    """Order each column by the barycenters of its neighbours, forwards and backwards in turn."""
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for source, target in pairs:
        before.setdefault(target, []).append(source)
        after.setdefault(source, []).append(target)
    best, crossings = [list(column) for column in columns], _crossings(columns, pairs)
    for sweep in range(SWEEPS):
        neighbours, order = (after, columns[::-1]) if sweep % 2 else (before, columns)
        for fixed, moving in pairwise(order):
            _sort_by_neighbours(moving, fixed, neighbours)
        if _crossings(columns, pairs) < crossings:
            best, crossings = [list(column) for column in columns], _crossings(columns, pairs)
    columns[:] = best


def _sort_by_neighbours(
    moving: list[str], fixed: list[str], neighbours: Mapping[str, list[str]]
) -> None:
    fixed_order = {name: at for at, name in enumerate(fixed)}
    order = {name: at for at, name in enumerate(moving)}

    def barycenter(name: str) -> float:
        positions = [
            fixed_order[neighbour]
            for neighbour in neighbours.get(name, ())
            if neighbour in fixed_order
        ]
        return sum(positions) / len(positions) if positions else order[name]

    moving.sort(key=barycenter)


def _crossings(columns: list[list[str]], pairs: list[Pair]) -> int:
    """How many edges cross, between any two neighbouring columns."""
    order = {name: at for column in columns for at, name in enumerate(column)}
    at_column = {name: at for at, column in enumerate(columns) for name in column}
    by_column: dict[int, list[tuple[int, int]]] = {}
    for source, target in pairs:
        by_column.setdefault(at_column[source], []).append((order[source], order[target]))
    return sum(
        (one[0] - other[0]) * (one[1] - other[1]) < 0
        for spans in by_column.values()
        for at, one in enumerate(spans)
        for other in spans[at + 1 :]
    )
