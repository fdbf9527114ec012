"""Linear Road: are all answers right, and how many expressways are answered in time?

python -m benchmarks.linear_road check                          # three hours, as fast as it goes
python -m benchmarks.linear_road check --seconds 600 --speed-up 10 --kill --rescale
python -m benchmarks.linear_road check --seconds 600 --engine spark
python -m benchmarks.linear_road rate --expressways 4,8,12 --seconds 130 --warm-up 60
python -m benchmarks.linear_road rate --expressways 18 --opens-every 8 --autoscale --seconds 160

`check` compares all answers with the oracle. `rate` has 1,700 reports a second of each expressway,
like the original at its end, and prints the latest answer per number of expressways. With
`--opens-every` the expressways open in turn.
"""

import argparse
import gc
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import quantiles

from benchmarks.linear_road import answers, data
from benchmarks.linear_road.generator import Settings
from benchmarks.linear_road.records import ANSWER_SECS_MAX, REPORT_SECS
from benchmarks.linear_road.run import Plan, Usage, answers_folder, run
from benchmarks.measure import BenchmarkError
from heron_core.records import replace

REPORTS_PER_SECOND = 1_700
"""Of an expressway at the end of the original's three hours."""
CARS = REPORTS_PER_SECOND * REPORT_SECS // 2
"""On each direction then."""
ARRIVALS = 17.0
"""With these there are as many all the time."""


def main() -> None:
    """Do what is asked."""
    options = parsed()
    try:
        options.what(options)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    add(commands, "check", check, seconds=10_800, speed_up=0.0, expressways="1")
    add(commands, "rate", rate, seconds=60, speed_up=1.0, expressways="1,2,4")
    return parser.parse_args()


def add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    what: Callable[[argparse.Namespace], None],
    **defaults: object,
) -> None:
    """One of the two."""
    one = commands.add_parser(name)
    one.set_defaults(what=what)
    one.add_argument("--expressways", help="how many; several numbers are several runs")
    one.add_argument("--seconds", type=int, help="of the road")
    one.add_argument("--speed-up", type=float, help="of them in a second of the clock; 0: no limit")
    one.add_argument("--arrivals", type=float, default=ARRIVALS, help="cars a second, each way")
    one.add_argument("--crowded", type=float, default=0.0, help="share that enters in a crowd")
    one.add_argument("--engine", choices=["native", "spark"], default="native")
    one.add_argument("--kill", action="store_true", help="kill -9 an instance and a container")
    one.add_argument("--rescale", action="store_true", help="heronpy update while it runs")
    one.add_argument("--autoscale", action="store_true", help="topology.autoscale.mode=on")
    one.add_argument("--tasks", type=json.loads, default={}, help='such as {"cars": 2}')
    one.add_argument("--opens-every", type=int, default=0, help="seconds until the next expressway")
    one.add_argument("--warm-up", type=int, default=0, help="seconds whose answers do not count")
    one.add_argument("--input", help="a folder that keeps the input of `rate` for further runs")
    one.add_argument("--config", type=json.loads, default={}, help="further keys, as JSON")
    one.set_defaults(**defaults)


def plan_of(options: argparse.Namespace) -> Plan:
    """How to run it."""
    return Plan(
        speed_up=options.speed_up,
        tasks=options.tasks,
        config=options.config,
        on_spark=options.engine == "spark",
        kill=options.kill,
        rescale=options.rescale,
        autoscale=options.autoscale,
    )


def numbers_of(options: argparse.Namespace) -> list[int]:
    """Of expressways."""
    return [int(each) for each in options.expressways.split(",")]


def check(options: argparse.Namespace) -> None:
    """Whether all answers are those of the oracle."""
    gc.disable()  # the oracle has millions of tuples, none of them in a circle
    for number in numbers_of(options):
        settings = Settings(
            expressways=number,
            seconds=options.seconds,
            arrivals_per_sec=options.arrivals,
            crowded_share=options.crowded,
            opens_every_secs=options.opens_every,
        )
        with tempfile.TemporaryDirectory(prefix="heronpy-road-") as folder:
            reports = data.write(Path(folder), settings)
            print(f"{number} expressways, {options.seconds} s: {reports:,} position reports")
            tell(run(Path(folder), settings, plan_of(options)), reports)
            found = answers.check(settings, answers_folder(Path(folder)))
        print(f"all right: {', '.join(f'{each:,} {name}' for name, each in found.items())}")


def rate(options: argparse.Namespace) -> None:
    """How late the latest answer is."""
    numbers = numbers_of(options)
    settings = Settings(
        expressways=max(numbers),
        seconds=options.seconds,
        arrivals_per_sec=options.arrivals,
        cars_at_start=CARS,
        opens_every_secs=options.opens_every,
    )
    with tempfile.TemporaryDirectory(prefix="heronpy-road-") as temporary:
        folder = Path(options.input or temporary)
        if not (folder / data.HISTORY_FILE).exists():
            folder.mkdir(exist_ok=True)
            data.write(folder, settings)
        for number in numbers:
            shutil.rmtree(answers_folder(folder), ignore_errors=True)
            some = replace(settings, expressways=number)
            reports = data.reports_in(folder, some)
            per_second = reports / options.seconds
            print(f"{number} expressways, {per_second:,.0f} position reports a second", flush=True)
            usage = run(folder, some, plan_of(options))
            tell(usage, reports)
            tell_responses(answers_folder(folder), options, number)


def tell(usage: Usage, reports: int) -> None:
    """What a run took."""
    total = sum(usage.cpu.values())
    print(
        f"{usage.secs:.1f} s, {total:.1f} CPU-seconds, {total / reports * 1e6:.1f} µs a report:",
        ", ".join(f"{role} {secs:.1f}" for role, secs in sorted(usage.cpu.items())),
    )
    for change in usage.changes:
        print(change)


def tell_responses(folder: Path, options: argparse.Namespace, number: int) -> None:
    """Print the times from the due second of a report to its answer, for each number of open
    expressways."""
    found: dict[int, list[float]] = defaultdict(list)
    for each in answers.read(folder):
        if each.time >= options.warm_up:
            open_now = 1 + each.time // options.opens_every if options.opens_every else number
            late = (each.written - each.time) / options.speed_up
            found[min(open_now, number)].append(late)
    for open_now, secs in sorted(found.items()):
        if options.opens_every:
            print(f"with {open_now}: ", end="")
        tell_response(secs)


def tell_response(given: Iterable[float]) -> None:
    """Of one number."""
    secs = sorted(given)
    *_, last = quantiles(secs, n=100)
    print(
        f"{len(secs):,} answers: half within {secs[len(secs) // 2]:.2f} s, 99% within {last:.2f} s,"
        f" all within {secs[-1]:.2f} s: {'in time' if secs[-1] <= ANSWER_SECS_MAX else 'too late'}"
    )


if __name__ == "__main__":
    main()
