"""When an operation is to begin: a time of day, or so long from now."""

import re
from datetime import datetime, timedelta

from heron_core.errors import UsageError

_DELAY = re.compile(r"\+(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
AHEAD_MAX = timedelta(days=366)
"""Further ahead is a slip of the pen: the topology would have to run for so long."""


def start_time(word: str, now: datetime) -> float:
    """Seconds since 1970, of an ISO 8601 time (local, if it has no offset) or `+1h30m`; UsageError
    for what is neither, or over. `now` knows its offset."""
    at = _after(word, now) if word.startswith("+") else _time(word, now)
    if at <= now:
        raise UsageError(f"--at {word}: that was {_shown(now - at)} ago, name a later time")
    if at > now + AHEAD_MAX:
        raise UsageError(f"--at {word}: that is more than {AHEAD_MAX.days} days ahead")
    return at.timestamp()


def _after(word: str, now: datetime) -> datetime:
    match = _DELAY.fullmatch(word)
    if match is None:
        raise _nonsense(word)
    days, hours, minutes, seconds = (int(each or 0) for each in match.groups())
    try:
        return now + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        raise _nonsense(word) from None


def _time(word: str, now: datetime) -> datetime:
    try:
        at = datetime.fromisoformat(word)
        return at.astimezone() if at.tzinfo is None else at
    except (ValueError, OverflowError):
        raise _nonsense(word) from None


def _nonsense(word: str) -> UsageError:
    return UsageError(f"--at {word!r}: use 2026-12-01T03:00, 2026-12-01T03:00+01:00 or +1h30m")


def _shown(past: timedelta) -> str:
    return str(timedelta(seconds=max(1, round(past.total_seconds()))))
