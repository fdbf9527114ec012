"""The containers of the packing plan as the application master keeps them: a slot each. Pure."""

from enum import Enum

from msgspec import Struct, field

from heron_core.algorithms.backoff import RestartPolicy
from heron_engine.scheduler.backends.yarn.events import Ask, Grant
from heron_engine.scheduler.backends.yarn.sizes import Size


class SlotPhase(Enum):
    """Where a slot is."""

    RESTING = "resting"
    """Failed, and waiting before the next request."""
    ASKED = "asked"
    STARTING = "starting"
    RUNNING = "running"
    ENDING = "ending"


WITH_CONTAINER = frozenset({SlotPhase.STARTING, SlotPhase.RUNNING, SlotPhase.ENDING})
"""The phases in which a slot has a container of YARN's."""


class Slot(Struct):
    """One container of the packing plan."""

    number: int
    ask: Ask
    policy: RestartPolicy
    phase: SlotPhase = SlotPhase.RESTING
    grant: Grant | None = None
    since: float = 0.0
    """Time of the start."""
    due: float = 0.0
    """Time of the next request, or deadline of the end."""
    wanted: bool = True
    partition: str = ""
    """Of its node; empty: the queue decides."""
    granted: Ask | None = None
    """Requested size of the last container; None: the plan's size."""
    size: Size = field(default_factory=Size)
    """Size changes while running."""

    @property
    def request(self) -> Ask:
        """How large a container is asked for."""
        return self.ask if self.granted is None else self.granted.smaller(self.ask)

    @property
    def is_running(self) -> bool:
        """Whether its container runs, and is not to end."""
        return self.phase is SlotPhase.RUNNING

    def vacate(self) -> None:
        """It has no container any more."""
        self.grant, self.phase = None, SlotPhase.RESTING
        self.size.forget()

    def validate(self) -> None:
        """AssertionError for an invalid combination of fields."""
        assert (self.grant is not None) == (self.phase in WITH_CONTAINER), self
        assert self.grant is None or self.grant.number == self.number, self
        assert self.policy.failures <= self.policy.limit_now + 1, self
