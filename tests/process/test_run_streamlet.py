"""Topologies of streamlets, run as a user runs them: FILE has a main that calls Runner().run."""

import json
from collections import Counter
from datetime import datetime
from typing import Any

import pytest

from heron_cli.loading import load_in_child
from tests.process.process_support import EXAMPLES, TOPOLOGIES, Place

WORDS = TOPOLOGIES / "streamlet_words.py"
JOIN = TOPOLOGIES / "streamlet_join.py"


def printed(out: str) -> list[str]:
    """What the components printed, without their names in front."""
    return [line.partition("| ")[2] for line in out.splitlines()]


def test_words_are_counted_in_windows_and_none_is_lost(place: Place) -> None:
    """At least once, over two containers: 300 sentences, so 600 of each of "to" and "be"; the sums
    over all windows of a second do not depend on where the windows begin."""
    finished = place.heronpy("run", WORDS, "--", "once").succeeded()
    counts: Counter[str] = Counter()
    for line in printed(finished.out):
        word, _, count = line.partition("=")
        counts[word] += int(count)
    assert counts == {"to": 600, "be": 600, "or": 300, "not": 300, "0": 100, "1": 100, "2": 100}


def test_a_join_ends_with_its_sources(place: Place) -> None:
    """The window of an hour is cut short: both suppliers end at once, and so does the run."""
    finished = place.heronpy("run", JOIN).succeeded()
    assert sorted(printed(finished.out)) == [
        "('apple', 20)",
        "('apple', 30)",
        "('fig', None)",
        "('pear', 20)",
    ]


def test_running_values_of_a_collection(place: Place) -> None:
    """Exactly once: the values of each word are 1, 2, 3, …; two instances print them."""
    finished = place.heronpy("run", EXAMPLES / "streamlets" / "running_words.py").succeeded()
    values: dict[str, list[int]] = {}
    for line in printed(finished.out):
        word, _, count = line.partition(" ")
        values.setdefault(word, []).append(int(count))
    assert {word: len(counts) for word, counts in values.items()} == {
        "to": 4, "be": 3, "or": 1, "not": 1, "that": 1, "is": 2, "the": 1, "question": 1, "do": 1,
    }  # fmt: skip
    assert all(sorted(each) == list(range(1, len(each) + 1)) for each in values.values())


def test_words_are_tracked_from_their_initial_states(place: Place) -> None:
    """The program is Spark's: the last element of a word has the highest count."""
    finished = place.heronpy("run", EXAMPLES / "streamlets" / "track_state.py").succeeded()
    newest: Counter[str] = Counter()
    for line in printed(finished.out):
        word, _, count = line.partition(" ")
        newest[word] = max(newest[word], int(count))
    assert newest == {
        "to": 104, "be": 3, "or": 1, "not": 1, "that": 1, "is": 2, "the": 1, "question": 8, "do": 1,
    }  # fmt: skip


def test_the_queries_of_a_file_print_their_rows(place: Place) -> None:
    """Each click with a price is in one window of its advertisement; sales follow their clicks."""
    pytest.importorskip("sqlglot")
    finished = place.heronpy("sql", EXAMPLES / "sql" / "clicks.sql").succeeded()
    rows = [json.loads(line) for line in printed(finished.out)]
    clicks, sales = (
        [json.loads(line) for line in (EXAMPLES / "sql" / name).read_text().splitlines()]
        for name in ("clicks.json", "sales.json")
    )
    priced = [each["price"] for each in clicks if each["price"] is not None]
    windows = [each for each in rows if "since" in each]
    assert sum(each["clicks"] for each in windows) == len(priced)
    assert sum(each["paid"] for each in windows) == sum(priced)
    pairs = [
        (click["ad"], click["at"], sale["amount"])
        for click in clicks
        for sale in sales
        if click["ad"] == sale["ad"] and 0 <= _secs(sale) - _secs(click) <= 5
    ]
    found = [(row["sold"], row["clicked"][:19], row["amount"]) for row in rows if "sold" in row]
    assert Counter(found) == Counter(pairs)


def _secs(row: dict[str, Any]) -> float:
    return datetime.fromisoformat(row["at"]).timestamp()


def test_the_loader_gives_the_topology_without_opening_its_functions() -> None:
    """The command line has the topology; the user's module stays in the process that loaded it."""
    topology = load_in_child(str(WORDS)).result()
    assert topology.name == "StreamletWords"
    assert topology.config == {"topology.stmgrs": 2}
    assert [(each.name, each.parallelism) for each in topology.components] == [
        ("generator-1", 2),
        ("flatmap-1+map-1", 2),
        ("reducebykeyandwindow-1", 2),
        ("consume-1", 2),
    ]
    reduce = topology.by_name["reducebykeyandwindow-1"]
    assert reduce.class_path == (
        "heronpy_compat.streamlet.impl.reducebykeyandwindowbolt.ReduceByKeyAndWindowBolt"
    )
    assert reduce.config["slidingwindowbolt_duration_secs"] == 3600
    assert type(reduce.config["function"]).__name__ == "Pickled"
