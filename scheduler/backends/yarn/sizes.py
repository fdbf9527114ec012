"""Target sizes of running containers, changed in place. Pure.

YARN resizes a container without ending its processes. Containers grow at once: an update
requests the growth before it starts, so that instances never move into a container that is too
small. A container shrinks SHRINK_SECS after the switch to the new plan: until then ending
processes may still use the memory. A pending growth may be withdrawn, by requesting the current
size.
"""

from msgspec import Struct

from heron_engine.scheduler.backends.yarn.events import Ask

SHRINK_SECS = 30.0
"""Processes ended by an update have 8 s."""
CAPACITY_SECS = 120.0
"""Time after which an update that requested growth and never started counts as dead."""


class Size(Struct):
    """Target size of one container."""

    _wanted: Ask | None = None
    """More than its plan says, for an update that is about to begin or under way."""
    _wanted_until: float = 0.0
    _asked: Ask | None = None
    """Size requested from YARN and not reached yet."""
    _refused: Ask | None = None
    """Size rejected by YARN."""
    _is_settled: bool = True
    _settled_at: float = 0.0

    def plan_changed(self, is_settled: bool, now: float) -> None:
        """The plan may have another size from now on."""
        self._is_settled, self._settled_at, self._refused = is_settled, now, None
        if is_settled:
            self._wanted = None

    def want(self, wanted: Ask, now: float) -> None:
        """An update is about to need so much."""
        self._wanted, self._wanted_until, self._refused = wanted, now + CAPACITY_SECS, None

    def made(self, size: Ask) -> Ask:
        """YARN has resized the container, possibly rounded up; returns the effective size."""
        asked, self._asked = self._asked, None
        return asked if asked is not None and size.covers(asked) else size

    def refused(self) -> None:
        """YARN has refused the last request."""
        self._refused, self._asked = self._asked, None

    def forget(self) -> None:
        """The container is gone; the next one is requested by the plan."""
        self._wanted = self._asked = self._refused = None

    def change(self, granted: Ask, planned: Ask, now: float) -> Ask | None:
        """Size to request from YARN now; None for no request."""
        if self._is_settled and now >= self._wanted_until:
            self._wanted = None
        target = planned if self._wanted is None else planned.larger(self._wanted)
        wanted = granted.larger(target)
        if wanted == granted and self._is_settled and now >= self._settled_at + SHRINK_SECS:
            wanted = target
        if wanted == (self._asked or granted) or wanted == self._refused:
            return None
        self._asked = None if wanted == granted else wanted
        return wanted
