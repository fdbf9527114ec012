"""Makes a topology that goes wrong smaller, as long as it goes wrong."""

from collections.abc import Callable, Iterator, Sequence

from heron_core.records import replace
from random_topologies import Node

TRIES_MAX = 60
"""A try costs a run: with Spark some seconds."""


def shrunk(
    part: Sequence[Node], is_wrong: Callable[[list[Node]], bool], tries: int = TRIES_MAX
) -> list[Node]:
    """The smallest that was found; each try is one call of `is_wrong`."""
    smallest = list(part)
    candidates = smaller(smallest)
    for _ in range(tries):
        candidate = next(candidates, None)
        if candidate is None:
            break
        if is_wrong(candidate):
            smallest = candidate
            candidates = smaller(smallest)
    return smallest


def smaller(part: Sequence[Node]) -> Iterator[list[Node]]:
    """Topologies with a bit less: the greatest steps first."""
    yield from _without_a_node(part)
    yield from (_bypassed(part, node) for node in part if node.reads)
    for at, node in enumerate(part):
        for simpler in _simpler(node):
            yield [*part[:at], simpler, *part[at + 1 :]]


def _without_a_node(part: Sequence[Node]) -> Iterator[list[Node]]:
    read = {each.source for node in part for each in node.reads}
    bolts = sum(bool(node.reads) for node in part)
    for node in reversed(part):
        if node.name not in read and (not node.reads or bolts > 1):
            yield [each for each in part if each is not node]


def _bypassed(part: Sequence[Node], gone: Node) -> list[Node]:
    """Without a bolt whose readers read what it has read first."""
    source = gone.reads[0].source
    found = []
    for node in part:
        moved = [replace(each, source=source) for each in node.reads if each.source == gone.name]
        kept = [each for each in node.reads if each.source != gone.name]
        reads = {(each.source, each.stream): each for each in (*moved, *kept)}
        found.append(replace(node, reads=tuple(reads.values())))
    return [each for each in found if each.name != gone.name]


def _simpler(node: Node) -> Iterator[Node]:
    if len(node.reads) > 1:
        for at in range(len(node.reads)):
            yield replace(node, reads=node.reads[:at] + node.reads[at + 1 :])
    if node.columnar:
        yield replace(node, columnar=False)
    if node.par > 1:
        yield replace(node, par=1)
    if node.kind != "mix":
        yield replace(node, kind="mix")
    if not node.reads and node.numbers > 1:
        yield replace(node, numbers=node.numbers // 2)
