"""Whether a child that was asked something answers in time. Pure; times are of one clock."""

from dataclasses import dataclass


@dataclass(slots=True)
class ResponseTimer:
    """Silence is only held against a child that was asked something."""

    timeout_secs: float
    asked_at: float | None = None
    """When it was asked what it has not answered yet."""
    heard_at: float = 0.0

    def ask(self, now: float) -> None:
        """It was asked; a question that is open already stays the one that counts."""
        if self.asked_at is None:
            self.asked_at = now

    def is_overdue(self, now: float) -> bool:
        """Whether it has been silent for too long since the question."""
        asked_at = self.asked_at  # another thread may take the answer meanwhile
        return asked_at is not None and now - max(asked_at, self.heard_at) > self.timeout_secs

    def answered(self) -> None:
        """It has answered what it was asked."""
        self.asked_at = None
