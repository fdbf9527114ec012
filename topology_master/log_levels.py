"""The table of log levels that differ from the config, in the topology master.

A level is set by `heronpy log_level` or REST, lasts some seconds, and is removed by its time or by
the level `default`. Times are seconds since 1970, so a master that takes over keeps them.
"""

import difflib
import re
import reprlib
from typing import Any

from msgspec import Struct

from heron_core import log_levels
from heron_core.errors import HeronError
from heron_core.log_levels import SetLevel
from heron_core.stats import LogLevelStats
from heron_core.topology import TopologySpec
from heron_core.typed_json import from_json, to_json
from heron_core.wire.messages import Json, LogLevels

RESEMBLANCE_MIN = 0.75
"""Of a misspelt name, by difflib: one or two letters of a short word."""
LOGGER = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)


class KeptLevel(Struct, frozen=True):
    """A level as a master keeps it for its successor."""

    target: str
    logger: str
    level: int
    until: float
    """Seconds since 1970."""


class LogLevelTable:
    """The levels of one topology. `now` is of the master's clock throughout."""

    def __init__(self, topology: TopologySpec, wall_clock_secs: float, kept: Any = ()) -> None:
        """`wall_clock_secs` plus `now` are seconds since 1970; `kept`: `to_json` of a previous
        master, else ProtocolError."""
        self._topology = topology
        self._wall_clock_secs = wall_clock_secs
        levels = from_json(tuple[KeptLevel, ...], kept, "log levels")
        self._levels = {(level.target, level.logger): level for level in levels}

    def change(self, arguments: Json, now: float) -> str:
        """Set, or remove, the level of `target` (a component, a process or a logger; empty for
        all) for `secs`; returns the change in words. HeronError for a wrong argument."""
        word = arguments.get("target", "")
        target, logger = self._aim(word)
        level, secs = _level(arguments.get("level")), _secs(arguments.get("secs", log_levels.SECS))
        subject = _subject(target, logger)
        if level is None:
            if self._levels.pop((target, logger), None) is None:
                raise HeronError(f"the log level of {subject} is that of the config already")
            return f"log level of {subject}: as in the config"
        if (target, logger) not in self._levels and len(self._levels) >= log_levels.CHANGED_MAX:
            raise HeronError(
                f"{log_levels.CHANGED_MAX} log levels are changed already: set some to "
                f"{log_levels.DEFAULT} first"
            )
        until = self._wall_clock_secs + now + secs
        self._levels[target, logger] = KeptLevel(target, logger, level, until)
        changed = f"log level of {subject}: {log_levels.level_name(level)} for {secs} s"
        return f"{changed}{self._spelling_hint(logger)}"

    def _spelling_hint(self, logger: str) -> str:
        """Any word may name a logger, so a misspelt component is accepted, without effect: the
        component that a logger's name resembles, in words."""
        known = (*log_levels_targets(), *self._topology.by_name)
        close = difflib.get_close_matches(logger, known, 1, RESEMBLANCE_MIN)
        if logger in (log_levels.ROOT, *known) or not close:
            return ""
        return f" ({logger!r} is not a component: did you mean {close[0]!r}?)"

    def _aim(self, word: object) -> tuple[str, str]:
        """The target and the logger of a word."""
        if word in ("", *log_levels_targets(), *self._topology.by_name):
            return str(word), log_levels.ROOT
        is_name = isinstance(word, str) and LOGGER.fullmatch(word)
        if not is_name or len(str(word)) > log_levels.LOGGER_CHARACTERS_MAX:
            raise HeronError(
                f"{reprlib.repr(word)} is not a component, a process "
                f"({', '.join(log_levels_targets())}) or the name of a logger, as in `kafka.conn`"
            )
        return log_levels.EVERY_PROCESS, str(word)

    def expired(self, now: float) -> list[str]:
        """Remove the levels whose time is over; a line for each."""
        at = self._wall_clock_secs + now
        over = [key for key, level in self._levels.items() if at >= level.until]
        for key in over:
            del self._levels[key]
        return [
            f"log level of {_subject(*key)}: as in the config, its time is over" for key in over
        ]

    def message(self, now: float) -> LogLevels:
        """The whole table for other processes."""
        at = self._wall_clock_secs + now
        return LogLevels(
            tuple(
                SetLevel(level.target, level.logger, level.level, max(0.0, level.until - at))
                for level in self._levels.values()
            )
        )

    def stats(self, now: float) -> tuple[LogLevelStats, ...]:
        """Levels for views."""
        return tuple(
            LogLevelStats(
                target=target, logger=logger, level=log_levels.level_name(level), secs_left=secs
            )
            for target, logger, level, secs in self.message(now).levels
        )

    def to_json(self) -> Any:
        """For a master that takes over."""
        return to_json(tuple(self._levels.values()))

    def __bool__(self) -> bool:
        return bool(self._levels)


def log_levels_targets() -> tuple[str, str]:
    """Processes beside instances."""
    return (log_levels.STREAM_MANAGERS, log_levels.TOPOLOGY_MASTER)


def _subject(target: str, logger: str) -> str:
    if logger:
        return f"the logger {logger}"
    return target or "all processes"


def _level(word: object) -> int | None:
    """The number of a level, None for `default`."""
    if word == log_levels.DEFAULT:
        return None
    if not isinstance(word, str) or word not in log_levels.LEVELS:
        known = ", ".join((*log_levels.LEVELS, log_levels.DEFAULT))
        raise HeronError(f"{reprlib.repr(word)} is not a log level: {known}")
    return log_levels.LEVELS[word]


def _secs(value: object) -> int:
    if type(value) is not int or not 1 <= value <= log_levels.SECS_MAX:
        raise HeronError(
            f"a log level lasts for 1 to {log_levels.SECS_MAX} s (7 days), not "
            f"{reprlib.repr(value)}"
        )
    return value
