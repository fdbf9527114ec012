"""How numbers look to people, in the terminal and on pages: three digits and a unit."""

NOTHING = "-"
POWERS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
SIZES = ("B", "KiB", "MiB", "GiB", "TiB")
ROUNDS_UP = 0.9995
"""Part of a unit from which a number of three digits is shown as one of the next unit."""
TIMES = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
"""A unit of time in seconds and its name, then the unit of the rest that is shown behind it."""


def whole(number: float) -> str:
    """A count with all its digits."""
    return f"{round(number):,}"


def short(number: float) -> str:
    """A count or a rate: 0.3, 999, 12.3k, 4.56M."""
    for power, letter in POWERS:
        if abs(number) >= power * ROUNDS_UP:
            return f"{_three(number / power)}{letter}"
    return f"{number:.0f}" if number == int(number) or abs(number) >= 100 else f"{number:.1f}"


def rate(per_sec: float) -> str:
    """Tuples per second."""
    return f"{short(per_sec)}/s"


def _three(number: float) -> str:
    """A number with three digits, so that columns are level."""
    return f"{number:.{2 if abs(number) < 9.995 else 1 if abs(number) < 99.95 else 0}f}"


def share(value: float) -> str:
    """A share, in percent."""
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"


def size(count: float) -> str:
    """Bytes: 512 B, 1.5 KiB, 20.2 MiB."""
    at = 0
    while at < len(SIZES) - 1 and abs(count) >= 1024 * ROUNDS_UP:
        count, at = count / 1024, at + 1
    number = _three(count)
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {SIZES[at]}"


def milliseconds(value: float | None) -> str:
    """A latency: 51 µs, 3.2 ms, 120 ms, 4.2 s; a dash if not measured."""
    if value is None:
        return NOTHING
    if value >= 1000:
        return duration(value / 1000)
    if 0 < value < 0.9995:
        return f"{value * 1000:.0f} µs"
    return f"{value:.0f} ms" if value >= 99.95 or value == 0 else f"{value:.1f} ms"


def duration(secs: float) -> str:
    """The two largest units: 4.2 s, 3 min 20 s, 2 h 5 min."""
    if secs < 10:
        return f"{max(0.0, secs):.1f} s"
    for length, unit, smaller, name in TIMES:
        if secs >= length:
            rest = int(secs) % length // smaller
            return f"{int(secs) // length} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{int(secs)} s"


def counted(number: int, noun: str) -> str:
    """1 container, 2,000 deliveries."""
    has_vowel = noun.endswith(("ay", "ey", "oy", "uy"))
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and not has_vowel else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
