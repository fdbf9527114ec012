"""Log levels of a running topology that differ from its config for a while.

The topology master keeps the table of levels. Every change sends the whole table to every process,
with the seconds that each level has left, so a message may be repeated or lost without harm. A
process applies the levels for itself and restores the former levels by its own clock, so levels
return even where the topology master is dead.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

EVERY_PROCESS = ""
"""A target: all instances, stream managers and the topology master."""
STREAM_MANAGERS, TOPOLOGY_MASTER = "stream-manager", "topology-master"
"""Targets beside components, by the names of their logs."""
ROOT = ""
"""The logger above all others."""
DEFAULT = "default"
"""In place of a level: the level of the config again."""
LEVELS: Mapping[str, int] = {
    "debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50, "off": 60,
}  # fmt: skip
"""Level -> the number of `logging`; `off` is above all of them."""
SECS, SECS_MAX = 600, 7 * 24 * 3600
"""Of a level: ten minutes are enough to see a fault happen; a forgotten `debug` fills no disk for
longer than a week."""
CHANGED_MAX = 50
"""Levels that differ at a time: far more than a search for a fault needs."""
LOGGER_CHARACTERS_MAX = 200


class SetLevel(NamedTuple):
    """One level; on the wire an array in this order."""

    target: str
    """A component, or one of the targets above."""
    logger: str
    level: int
    secs: float
    """Time left."""


def level_name(level: int) -> str:
    """The word of a level's number."""
    return next((name for name, number in LEVELS.items() if number == level), str(level))


def levels_of(process: str, levels: Iterable[SetLevel]) -> dict[str, SetLevel]:
    """Logger -> its level in a process, called after its component or by a target above. A level
    for the process comes before the one for every process."""
    by_logger: dict[str, SetLevel] = {}
    for level in sorted(levels, key=lambda level: level.target != EVERY_PROCESS):
        if level.target in (EVERY_PROCESS, process):
            by_logger[level.logger] = level
    return by_logger
