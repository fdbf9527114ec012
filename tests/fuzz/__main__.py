"""python -m tests.fuzz --target manager --seconds 600 --seed 7

Random steps against one target (parsers, values, instance, manager, master, plans) until the time
is over or a step fails; then prints the shortest failing steps as a Python literal, and ends with
status 1. With atheris installed (`pip install atheris`) coverage can choose the steps: --engine
atheris.
"""

import argparse
import random
import resource
import sys

MEMORY_BYTES_MAX = 4 << 30
"""Much more than any input here is worth."""
SEEDS = 1 << 32


def main() -> None:
    """Fuzz one target."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--target", required=True)
    parser.add_argument("--seconds", type=float, default=600.0, help="%(default)g")
    parser.add_argument("--seed", type=int, help="default: any")
    parser.add_argument("--engine", choices=("random", "atheris"), default="random")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(SEEDS) if options.seed is None else options.seed
    print(f"target {options.target}, engine {options.engine}, seed {seed}", flush=True)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    if options.engine == "atheris":
        # The tracer must be active before the import of its subjects.
        from . import guided

        guided.run(options.target, options.seconds, seed)
    from . import running
    from .targets import TARGETS

    sys.exit(running.run(TARGETS[options.target], options.seconds, seed))


if __name__ == "__main__":
    main()
