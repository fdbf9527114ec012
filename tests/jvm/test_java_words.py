"""Java spouts and bolts in real JVMs: word counts by Flux and streamparse, values, windows."""

import json
from collections import Counter

from tests.jvm.java_place import JVM_SECS, JavaPlace

SENTENCES = 4000
TEXTS = (
    "the cow jumped over the moon", "an apple a day keeps the doctor away",
    "four score and seven years ago", "snow white and the seven dwarfs",
)  # fmt: skip
MOST = {"id": "most", "className": "python_parts.Most"}
ROWS = {"id": "sink", "className": "python_parts.Rows"}


def expected(sentences: int) -> Counter[str]:
    """The count of each word."""
    return Counter(word for number in range(sentences) for word in TEXTS[number % 4].split())


def test_a_flux_file_of_java_classes_counts_exactly(place: JavaPlace) -> None:
    file = place.flux(
        [{"id": "sentences", "className": "Sentences", "constructorArgs": [SENTENCES]}],
        [
            {"id": "split", "className": "SplitSentence"},
            {"id": "count", "className": "WordCount", "parallelism": 2},
            MOST,
        ],
        ["sentences split SHUFFLE", "split count FIELDS word", "count most SHUFFLE"],
    )
    running = place.start("run", file)
    running.wait(JVM_SECS).succeeded()
    assert place.results()["most"] == expected(SENTENCES)
    numbers = json.loads((place.logs(place.name) / "last-numbers.json").read_text())
    totals = numbers["stats"]["components"]["count"]["user_totals"]
    assert set(totals) == {"executed", "words"}
    log = place.log(place.name, "count-3")
    assert "prepared task 3 of [3, 4]" in log
    assert "componentId:split, streamId:default" in log
    place.nothing_is_left(JVM_SECS)


def test_streamparse_s_java_components_run(place: JavaPlace) -> None:
    running = place.start("run", place.path / "streamparse_words.py", "-N", place.name)
    running.wait(JVM_SECS).succeeded()
    assert place.results()["most"] == expected(1000)


def test_values_keep_their_types_and_emits_know_their_tasks(place: JavaPlace) -> None:
    file = place.flux(
        [{"id": "few", "className": "python_parts.Few"}],
        [{"id": "echo", "className": "Echo"}, ROWS],
        ["few echo SHUFFLE", "echo sink SHUFFLE", "echo:direct sink DIRECT"],
    )
    place.start("run", file).wait(JVM_SECS).succeeded()
    rows = place.results()["rows"]
    assert [row[1:] for row in rows if row[0] == "default"] == [
        ["None", "'null'"], ["True", "'Boolean'"], ["7", "'Long'"], [str(1 << 40), "'Long'"],
        [str(1 << 70), "'BigInteger'"], ["1.5", "'Double'"], ["'ä€😀'", "'String'"],
        ["b'\\x00\\xff'", "'byte[]'"], ["[1, ['a']]", "'ArrayList'"],
        ["{'a': 1}", "'LinkedHashMap'"],
    ]  # fmt: skip
    assert [row for row in rows if row[0] == "direct"] == [["direct", "['value']", "'few'"]] * 10


def test_a_windowed_bolt_reads_integers_where_they_are_declared(place: JavaPlace) -> None:
    length = "org.apache.storm.topology.base.BaseWindowedBolt$Count"
    file = place.flux(
        [{"id": "few", "className": "python_parts.Few"}],
        [
            {
                "id": "sums",
                "className": "WindowSum",
                "configMethods": [{"name": "withTumblingWindow", "args": [{"ref": "four"}]}],
            },
            ROWS,
        ],
        ["few sums SHUFFLE", "sums sink SHUFFLE"],
        [{"id": "four", "className": length, "constructorArgs": [4]}],
        numbers=12,
        heronpy__java__types={"value": "int"},
        topology__message__timeout__secs=5,
    )
    finished = place.start("run", file).wait(JVM_SECS)
    # Storm's executor acks a tuple when it leaves the window, which those of the last one do not.
    finished.incomplete("4 tuples failed for good")
    assert place.results()["rows"] == [["default", str(total)] for total in (10, 26, 42)]
