"""How numbers look: three digits and a unit in tables, all digits in sentences."""

SI_UNITS = ("k", "M", "G", "T", "P")


def whole(number: float) -> str:
    """A count, with all its digits."""
    return f"{round(number):,}"


def short(number: float) -> str:
    """A count or a rate in at most five characters: 999, 12.3k, 4.56M."""
    if abs(number) < 999.5:
        return f"{number:.0f}"
    for unit in SI_UNITS:
        number /= 1000
        if abs(number) < 999.5:
            return f"{number:.{_digits(abs(number))}f}{unit}"
    return f"{number:.0f}{SI_UNITS[-1]}"


def _digits(number: float) -> int:
    """Behind the point, for three in all."""
    return 2 if number < 9.995 else 1 if number < 99.95 else 0


def size(number: int) -> str:
    """Bytes, with the unit that suits; empty for none."""
    if number < 1024:
        return f"{number} B" if number else ""
    return f"{number / 1024:.0f} KiB" if number < 1024**2 else f"{number / 1024**2:,.1f} MiB"


def milliseconds(value: float | None) -> str:
    """A latency with the unit that suits it; empty without samples."""
    if value is None:
        return ""
    if value < 1:
        return f"{value * 1000:.0f} µs"
    if value < 1000:
        return f"{value:.1f} ms" if value < 100 else f"{value:.0f} ms"
    return f"{value / 1000:.1f} s"


def duration(secs: float) -> str:
    """Seconds, in minutes or hours from there on."""
    if secs < 60:
        return f"{secs:.1f} s"
    return f"{secs / 60:.1f} min" if secs < 3600 else f"{secs / 3600:.1f} h"


def counted(number: int, noun: str) -> str:
    """1 container, 2 containers."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


SPARKS = "▁▂▃▄▅▆▇█"


def sparkline(values: list[float]) -> str:
    """A bar for each value, the highest is full; empty without any."""
    highest = max(values, default=0.0)
    if highest <= 0:
        return ""
    last = len(SPARKS) - 1
    return "".join(SPARKS[round(max(0.0, each) / highest * last)] for each in values)
