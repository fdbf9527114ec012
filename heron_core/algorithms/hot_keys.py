"""The most frequent keys of a stream in little memory: space-saving, made exact by a count-min.

Space-saving (Metwally, Agrawal, El Abbadi, ICDT 2005) keeps so many keys with a counter each; a new
key takes the smallest counter over, so no key with more than 1 / COUNTERS of the stream is missed,
and a counter is too high by what it took over at most. Count-min (Cormode, Muthukrishnan, 2005)
counts every key in a few rows of cells, and is too high by what shares a cell. Both only ever err
upwards, so the smaller of the two is nearer. Counts fade: a key is hot by what comes now.
"""

import math
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

COUNTERS = 64
"""A key with more than a 64th of the stream is never missed."""
ROWS, CELLS = 4, 256
"""A count-min's error is 1 % of the stream, except once in fifty times (e/256, exp(-4))."""
HALVED_SECS = 30.0
"""So often all counts are halved: a key that was hot a few minutes ago is forgotten."""
SHOWN_MAX = 3
SHARE_MIN = 0.02
"""A key with less is not reported: no instance notices it."""
WEIGHT_MAX = float(1 << 62)
"""What is larger is nonsense; not a number is neither above nor below anything."""
SAMPLES_MIN = 100
"""Fewer samples say nothing of shares."""
STANDARD_ERRORS = 3.0
"""A key is reported if its share less so many standard errors of a binomial share is above
SHARE_MIN: of a hundred equally frequent keys the first one of 100 samples has 4 % by chance."""


class HotKeys:
    """Weights of keys, by a hash of 32 bits and a text for people."""

    def __init__(self, now: float) -> None:
        self._counts: dict[int, float] = {}
        self._texts: dict[int, str] = {}
        self._cells = [array("d", bytes(8 * CELLS)) for _ in range(ROWS)]
        self._halve_at = now + HALVED_SECS
        self.total = 0.0
        """Of all that was added, faded."""
        self.samples = 0
        self._weights = self._squares = 0.0
        """Sums over the samples of keys, faded: weights, and squares of weights."""

    def is_known(self, hashed: int) -> bool:
        """Whether the key has a counter, and so a text."""
        return hashed in self._counts

    def add(self, hashed: int, text: str, weight: float, now: float) -> None:
        """So much more of a key; `text` is used if it has no counter yet."""
        if now >= self._halve_at:
            self._halve(now)
        self.total += weight
        self.samples += 1
        self._weights += weight
        self._squares += weight * weight
        for row, cells in enumerate(self._cells):
            cells[_cell(hashed, row)] += weight
        counts = self._counts
        if hashed in counts:
            counts[hashed] += weight
            return
        taken_over = 0.0
        if len(counts) >= COUNTERS:
            least = min(counts, key=counts.__getitem__)
            taken_over = counts.pop(least)
            del self._texts[least]
        counts[hashed] = taken_over + weight
        self._texts[hashed] = text

    def add_other(self, weight: float) -> None:
        """Input that has no key."""
        self.total += weight

    def weight(self, hashed: int) -> float:
        """An upper bound of what was added of a key, as faded as the rest; 0 without a counter."""
        in_cells = min(cells[_cell(hashed, row)] for row, cells in enumerate(self._cells))
        return min(self._counts.get(hashed, 0.0), in_cells)

    def top(self) -> list[tuple[str, float]]:
        """Keys with a share that counts and is not by chance, and their weights, the heaviest
        first."""
        if self.samples < SAMPLES_MIN:
            return []
        heaviest = sorted(((self.weight(key), key) for key in self._counts), reverse=True)
        return [
            (self._texts[hashed], weight)
            for weight, hashed in heaviest[:SHOWN_MAX]
            if self._stands_out(weight)
        ]

    def _stands_out(self, weight: float) -> bool:
        if self.total <= 0.0 or self._squares <= 0.0:
            return False  # nothing has come for so long that all counts have faded
        share = min(1.0, weight / self.total)
        error = math.sqrt(share * (1.0 - share) / self._effective_samples)
        return share - STANDARD_ERRORS * error > SHARE_MIN

    @property
    def _effective_samples(self) -> float:
        """Number of equal samples with the same error (Kish, Survey Sampling, 1965): a sample that
        stands for a thousand tuples is no better known than another."""
        return self._weights * self._weights / self._squares

    def _halve(self, now: float) -> None:
        """Once, or as often as it was due."""
        share = 0.5 ** (1 + int((now - self._halve_at) / HALVED_SECS))
        self._halve_at = now + HALVED_SECS
        self.total *= share
        self._weights *= share
        self._squares *= share * share
        for hashed in self._counts:
            self._counts[hashed] *= share
        self._cells = [array("d", (each * share for each in cells)) for cells in self._cells]


def _cell(hashed: int, row: int) -> int:
    """Each row by another quarter of the hash, mixed with its number."""
    return ((hashed >> (8 * row)) ^ (hashed >> 24) * row) % CELLS


def are_hot_keys(value: Any) -> bool:
    """Whether an instance's snapshot may have this: total, and a list of (text, weight)."""
    if value is None:
        return True
    if type(value) is not dict or not _is_weight(value.get("total")):
        return False
    seen = value.get("seen", 0)
    if type(seen) is not int or not 0 <= seen <= WEIGHT_MAX:
        return False
    rows = value.get("keys")
    return isinstance(rows, list | tuple) and all(
        type(row) in (list, tuple) and len(row) == 2 and type(row[0]) is str and _is_weight(row[1])
        for row in rows
    )


def _is_weight(value: object) -> bool:
    return type(value) is float and 0.0 <= value <= WEIGHT_MAX


def joined(several: Iterable[tuple[Mapping[str, Any], int]]) -> list[tuple[str, float]]:
    """The hottest keys of a component and their shares, out of its instances': snapshots, and what
    each instance has executed by now. By fields grouping a key is at one of them; by partial key at
    two, whose weights add up. A snapshot stands for what came after it, too, or the instance with
    the newer one would have too large a share."""
    weights: dict[str, float] = {}
    total = 0.0
    for keys, executed in several:
        grown = max(1.0, executed / max(1.0, keys.get("seen", executed)))
        total += grown * keys["total"]
        for text, weight in keys["keys"]:
            weights[text] = weights.get(text, 0.0) + grown * weight
    if total <= 0:
        return []
    heaviest = sorted(weights.items(), key=lambda item: -item[1])[:SHOWN_MAX]
    return [(text, min(1.0, weight / total)) for text, weight in heaviest]
