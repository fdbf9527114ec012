"""Requests answered by a topology: one caller and 1,000 at once, by Thrift and `heronpy drpc`.

python -m benchmarks.drpc --rounds 3
python -m benchmarks.drpc --rounds 3 --storm    # and Storm's LocalDRPC, in one JVM

The topology is Storm's BasicDRPCTopology: five hops between spout and answer, acked. A caller sends
its next call after the previous answer. The callers share one process here; the reported CPU time
is the machine's. Storm's LocalDRPC has neither sockets nor further processes.
"""

import argparse
import asyncio
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.machine import machine, machine_lines
from benchmarks.measure import BenchmarkError
from benchmarks.rounds import LEAST_ROUNDS, REPOSITORY
from benchmarks.storm_jvm import NoStorm, java_command
from heron_connectors.requests.thrift_interface import METHODS
from heron_core.thrift.calls import (
    LENGTH_BYTES,
    call_message,
    framed,
    parse_answer,
    parse_result,
)

LOADS = {1: 1000, 1000: 20}
"""Callers at once -> calls of each."""
WARM_UP_CALLS = 5
"""Of each caller; no part of the figures."""
FUNCTION = "exclamation"
START_SECONDS = 30.0
STORM_SECONDS_MAX = 240.0
PORTS = ("--port", "0", "--invocations-port", "0", "--http-port", "0")
SERVING = re.compile(r"callers at ([^:]+):(\d+), topologies at (\S+);")


def columns(system: str) -> list[Column]:
    """p50, p99 and rate of each load."""
    return [
        column
        for callers in LOADS
        for column in (
            Column(f"{system} {callers} p50", f"{system}, {callers} at once, p50", "ms", ".2f"),
            Column(f"{system} {callers} p99", f"{system}, {callers} at once, p99", "ms", ".2f"),
            Column(f"{system} {callers} rate", f"{system}, {callers} at once", "calls/s", ".0f"),
        )
    ]


def figures_of(system: str, callers: int, secs: Sequence[float], elapsed: float) -> figures.Round:
    """Figures of the calls of one load."""
    ordered = sorted(secs)

    def percentile_ms(percent: int) -> float:
        return ordered[math.ceil(len(ordered) * percent / 100) - 1] * 1000

    return {
        f"{system} {callers} p50": percentile_ms(50),
        f"{system} {callers} p99": percentile_ms(99),
        f"{system} {callers} rate": len(ordered) / elapsed,
    }


@contextmanager
def request_server() -> Iterator[tuple[tuple[str, int], str]]:
    """`heronpy drpc`: the address of callers, and the one of topologies."""
    command = [sys.executable, "-m", "heron_cli", "drpc", *PORTS]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            serving = SERVING.search(line)
            if serving is None:
                raise BenchmarkError(f"heronpy drpc does not serve: {line}")
            yield (serving[1], int(serving[2])), serving[3]
        finally:
            process.terminate()
            print(process.stdout.read().strip(), file=sys.stderr)


async def caller(address: tuple[str, int], number: int, calls: int, secs: list[float]) -> None:
    """Make calls in turn on one connection; BenchmarkError for a wrong answer."""
    reader, writer = await asyncio.open_connection(*address)
    for call in range(calls):
        text = f"{number}-{call}"
        began = time.monotonic()
        writer.write(framed(call_message("execute", METHODS["execute"], call, FUNCTION, text)))
        size = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
        answer = parse_answer(await reader.readexactly(size))
        secs.append(time.monotonic() - began)
        if (result := parse_result(METHODS["execute"], answer)) != f"{text}!":
            raise BenchmarkError(f"{text} is answered by {result}")
    writer.close()
    await writer.wait_closed()


async def one_load(address: tuple[str, int], callers: int, calls: int) -> figures.Round:
    """The figures of so many callers."""
    for number in (WARM_UP_CALLS, calls):
        secs: list[float] = []
        began = time.monotonic()
        await asyncio.gather(*(caller(address, each, number, secs) for each in range(callers)))
        elapsed = time.monotonic() - began
    return figures_of("heronpy", callers, secs, elapsed)


def heronpy_round() -> figures.Round:
    """All loads on one topology."""
    with request_server() as (address, topologies):
        config = {"drpc.servers": topologies}
        with EngineRun("drpc", config, until_done=False):
            found: dict[str, float] = {}
            for callers, calls in LOADS.items():
                found.update(asyncio.run(one_load(address, callers, calls)))
            return found


def storm_round(command: Sequence[str]) -> figures.Round:
    """The same of peers/storm/Drpc.java."""
    loads = [str(each) for load in LOADS.items() for each in load]
    with TemporaryDirectory(prefix="heronpy-storm-") as folder:
        errors = Path(folder, "stderr.txt")
        with errors.open("wb") as stderr:
            finished = subprocess.run(
                [*command, str(WARM_UP_CALLS), *loads],
                cwd=folder, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False,
                timeout=STORM_SECONDS_MAX,
            )  # fmt: skip
        found: dict[str, float] = {}
        for line in finished.stdout.splitlines():
            if line.startswith("{"):
                load = json.loads(line)
                found.update(figures_of("Storm", load["callers"], load["secs"], load["elapsed"]))
        if len(found) != len(columns("Storm")):
            text = errors.read_text("utf-8", "replace")[-2000:]
            raise BenchmarkError(f"Storm told {sorted(found)}\n{finished.stdout[-500:]}\n{text}")
        return found


def measure(rounds: int, storm: Sequence[str] | None) -> None:
    """Rounds in turn, the JSON and the table."""
    described = machine({})
    all_columns = columns("heronpy") + (columns("Storm") if storm else [])
    values = []
    for number in range(rounds):
        one = {**heronpy_round(), **(storm_round(storm) if storm else {})}
        values.append(figures.tell(number, rounds, one))
    found = [figures.figure_of(column, values) for column in all_columns]
    figures.write("drpc", described, found)
    print(f"{machine_lines(described)}\n\n{figures.figures_table(all_columns, found)}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument("--storm", action="store_true", help="Storm's LocalDRPC besides")
    options = parser.parse_args()
    try:
        if not options.storm:
            measure(options.rounds, None)
            return
        with java_command("Drpc") as command:
            measure(options.rounds, command)
    except (BenchmarkError, NoStorm) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
