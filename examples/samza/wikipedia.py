"""Edits of Wikipedia as hello-samza has them: a job that parses lines, and a job that counts edits.

heronpy run examples/samza/wikipedia-parser.properties
heronpy run examples/samza/wikipedia-stats.properties

The first job reads examples/samza/feed/wikipedia-raw, a file for each partition, and writes below
examples/samza/out; the second job reads these files. The statistics continue when the second job is
started again behind more edits: the store has a changelog, and the offsets have checkpoints.
"""

import re
from typing import Any

from heronpy_compat.samza import (
    EndOfStreamListenerTask,
    IncomingMessageEnvelope,
    InitableTask,
    MessageCollector,
    OutgoingMessageEnvelope,
    StreamTask,
    SystemStream,
    TaskContext,
    TaskCoordinator,
)

EDITS = SystemStream("out", "wikipedia-edits")
MALFORMED = SystemStream("out", "wikipedia-malformed")
STATS = SystemStream("out", "wikipedia-stats")
LINE = re.compile(
    r"\[\[(?P<title>.*?)\]\] (?P<flags>\S*) (?P<url>\S+) \* (?P<user>.*?) \* "
    r"\((?P<bytes>[+-]\d+)\) (?P<summary>.*)"
)


def parsed(line: str) -> dict[str, Any] | None:
    """The edit of a line of the feed; None for any other line."""
    match = LINE.fullmatch(line)
    if match is None:
        return None
    return {**match.groupdict(), "bytes": int(match["bytes"])}


class Parser(StreamTask):
    """A line to an edit; a line of another form goes to a stream of its own."""

    def process(
        self,
        envelope: IncomingMessageEnvelope,
        collector: MessageCollector,
        coordinator: TaskCoordinator,
    ) -> None:
        edit = parsed(envelope.message)
        if edit is None:
            collector.send(OutgoingMessageEnvelope(MALFORMED, envelope.message))
        else:
            collector.send(OutgoingMessageEnvelope(EDITS, edit))


class Stats(StreamTask, InitableTask, EndOfStreamListenerTask):
    """Edits and bytes of each title, sent when the partition has ended."""

    def init(self, context: TaskContext) -> None:
        self.stats = context.get_store("stats")

    def process(
        self,
        envelope: IncomingMessageEnvelope,
        collector: MessageCollector,
        coordinator: TaskCoordinator,
    ) -> None:
        edit = envelope.message
        edits, size = self.stats.get(edit["title"]) or (0, 0)
        self.stats.put(edit["title"], [edits + 1, size + edit["bytes"]])

    def on_end_of_stream(self, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        for title, (edits, size) in self.stats.all():
            result = {"title": title, "edits": edits, "bytes": size}
            collector.send(OutgoingMessageEnvelope(STATS, result))
