"""The log lines of the examples of Storm's Streams API, computed in plain Python."""

from collections import Counter
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[4] / "examples" / "streams"
PRICES = [("AAPL", 42), ("GOOG", 91), ("AAPL", 44), ("AAPL", 39), ("GOOG", 95), ("FB", 7)] * 2


def by_key(items: list[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """key -> its values."""
    values: dict[Any, list[Any]] = {}
    for key, value in items:
        values.setdefault(key, []).append(value)
    return values


def windowed_word_count() -> list[Any]:
    """Words with a count above one."""
    text = "the cow jumped over the moon an apple a day the man in the moon"
    return [pair for pair in Counter(text.split()).items() if pair[1] > 1]


def typed_tuples() -> list[Any]:
    """Ten visits in each window."""
    visits = [(number % 2, f"/page/{number % 3}") for number in range(20)]
    return [item for at in (0, 10) for item in by_key(visits[at : at + 10]).items()]


def branches() -> list[Any]:
    """Even ones, odd ones."""
    return [f"{word}: {n}" for word, rest in (("even", 0), ("odd", 1)) for n in range(rest, 12, 2)]


def sliding() -> list[dict[Any, list[int]]]:
    """Windows up to each third quote, and up to the end of the data."""
    ends = [3, 6, 9, 12]
    return [by_key(PRICES[max(0, end - 6) : end]) for end in ends] + [by_key(PRICES[9:])]


def group_by_key_and_window() -> list[Any]:
    """Lists, and the highest price of each list."""
    lists = [item for window in sliding()[:4] for item in window.items()]
    return lists + [(key, max(prices)) for key, prices in lists]


def joins() -> list[Any]:
    """Squares and cubes."""
    return [(number, (number**2, number**3)) for number in range(1, 6)]


def stateful_word_count() -> list[Any]:
    """Totals behind each window of five words."""
    words = ["the", "cow", "jumped", "over", "the", "moon", "and", "the", "cow", "slept"]
    totals, shown = Counter[str](), []
    for window in (words[:5], words[5:]):
        for word, count in Counter(window).items():
            totals[word] += count
            shown.append((word, totals[word]))
    return shown


def aggregates() -> list[Any]:
    """Of 3, 4 and 5."""
    return [4.0]


def word_count_to_bolt() -> list[Any]:
    """As the bolt logs it."""
    return ["storm = 1", "heron = 1", "storm = 2"]


WANTED = {
    "aggregates": aggregates(),
    "branches": branches(),
    "group_by_key_and_window": group_by_key_and_window(),
    "joins": joins(),
    "stateful_word_count": stateful_word_count(),
    "typed_tuples": typed_tuples(),
    "windowed_word_count": windowed_word_count(),
    "word_count_to_bolt": word_count_to_bolt(),
}
"""Example -> the log of its last stages, in the order of the stages."""
ASKED = "state_queries"
"""The example whose answers depend on the moment of the question."""


def is_answered(lines: list[str]) -> bool:
    """True if the questions of `ASKED` have answers in their order: counts of some moment, and None
    for a word outside of the data."""
    words = [line.split("'")[1] for line in lines]
    return words == ["storm", "heron", "flink"] and "('flink', None)" in lines
