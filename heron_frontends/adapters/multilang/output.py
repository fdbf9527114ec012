"""What a child writes to stdout beside the protocol: stray lines."""

import logging
import time
from collections import Counter

from heron_frontends.adapters.child_pipes import LINE_BYTES_MAX

STRAYS_PER_SEC_MAX = 20
"""A child that prints for each tuple would fill the disk with it."""


class StrayLog:
    """Logs stray lines of stdout, but not more than STRAYS_PER_SEC_MAX; the others are counted."""

    def __init__(self, logger: logging.Logger, label: str, counts: Counter[str]) -> None:
        self._logger = logger
        self._label = label
        self._counts = counts
        self._until = 0.0
        self._logged = 0
        self._suppressed = 0

    def take(self, lines: list[str]) -> None:
        """Log what may be logged now, and empty the list."""
        if lines:
            self._counts["stray_lines"] += len(lines)
            self._log(lines)
            lines.clear()

    def _log(self, lines: list[str]) -> None:
        now = time.monotonic()
        if now >= self._until:
            self._tell_suppressed()
            self._until, self._logged = now + 1.0, 0
        left = STRAYS_PER_SEC_MAX - self._logged
        for line in lines[:left]:
            self._logger.info("%s stdout: %s", self._label, line[:LINE_BYTES_MAX])
        self._logged += len(lines[:left])
        self._suppressed += len(lines[left:])

    def _tell_suppressed(self) -> None:
        if self._suppressed:
            self._logger.info("%s stdout: %d more lines", self._label, self._suppressed)
            self._suppressed = 0
