"""What a core has decided lately, and why: for whoever asks how it got where it is."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass

STEPS_MAX = 200
"""Of a core that does nothing but probe, four seconds; of any other one, its last big change."""


@dataclass(frozen=True, slots=True)
class Step:
    """One event that had effects."""

    now: float
    """When it happened, in seconds of the core's clock."""
    cause: str
    """The event, in a few words."""
    effects: tuple[str, ...]
    """The instructions, in a few words each; equal ones once, with their number."""

    def __str__(self) -> str:
        effects = f": {'; '.join(self.effects)}" if self.effects else ""
        return f"{self.now:.3f} {self.cause}{effects}"


class TransitionLog:
    """The newest steps. They are kept as text, so that they keep no message alive. Any thread may
    add one, as a deque's append is atomic."""

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
