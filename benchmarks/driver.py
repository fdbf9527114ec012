"""The common command line of all benchmarks: contenders, rounds, counts."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import engine
from benchmarks.machine import machine, packages_of
from benchmarks.measure import BenchmarkError
from benchmarks.report import markdown, write_json
from benchmarks.rounds import LEAST_ROUNDS, REPOSITORY, Contender, compete

PEER_PYTHON = REPOSITORY / ".venv-bench" / "bin" / "python"
NONE = "none"


@dataclass(frozen=True, slots=True)
class Peer:
    """A module of benchmarks/peers with its options; `share` as in Contender."""

    name: str
    module: str
    options: tuple[str, ...] = ()
    share: float = 1.0
    tracked: bool = False

    def command(self, python: Path, count: int) -> list[str]:
        """Command that runs the peer with the peers' Python."""
        module = f"benchmarks.peers.{self.module}"
        return [str(python), "-m", module, "--count", str(count), *self.options]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: name, plural of the counted unit, default count, contenders."""

    name: str
    unit: str
    count: int
    variants: tuple[str, ...]
    peers: tuple[Peer, ...]


def run(benchmark: Benchmark, description: str | None) -> None:
    """Read the command line, run all contenders in turn, write and print the results."""
    options = parse(benchmark, description)
    try:
        contenders = chosen_contenders(benchmark, options)
        packages = packages_of(options.peer_python) if options.peers else {}
        described = machine(packages)
        results = compete(benchmark.name, contenders, options.rounds, options.count, described)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
    print(f"wrote {write_json(results).relative_to(REPOSITORY)}", file=sys.stderr)
    print(markdown(results, benchmark.unit))


def parse(benchmark: Benchmark, description: str | None) -> argparse.Namespace:
    """The options; a wrong option ends the program with a message."""
    parser = argparse.ArgumentParser(description=description)
    peers = [one.name for one in benchmark.peers]
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument(
        "--count", type=int, default=benchmark.count, help=f"{benchmark.unit} (%(default)s)"
    )
    parser.add_argument("--peers", type=names(peers), default=peers, help=listed(peers))
    parser.add_argument(
        "--variants",
        type=names(benchmark.variants),
        default=list(benchmark.variants),
        help=f"of the engine: {listed(benchmark.variants)}",
    )
    parser.add_argument("--peer-python", type=Path, default=PEER_PYTHON)
    options = parser.parse_args()
    if options.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds must be at least {LEAST_ROUNDS}, or the median means nothing")
    if options.count <= 0:
        parser.error(f"--count must be positive, not {options.count}")
    if not options.peers and not options.variants:
        parser.error("nobody takes part: --peers and --variants are both none")
    return options


def listed(valid: Sequence[str]) -> str:
    """The choices as the help shows them."""
    return f"comma-separated from {', '.join(valid)}, or {NONE}"


def names(valid: Sequence[str]) -> Callable[[str], list[str]]:
    """An argparse type: names from a list, separated by commas, or none."""

    def parse_names(text: str) -> list[str]:
        found = [] if text == NONE else [name.strip() for name in text.split(",")]
        for name in found:
            if name not in valid:
                raise argparse.ArgumentTypeError(f"no {name!r}: choose {listed(valid)}")
        return found

    return parse_names


def chosen_contenders(benchmark: Benchmark, options: argparse.Namespace) -> list[Contender]:
    """The engine's variants and then the peers, as chosen; raises BenchmarkError."""
    ours = [
        Contender(
            name=f"engine-{variant}",
            command=partial(engine.engine_command, benchmark.name, variant),
            tracked=variant in engine.TRACKED,
            is_engine=True,
        )
        for variant in options.variants
    ]
    theirs = [
        Contender(
            name=one.name,
            command=partial(one.command, options.peer_python),
            share=one.share,
            tracked=one.tracked,
        )
        for one in benchmark.peers
        if one.name in options.peers
    ]
    # Found out now and not after half an hour of peers.
    for contender in ours:
        contender.command(options.count)
    return ours + theirs
