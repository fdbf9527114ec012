"""Jobs of Samza over files in a test's folder."""

from collections import Counter
from pathlib import Path
from typing import Any

from heronpy_compat.samza import (
    ClosableTask,
    EndOfStreamListenerTask,
    IncomingMessageEnvelope,
    InitableTask,
    MessageCollector,
    OutgoingMessageEnvelope,
    StreamTask,
    SystemStream,
    TaskContext,
    TaskCoordinator,
    builder_of,
)
from heronpy_compat.testing import TopologyTester

COUNTS = SystemStream("files", "counts")
RESULTS: list[Any] = []
"""Notes of tasks beside outputs; cleared by each test."""


class CountWords(StreamTask, InitableTask, ClosableTask, EndOfStreamListenerTask):
    """Counts messages in its store, and sends each count."""

    def init(self, context: TaskContext) -> None:
        self.store = context.get_store("counts")
        self.name = context.task_name

    def process(
        self,
        envelope: IncomingMessageEnvelope,
        collector: MessageCollector,
        coordinator: TaskCoordinator,
    ) -> None:
        if envelope.message == "raise":
            raise ValueError("a word that cannot be counted")
        if envelope.message == "commit":
            coordinator.commit()
            return
        count = (self.store.get(envelope.message) or 0) + 1
        self.store.put(envelope.message, count)
        collector.send(OutgoingMessageEnvelope(COUNTS, f"{envelope.message} {count}"))

    def on_end_of_stream(self, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        RESULTS.append(("end", self.name))

    def close(self) -> None:
        RESULTS.append(("close", self.name))


def properties(folder: Path, task: str = "CountWords", **more: str) -> dict[str, str]:
    """A job over the stream `lines`, with a store on disk, a changelog and checkpoints in files;
    `more`: keys with __ for each dot."""
    return {
        "job.name": "words",
        "task.class": f"{__name__}.{task}" if "." not in task else task,
        "task.inputs": "files.lines",
        "task.outputs": "files.counts",
        "systems.files.samza.factory": "heronpy.FileSystemFactory",
        "systems.files.path": str(folder),
        "stores.counts.factory": "org.apache.samza.storage.kv.RocksDbKeyValueStorageEngineFactory",
        "stores.counts.key.serde": "string",
        "stores.counts.msg.serde": "integer",
        "stores.counts.changelog": "files.changelog",
        "task.checkpoint.factory": (
            "org.apache.samza.checkpoint.file.FileSystemCheckpointManagerFactory"
        ),
        "task.checkpoint.path": str(folder / "checkpoints"),
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def write_lines(folder: Path, *partitions: str, stream: str = "lines") -> None:
    """A file for each partition, with a line for each word."""
    (folder / stream).mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(partitions):
        path = folder / stream / f"{number}"
        path.write_text("".join(f"{word}\n" for word in text.split()))


def job(given: dict[str, str], **config: Any) -> TopologyTester:
    """The job in a tester."""
    return TopologyTester(builder_of(given), config=config)


def to_the_end(tester: TopologyTester) -> None:
    """Run all spouts, and let the sinks of files write, until all is done."""
    for _ in range(5):
        tester.run_spouts()
        tester.advance(1)


def counts_of(tester: TopologyTester) -> Counter[str]:
    """The sum of the stores of all tasks."""
    found: Counter[str] = Counter()
    for container in tester.component("tasks"):
        for task in container._tasks:
            found.update(dict(task.stores["counts"].all()))
    return found


def expected(*partitions: str) -> Counter[str]:
    """The counts of the words of all partitions."""
    return Counter(word for text in partitions for word in text.split())
