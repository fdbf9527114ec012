"""Live queries of a state of a million keys, of a topology at full speed.

    python -m benchmarks.live_query [--keys N] [--rounds N] [--secs N]

Prints the latency of point queries over one connection, QUERIES_EACH_SEC a second, and the
throughput of the topology with and without them, in turns: rounds of `secs` each, of which the
ratio of neighbours is taken, as a machine is never equally fast for long.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median

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
P99_MS_MAX, COST_MAX = 5.0, 0.02
"""The budget."""
TOPOLOGY = Path(__file__).parent / "topologies" / "live_query.py"


@contextmanager
def running(home: str, keys: int) -> Iterator[None]:
    """The topology, from its first tuple to its end."""
    environment = {**os.environ, "HERONPY_HOME": home, "LIVE_QUERY_KEYS": str(keys)}
    command = [sys.executable, "-m", "heron_cli", "run", str(TOPOLOGY), "-n", NAME]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def executed(client: MasterClient) -> int:
    """By the bolt, as its heartbeats say: as of about a second ago."""
    stats = client.stats("count")
    return stats.components["count"].executed


def wait_for_keys(client: MasterClient, keys: int) -> None:
    """Until each key has come once."""
    deadline = time.monotonic() + START_SECS
    while time.monotonic() < deadline:
        try:
            if executed(client) >= keys:
                return
        except HeronError:
            pass
        time.sleep(LOOK_SECS)
    raise SystemExit(f"not {keys} keys within {START_SECS:g} s")


def rate(
    client: MasterClient, secs: float, states: StateClient | None, keys: int
) -> tuple[float, list[float]]:
    """(tuples a second, latencies in ms) of a round, with queries or without."""
    rng, latencies = Random(7), []
    first, began = executed(client), time.monotonic()
    while (now := time.monotonic()) < began + secs:
        if states is None:
            time.sleep(LOOK_SECS)
            continue
        states.get("count.count", f"key {rng.randrange(keys)}")
        latencies.append(1000 * (time.monotonic() - now))
        time.sleep(max(0.0, 1 / QUERIES_EACH_SEC - (time.monotonic() - now)))
    return (executed(client) - first) / (time.monotonic() - began), latencies


def quantile(values: list[float], part: float) -> float:
    """The value below which that part of all is."""
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
        tempfile.TemporaryDirectory(prefix="heron-live-query-") as home,
        running(home, options.keys),
    ):
        url = store_url_in(home)
        with open_store(url) as store, MasterClient(store, NAME) as client:
            wait_for_keys(client, options.keys)
            with StateClient(NAME, url) as states:
                measure(client, states, options.rounds, options.secs, options.keys)


def measure(client: MasterClient, states: StateClient, rounds: int, secs: float, keys: int) -> None:
    """Rounds without and with queries in turns."""
    ratios, latencies, rates = [], list[float](), []
    for number in range(rounds):
        without, _ = rate(client, secs, None, keys)
        with_queries, of_round = rate(client, secs, states, keys)
        ratios.append(with_queries / without)
        rates.append(without)
        latencies += of_round
        print(
            f"round {number + 1}: {without:,.0f} tuples/s without, {with_queries:,.0f} with"
            f" {len(of_round) / secs:.0f} queries/s, p99 {quantile(of_round, 0.99):.2f} ms"
        )
    p50, p99 = quantile(latencies, 0.5), quantile(latencies, 0.99)
    cost = 1 - median(ratios)
    print(
        f"{keys:,} keys, {median(rates):,.0f} tuples/s: p50 {p50:.2f} ms, p99 {p99:.2f} ms (at most"
        f" {P99_MS_MAX:g}); throughput {-cost:+.1%} ({1 - max(ratios):.1%} to {1 - min(ratios):.1%}"
        f" less; at most {COST_MAX:.0%} less)"
    )


if __name__ == "__main__":
    main()
