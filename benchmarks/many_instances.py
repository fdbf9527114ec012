"""Five to two hundred instances: the cost of a tree, for the engine and Storm in one JVM in turn.

python -m benchmarks.many_instances --rounds 3
python -m benchmarks.many_instances --sizes 5,20 --acks yes --peers none --seconds 5
python -m benchmarks.many_instances --variants "single,calls of 200,ALL,4 containers"

spout (one tuple a call, 1,000 under way) -> shuffle -> mid -> fields -> sink. A tree is one spout
tuple with all derived tuples; without acks a tree counts when its copies are at the sinks.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict

from benchmarks import many_instances_engine, many_instances_report
from benchmarks.driver import NONE, names
from benchmarks.machine import machine, machine_lines
from benchmarks.many_instances_shape import SIZES, VARIANTS, Measured, Shape, Window
from benchmarks.many_instances_storm import storm
from benchmarks.measure import BenchmarkError
from benchmarks.report import RESULTS
from benchmarks.storm_jvm import NoStorm

ENGINE, STORM = many_instances_report.ENGINE, many_instances_report.STORM
PEERS = ("storm",)
ACKS = ("yes", "no")
WARM_UP_SECONDS_PER_INSTANCE = 0.06
"""All spouts begin with as much as may be under way: at 200 instances that is seconds of work."""
STORM_WARM_UP_SECONDS = 10.0
"""Warm-up of the JVM's compiler: the speed is stable after some eight seconds."""

Runner = Callable[[Shape], Measured]
Round = dict[tuple[str, Shape], Measured]


def main() -> None:
    """Read the command line, run the rounds, write JSON and print the tables."""
    options = parse()
    described = machine({})
    with ExitStack() as stack:
        runners = runners_of(options, stack)
        try:
            rounds = [one_round(runners, options, number) for number in range(options.rounds)]
        except BenchmarkError as error:
            sys.exit(f"error: {error}")
    write(described, rounds)
    print(f"{machine_lines(described)}\n\n{many_instances_report.markdown(rounds)}")


def parse() -> argparse.Namespace:
    """The options; a wrong option ends the program with a message."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = [str(each) for each in SIZES]
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=names(sizes), default=sizes, help="instances, 5,20,60,200")
    parser.add_argument("--acks", type=names(ACKS), default=list(ACKS), help="yes, no or yes,no")
    parser.add_argument("--variants", type=names(list(VARIANTS)), default=["single"])
    parser.add_argument("--peers", type=names(PEERS), default=list(PEERS), help=f"storm or {NONE}")
    parser.add_argument("--seconds", type=float, default=8.0, help="measured of each run (8)")
    parser.add_argument("--warm-up", type=float, default=3.0, help="seconds before that (3)")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def runners_of(options: argparse.Namespace, stack: ExitStack) -> dict[str, Runner]:
    """The contenders; reports if Storm cannot run."""

    def window(shape: Shape, least_seconds: float) -> Window:
        warm_up_seconds = max(least_seconds, shape.instances * WARM_UP_SECONDS_PER_INSTANCE)
        return Window(warm_up_seconds, options.seconds)

    runners: dict[str, Runner] = {
        ENGINE: lambda shape: many_instances_engine.run(shape, window(shape, options.warm_up))
    }
    if PEERS[0] in options.peers:
        least_seconds = max(options.warm_up, STORM_WARM_UP_SECONDS)
        try:
            java = stack.enter_context(storm())
        except NoStorm as error:
            print(f"Storm in Java is not measured: {error}")
        else:
            runners[STORM] = lambda shape: java.run(shape, window(shape, least_seconds))
    return runners


def shapes(options: argparse.Namespace) -> Iterator[Shape]:
    """What each round runs."""
    for variant in options.variants:
        for acked in options.acks:
            for size in options.sizes:
                yield Shape(int(size), variant, acked == "yes", **VARIANTS[variant])


def one_round(runners: dict[str, Runner], options: argparse.Namespace, number: int) -> Round:
    """Run each shape once per contender in turn; progress goes to standard error."""
    found: Round = {}
    for shape in shapes(options):
        for name, run in runners.items():
            if name == STORM and shape.containers > 1:
                continue  # one JVM is one worker
            found[name, shape] = run(shape)
            line = many_instances_report.one_line(name, found[name, shape])
            print(f"round {number + 1}/{options.rounds}  {line}", file=sys.stderr, flush=True)
    return found


def write(described: dict[str, object], rounds: Sequence[Round]) -> None:
    """Write benchmarks/results/many_instances.json."""
    RESULTS.mkdir(exist_ok=True)
    runs = [
        {
            "round": number,
            "name": name,
            **asdict(one),
            "trees_per_second": one.trees_per_second,
            "cpu_seconds_per_million": one.cpu_seconds_per_million,
            "p50_ms": None if math.isnan(one.latency_ms(0.5)) else one.latency_ms(0.5),
            "p99_ms": None if math.isnan(one.latency_ms(0.99)) else one.latency_ms(0.99),
        }
        for number, each in enumerate(rounds)
        for (name, _), one in each.items()
    ]
    content = {
        "benchmark": "many_instances",
        "machine": described,
        "runs": runs,
        "budget_rows": list(many_instances_report.budget_rows(rounds)),
    }
    (RESULTS / "many_instances.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
