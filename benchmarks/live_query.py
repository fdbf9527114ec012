"""Live queries of a state of a million keys, of a topology at full speed.

    python -m benchmarks.live_query [--keys N] [--rounds N] [--secs N]

Prints the latency of point queries by one client, QUERIES_EACH_SEC a second, and their cost for the
topology, in turns: rounds of `secs` each. Ratios are of neighbours, because a machine is
never equally fast for long.

The cost is in tuples for each CPU-second of the topology's processes (spout, bolt, stream manager,
master, scheduler): on a machine without an idle core that is its throughput. Tuples a second are
printed as well. They are also lower by the CPU of the client and of the floor, which are processes
of the benchmark, and by that of all other programs on the machine.

Beside each query goes a message over the floor: a chain of as many idle processes as a query
passes (the stream manager and the instance), which only hand the message on, on the same machine at
the same time. Rounds without queries have the floor, too.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median

from msgspec import Struct, field

from benchmarks.titles import COMMAND, by_role, cpu_seconds, roles
from heron_core.errors import HeronError
from heron_io.master_client import MasterClient
from heron_io.state_queries import StateClient
from heron_io.state_store.opening import open_store
from heron_io.user_home import store_url_in

KEYS = 1_000_000
ROUNDS = 5
SECS = 5.0
QUERIES_EACH_SEC = 100
NAME = "LiveQuery"
START_SECS = 300.0
LOOK_SECS = 0.2
BEAT_SECS, BEAT_LOOK_SECS = 10.0, 0.02
"""Longest wait for an instance's next heartbeat, and the poll interval."""
FLOOR_PROCESSES = 2
"""The stream manager, the instance; the answer takes the reverse path."""
P99_MS_MAX, COST_MAX = 5.0, 0.02
"""The budget."""
TOPOLOGY = Path(__file__).parent / "topologies" / "live_query.py"


@contextmanager
def running(home: str, keys: int) -> "Iterator[subprocess.Popen[bytes]]":
    """Run the topology from its first tuple to its end."""
    environment = {**os.environ, "HERONPY_HOME": home, "LIVE_QUERY_KEYS": str(keys)}
    command = [sys.executable, "-m", "heron_cli", "run", str(TOPOLOGY), "-n", NAME]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


@contextmanager
def floor(processes: int) -> Iterator[socket.socket]:
    """One end of a chain of processes that forward each byte, from the last one back to the
    first."""
    near, far = socket.socketpair()
    if (child := os.fork()) == 0:
        near.close()
        try:
            pass_on(far, processes - 1)
        finally:
            os._exit(0)
    far.close()
    try:
        yield near
    finally:
        near.close()
        os.waitpid(child, 0)


def pass_on(back: socket.socket, further: int) -> None:
    """Answer each byte, if need be by that many further processes, until the sender is gone."""
    if not further:
        while data := back.recv(1):
            back.sendall(data)
        return
    with floor(further) as onward:
        while data := back.recv(1):
            onward.sendall(data)
            back.sendall(onward.recv(1))


def executed(client: MasterClient) -> int:
    """Tuples of the bolt by its heartbeats, about a second old."""
    stats = client.stats("count")
    return stats.components["count"].executed


def at_heartbeat(client: MasterClient) -> tuple[int, float]:
    """(tuples, time) at the bolt's next heartbeat: rates are computed between two heartbeats,
    because a count one second old would shift them by a quarter."""
    before, deadline = executed(client), time.monotonic() + BEAT_SECS
    while time.monotonic() < deadline:
        if (after := executed(client)) != before:
            return after, time.monotonic()
        time.sleep(BEAT_LOOK_SECS)
    raise SystemExit(f"nothing is counted within {BEAT_SECS:g} s")


def wait_for_keys(run: "subprocess.Popen[bytes]", client: MasterClient, keys: int) -> None:
    """Until each key has come once."""
    deadline = time.monotonic() + START_SECS
    while time.monotonic() < deadline:
        if run.poll() is not None:
            raise SystemExit(f"the topology has ended with exit code {run.returncode}")
        try:
            if executed(client) >= keys:
                return
        except HeronError:
            pass
        time.sleep(LOOK_SECS)
    raise SystemExit(f"not {keys} keys within {START_SECS:g} s")


class Round(Struct):
    """Measurements of a round."""

    tuples_each_sec: float = 0.0
    tuples_each_cpu_sec: float = 0.0
    """Of all processes of the topology."""
    query_ms: list[float] = field(default_factory=list)
    floor_ms: list[float] = field(default_factory=list)


def measured(
    client: MasterClient, secs: float, ask: Callable[[], None] | None, echo: socket.socket
) -> Round:
    """Run a round; `ask` sends one query, None: without queries."""
    result = Round()
    first, began = at_heartbeat(client)
    cpu_before = topology_cpu_secs()
    while (now := time.monotonic()) < began + secs:
        if ask is not None:
            ask()
            result.query_ms.append(1000 * (time.monotonic() - now))
        time.sleep(max(0.0, 0.5 / QUERIES_EACH_SEC - (time.monotonic() - now)))
        sent_at = time.monotonic()
        echo.sendall(b"?")
        echo.recv(1)
        result.floor_ms.append(1000 * (time.monotonic() - sent_at))
        time.sleep(max(0.0, 1 / QUERIES_EACH_SEC - (time.monotonic() - now)))
    last, ended = at_heartbeat(client)
    result.tuples_each_sec = (last - first) / (ended - began)
    result.tuples_each_cpu_sec = (last - first) / (topology_cpu_secs() - cpu_before)
    return result


def topology_cpu_secs() -> float:
    """CPU of the topology's processes so far; the display of `heronpy run` and the floor have no
    title of the engine's."""
    of_roles = by_role(cpu_seconds(), roles())
    return sum(secs for role, secs in of_roles.items() if role != COMMAND)


def quantile(values: list[float], part: float) -> float:
    """The quantile of the values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=KEYS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--secs", type=float, default=SECS)
    options = parser.parse_args()
    with (
        floor(FLOOR_PROCESSES) as echo,
        tempfile.TemporaryDirectory(prefix="heron-live-query-") as home,
        running(home, options.keys) as run,
    ):
        url = store_url_in(home)
        with open_store(url) as store, MasterClient(store, NAME) as client:
            wait_for_keys(run, client, options.keys)
            with StateClient(NAME, url) as states:
                rng = Random(7)
                pairs = []
                for number in range(options.rounds):
                    without = measured(client, options.secs, None, echo)
                    asked = measured(
                        client,
                        options.secs,
                        lambda: states.get("count.count", f"key {rng.randrange(options.keys)}"),
                        echo,
                    )
                    pairs.append((without, asked))
                    print(f"round {number + 1}: {line(without, asked)}")
    report(options.keys, pairs)


def line(without: Round, asked: Round) -> str:
    """A round with and without queries."""
    return (
        f"{without.tuples_each_sec:,.0f} tuples/s without, {asked.tuples_each_sec:,.0f} with"
        f" {len(asked.query_ms)} queries; {without.tuples_each_cpu_sec:,.0f} and"
        f" {asked.tuples_each_cpu_sec:,.0f} a CPU-second;"
        f" p50 {quantile(asked.query_ms, 0.5):.2f} ms, p99 {quantile(asked.query_ms, 0.99):.2f} ms"
        f" (floor {quantile(asked.floor_ms, 0.99):.2f} ms)"
    )


def report(keys: int, pairs: list[tuple[Round, Round]]) -> None:
    """All rounds together, beside the budget."""
    queries = [each for _, asked in pairs for each in asked.query_ms]
    floors = [each for _, asked in pairs for each in asked.floor_ms]
    costs = [1 - asked.tuples_each_cpu_sec / each.tuples_each_cpu_sec for each, asked in pairs]
    slower = [1 - asked.tuples_each_sec / each.tuples_each_sec for each, asked in pairs]
    each_sec = median(without.tuples_each_sec for without, _ in pairs)
    print(
        f"{keys:,} keys, {each_sec:,.0f} tuples/s: p50 {quantile(queries, 0.5):.2f} ms,"
        f" p99 {quantile(queries, 0.99):.2f} ms (at most {P99_MS_MAX:g};"
        f" floor {quantile(floors, 0.5):.2f} and {quantile(floors, 0.99):.2f} ms);"
        f" cost {median(costs):.1%} ({min(costs):.1%} to {max(costs):.1%}) of the tuples a"
        f" CPU-second of the topology (at most {COST_MAX:.0%}); tuples a second"
        f" {-median(slower):+.1%} ({-max(slower):+.1%} to {-min(slower):+.1%})"
    )


if __name__ == "__main__":
    main()
