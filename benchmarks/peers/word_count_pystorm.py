"""Word count by real pystorm children over pipes, every tuple acked, behind a lean Python host.

The host does what Storm's ShellSpout, ShellBolt, groupings and acker do: it routes emits (shuffle
to the splitters, fields to the counters) and keeps XOR ack trees. It is kinder to the children
than Storm: `next` is sent ahead instead of waiting for each `sync`, everything is written in
batches, and there are no heartbeats.
"""

import random
import selectors
import tempfile
from collections import deque
from typing import Any

from benchmarks import workload
from benchmarks.peers.multilang import CODECS, Child, handshake

SPOUT, SPLIT, COUNT = "Sentences", "Split", "Count"
PARALLELISM = {SPOUT: 1, SPLIT: 2, COUNT: 2}
FIELDS = {SPOUT: ["sentence"], SPLIT: ["word"], COUNT: ["word", "count"]}
# topology.max.spout.pending: enough for four children to be always busy, 10,000 words at most.
MAX_SPOUT_PENDING = 1000
# How many times `next` may be under way: hides the round trip, which Storm does not.
NEXT_AHEAD = 100
# A child that has not written for so long is stuck: the run has failed.
SILENCE_SECONDS = 30.0


class Host:
    """One topology of children, driven by a single thread."""

    def __init__(self, serializer: str, sentences_wanted: int) -> None:
        self._wanted = sentences_wanted
        children = [
            (component, serializer)
            for component, parallelism in PARALLELISM.items()
            for _ in range(parallelism)
        ]
        self._children = [Child(name, task, kind) for task, (name, kind) in enumerate(children, 1)]
        (self._spout,) = self._of(SPOUT)
        self._splitters, self._counters = self._of(SPLIT), self._of(COUNT)
        self._selector = selectors.DefaultSelector()
        for child in self._children:
            child.register(self._selector)
        self._ready = 0
        self._active = False
        # Commands that the spout has not answered with `sync`, oldest first.
        self._commands: deque[str] = deque()
        self._next_ahead = 0
        self._asked = 0
        # Root id to [xor of all its edges, the spout's id].
        self._trees: dict[int, list[Any]] = {}
        # Tuple id to [edge per root, xor of the edges anchored to it].
        self._in_flight: dict[str, list[Any]] = {}
        self._tuple_number = 0
        self._random_bits = random.Random().getrandbits
        self._counts: dict[str, int] = {}

    def run(self) -> tuple[float, float, dict[str, int]]:
        """Process all sentences; the instants of the first and the last, and the counts."""
        with tempfile.TemporaryDirectory() as directory:
            self._shake_hands(directory)
            first = workload.mark("first")
            self._active = True
            self._ask_for_more()
            self._loop_while(lambda: self._asked < self._wanted or self._next_ahead or self._trees)
            last = workload.mark("last")
            self._collect_counts()
            for child in self._children:
                child.close()
        return first, last, self._counts

    def _of(self, component: str) -> list[Child]:
        return [child for child in self._children if child.component == component]

    def _shake_hands(self, directory: str) -> None:
        context = {
            "task->component": {str(child.task): child.component for child in self._children},
            "source->stream->fields": {
                name: {"default": fields} for name, fields in FIELDS.items()
            },
        }
        for child in self._children:
            child.send(handshake(child, context, directory))
        self._loop_while(lambda: self._ready < len(self._children))

    def _collect_counts(self) -> None:
        """A tick makes each counter emit its counts and then ack the tick."""
        for child in self._counters:
            identifier = self._new_tuple({})
            tick = {"comp": "__system", "stream": "__tick", "task": -1, "tuple": [1]}
            child.send({"id": identifier, **tick})
        self._loop_while(lambda: self._in_flight)

    def _loop_while(self, busy: Any) -> None:
        while busy():
            left = [child.flush() for child in self._children]
            # What a full pipe did not take is tried again soon; the child is reading it meanwhile.
            events = self._selector.select(0.001 if any(left) else SILENCE_SECONDS)
            if not events and not any(left):
                raise workload.WrongResultError("the children fell silent")
            for key, _ in events:
                child: Child = key.data
                for message in child.receive():
                    self._take(child, message)
            self._ask_for_more()

    def _take(self, child: Child, message: dict[str, Any]) -> None:
        command = message.get("command")
        if command == "emit":
            self._take_emit(child, message)
        elif command == "ack":
            self._take_ack(message["id"])
        elif command == "sync":
            self._next_ahead -= self._commands.popleft() == "next"
        elif command in ("error", "fail"):
            raise workload.WrongResultError(f"{child.component}: {message}")
        elif "pid" in message:
            self._ready += 1

    def _take_emit(self, child: Child, message: dict[str, Any]) -> None:
        if child.component == SPLIT:
            values = message["tuple"]
            # One process routes, so Python's own salted hash is as good as any.
            target = self._counters[hash(values[0]) % len(self._counters)]
            self._deliver(child, target, values, self._anchored(message["anchors"]))
        elif child.component == SPOUT:
            root, edge = self._random_bits(64), self._random_bits(64)
            self._trees[root] = [edge, message["id"]]
            target = self._splitters[len(self._splitters) * (root & 0xFFFF) >> 16]
            self._deliver(child, target, message["tuple"], {root: edge})
        else:
            word, count = message["tuple"]
            self._counts[word] = count

    def _anchored(self, anchors: list[str]) -> dict[int, int]:
        """A new edge below each anchor, xored into the anchor and into each of its roots."""
        edges: dict[int, int] = {}
        for anchor in anchors:
            entry = self._in_flight[anchor]
            edge = self._random_bits(64)
            entry[1] ^= edge
            for root in entry[0]:
                edges[root] = edges.get(root, 0) ^ edge
        return edges

    def _deliver(
        self, source: Child, target: Child, values: list[Any], edges: dict[int, int]
    ) -> None:
        target.send(
            {
                "id": self._new_tuple(edges),
                "comp": source.component,
                "stream": "default",
                "task": source.task,
                "tuple": values,
            }
        )

    def _new_tuple(self, edges: dict[int, int]) -> str:
        self._tuple_number += 1
        identifier = str(self._tuple_number)
        self._in_flight[identifier] = [edges, 0]
        return identifier

    def _take_ack(self, identifier: str) -> None:
        edges, anchored = self._in_flight.pop(identifier)
        for root, edge in edges.items():
            tree = self._trees[root]
            tree[0] ^= edge ^ anchored
            if not tree[0]:
                del self._trees[root]
                self._command("ack", tree[1])

    def _ask_for_more(self) -> None:
        while (
            self._active
            and self._asked < self._wanted
            and self._next_ahead < NEXT_AHEAD
            and self._next_ahead + len(self._trees) < MAX_SPOUT_PENDING
        ):
            self._asked += 1
            self._next_ahead += 1
            self._command("next", "")

    def _command(self, command: str, identifier: Any) -> None:
        self._commands.append(command)
        self._spout.send({"command": command, "id": identifier})


def main() -> None:
    """Run the topology once, check every count, report."""
    parser = workload.count_parser(__doc__, 200_000)
    parser.add_argument("--serializer", choices=sorted(CODECS), default="json")
    options = parser.parse_args()
    sentences_wanted = workload.sentence_count(options.count)
    first, last, counts = Host(options.serializer, sentences_wanted).run()
    workload.check_counts(counts, sentences_wanted)
    workload.report(sum(counts.values()), first, last)


if __name__ == "__main__":
    main()
