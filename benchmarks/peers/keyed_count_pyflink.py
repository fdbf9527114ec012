"""Word count with keyed state on PyFlink's DataStream API, two tasks a stage, in a local cluster.

A sequence of numbers, generated in Java, replaces the sentences: the splitters look up a sentence
by its number, less work than receiving the text. Python functions run in separate processes,
PyFlink's default; state is in the heap of the JVM, with a cache in Python for all keys (the default
of 1,000 is far slower).
"""

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import (
    FlatMapFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

from benchmarks import key_words, workload

TASKS = 2
LOOK_SECONDS = 0.01
INTERVAL = "1 s"


class Notes:
    """Reports from Flink's Python processes to their starter: a file each."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def write(self, kind: str, **values: Any) -> None:
        """Write a file atomically."""
        path = Path(self.folder, f"{kind}-{os.getpid()}-{threading.get_ident()}-{id(self)}")
        path.with_suffix(".part").write_text(json.dumps({"at": time.monotonic(), **values}))
        path.with_suffix(".part").rename(path)

    def read(self, kind: str) -> list[dict[str, Any]]:
        """All that were written."""
        found = Path(self.folder).glob(f"{kind}-*")
        return [json.loads(each.read_text()) for each in found if each.suffix != ".part"]


class Split(FlatMapFunction):
    """The number of a sentence into its words."""

    def __init__(self, keys: int) -> None:
        self.keys = keys

    def open(self, runtime_context: RuntimeContext) -> None:
        """All sentences."""
        self.pool = key_words.sentences(self.keys)

    def flat_map(self, value: int) -> Iterator[str]:
        """One sentence."""
        yield from self.pool[value % len(self.pool)].split()


class Count(KeyedProcessFunction):
    """Counts words."""

    def __init__(self, keys: int, words: int, folder: str) -> None:
        self.keys, self.words, self.folder = keys, words, folder

    def open(self, runtime_context: RuntimeContext) -> None:
        """Nothing is counted."""
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.rounds, self.rest = divmod(self.words, self.keys)
        self.inverse = pow(key_words.STEP, -1, self.keys)
        self.total = self.complete = 0

    def process_element(self, value: str, ctx: "KeyedProcessFunction.Context") -> Iterator[str]:
        """Count one word; the last round checks the final count. The clock starts here: before,
        Flink starts its processes for many seconds."""
        if not self.total:
            Notes(self.folder).write("first")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.total += 1
        if count >= self.rounds:
            position = int(value[4:]) * self.inverse % self.keys
            self.complete += count == self.rounds + (position < self.rest)
        return iter(())

    def close(self) -> None:
        """All words are counted."""
        Notes(self.folder).write("finished", total=self.total, complete=self.complete)


def main() -> None:
    """Run the job once, check every count, report."""
    parser = workload.count_parser(__doc__, 1_000_000)
    parser.add_argument("--variant", default=key_words.MODES[-1])
    parser.add_argument("--keys", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pyflink-benchmark-") as folder:
        notes = Notes(folder)
        watching = threading.Thread(target=print_first, args=(notes,), daemon=True)
        watching.start()
        checkpoints = run(options.count, options.keys, settings(options.variant, folder), folder)
        found = notes.read("finished")
        first = min(each["at"] for each in notes.read("first"))
    last = max(workload.mark("last", each["at"]) for each in found)
    parts = [(each["complete"], each["total"]) for each in found]
    key_words.check_total(options.keys, options.count, parts)
    workload.report(options.count, first, last, checkpoints)


def print_first(notes: Notes) -> None:
    """Say it when the first record is processed."""
    while not (found := notes.read("first")):
        time.sleep(LOOK_SECONDS)
    workload.mark("first", min(each["at"] for each in found))


def run(words: int, keys: int, settings: Configuration, folder: str) -> int:
    """Run the job to its end; returns the number of completed checkpoints."""
    environment = StreamExecutionEnvironment.get_execution_environment(settings)
    numbers = NumberSequenceSource(0, workload.sentence_count(words) - 1)
    source = environment.from_source(
        numbers, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    ).set_parallelism(1)
    split = source.rebalance().flat_map(Split(keys), Types.STRING()).set_parallelism(TASKS)
    counted = split.key_by(lambda word: word, Types.STRING()).process(
        Count(keys, words, folder), Types.STRING()
    )
    counted.set_parallelism(TASKS).print().set_parallelism(1)
    environment.execute("keyed count")
    return completed(folder)


def settings(variant: str, folder: str) -> Configuration:
    """A checkpoint each second, or none."""
    found = Configuration()
    found.set_string("python.executable", sys.executable)
    found.set_string("python.client.executable", sys.executable)
    found.set_string("python.state.cache-size", "2000000")
    found.set_string("python.fn-execution.bundle.size", "100000")
    if variant == key_words.MODES[-1]:
        found.set_string("execution.checkpointing.interval", INTERVAL)
        found.set_string("execution.checkpointing.num-retained", "100000")
        found.set_string("execution.checkpointing.dir", f"file://{folder}/checkpoints")
        retention = "execution.checkpointing.externalized-checkpoint-retention"
        found.set_string(retention, "RETAIN_ON_CANCELLATION")
    return found


def completed(folder: str) -> int:
    """How many checkpoints there are."""
    return len(list(Path(folder, "checkpoints").glob("*/chk-*/_metadata")))


if __name__ == "__main__":
    main()
