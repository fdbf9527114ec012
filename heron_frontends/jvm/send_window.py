"""Limit of unprocessed tuples in a JVM: about a fifth of a second of its work.

Further tuples wait in the stream manager's queue for the instance, the measure of back-pressure.
Pure; times are of one clock.
"""

TARGET_SECS = 0.2
LEAST, MOST = 16, 16_384
FIRST = 256
BYTES_MAX = 8 << 20


class SendWindow:
    """Sent tuples without a report of their processing."""

    def __init__(self) -> None:
        self.limit = FIRST
        self.last_key = 0
        """Of what was sent last."""
        self._done = 0
        self._sizes: list[tuple[int, int]] = []
        """(last key, bytes) of each frame that is not wholly processed, oldest first."""
        self._bytes = 0
        self._marked: tuple[int, float, int] | None = None
        """A key whose time is taken, since when, and how many were under way with it."""

    @property
    def under_way(self) -> int:
        """Tuples that are sent and not processed."""
        return self.last_key - self._done

    def sent(self, last_key: int, size: int, now: float) -> None:
        """A frame went out."""
        self.last_key = last_key
        self._sizes.append((last_key, size))
        self._bytes += size
        if self._marked is None:
            self._marked = (last_key, now, self.under_way)

    def processed(self, key: int, now: float) -> None:
        """All up to `key` are processed."""
        self._done = max(self._done, key)
        while self._sizes and self._sizes[0][0] <= key:
            self._bytes -= self._sizes.pop(0)[1]
        if self._marked is not None and key >= self._marked[0]:
            _, since, count = self._marked
            self._marked = None
            self._adjust(count, now - since)

    def _adjust(self, count: int, took_secs: float) -> None:
        """Towards what is processed in the target's time; a short burst tells little, so by halves
        and doubles at most."""
        fitting = int(count * TARGET_SECS / max(took_secs, 1e-6))
        if took_secs > TARGET_SECS or count * 2 >= self.limit:
            fitting = min(max(fitting, self.limit // 2), self.limit * 2)
            self.limit = min(max(fitting, LEAST), MOST)

    @property
    def is_full(self) -> bool:
        """Whether the next tuple has to wait."""
        return self.under_way >= self.limit or self._bytes > BYTES_MAX

    @property
    def has_capacity(self) -> bool:
        """Whether capacity for more than one tuple is free again."""
        return self.under_way <= self.limit // 2 and self._bytes <= BYTES_MAX // 2
