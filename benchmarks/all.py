"""Every benchmark in turn, then the table of all budgets.

python -m benchmarks.all --rounds 3
python -m benchmarks.all --no-peers              # the engine alone, a few minutes
"""

import argparse
import subprocess
import sys

from benchmarks.budgets import OTHERS, RACES, budget_table
from benchmarks.driver import NONE
from benchmarks.rounds import LEAST_ROUNDS, REPOSITORY


def main() -> None:
    """Run them one after the other; ends with status 1 when one of them failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument("--no-peers", action="store_true", help="the engine alone")
    options = parser.parse_args()
    rounds = ["--rounds", str(options.rounds)]
    peers = ["--peers", NONE] if options.no_peers else []
    failed = [name for name in RACES if not succeeds(name, [*rounds, *peers])]
    failed += [name for name in OTHERS if not succeeds(name, rounds)]
    print(f"\n## Budgets\n\n{budget_table()}")
    if failed:
        sys.exit(f"error: these benchmarks failed: {', '.join(failed)}")


def succeeds(benchmark: str, options: list[str]) -> bool:
    """Whether the benchmark ran to its end; what it prints is printed."""
    print(f"\n## {benchmark}\n", flush=True)
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", *options]
    return subprocess.run(command, cwd=REPOSITORY, check=False).returncode == 0


if __name__ == "__main__":
    main()
