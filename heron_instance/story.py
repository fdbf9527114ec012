"""The newest events of an instance that changed its state, and what it did about them."""

from collections import deque
from dataclasses import dataclass

from heron_instance.events import Event, Instruction

STORY_LENGTH = 100
"""Entries that are kept: control messages and state changes of the last minutes, not batches."""


@dataclass(frozen=True, slots=True)
class StoryEntry:
    """One event or one state change that it caused."""

    at: float
    """On the instance's clock."""
    event: str
    cause: str
    """The event that this one follows from; empty for one that came from outside."""
    instructions: tuple[str, ...] = ()


class Story:
    """A bounded log; any thread may append, as a deque's append is atomic."""

    def __init__(self) -> None:
        self._entries: deque[StoryEntry] = deque(maxlen=STORY_LENGTH)

    def add(
        self, at: float, event: str, cause: str = "", instructions: tuple[str, ...] = ()
    ) -> None:
        """Remember one entry."""
        self._entries.append(StoryEntry(at, event, cause, instructions))

    @property
    def entries(self) -> list[StoryEntry]:
        """The newest entries, oldest first."""
        return list(self._entries)


def name_of(step: Event | Instruction) -> str:
    """An event or an instruction in a word: its message's class if it has one, or its own."""
    return type(getattr(step, "message", step)).__name__
