"""python -m tests.chaos --seconds 300 --seed 7 --containers 3

A word count of which some process is killed or stopped every two seconds. Ends with status 1 if a
line was lost or the run did not end; its logs and records are kept then.
"""

import argparse
import random
import sys

from tests.chaos.chaos_run import Wishes, run

SEEDS = 1_000_000


def main() -> None:
    """Run once for each seed; a line for each."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="%(default)g")
    parser.add_argument("--containers", type=int, default=3, help="%(default)s")
    parser.add_argument("--seed", type=int, action="append", help="repeatable; default: any")
    parser.add_argument("--zookeeper", metavar="embedded|HOST:PORT", help="default: files")
    options = parser.parse_args()
    bad = 0
    for seed in options.seed or [random.SystemRandom().randrange(SEEDS)]:
        print(f"seed {seed}", flush=True)
        report = run(Wishes(seed, options.seconds, options.containers, options.zookeeper))
        print(report if report.good else report.history(), flush=True)
        bad += not report.good
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
