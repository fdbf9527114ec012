"""python -m tests.chaos --seconds 300 --seed 7 --containers 3
python -m tests.chaos --seconds 60 --exactly-once 20 --zookeeper embedded
python -m tests.chaos --seconds 60 --exactly-once 12 --rescale -o topology.state.backend=rocksdb
python -m tests.chaos --seconds 300 --exactly-once 12 --rescale --change-code

A word count under faults: every two seconds a process is killed or stopped. Ends with status 1 if a
line was lost or the run did not end; the logs and records are then kept. With --exactly-once the
run has keyed counts, windows and two-phase file sinks of a number of instances, in one of two
topologies chosen by the seed; all results have to be exact, and some faults come in pairs. With
--rescale components get more and fewer instances meanwhile, and with --change-code another version
of their file, which sometimes cannot start; the requesting command is killed now and then. Some
updates run without faults: then unaffected instances must keep their process, and instances with
new code must be replaced.
"""

import argparse
import random
import sys

from heron_core.records import replace
from tests.chaos.chaos_run import Report, Wishes, run
from tests.chaos.exact_run import INSTANCES, PAIR_SHARE, ExactReport, run_exact

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
    parser.add_argument(
        "-o", dest="settings", metavar="KEY=VALUE", action="append", default=[], help="repeatable"
    )
    parser.add_argument(
        "--exactly-once", type=int, choices=INSTANCES, metavar="INSTANCES", help="12, 20, 40 or 60"
    )
    parser.add_argument("--rescale", action="store_true", help="`heronpy update` meanwhile")
    parser.add_argument("--change-code", action="store_true", help="`heronpy update --code`, too")
    options = parser.parse_args()
    if (options.rescale or options.change_code) and options.zookeeper:
        parser.error("updates look at the state in files: leave --zookeeper out")
    bad = 0
    for seed in options.seed or [random.SystemRandom().randrange(SEEDS)]:
        print(f"seed {seed}", flush=True)
        wishes = Wishes(seed, options.seconds, options.containers, options.zookeeper)
        wishes = replace(wishes, settings=tuple(options.settings), rescales=options.rescale)
        wishes = replace(wishes, code_changes=options.change_code)
        if options.exactly_once is None:
            report: Report | ExactReport = run(wishes)
        else:
            report = run_exact(replace(wishes, pair_share=PAIR_SHARE), options.exactly_once)
        print(report if report.good else report.history(), flush=True)
        bad += not report.good
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
