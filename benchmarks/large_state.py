"""State ten times as large as the memory limit of the process, in RocksDB.

python -m benchmarks.large_state --rounds 3

A process may allocate 128 MiB beyond its initial size (RLIMIT_DATA: a larger allocation fails),
stores values of 1,000 random bytes up to 1,280 MiB, takes a snapshot with every 50,000 values, and
then reads back a thirteenth of the values.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import figures
from benchmarks.figures import Column
from benchmarks.measure import BenchmarkError

LIMIT_BYTES = 128 << 20
VALUE_BYTES = 1000
VALUES = 1 + 10 * LIMIT_BYTES // VALUE_BYTES
SNAPSHOT_EACH = 50_000
READ_EACH = 13
LOOK_EACH = 5_000
CHILD = "--in-this-process"
COLUMNS = [
    Column("peak", "most memory beyond that at the start", "MiB", ".0f", LIMIT_BYTES >> 20),
    Column("state", "state", "MiB", ".0f", at_least=10 * LIMIT_BYTES >> 20),
    Column("put", "a put, snapshots included", "µs", ".1f"),
    Column("get", "a get", "µs", ".1f"),
]


def one_round() -> figures.Round:
    """One round in a separate process, because of the limit."""
    with tempfile.TemporaryDirectory(prefix="heronpy-large-state-") as folder:
        command = [sys.executable, "-m", "benchmarks.large_state", CHILD, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"status {done.returncode}: {done.stderr[-500:]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def status_bytes(name: str) -> int:
    """A size of the process: RssAnon is its private memory in use, VmData its allocations."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


def work(folder: str) -> None:
    """Fill, read, print the figures."""
    from heron_core.state.codec import StateCodec
    from heron_core.state.protocol import StateKind, TableId
    from heron_io.state_backends.rocksdb import RocksBackend

    backend = RocksBackend(StateCodec("large"), folder)
    table = backend.table(TableId("values", StateKind.VALUE, nested=False))
    limit = status_bytes("VmData") + LIMIT_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    begun, peak, base = time.monotonic(), 0, status_bytes("RssAnon")
    for number in range(1, VALUES + 1):
        table.put(number, random.randbytes(VALUE_BYTES))
        if number % SNAPSHOT_EACH == 0:
            snapshot = backend.snapshot()
        if number % LOOK_EACH == 0:
            peak = max(peak, status_bytes("RssAnon") - base)
    filled = time.monotonic()
    read = range(1, VALUES + 1, READ_EACH)
    missing = sum(len(table.get(number)) != VALUE_BYTES for number in read)
    ended = time.monotonic()
    assert not missing
    assert snapshot
    peak = max(peak, status_bytes("RssAnon") - base)
    backend.close()
    found = {
        "peak": peak / 2**20,
        "state": VALUES * VALUE_BYTES / 2**20,
        "put": (filled - begun) / VALUES * 1e6,
        "get": (ended - filled) / len(read) * 1e6,
    }
    os.write(1, json.dumps(found).encode())


if __name__ == "__main__":
    if CHILD in sys.argv:
        work(sys.argv[-1])
    else:
        figures.run("large_state", __doc__, COLUMNS, one_round)
