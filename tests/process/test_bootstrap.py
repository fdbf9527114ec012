"""A topology that begins with a savepoint made of a table: its counts go on from there, exactly."""

import json

import pyarrow as pa
from pyarrow import csv

from heron_io.state_queries import StateClient
from heron_io.user_home import store_url_in
from tests.process.process_support import TOPOLOGIES, Place
from tests.process.test_live_queries import counts

TOPOLOGY = TOPOLOGIES / "exact.py"
NAME = "Exact"
KEYS = 97
BEGIN = 1_000_000


def test_a_topology_begins_with_a_savepoint_of_tables(place: Place) -> None:
    (place.path / "lines.txt").write_text("line\n" * 10)
    table = pa.table({"key": range(KEYS), "value": [BEGIN + 2 * key for key in range(KEYS)]})
    csv.write_csv(table, place.path / "counts.csv")
    savepoint = place.path / "savepoint"
    written = place.heronpy(
        "state", "write", savepoint, "--name", NAME, "--tasks", 3,
        f"count.count={place.path / 'counts.csv'}",
    )  # fmt: skip
    assert f"{KEYS} entries of count.count" in written.succeeded().err
    running = place.start(
        "run", TOPOLOGY, "--from-savepoint", savepoint, "--containers", 2,
        "-o", f"exact.folder={place.path}", "-o", f"file.folder={place.path}",
    )  # fmt: skip
    with StateClient(NAME, store_url_in(str(place.home))) as states:
        running.until(lambda: counts(states).get(5, 0) > BEGIN + 10, "it counts on from the table")
        found = counts(states)
        assert len(found) == KEYS
        assert all(found[key] >= BEGIN + 2 * key for key in range(KEYS))
    (place.path / "enough").touch()
    running.wait().succeeded()
    counted: dict[str, int] = {}
    for file in place.path.glob("counted-*"):
        counted |= json.loads(file.read_text("utf-8"))
    emitted = [json.loads(file.read_text("utf-8")) for file in place.path.glob("emitted-*")]
    # Each of two spouts counts from 0, and each number comes by two ways.
    expected = {
        str(key): BEGIN + 2 * key + 2 * sum(len(range(key, at, KEYS)) for at in emitted)
        for key in range(KEYS)
    }
    assert counted == expected


def test_a_table_that_is_none_leaves_no_savepoint(place: Place) -> None:
    (place.path / "bad.json").write_text('{"key": "a", "value": 1}\n{"key": "a", "value": 2}\n')
    savepoint = place.path / "savepoint"
    refused = place.heronpy(
        "state", "write", savepoint, "-n", NAME, f"count.count={place.path / 'bad.json'}"
    )
    assert refused.code == 2
    assert refused.errors == ["heronpy: duplicate entry count.count: the key 'a'"]
    assert not savepoint.exists()
    missing = place.heronpy("state", "read", "nothing", "count.count")
    assert missing.code == 2
