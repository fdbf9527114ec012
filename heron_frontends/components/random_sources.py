"""Sources without end, for demonstrations and tests of load."""

import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heron_api.spout.spout import Spout
from heron_frontends.components.settings import WORDS

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

INTERVAL_MS = "library.random.interval.ms"
"""Config key: the time between two tuples of an instance; 0 for as fast as possible."""
COUNT = "library.random.count"
"""Config key: number of tuples per instance before the spout finishes; absent: endless."""

_DAY_MS = 24 * 60 * 60 * 1000


class _RandomSource(Spout):
    """Emits `values()` at a steady pace; failed tuples are not replayed, because the spout keeps no
    values (nor do Storm's test spouts).
    """

    interval_ms: float = 100
    count: int | None = None
    tracked = False

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the pace."""
        self._interval_secs = float(config.get(INTERVAL_MS, self.interval_ms)) / 1000
        limit = config.get(COUNT, self.count)
        self._left = None if limit is None else int(limit)
        self._due = 0.0
        self._random = random.Random()
        self._emitted = 0

    def next_tuple(self) -> None:
        """Emit one tuple if due: spouts must not wait."""
        now = time.monotonic()
        if now < self._due:
            return
        if self._left is not None and self._emitted >= self._left:
            self.finish()
            return
        self._due = now + self._interval_secs
        self._emitted += 1
        self.emit(self.values(), tup_id=self._emitted if self.tracked else None)

    def values(self) -> list[Any]:
        """The next tuple."""
        raise NotImplementedError


class RandomWords(_RandomSource):
    """Emits random elements of `words` (Storm: TestWordSpout, RandomSentenceSpout)."""

    outputs = ["word"]
    words: Sequence[str] = ("nathan", "mike", "jackson", "golda", "bertels")

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the words."""
        super().initialize(config, context)
        self._words = list(config.get(WORDS, self.words))

    def values(self) -> list[Any]:
        """One word."""
        return [self._random.choice(self._words)]


class RandomIntegers(_RandomSource):
    """A number below 1000, a time (ms since 1970, a day ago) and a number that counts up.

    Storm: RandomIntegerSpout of storm-starter.
    """

    outputs = ["value", "ts", "msgid"]
    tracked = True

    def values(self) -> list[Any]:
        """One row."""
        return [self._random.randrange(1000), int(time.time() * 1000) - _DAY_MS, self._emitted]
