"""What has happened to a stream manager lately: its control events, for a log or a failed test."""

from collections import deque
from dataclasses import dataclass

ENTRIES_MAX = 256
"""Causes of back-pressure come and go several times a second where a bolt is slow: this is a minute
of them, in some 50 KB."""


@dataclass(frozen=True, slots=True)
class StoryEntry:
    """One control event."""

    at_secs: float
    """By the clock of the events."""
    event: str
    facts: tuple[tuple[str, int | str], ...]

    def __str__(self) -> str:
        return " ".join(
            [f"{self.at_secs:.3f} {self.event}", *(f"{name}={fact}" for name, fact in self.facts)]
        )


class Story:
    """The newest control events, oldest first; batches and heartbeats are not among them."""

    def __init__(self) -> None:
        self._entries: deque[StoryEntry] = deque(maxlen=ENTRIES_MAX)

    def note(self, now: float, event: str, **facts: int | str) -> None:
        """Add one."""
        self._entries.append(StoryEntry(now, event, tuple(facts.items())))

    def entries(self) -> list[StoryEntry]:
        """Those that are kept."""
        return list(self._entries)
