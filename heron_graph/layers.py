"""In which column each component stands, and in which order within it (a layered layout).

Spouts stand in the first column, a bolt one further than the furthest of its sources (longest
path). Arrows that close a cycle do not count and are drawn backwards. An arrow over several columns
has a waypoint in each column between, so that it finds its way past the boxes there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from heron_graph.graph import Graph

Pair = tuple[str, str]
SWEEPS = 8
"""Passes over the columns to untangle arrows; the order settles after three or four."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Columns of nodes in order from top to bottom; a node is a box or a waypoint of an arrow."""

    columns: tuple[tuple[str, ...], ...]
    paths: Mapping[Pair, tuple[str, ...]]
    """Forward arrow -> the nodes that it passes, its boxes at both ends included."""
    backward: tuple[Pair, ...]
    """Arrows that close a cycle."""


def layers_of(graph: Graph) -> Layers:
    """Columns and paths for a graph; names are unique, arrows may form cycles."""
    pairs = [(each.source, each.target) for each in graph.arrows]
    spouts = {each.name for each in graph.boxes if each.is_spout}
    forward = _forward([each.name for each in graph.boxes], pairs, spouts)
    column = _columns([each.name for each in graph.boxes], forward, spouts)
    columns: list[list[str]] = [[] for _ in range(max(column.values(), default=0) + 1)]
    for name, at in column.items():
        columns[at].append(name)
    paths: dict[Pair, tuple[str, ...]] = {}
    for source, target in forward:
        between = range(column[source] + 1, column[target])
        waypoints = [f"{source}\0{target}\0{at}" for at in between]
        for at, each in zip(between, waypoints, strict=True):
            columns[at].append(each)
        paths[source, target] = (source, *waypoints, target)
    _untangle(columns, [pair for each in paths.values() for pair in pairwise(each)])
    backward = tuple(each for each in pairs if each not in paths)
    return Layers(tuple(tuple(each) for each in columns), paths, backward)


def _forward(names: list[str], pairs: list[Pair], spouts: set[str]) -> list[Pair]:
    """The arrows without those that close a cycle, as a search from the spouts finds them."""
    targets: dict[str, list[str]] = {name: [] for name in names}
    for source, target in pairs:
        if source in targets and target in targets:
            targets[source].append(target)
    found: set[Pair] = set()
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
                found.add((name, target))
            if target not in state:
                state[target] = True
                stack.append((target, iter(targets[target])))
    return [each for each in pairs if each in found]


def _columns(names: list[str], forward: list[Pair], spouts: set[str]) -> dict[str, int]:
    """name -> column: the longest path from a spout; a bolt without one stands in the second."""
    sources: dict[str, list[str]] = {name: [] for name in names}
    for source, target in forward:
        sources[target].append(source)
    column: dict[str, int] = {}
    # A topological order: as long as any is left, one of them has all of its sources placed.
    left = list(names)
    while left:
        name = next(each for each in left if all(source in column for source in sources[each]))
        left.remove(name)
        least = 0 if name in spouts else 1
        column[name] = max([least, *(column[each] + 1 for each in sources[name])])
    return {name: column[name] for name in names}


def _untangle(columns: list[list[str]], pairs: list[Pair]) -> None:
    """Order each column by the middle of its neighbours, forwards and backwards in turn."""
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for source, target in pairs:
        before.setdefault(target, []).append(source)
        after.setdefault(source, []).append(target)
    best, crossings = [list(each) for each in columns], _crossings(columns, pairs)
    for sweep in range(SWEEPS):
        neighbours, order = (after, columns[::-1]) if sweep % 2 else (before, columns)
        for fixed, moving in pairwise(order):
            _sort_by_neighbours(moving, fixed, neighbours)
        if _crossings(columns, pairs) < crossings:
            best, crossings = [list(each) for each in columns], _crossings(columns, pairs)
    columns[:] = best


def _sort_by_neighbours(
    moving: list[str], fixed: list[str], neighbours: Mapping[str, list[str]]
) -> None:
    place = {name: at for at, name in enumerate(fixed)}
    now = {name: at for at, name in enumerate(moving)}

    def middle(name: str) -> float:
        found = [place[each] for each in neighbours.get(name, ()) if each in place]
        return sum(found) / len(found) if found else now[name]

    moving.sort(key=middle)


def _crossings(columns: list[list[str]], pairs: list[Pair]) -> int:
    """How many arrows cross, between any two neighbouring columns."""
    place = {name: at for column in columns for at, name in enumerate(column)}
    at_column = {name: at for at, column in enumerate(columns) for name in column}
    by_column: dict[int, list[tuple[int, int]]] = {}
    for source, target in pairs:
        by_column.setdefault(at_column[source], []).append((place[source], place[target]))
    return sum(
        (one[0] - other[0]) * (one[1] - other[1]) < 0
        for found in by_column.values()
        for at, one in enumerate(found)
        for other in found[at + 1 :]
    )
