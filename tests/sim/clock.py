"""Time as the simulated cluster sees it."""


class Clock:
    """Seconds since no matter when; every look at it takes a moment, as it does in life."""

    def __init__(self, look_secs: float) -> None:
        self.now = 1000.0
        self._look_secs = look_secs

    def __call__(self) -> float:
        self.now += self._look_secs
        return self.now

    def advance(self, secs: float) -> None:
        """Let time pass."""
        self.now += secs
