"""Batches of a megabyte each, passed on by key; the last bolt writes its rows' numbers to a file.

Config: `test.batches`, their number; `test.file`, for int64 numbers, appended.
"""

import time

import pyarrow as pa

from heronpy_compat import BatchBolt, Grouping, Spout, Topology

ROWS = 20_000
"""Rows per batch, of 50 bytes each."""
PAUSE_SECS = 0.02
"""Between two batches: at full speed the data takes the cores from the test."""
TEXTS = [f"{at % 97:04d}" + "ä" * (at % 3) + "x" * 34 for at in range(ROWS)]
"""ASCII, and texts beyond."""


class Batches(Spout):
    """Emits each batch until it is acked."""

    outputs = {"key": "string", "number": "bigint"}

    def initialize(self, config, context):
        self.due = list(range(int(config["test.batches"])))
        self.left = set(self.due)
        self.next_at = 0.0

    def next_tuple(self):
        if self.due and time.monotonic() >= self.next_at:
            self.next_at = time.monotonic() + PAUSE_SECS
            self.send(self.due.pop(0))
        elif not self.left:
            self.finish()

    def send(self, batch):
        numbers = pa.array(range(batch * ROWS, (batch + 1) * ROWS))
        self.emit_batch({"key": pa.array(TEXTS), "number": numbers}, tup_id=batch)

    def ack(self, tup_id):
        self.left.discard(tup_id)

    def fail(self, tup_id):
        self.due.append(tup_id)


class Pass(BatchBolt):
    """Passes the rows on."""

    outputs = {"key": "string", "number": "bigint"}

    def process_batch(self, batch):
        self.emit_batch(batch)


class Seen(BatchBolt):
    """Appends the numbers of a batch by one write."""

    outputs = []

    def initialize(self, config, context):
        self.file = open(config["test.file"], "ab", buffering=0)  # noqa: SIM115 - the process closes it

    def process_batch(self, batch):
        assert all(text.endswith("x" * 34) for text in batch["key"].unique().to_pylist())
        self.file.write(batch["number"].to_numpy().tobytes())


class LargeBatches(Topology):
    """spout -> pass x 2 -> by key -> seen x 2"""

    batches = Batches.spec()
    passed = Pass.spec(par=2, inputs=[batches])
    seen = Seen.spec(par=2, inputs={passed: Grouping.fields("key")})
