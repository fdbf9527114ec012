"""Runs one target with random steps, and prints the least steps that fail."""

import faulthandler
import random
import resource
import sys
import time
import traceback
from typing import Any

from .mutate import smallest
from .targets import Target

HANGS_SECS = 60.0
"""Nothing here takes more than milliseconds."""
WATCH_AGAIN_SECS = 5.0
TELL_EVERY_SECS = 60.0


def run(target: Target, seconds: float, seed: int) -> int:
    """Exit code 1 if something failed; executions count their seeds from `seed` on."""
    started = told = time.monotonic()
    watched = float("-inf")
    executions = 0
    while (now := time.monotonic()) - started < seconds:
        if now - watched >= WATCH_AGAIN_SECS:
            watched = now
            faulthandler.dump_traceback_later(HANGS_SECS, exit=True)
        steps = target.make(random.Random(seed + executions))
        executions += 1
        if not passes(target, steps):
            report(target, steps)
            print(f"found by --seed {seed + executions - 1} after {executions} executions")
            return 1
        if now - told >= TELL_EVERY_SECS:
            told = now
            print(f"{executions} executions", flush=True)
    faulthandler.cancel_dump_traceback_later()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    elapsed = time.monotonic() - started
    print(f"{executions} executions in {elapsed:.0f} s, nothing found, at most {peak} MiB")
    return 0


def passes(target: Target, steps: list[Any]) -> bool:
    """Whether nothing forbidden happens."""
    try:
        target.run(steps)
    except Exception:
        return False
    return True


def report(target: Target, steps: list[Any]) -> None:
    """Print the least steps that fail, and how they do."""
    steps = smallest(steps, lambda fewer: not passes(target, fewer))
    print(f"FAILED with the steps\n\n{steps!r}\n")
    try:
        target.run(steps)
    except Exception:
        traceback.print_exc(file=sys.stdout)
