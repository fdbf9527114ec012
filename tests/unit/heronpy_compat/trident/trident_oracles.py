"""The output of the examples of Trident, computed from the data in plain Python."""

import re
from collections import Counter
from pathlib import Path

EXAMPLES = Path(__file__).parents[4] / "examples"
MAP, MIN_MAX = "trident_map", "trident_min_max_of_devices"
WORD_COUNT = "storm_starter/trident_word_count"
ASKED = "cat the dog jumped"
"""Words of a request to WORD_COUNT."""


def words_of(name: str) -> list[str]:
    """The words of an example's sentences, in order."""
    text = (EXAMPLES / f"{name}.py").read_text()
    return " ".join(re.findall(r'^    \["(.*)"\],$', text, re.MULTILINE)).split()


def map_counts() -> dict[str, int]:
    """The last count of each word behind the filter of TridentMap."""
    counts = Counter(word.upper() for word in words_of(MAP))
    return {word: counts[word] for word in ("THE", "TO", "BE", "AND")}


def requested_counts() -> list[list[object]]:
    """The rows of an answer to `ASKED`, sorted."""
    counts = Counter(words_of(WORD_COUNT))
    return [[word, counts[word]] for word in sorted(set(ASKED.split())) if word in counts]


def min_max_lines() -> list[str]:
    """All lines of TridentMinMax, sorted: two batches of devices, and one of vehicles."""
    devices = [(f"device {number}", number * 7 % 11) for number in range(8)]
    lines = [
        "slowest: ['bicycle', 25, 14]",
        "fastest: ['car', 130, 1400]",
        "lightest for its speed: ['bicycle', 25, 14]",
        "heaviest for its speed: ['bus', 80, 12000]",
    ]
    for batch in (devices[:4], devices[4:]):
        least, greatest = min(batch, key=lambda each: each[1]), max(batch, key=lambda each: each[1])
        lines += [f"least count: {list(least)}", f"greatest count: {list(greatest)}"]
    return sorted(lines)


def last_counts(lines: list[str]) -> dict[str, int]:
    """word -> the last count."""
    return {word: int(count) for word, count in (line.split(": ") for line in lines)}
