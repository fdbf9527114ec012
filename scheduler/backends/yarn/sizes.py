"""How large a container that runs is to be made, where it is. Pure.

YARN changes the size of a container without ending what runs in it. It grows at once: an update
asks for the room before it begins, so that nothing is moved into a container that is too small. It
shrinks SHRINK_SECS after the topology runs by the new plan: until then processes that end may still
have their memory. What YARN has not granted yet may be withdrawn, by asking for what there is.
"""

from msgspec import Struct

from heron_engine.scheduler.backends.yarn.events import Ask

SHRINK_SECS = 30.0
"""Processes that an update ends have 8 s."""
CAPACITY_SECS = 120.0
"""An update that has not begun so long after it asked for room never will: whoever asked died."""


class Size(Struct):
    """What one container is to be made."""

    _wanted: Ask | None = None
    """More than its plan says, for an update that is about to begin or under way."""
    _wanted_until: float = 0.0
    _asked: Ask | None = None
    """What YARN was asked to make of it, and has not yet."""
    _refused: Ask | None = None
    """What YARN does not make of it."""
    _is_settled: bool = True
    _settled_at: float = 0.0

    def plan_changed(self, is_settled: bool, now: float) -> None:
        """Its plan may say another size from now on."""
        self._is_settled, self._settled_at, self._refused = is_settled, now, None
        if is_settled:
            self._wanted = None

    def want(self, wanted: Ask, now: float) -> None:
        """An update is about to need so much."""
        self._wanted, self._wanted_until, self._refused = wanted, now + CAPACITY_SECS, None

    def made(self, size: Ask) -> Ask:
        """YARN has made it so large, which may be rounded up; returns what it counts as."""
        asked, self._asked = self._asked, None
        return asked if asked is not None and size.covers(asked) else size

    def refused(self) -> None:
        """YARN says no to what was asked last."""
        self._refused, self._asked = self._asked, None

    def forget(self) -> None:
        """Its container is gone, and the next one is asked for by its plan."""
        self._wanted = self._asked = self._refused = None

    def change(self, granted: Ask, planned: Ask, now: float) -> Ask | None:
        """What YARN is to be asked for now; None if for nothing (more)."""
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
