"""What the programs that run on Spark have in common: the batch, the warm-up, the marks.

A batch is 100,000 sentences, a million words. Spark compiles and warms up during the first ones,
so the clock runs from the end of batch WARM_UP on; sentences before that count for nobody.
"""

from benchmarks import workload

BATCH_SENTENCES = 100_000
WARM_UP_SENTENCES = 3 * BATCH_SENTENCES
MASTER = "local[2]"


class Clock:
    """Prints the marks as batches end."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._done = 0
        self._first: tuple[int, float] | None = None
        self.ended = False

    def batch_done(self, sentences: int) -> None:
        """So many more sentences are counted."""
        self._done += sentences
        if self._first is None and self._done >= WARM_UP_SENTENCES:
            self._first = self._done, workload.mark("first")
        if self._done >= self._wanted and not self.ended:
            self.ended = True
            self._last = workload.mark("last")

    def report(self) -> None:
        """Print the result, once the counts are checked."""
        assert self._first is not None
        before, at = self._first
        workload.report((self._done - before) * workload.WORDS_PER_SENTENCE, at, self._last)
