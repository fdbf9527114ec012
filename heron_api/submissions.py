"""Where a topology goes that a program writes or submits: to whoever loads the program."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from heron_core.topology import TopologySpec

_open: list[tuple[list[TopologySpec], Mapping[str, Any], Mapping[str, Any]]] = []


@contextmanager
def capture_submissions(
    options: Mapping[str, Any] | None = None, below: Mapping[str, Any] | None = None
) -> Iterator[list[TopologySpec]]:
    """While open, what the program submits is appended to the list instead of being written.

    `options`: config that the loader will lay over the topology's, `below`: under it.
    """
    topologies: list[TopologySpec] = []
    _open.append((topologies, options or {}, below or {}))
    try:
        yield topologies
    finally:
        _open.pop()


def record_submission(topology: TopologySpec) -> bool:
    """Hand a submitted topology to the innermost `capture_submissions`; False if there is none."""
    if _open:
        _open[-1][0].append(topology)
    return bool(_open)


def with_loaders_config(own: Mapping[str, Any]) -> dict[str, Any]:
    """A topology's own config between the layers that the innermost `capture_submissions` knows:
    for what is decided while a topology is made."""
    _, options, below = _open[-1] if _open else ([], {}, {})
    return {**below, **own, **options}
