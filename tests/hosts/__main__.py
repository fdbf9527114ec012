"""python -m tests.hosts --fault reset --mode EFFECTIVELY_ONCE --seed 7 --ids 20000
python -m tests.hosts --fault reset,drop,frozen     one run with these, one after the other
python -m tests.hosts --fault random --seconds 600 --seed 7
python -m tests.hosts --fault tour --seed 7         one run with each kind, in an order of the seed
python -m tests.hosts --all --ids 200000 --seed 1 --seed 2 --seed 3

A topology over several hosts (network namespaces) with a ZooKeeper ensemble of three, under faults
of hosts and network. Each run has a line, with the reason of a failure; logs of a failed run are
kept (docs/HACKING.md explains how to read the logs). The measured times come last. Ends with status
1 after a failed run, and with 69 on a machine without the requirements.
"""

import argparse
import random
import signal
import sys

from tests.hosts.faults import FAULTS
from tests.hosts.flows import FLOWS
from tests.hosts.hosts_run import RANDOM, TOUR, Report, Wishes, run, table
from tests.hosts.laboratory import laboratory
from tests.hosts.needs import EXIT_NOT_HERE, missing

SEEDS = 1_000_000
KINDS = (*FAULTS, TOUR, RANDOM)


def main() -> int:
    """A run for each choice of faults, mode and seed; a line for each."""
    options = _parser().parse_args()
    if (why := missing()) is not None:
        print(why, file=sys.stderr)
        return EXIT_NOT_HERE
    # All that was made is removed on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    chosen = [tuple(each.split(",")) for each in options.fault or []]
    if options.all:
        chosen = [(name,) for name in FAULTS]
    reports: list[Report] = []
    with laboratory() as lab:
        for faults in chosen:
            for mode in options.mode or list(FLOWS):
                for seed in options.seed or [random.SystemRandom().randrange(SEEDS)]:
                    wishes = Wishes(
                        faults, mode, seed, options.ids, options.seconds, options.patience
                    )
                    reports.append(run(lab, wishes))
                    print(_described(reports[-1]), flush=True)
    print(table(reports))
    return 0 if all(each.good for each in reports) else 1


def _described(report: Report) -> str:
    return str(report) if report.good else report.history()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hosts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"faults: {', '.join(KINDS)}",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--fault", metavar="NAME[,NAME]", action="append", type=_faults)
    which.add_argument("--all", action="store_true", help="each fault in a run of its own")
    parser.add_argument("--mode", action="append", choices=FLOWS, help="repeatable; default: both")
    parser.add_argument("--seed", type=int, action="append", help="repeatable; default: any")
    parser.add_argument("--ids", type=int, default=0, help="at least; default: 300 a second")
    parser.add_argument(
        "--patience",
        type=float,
        default=1.0,
        metavar="FACTOR",
        help="limits are so many times longer: other work shares the cores",
    )
    parser.add_argument("--seconds", type=float, help="default: as long as the faults last")
    return parser


def _faults(words: str) -> str:
    unknown = set(words.split(",")) - set(KINDS)
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no fault {', '.join(sorted(unknown))}")
    return words


if __name__ == "__main__":
    sys.exit(main())
