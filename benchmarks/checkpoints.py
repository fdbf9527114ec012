"""Cost of a checkpoint each second: word count with keyed state, with and without, in turn.

python -m benchmarks.checkpoints --keys 100000
python -m benchmarks.checkpoints --keys 1000000 --backend rocksdb --count 2000000
python -m benchmarks.checkpoints --keys 100000 --variants checkpoints --peers pyflink

The budget is of the throughput without checkpoints in the same mode, round by round.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.driver import listed, names
from benchmarks.key_words import MODES
from benchmarks.machine import machine, machine_lines, packages_of
from benchmarks.measure import BenchmarkError, Run
from benchmarks.report import cell, table, write_json
from benchmarks.rounds import (
    LEAST_ROUNDS,
    REPOSITORY,
    Contender,
    Results,
    compete,
    ratio,
    runs_of,
    spread_of,
)  # fmt: skip

CHECKPOINTS, NONE = "checkpoints", "no-checkpoints"
PEERS = {"pyflink": 0.2, "pyflink-no-checkpoints": 0.2}
"""Their shares of the count: they are slower."""
PYFLINK_PYTHON = REPOSITORY / ".venv-pyflink" / "bin" / "python"
MANY_KEYS = 1_000_000
LOSS_MAX, LOSS_MAX_MANY_KEYS = 0.08, 0.12


def main() -> None:
    """Run all contenders in turn, write and print the results."""
    options = parse()
    contenders = [ours(name, options) for name in options.variants]
    contenders += [theirs(name, options) for name in options.peers]
    described = machine(packages_of(options.peer_python) if options.peers else {})
    name = f"checkpoints_{options.backend}_{options.keys}"
    try:
        results = compete(name, contenders, options.rounds, options.count, described)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
    print(f"wrote {write_json(results).relative_to(REPOSITORY)}", file=sys.stderr)
    print(markdown(results, [each.name for each in contenders], options.keys))


def parse() -> argparse.Namespace:
    """The command line; ends the program with a message when an option is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument("--count", type=int, default=8_000_000, help="words (%(default)s)")
    parser.add_argument("--keys", type=int, default=100_000, help="different words (%(default)s)")
    parser.add_argument("--backend", choices=("memory", "rocksdb"), default="memory")
    parser.add_argument("--variants", type=names(MODES), default=list(MODES), help=listed(MODES))
    parser.add_argument("--peers", type=names(list(PEERS)), default=[], help=listed(list(PEERS)))
    parser.add_argument("--peer-python", type=Path, default=PYFLINK_PYTHON)
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    if options.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds must be at least {LEAST_ROUNDS}, or the median means nothing")
    return options


def ours(variant: str, options: argparse.Namespace) -> Contender:
    """The engine in one mode."""
    more = [word for each in options.config for word in ("--config", each)]
    command = partial(
        _command, Path(sys.executable), "engine_checkpoints", variant, options.keys,
        ("--backend", options.backend, *more),
    )  # fmt: skip
    return Contender(variant, command, is_engine=True, tracked=variant == "acked")


def theirs(name: str, options: argparse.Namespace) -> Contender:
    """A peer in one mode."""
    variant = NONE if name.endswith(NONE) else CHECKPOINTS
    module = f"peers.keyed_count_{name.partition('-')[0]}"
    command = partial(_command, options.peer_python, module, variant, options.keys, ())
    return Contender(name, command, share=PEERS[name])


def _command(
    python: Path, module: str, variant: str, keys: int, more: Sequence[str], count: int
) -> list[str]:
    wanted = ["--count", str(count), "--variant", variant, "--keys", str(keys)]
    return [str(python), "-m", f"benchmarks.{module}", *wanted, *more]


def markdown(results: Results, contenders: Sequence[str], keys: int) -> str:
    """The machine, a row for each contender, and the verdict."""
    with_checkpoints = runs_of(CHECKPOINTS, results.rounds)
    rows = [_row(each, with_checkpoints, results) for each in contenders]
    header = [
        f"{keys:,} keys", "words/s", "CPU-s per million words", "checkpoints/s", "PSS MiB",
        "checkpoints each second against it: speed / CPU",
    ]  # fmt: skip
    return "\n\n".join(
        [machine_lines(results.machine), table(header, rows), *_verdicts(results, keys)]
    )


def _row(name: str, with_checkpoints: Sequence[Run], results: Results) -> list[str]:
    runs = runs_of(name, results.rounds)
    found = ratio(CHECKPOINTS, name, results.rounds) if with_checkpoints else None
    return [
        name,
        cell(spread_of(run.tuples_per_second for run in runs), ",.0f"),
        cell(spread_of(run.cpu_seconds_per_million for run in runs), ".2f"),
        f"{spread_of(run.checkpoints / run.wall_seconds for run in runs).median:.2f}",
        f"{spread_of(run.peak_pss_bytes for run in runs).median / 2**20:.0f}",
        f"{found.speed.median:.2f} / {found.cpu.median:.2f}" if found else "",
    ]


def _verdicts(results: Results, keys: int) -> list[str]:
    if not (runs_of(CHECKPOINTS, results.rounds) and runs_of(NONE, results.rounds)):
        return []
    speed = ratio(CHECKPOINTS, NONE, results.rounds).speed
    limit = LOSS_MAX_MANY_KEYS if keys >= MANY_KEYS else LOSS_MAX
    lost = 1 - speed.median
    met = "met" if lost <= limit else "missed"
    spread = f"{1 - speed.highest:.1%} to {1 - speed.lowest:.1%}"
    what = f"Throughput lost by a checkpoint each second: {lost:.1%} ({spread})"
    return [f"{what}; budget {limit:.0%}: {met}"]


if __name__ == "__main__":
    main()
