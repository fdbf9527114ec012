"""The latest decisions of a core and their reasons, for finding out how the core got into its
state."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass

STEPS_MAX = 200
"""Steps kept: four seconds of a core that only probes, or the last big change of any other core."""


@dataclass(frozen=True, slots=True)
class Step:
    """One event that had effects."""

    now: float
    """Time of the event in seconds of the core's clock."""
    cause: str
    """The event, in a few words."""
    effects: tuple[str, ...]
    """The instructions, in a few words each; equal instructions once, with their number."""

    def __str__(self) -> str:
        effects = f": {'; '.join(self.effects)}" if self.effects else ""
        return f"{self.now:.3f} {self.cause}{effects}"


class TransitionLog:
    """The newest steps, kept as text, so no message is kept alive. Any thread may add a step, as a
    deque's append is atomic."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque(maxlen=STEPS_MAX)

    def record(self, now: float, cause: str, effects: Iterable[str] = ()) -> None:
        """Add a step."""
        counts = Counter(effects)
        texts = (text if n == 1 else f"{text} ({n} times)" for text, n in counts.items())
        self._steps.append(Step(now, cause, tuple(texts)))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The newest steps, oldest first."""
        return tuple(self._steps)

    def __str__(self) -> str:
        return "\n".join(map(str, self._steps))
