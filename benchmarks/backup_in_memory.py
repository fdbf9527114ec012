"""What a backup of states in the memory of other containers saves and costs (SEEP's P2).

python -m benchmarks.backup_in_memory --rounds 3

The topology of exact_recovery with 100,000 keys in four bolts on two containers, 4,000 tuples a
second, a checkpoint each second; without a backup, and with one where one of ten checkpoints is in
the store as well. The store is a local folder, or one where each request takes 200 ms. A time of
recovery is from the kill (kill -9) until every bolt has processed a tuple that the spout emitted
after all went back. The cost is CPU time of all processes, of ten calm seconds. In the end all
counts have to be exact.
"""

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.exact_recovery import Watched, check
from benchmarks.figures import Column
from benchmarks.key_words import KEYS_KEY
from benchmarks.recovery import kill
from benchmarks.slow_store import SLOW_MS_VARIABLE
from benchmarks.topologies.exact_recovery import BOLTS, ENOUGH_KEY, TASKS, Note
from benchmarks.topologies.recovery import NOTES_KEY
from benchmarks.usage import usage, used
from heron_io.master_client import MasterClient
from heron_io.state_store.opening import open_store
from heron_io.user_home import store_url_in

NAME = "ExactRecovery"
KEYS = 100_000
KILLS = 3
"""Of instances in a round."""
CALM_SECS = 10.0
LOOK_SECS = 0.1
SLOW_MS = 200
DURABLE_EVERY = 10
BACKUP: dict[str, Any] = {
    "topology.stateful.backup": "memory",
    "topology.stateful.backup.durable.every": DURABLE_EVERY,
}
NEVER: dict[str, Any] = {"topology.stateful.checkpoint.interval.seconds": 86_400}
VARIANTS: dict[str, tuple[dict[str, Any], int]] = {
    "files": ({}, 0),
    "files, memory": (BACKUP, 0),
    "slow": ({}, SLOW_MS),
    "slow, memory": (BACKUP, SLOW_MS),
}
"""Name -> config, and ms that each request to the store takes longer."""

COLUMNS = [
    column
    for name in VARIANTS
    for column in (
        Column(f"{name}: bolt", f"{name}: bolt killed: data flows again", "s", ".3f"),
        Column(f"{name}: container", f"{name}: container killed: data flows again", "s", ".3f"),
        Column(f"{name}: checkpoint", f"{name}: duration of a checkpoint", "s", ".3f"),
        Column(f"{name}: cpu", f"{name}: CPU time of a checkpoint", "ms", ".1f"),
    )
]


def one_round() -> figures.Round:
    """One run of each variant, and one without checkpoints."""
    _, calm_cpu_secs, _ = _run(NEVER, 0, 0)
    found: dict[str, float] = {}
    for name, (config, slow_ms) in VARIANTS.items():
        times, cpu_secs, checkpoints = _run(config, slow_ms, KILLS)
        number = checkpoints["number"]
        found |= {
            f"{name}: bolt": times["bolt"],
            f"{name}: container": times["container"],
            f"{name}: checkpoint": checkpoints["secs"],
            f"{name}: cpu": 1000 * (cpu_secs - calm_cpu_secs) / number,
        }
    return found


def _run(
    config: dict[str, Any], slow_ms: int, kills: int
) -> tuple[dict[str, float], float, dict[str, float]]:
    """Seconds of recoveries, CPU seconds of the calm time, number and duration of its
    checkpoints."""
    with tempfile.TemporaryDirectory(prefix="heronpy-notes-") as folder:
        path, enough = Path(folder, "notes"), Path(folder, "enough")
        path.write_bytes(bytes(TASKS * len(Note) * 8))
        settings = {NOTES_KEY: path, ENOUGH_KEY: enough, KEYS_KEY: KEYS, **config}
        watched = Watched(str(path), KEYS)
        environment = {SLOW_MS_VARIABLE: str(slow_ms)}
        module = "benchmarks.slow_store"
        with EngineRun("exact_recovery", settings, module=module, environment=environment) as run:
            watched.wait_for_keys()
            with (
                open_store(store_url_in(str(run.home))) as store,
                MasterClient(store, NAME) as client,
            ):
                cpu_secs, checkpoints = _calm(client)
            times = {}
            if kills:
                bolts = [
                    watched.wait_for_flow(kill(f"heron: keep[{number % BOLTS}]"))
                    for number in range(kills)
                ]
                container = watched.wait_for_flow(kill("heron: container 2 "))
                times = {"bolt": median(bolts), "container": container}
            enough.touch()
            check(run, KEYS)
    return times, cpu_secs, checkpoints


def _calm(client: MasterClient) -> tuple[float, dict[str, float]]:
    before, until = usage(), time.monotonic() + CALM_SECS
    durations: dict[int, float] = {}
    while time.monotonic() < until:
        checkpoints = client.stats().checkpoints
        if checkpoints is not None and checkpoints.completed:
            durations[checkpoints.completed] = checkpoints.secs or 0.0
        time.sleep(LOOK_SECS)
    cpu_secs = sum(each.cpu_seconds for each in used(before, usage()).values())
    secs = median(durations.values()) if durations else 0.0
    return cpu_secs, {"number": float(len(durations)), "secs": secs}


if __name__ == "__main__":
    figures.run("backup_in_memory", __doc__, COLUMNS, one_round)
