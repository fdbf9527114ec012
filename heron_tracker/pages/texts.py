"""Numbers as people read them at a glance."""

from datetime import datetime
from html import escape

NOTHING = "-"
ROUNDS_UP = 0.9995
"""Of a power of a thousand: with three digits it is one of the next."""
_SIZES = ("bytes", "KiB", "MiB", "GiB", "TiB")
_POWERS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float) -> str:
    """With three digits that matter: 950, 12.3k, 4.5M."""
    for power, letter in _POWERS:
        if abs(value) >= power * ROUNDS_UP:
            return f"{value / power:.3g}{letter}"
    return f"{value:.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.1f}"


def rate(per_sec: float) -> str:
    """Tuples per second."""
    return f"{number(per_sec)}/s"


def share(value: float) -> str:
    """Of one, in percent."""
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"


def size(count: float) -> str:
    """Bytes in the largest unit that leaves a number of one or more."""
    for unit in _SIZES[:-1]:
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} {_SIZES[-1]}"


def duration(secs: float) -> str:
    """The two largest units: 4.2 s, 3 min 20 s, 2 h 5 min."""
    if secs < 10:
        return f"{max(0.0, secs):.1f} s"
    whole = int(secs)
    if whole < 60:
        return f"{whole} s"
    for length, unit, smaller, name in (
        (86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")
    ):  # fmt: skip
        if whole >= length:
            rest = whole % length // smaller
            return f"{whole // length} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{whole} s"


def milliseconds(value: float | None) -> str:
    """A latency; a dash for one that was not measured."""
    if value is None:
        return NOTHING
    if value >= 1000:
        return duration(value / 1000)
    if 0 < value < 0.1:
        return f"{value * 1000:.2g} µs"
    return f"{value:.0f} ms" if value >= 10 or value == 0 else f"{value:.2g} ms"


def clock_time(at: float) -> str:
    """The local time of a moment, in seconds since 1970."""
    return datetime.fromtimestamp(at).strftime("%H:%M:%S")


def since(at: float, now: float) -> str:
    """Since when, and for how long: since 14:03:20 (4 min 10 s)."""
    begun = datetime.fromtimestamp(at)
    is_today = begun.date() == datetime.fromtimestamp(now).date()
    when = begun.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M")
    return f"since {when} ({duration(now - at)})"


def counted(count: int, noun: str) -> str:
    """1 instance, 2 instances."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def marked(text: str) -> str:
    """A sentence as HTML, with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # the last backtick is of the text
        parts[-2:] = ["`".join(parts[-2:])]
    return "".join(
        f"<code>{escape(each)}</code>" if at % 2 else escape(each) for at, each in enumerate(parts)
    )


def plain(text: str) -> str:
    """A sentence without backticks."""
    return text.replace("`", "")
