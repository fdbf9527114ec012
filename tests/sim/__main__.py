"""`python -m tests.sim --seeds 500 --from 10000`: the simulated cluster with seeds of one's own."""

import argparse
import sys
import traceback

from tests.sim.arrows import drawn, in_words
from tests.sim.cluster import Cluster
from tests.sim.coroutines import CallingCluster
from tests.sim.run import run_seed
from tests.transitions_seen import transitions_seen


def main() -> int:
    """Run the seeds; those that fail are shown, each with its newest events."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many (500)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first one (0)")
    parser.add_argument("--effectively-once", action="store_true", help="with checkpoints")
    parser.add_argument("--coroutines", action="store_true", help="with bolts that are coroutines")
    arguments = parser.parse_args()
    kind = CallingCluster if arguments.coroutines else Cluster
    effectively_once = arguments.effectively_once or arguments.coroutines
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    with transitions_seen() as taken:
        failed = _failing(seeds, effectively_once, kind)
    for each in in_words(drawn(effectively_once) - taken):
        print(f"taken by none: {each}")
    print(f"seeds {seeds.start} to {seeds.stop - 1}: {len(failed)} fail {failed or ''}")
    return 1 if failed else 0


def _failing(seeds: range, effectively_once: bool, kind: type[Cluster]) -> list[int]:
    """Those that fail, each shown."""
    failed = []
    for seed in seeds:
        try:
            run_seed(seed, effectively_once, kind)
        except KeyboardInterrupt:
            raise
        except BaseException:
            failed.append(seed)
            print(f"seed {seed} fails:", file=sys.stderr)
            traceback.print_exc()
    return failed


if __name__ == "__main__":
    sys.exit(main())
