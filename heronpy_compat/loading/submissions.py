"""Where a topology goes that a program writes or submits: to whoever loads the program."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from heron_core.topology import TopologySpec

_open: list[tuple[list[TopologySpec], Mapping[str, Any]]] = []


@contextmanager
def capture_submissions(options: Mapping[str, Any] | None = None) -> Iterator[list[TopologySpec]]:
    """While open, what the program submits is appended to the list instead of being written.

    `options`: config that the loader will lay over the topology's.
    """
    found: list[TopologySpec] = []
    _open.append((found, options or {}))
    try:
        yield found
    finally:
        _open.pop()


def record_submission(topology: TopologySpec) -> bool:
    """Hand a submitted topology to the innermost `capture_submissions`; False if there is none."""
    if _open:
        _open[-1][0].append(topology)
    return bool(_open)


def loaders_options() -> Mapping[str, Any]:
    """The config that the innermost `capture_submissions` will lay over the topology's: for what is
    decided while a topology is made."""
    return _open[-1][1] if _open else {}
