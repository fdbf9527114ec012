"""The log levels of one process, for a while (heron_core.log_levels)."""

import logging
from collections.abc import Iterable

from heron_core.log_levels import SetLevel, level_name, levels_of

log = logging.getLogger("heron_io")


class ProcessLevels:
    """Applies levels to the loggers of this process, and restores the previous levels in time."""

    def __init__(self, process: str) -> None:
        """`process`: the component of an instance, or a target of heron_core.log_levels."""
        self._process = process
        self._previous: dict[str, int] = {}
        """Logger -> its level before the first change."""
        self._until: dict[str, float] = {}

    def apply(self, levels: Iterable[SetLevel], now: float) -> None:
        """The whole table of levels: a logger outside of it has its previous level again. `now`: of
        any monotonic clock."""
        wanted = levels_of(self._process, levels)
        for name in self._previous.keys() - wanted.keys():
            self._restore(name)
        for name, level in wanted.items():
            logger = logging.getLogger(name or None)
            self._previous.setdefault(name, logger.level)
            self._until[name] = now + level.secs
            if logger.level != level.level:
                log.warning("log level of %s: %s", name or "all loggers", level_name(level.level))
                logger.setLevel(level.level)

    def expire(self, now: float) -> None:
        """Restore the levels whose time is over."""
        for name in [name for name, until in self._until.items() if now >= until]:
            self._restore(name)

    def _restore(self, name: str) -> None:
        del self._until[name]
        logging.getLogger(name or None).setLevel(self._previous.pop(name))
        log.warning("log level of %s: as before", name or "all loggers")
