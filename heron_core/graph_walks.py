"""Walks over a directed graph that may have cycles, given as node -> the nodes that feed it. Pure.

No walk is recursive: a chain of components may be long.
"""

from collections.abc import Callable, Iterable, Mapping, Set

Feeders = Mapping[str, Set[str]]
"""node -> predecessors, each of them a node as well."""


def reachable(start: str, following: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """Nodes reachable by at least one step; `start` is included only if in a cycle."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        new = set(following(ahead.pop())) - reached
        reached |= new
        ahead += new
    return frozenset(reached)


def in_cycles(feeders: Feeders) -> list[str]:
    """Nodes in cycles, in order."""
    return [name for name in feeders if name in reachable(name, feeders.__getitem__)]


def a_cycle(feeders: Feeders) -> list[str]:
    """A shortest cycle through the first node in a cycle, along the edges, with the first node
    repeated at the end; empty without a cycle."""
    start = next(iter(in_cycles(feeders)), "")
    paths = [[start]] if start else []
    seen: set[str] = set()
    for path in paths:
        for feeder in sorted(feeders[path[0]] - seen):
            if feeder == start:
                return [start, *path]
            seen.add(feeder)
            paths.append([feeder, *path])
    return []


def external_feeders(feeders: Feeders) -> dict[str, frozenset[str]]:
    """node -> predecessors of the node or of its cycle, from outside of the cycle."""
    above = {name: reachable(name, feeders.__getitem__) for name in feeders}
    external = {}
    for name in feeders:
        cycle = {name, *(other for other in above[name] if name in above[other])}
        external[name] = frozenset().union(*(feeders[each] for each in cycle)) - cycle
    return external


def levels(feeders: Feeders, least: Mapping[str, int] | None = None) -> dict[str, int]:
    """node -> length of the longest path to the node, with a cycle as one node; `least` has the
    minimum level of some nodes."""
    known, external = least or {}, external_feeders(feeders)
    level: dict[str, int] = {}
    while left := [name for name in feeders if name not in level]:
        level |= {
            name: max([known.get(name, 0), *(level[each] + 1 for each in external[name])])
            for name in left
            if external[name] <= level.keys()
        }
    return {name: level[name] for name in feeders}
