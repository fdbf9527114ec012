"""What the examples of storm-starter print, computed from their integers without any window."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "examples" / "storm_starter"
_parts = runpy.run_path(str(EXAMPLES / "integers.py"))
VALUES: list[int] = _parts["integers"](_parts["INTEGERS"])
TIMES = [_parts["START_MS"] + number * _parts["STEP_MS"] for number in range(len(VALUES))]


def sliding_window() -> list[str]:
    """Averages of three sums; the tenth sum is alone."""
    sums = [sum(VALUES[max(0, end - 30) : end]) for end in range(10, 101, 10)]
    return [str(sum(part) // len(part)) for part in (sums[at : at + 3] for at in (0, 3, 6, 9))]


def sliding_tuple_ts() -> list[str]:
    """Sums of windows (end - 5 s, end] that end at whole multiples of three seconds."""
    ends = range(-(-TIMES[0] // 3_000) * 3_000, TIMES[-1] + 5_000, 3_000)
    sums = (
        sum(value for value, at in zip(VALUES, TIMES, strict=True) if end - 5_000 < at <= end)
        for end in ends
    )
    return list(map(str, sums))


def stateful() -> list[str]:
    """The sums so far, and the sums of these so far: two printers share the former."""
    partial = [sum(VALUES[: end + 1]) for end in range(len(VALUES))]
    return [f"partial {value}" for value in partial] + [f"total {sum(partial)}"]


def stateful_windowing() -> list[str]:
    """The sum of windows of five with each third integer, and with what is left at the end."""
    total, lines = 0, []
    for end in [*range(3, len(VALUES), 3), len(VALUES) + 2]:
        total += sum(VALUES[max(0, end - 5) : end])
        lines.append(str(total))
    return lines


def join_bolt() -> list[str]:
    """Ten people."""
    genders = ("male", "female")
    return [f"{number} {number} {genders[number % 2]} {number + 20}" for number in range(10)]


PRINTED = {each.__name__: each() for each in (sliding_window, sliding_tuple_ts, stateful_windowing)}
"""Example -> its lines, in this order."""
REACH = {
    "aaa": "[[0]]",
    "foo.com/blog/1": "[[16]]",
    "engineering.twitter.com/blog/5": "[[14]]",
    "tech.backtype.com/blog/123": "[[7]]",
}
"""Of TridentReach: URL -> answer."""


def averages(lines: list[str]) -> list[tuple[float, float]]:
    """(of all windows, of the window), of PersistentWindowing."""
    pairs = (line.replace("global=", "").split(" window=") for line in lines)
    return [(float(everything), float(window)) for everything, window in pairs]
