"""What is told of a run: each batch that is done, and a line now and then."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SHOW_EVERY_SECS = 2.0


@dataclass(frozen=True, slots=True)
class Progress:
    """One batch that is done."""

    batch: int
    secs: float
    """Since the one before it."""
    results: tuple[dict[str, Any], ...]
    """Of each task: task, component, label, spout, executed, emitted, errors, failed, acked, secs,
    state_bytes, finished, printed."""


Report = Callable[[Progress], None]


@dataclass(slots=True)
class Console:
    """Printed lines to stdout, now and then a line about the progress to stderr."""

    shown: float = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show one batch."""
        self.print_lines(progress)
        now = time.monotonic()
        if now - self.shown >= SHOW_EVERY_SECS:
            self.shown = now
            print(line_about(progress), file=sys.stderr, flush=True)

    def print_lines(self, progress: Progress) -> None:
        """What components printed in one batch."""
        for each in progress.results:
            for line in each["printed"]:
                print(line, flush=True)


def line_about(progress: Progress) -> str:
    """`heronpy: batch 12, 0.8 s: words 52,000/s, count 520,000/s, 3 errors`."""
    rates: dict[str, int] = {}
    for result in progress.results:
        worked = result["emitted"] if result["spout"] else result["executed"]
        rates[result["component"]] = rates.get(result["component"], 0) + worked
    secs = max(progress.secs, 1e-9)
    words = [f"{name} {number / secs:,.0f}/s" for name, number in rates.items()]
    errors = sum(result["errors"] for result in progress.results)
    if errors:
        words.append(f"{errors} errors")
    failed = sum(result["failed"] for result in progress.results)
    if failed:
        words.append(f"{failed} failed")
    return f"heronpy: batch {progress.batch}, {progress.secs:.1f} s: {', '.join(words)}"
