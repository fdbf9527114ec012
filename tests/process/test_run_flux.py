"""`heronpy run FILE.yaml`: Flux files on real processes."""

from tests.process.process_support import EXAMPLES, Finished, Place

EXAMPLE = EXAMPLES / "flux" / "word_count.yaml"
LINES = [
    *["To be or not to be, that is the question"] * 30,
    *["Whether tis nobler in the mind to suffer"] * 20,
    *["The slings and arrows of outrageous fortune"] * 10,
    "",
]


def printed(finished: Finished) -> list[str]:
    """Output of the components, without the leading name of the instance."""
    return [line.rpartition("| ")[2] for line in finished.out.splitlines()]


def test_the_example_counts_exactly(place: Place) -> None:
    """Properties from a file and from the command line, objects with references to each other, and
    a finite text: the table is right to the last word."""
    text, properties = place.path / "text.txt", place.path / "my.properties"
    text.write_text("\n".join(LINES), "utf-8")
    properties.write_text('letters = 4\ntext = nowhere.txt\nstop.words = ["mind", "fortune"]\n')
    finished = place.heronpy(
        "run", EXAMPLE, "--filter", properties, "--property", f"text={text}"
    ).succeeded()
    expected = {
        "question": 30,
        **dict.fromkeys(("whether", "nobler", "suffer"), 20),
        **dict.fromkeys(("slings", "arrows", "outrageous"), 10),
    }
    rows = [line.split() for line in printed(finished)]
    assert {word: int(count) for word, count in rows} == expected
    assert [word for word, _ in rows[:2]] == ["question", "nobler"]
    place.nothing_is_left()


STORM = """
name: "yaml-topology"
config: {{topology.workers: 2}}
spouts:
  - id: "sentences"
    className: "org.apache.storm.perf.spout.FileReadSpout"
    constructorArgs: ["{text}"]
bolts:
  - {{id: split, className: "org.apache.storm.starter.WordCountTopology$SplitSentence"}}
  - {{id: count, className: "org.apache.storm.testing.TestWordCounter", parallelism: 2}}
  - {{id: total, className: "org.apache.storm.testing.TestAggregatesCounter"}}
  - {{id: print, className: "org.apache.storm.starter.bolt.PrinterBolt"}}
streams:
  - {{from: sentences, to: split, grouping: {{type: LOCAL_OR_SHUFFLE}}}}
  - {{from: split, to: count, grouping: {{type: FIELDS, args: ["word"]}}}}
  - {{from: count, to: total, grouping: {{type: GLOBAL}}}}
  - {{from: total, to: print, grouping: {{type: ALL}}}}
"""


def test_a_file_written_for_storm_runs_unchanged(place: Place) -> None:
    """Java class names all over it, all with an equivalent; two containers."""
    text = place.path / "text.txt"
    text.write_text("\n".join(LINES), "utf-8")
    file = place.path / "storm.yaml"
    file.write_text(STORM.format(text=text), "utf-8")
    finished = place.heronpy("run", file).succeeded()
    words = 30 * 10 + 20 * 8 + 10 * 7
    lines = printed(finished)
    assert len(lines) == words
    assert lines[-1] == f"total:default [{words}]"
    place.nothing_is_left()


PROJECT = """
from streamparse import Bolt, ReliableSpout

class Words(ReliableSpout):
    outputs = ["word"]

    def initialize(self, conf, context):
        self.words = ["dog", "cat", "dog"] * 50

    def next_tuple(self):
        if self.words:
            self.emit([self.words.pop()], tup_id=len(self.words))

class Count(Bolt):
    outputs = ["word", "count"]

    def initialize(self, conf, context):
        self.counts = {}

    def process(self, tup):
        word = tup.values.word
        self.counts[word] = self.counts.get(word, 0) + 1
        self.emit([word, self.counts[word]])
"""
SHELL = """
import json, sys

def send(message):
    print(json.dumps(message), "end", sep="\\n", flush=True)

def read():
    lines = iter(sys.stdin.readline, "end\\n")
    return json.loads("".join(lines) or sys.exit())

handshake = read()
send({"pid": 1})
while True:
    tup = read()
    if isinstance(tup, list):
        continue
    if tup["stream"] == "__heartbeat":
        send({"command": "sync"})
        continue
    send({"command": "emit", "tuple": [str(tup["tuple"])], "anchors": [tup["id"]]})
    send({"command": "ack", "id": tup["id"]})
"""
SPARSE = """
name: by-sparse
spouts:
  - id: words
    className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
    constructorArgs: [[streamparse_run, -s json words.Words], [word]]
bolts:
  - id: count
    className: org.apache.storm.flux.wrappers.bolts.FluxShellBolt
    constructorArgs: [[streamparse_run, words.Count], [word, count]]
    parallelism: 2
  - id: shown
    className: org.apache.storm.flux.wrappers.bolts.FluxShellBolt
    constructorArgs: [[python3, shown.py], [text]]
  - {id: print, className: org.apache.storm.starter.bolt.PrinterBolt}
streams:
  - {from: words, to: count, grouping: {type: FIELDS, args: [word]}}
  - {from: count, to: shown, grouping: {type: SHUFFLE}}
  - {from: shown, to: print, grouping: {type: SHUFFLE}}
"""


def test_a_file_that_sparse_wrote_and_a_program(place: Place) -> None:
    """streamparse's classes run in the instances, and a shell component beside them."""
    (place.path / "src").mkdir()
    (place.path / "src" / "words.py").write_text(PROJECT)
    (place.path / "shown.py").write_text(SHELL)
    file = place.path / "sparse.yaml"
    file.write_text(SPARSE)
    running = place.start("run", file)
    running.until(lambda: running.out.count("\n") == 150, "all words are counted")
    running.signal()
    finished = running.wait()
    assert finished.code == 130, finished.err
    found = set(printed(finished))
    assert {"shown:default [\"['dog', 100]\"]", "shown:default [\"['cat', 50]\"]"} <= found
    place.nothing_is_left()


def test_mistakes_are_told_in_one_line(place: Place) -> None:
    """A missing property, then a missing class: file, line, cure; exit 2."""
    finished = place.heronpy("run", EXAMPLE, "--property", "letters=4")
    assert finished.code == 2
    (line,) = finished.errors
    assert "word_count.yaml:" in line
    assert "${stop.words} has no value" in line
    file = place.path / "bad.yaml"
    file.write_text("spouts:\n  - {id: a, className: com.acme.Spout}\n")
    finished = place.heronpy("run", file)
    assert finished.code == 2
    assert "bad.yaml:2: 'a': Java class com.acme.Spout has no equivalent" in finished.errors[0]
    place.nothing_is_left()
