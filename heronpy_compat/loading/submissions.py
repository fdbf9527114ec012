"""Where a topology goes that a program writes or submits: to whoever loads the program."""

from collections.abc import Iterator
from contextlib import contextmanager

from heron_core.topology import TopologySpec

_open: list[list[TopologySpec]] = []


@contextmanager
def capture_submissions() -> Iterator[list[TopologySpec]]:
    """While open, what the program submits is appended to the list instead of being written."""
    found: list[TopologySpec] = []
    _open.append(found)
    try:
        yield found
    finally:
        _open.pop()


def record_submission(topology: TopologySpec) -> bool:
    """Hand a submitted topology to the innermost `capture_submissions`; False if there is none."""
    if _open:
        _open[-1].append(topology)
    return bool(_open)
