"""A state machine as a table: its states, and when a state follows another."""

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar


class MachineState(Enum):
    """A state. A link changes its state with each message, and the hash of an Enum is a function in
    Python: this hash is the object's."""

    __hash__ = object.__hash__


AnyState = TypeVar("AnyState", bound=Enum)
"""A `MachineState`, or an enumeration whose values are shown or stored besides."""


NOTHING: Mapping[Enum, str] = {}
"""Followers of a state that is an end."""


class Transitions(Generic[AnyState]):
    """A transition outside of the table never happens: code asks the table before a change of
    state.

    The drawing in the docs is made of the same table (`python -m tests.diagrams`).
    """

    def __init__(
        self,
        name: str,
        begins: Mapping[AnyState, str],
        after: Mapping[AnyState, Mapping[AnyState, str]],
    ) -> None:
        """`begins`: state in which a machine may begin -> when; `after`: state -> state that may
        follow -> when, for people. A state that no state follows is an end."""
        self.name = name
        self.begins = begins
        self.after = after

    def begin(self, state: AnyState) -> AnyState:
        """The state; AssertionError if no machine begins in the state."""
        assert state in self.begins, f"{self.name} does not start in {state.name}"
        return state

    def follow(self, before: AnyState, to: AnyState) -> AnyState:
        """The next state; AssertionError if the table does not have it behind `before`."""
        assert to in self.after.get(before, NOTHING), (
            f"{self.name}: {before.name} is not followed by {to.name}"
        )
        return to

    @property
    def ends(self) -> frozenset[AnyState]:
        """The states that no state follows."""
        return frozenset(to for after in self.after.values() for to in after) - self.after.keys()
