"""What holds for the source as a whole: no circles between modules, sizes, names, documentation.

`make check` runs it. A rule that has exceptions names each with its reason, in one constant.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "heron_core", "heron_io", "heronpy_compat", "heron_instance", "stream_manager",
    "topology_master", "scheduler", "heron_spark", "heron_graph", "heron_tester", "heron_cli",
)  # fmt: skip

KNOWN_CIRCLES: dict[frozenset[str], str] = {
    frozenset(
        {"heronpy_compat.api.component.component_spec", "heronpy_compat.proto.definition"}
    ): "goes when values of a definition have a module of their own",
    frozenset({"heronpy_compat.api.task_hook", "heronpy_compat.api.topology_context"}): (
        "annotations only; goes with the contract between engine and component"
    ),
}
"""Circles that are being removed -> what removes them. One that is gone has to leave this list."""


@cache
def import_graph() -> Mapping[str, frozenset[str]]:
    """module -> modules that it imports anywhere: late, and under TYPE_CHECKING too."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    return {
        module: frozenset(graph.find_modules_directly_imported_by(module))
        for module in graph.modules
    }


def reachable(graph: Mapping[str, frozenset[str]], start: str) -> frozenset[str]:
    """Modules that `start` imports, directly or through others."""
    seen: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting.extend(graph[module])
    return frozenset(seen)


def circles(graph: Mapping[str, frozenset[str]]) -> set[frozenset[str]]:
    """The strongly connected components of more than one module."""
    reached = {module: reachable(graph, module) for module in graph}
    return {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in graph
        if module in reached[module]
    }


def test_circles_are_found() -> None:
    """Two that import each other through a third; one that only imports them is in none."""
    imports = {"a": "b", "b": "c", "c": "a", "d": "a", "e": ""}
    graph = {module: frozenset(imported) for module, imported in imports.items()}
    assert circles(graph) == {frozenset("abc")}


def test_no_modules_import_each_other() -> None:
    """Imports inside functions and for annotations count: both tie modules together."""
    found = circles(import_graph())
    new = [sorted(circle) for circle in found - KNOWN_CIRCLES.keys()]
    assert not new, f"these modules import each other: {new}"


def test_no_circle_is_known_that_is_gone() -> None:
    """The list only shrinks."""
    gone = [sorted(circle) for circle in KNOWN_CIRCLES.keys() - circles(import_graph())]
    assert not gone, f"take these out of KNOWN_CIRCLES: {gone}"
