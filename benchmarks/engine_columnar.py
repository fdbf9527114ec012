"""What benchmarks/columnar.py runs of the engine: words and windows, by columns or by tuples."""

import argparse
from collections import Counter

from benchmarks import workload
from benchmarks.engine_marks import ATLEAST_ONCE, Race, race

WORDS, WORDS_ACKED = "words", "words-acked"
WINDOWS, WINDOWS_BY_TUPLES = "windows", "windows-by-tuples"
VARIANTS = (WORDS, WORDS_ACKED, WINDOWS, WINDOWS_BY_TUPLES)
BATCH_SENTENCES = 10_000
BATCHES_PENDING = 8
"""Under way, of 100,000 words each."""
TOPOLOGY = {WINDOWS: "WindowsByColumns", WINDOWS_BY_TUPLES: "WindowsByTuples"}


def main() -> None:
    """Run one topology once, check its result, report."""
    parser = workload.count_parser(__doc__, 10_000_000)
    parser.add_argument("--variant", choices=VARIANTS, default=WORDS)
    parser.add_argument("--batch", type=int, default=BATCH_SENTENCES, help="sentences in a batch")
    options = parser.parse_args()
    words = options.variant in (WORDS, WORDS_ACKED)
    found = run_words(options) if words else run_windows(options)
    workload.report(options.count, found.first, found.last)


def run_words(options: argparse.Namespace) -> Race:
    """The word count: every word's count is checked."""
    sentences = workload.sentence_count(options.count)
    is_acked = options.variant == WORDS_ACKED
    acked = {**ATLEAST_ONCE, "topology.max.spout.pending": BATCHES_PENDING} if is_acked else {}
    config = {"benchmark.batch": options.batch, **acked}
    found = race("columnar_words", sentences, config, is_acked)
    counts: Counter[str] = Counter()
    for each in found.finished:
        counts.update(each["counts"])
    workload.check_counts(counts, sentences)
    return found


def run_windows(options: argparse.Namespace) -> Race:
    """The sums of windows: their number, their total and the number of events are checked."""
    from benchmarks.topologies import columnar_windows as windows

    words = ("--name", TOPOLOGY[options.variant])
    found = race("columnar_windows", options.count, {}, is_tracked=False, words=words)
    totals = [sum(each) for each in zip(*(each["counts"] for each in found.finished), strict=True)]
    per_window = windows.WINDOW_MS * windows.EVENTS_PER_MS
    whole, rest = divmod(options.count, per_window)
    expected = whole * windows.KEYS + min(rest, windows.KEYS)
    if totals[0] != expected or totals[1] != total_of(options.count):
        raise workload.WrongResultError(f"{totals} windows, sum and events of {options.count}")
    workload.check_total(totals[2], options.count)
    return found


def total_of(count: int) -> int:
    """The sum of the values of so many events: 0 to 99 in turn."""
    rounds, rest = divmod(count, 100)
    return rounds * 4950 + rest * (rest - 1) // 2


if __name__ == "__main__":
    main()
