"""How long the main thread of an instance has not been allowed to send."""

from collections.abc import Callable

from heron_instance.emit.output_buffers import Outbox


class BlockedTime:
    """Back-pressure, or a state that is moved: since when it lasts."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: float | None = float("-inf")
        """None: sending is allowed. A new process slow-starts, because its receivers' rates are
        unknown, so its hold has lasted for ever."""

    def lasts(self, may_send: bool, outbox: Outbox) -> bool:
        """Whether nothing may be sent now. After a long time the outbox begins again slowly."""
        if not may_send:
            if self._since is None:
                self._since = self._clock()
            return True
        if self._since is not None:
            outbox.was_blocked(self._clock() - self._since)
            self._since = None
        return False
