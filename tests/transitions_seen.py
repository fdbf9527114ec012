"""Which transitions of state machines happen: each one that the code asks its table for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from heron_core.transitions import AnyState, Transitions


class Arrow(NamedTuple):
    """One of a drawing."""

    machine: str
    before: str
    to: str


def arrows(machine: Transitions[Any]) -> set[Arrow]:
    """All that the table has."""
    return {
        Arrow(machine.name, before.name, to.name)
        for before, after in machine.after.items()
        for to in after
    }


@contextmanager
def transitions_seen() -> Iterator[set[Arrow]]:
    """Those that happen from now on, until the end of the block."""
    seen: set[Arrow] = set()
    follow = Transitions.follow

    def noted(machine: Transitions[AnyState], before: AnyState, to: AnyState) -> AnyState:
        found = follow(machine, before, to)
        seen.add(Arrow(machine.name, before.name, to.name))
        return found

    Transitions.follow = noted  # type: ignore[method-assign,assignment]
    try:
        yield seen
    finally:
        Transitions.follow = follow  # type: ignore[method-assign]
