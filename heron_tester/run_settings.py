"""Run settings of a tester: order of delivery, initial time, limits."""

import os
from dataclasses import dataclass

from heron_core.errors import UsageError
from heron_tester.clock import START_TIME

STEPS_MAX = 100_000
"""Messages and calls at one virtual time: some seconds, and far more than a test needs."""
WAIT_SECS = 10.0
"""Real seconds that a component may work in a thread or a child process."""
ORDERS = ("fifo", "random")
SEED_BITS = 32


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Run settings of one tester."""

    order: str = "fifo"
    """fifo: deliveries in order of their emits; random: the seed chooses the next sender."""
    seed: int | None = None
    patch_time: bool = True
    start_time: float = START_TIME
    steps_max: int = STEPS_MAX
    wait_secs: float = WAIT_SECS

    def settled_seed(self) -> int:
        """The given seed; else 0, or for the order random another one each time."""
        if self.order not in ORDERS:
            raise UsageError(f"order must be {' or '.join(ORDERS)}, not {self.order!r}")
        if self.seed is not None:
            return self.seed
        return 0 if self.order == "fifo" else int.from_bytes(os.urandom(SEED_BITS // 8), "big")
