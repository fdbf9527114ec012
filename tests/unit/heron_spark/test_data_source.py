"""Streams between topologies and queries of Spark, through a folder, through kills of each process;
without a JVM."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from heron_api.state.stateful_component import StatefulComponent
from heron_connectors.spark.folder import SparkSink, SparkSpout
from heron_connectors.spark.segments import Segment, SegmentLog
from heron_core.errors import ComponentError, UsageError
from heron_core.state_tree import topology_path
from heron_core.topology import topology_to_json
from heron_frontends.loading.topology_sources import topology_from
from heron_io.state_store.opening import open_store
from heron_spark.session.data_source import HeronpySource, SegmentReader
from heronpy_compat import Bolt, Spout, Topology
from heronpy_compat.testing import TopologyTester, check_two_phase_sink

EXACT = "EFFECTIVELY_ONCE"
NUMBERS = StructType([StructField("number", LongType())])
WORDS = StructType([StructField("word", StringType())])


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Durability of the disk is out of scope here, and takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


def rows_in(folder: Path) -> list[Any]:
    """As a batch DataFrame of Spark has them."""
    reader = SegmentReader(str(folder), NUMBERS)
    return [row[0] for part in reader.partitions() for row in reader.read(part)]


def test_what_a_topology_lets_spark_read_is_exact(tmp_path: Path) -> None:
    """Killed before and after a commit, and restored."""
    config = {"spark.folder": str(tmp_path)}
    check_two_phase_sink(SparkSink, lambda: rows_in(tmp_path), config=config, each_line=False)


def test_a_query_goes_on_from_its_offsets_and_removes_what_it_has_read(tmp_path: Path) -> None:
    logs = [SegmentLog(str(tmp_path), name) for name in ("00000", "00001")]
    logs[0].append(["other", "number"], [["a", 1], ["b", 2]], "first")
    source = HeronpySource({"path": str(tmp_path), "remove": "true"})
    reader = source.streamReader(NUMBERS)
    start: dict[str, int] = reader.initialOffset()
    end = json.loads(json.dumps(reader.latestOffset(start)))
    logs[0].append(["number"], [[3]], "second")
    logs[1].append(["number"], [[4]], "third")

    def read(start: dict[str, int], end: dict[str, int]) -> list[Any]:
        return [row for part in reader.partitions(start, end) for row in reader.read(part)]

    assert read(start, end) == read(start, end) == [(1,), (2,)]
    later = reader.latestOffset(end)
    assert read(end, later) == [(3,), (4,)]
    assert read(later, later) == []
    reader.commit(end)
    assert read(end, later) == [(3,), (4,)]
    assert not list((tmp_path / "00000").glob(".*"))
    assert len(list((tmp_path / "00000").glob("*.rows"))) == 1
    assert logs[0].append(["other", "number"], [["a", 1]], "first") == 0  # committed once more


class Numbers(SparkSpout):
    outputs = {"number": "bigint"}


class Collect(Bolt, StatefulComponent):
    """All input, in its state."""

    outputs: list[Any] = []

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.items = list(self.state.get("items") or [])

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("items", list(self.items))

    def process(self, tup: Any) -> None:
        self.items.append(tup.values[0])
        self.ack(tup)


def feeding(folder: Path, mode: str, **more: Any) -> Any:
    """A topology with the output of queries as input."""
    given = {"spark.folder": str(folder), **more}

    class Feeding(Topology):
        config = {"topology.reliability.mode": mode}
        numbers = Numbers.spec(par=2, config=given)
        collect = Collect.spec(inputs=[numbers])

    return Feeding


def write_batch(writer: Any, batch: int, *parts: list[int]) -> None:
    """A batch of so many tasks."""
    tasks = [writer.write(iter([pa.record_batch({"number": each})])) for each in parts]
    writer.commit(tasks, batch)


def a_writer(folder: Path, name: str) -> Any:
    options = {"path": str(folder), "writer": name}
    return HeronpySource(options).streamWriter(NUMBERS, False)


def test_rows_of_queries_come_once_whoever_is_killed(tmp_path: Path) -> None:
    """Spark repeats a batch written before the kill; instances crash."""
    for victim in ("numbers", "collect"):
        folder = tmp_path / victim
        writers = [a_writer(folder, name) for name in ("first", "second")]
        write_batch(writers[0], 0, [0, 1, 2], [3], [])
        with TopologyTester(feeding(folder, EXACT, **{"spark.remove": True})) as tester:
            for turn in range(4):
                write_batch(writers[turn % 2], turn + 1, [4 * turn + 4, 4 * turn + 5], [])
                write_batch(writers[turn % 2], turn + 1, [4 * turn + 4, 4 * turn + 5], [])
                write_batch(writers[1], turn + 10, [4 * turn + 6], [4 * turn + 7])
                tester.advance(1)
                tester.run_spouts(2)
                if turn % 2 == 0:
                    assert tester.checkpoint()
                    tester.run_spouts(1)
                tester.crash(victim)
            for _ in range(20):
                tester.advance(1)
                tester.run_spouts(2)
            (collect,) = tester.component("collect")
            assert sorted(collect.items) == list(range(20))
            assert tester.checkpoint()
        assert rows_in_parts(folder) == 0


def rows_in_parts(folder: Path) -> int:
    """How many files with rows are left."""
    return len(list(folder.rglob("*.rows")))


def test_a_row_that_fails_is_emitted_again_and_removed_when_it_is_acked(tmp_path: Path) -> None:
    write_batch(a_writer(tmp_path, "query"), 0, [1, 2], [3])
    with TopologyTester(feeding(tmp_path, "ATLEAST_ONCE", **{"spark.remove": True})) as tester:
        for _ in range(5):
            tester.advance(1)
            tester.run_spouts(1)
        (collect,) = tester.component("collect")
        assert sorted(collect.items) == [1, 2, 3]
        for _ in range(3):
            tester.advance(1)
            tester.run_spouts(1)
    assert rows_in_parts(tmp_path) == 0


class Source(Spout):
    outputs = {"word": "string", "number": "bigint"}

    def next_tuple(self) -> None:
        """Nothing."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The user's own state store."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "own"))
    opened = open_store(f"file://{tmp_path}/own/state")
    yield opened
    opened.close()


def test_a_running_topology_is_found_by_its_name(store: Any, tmp_path: Path) -> None:
    class Both(Topology):
        source = Source.spec()
        tap = SparkSink.spec(inputs=[source], config={"spark.folder": f"{tmp_path}/out"})
        orders = Numbers.spec(config={"spark.folder": f"{tmp_path}/in"})

    store.create(topology_path("Both"), topology_to_json(topology_from(Both, None, None, {})))
    source = HeronpySource({"topology": "Both"})
    assert source.schema() == "`word` string, `number` bigint"
    writer = HeronpySource({"topology": "Both", "writer": "test"}).streamWriter(NUMBERS, False)
    write_batch(writer, 0, [7])
    assert SegmentLog(f"{tmp_path}/in", "test").segment(0) == Segment(
        0, ("number",), SegmentLog(f"{tmp_path}/in", "test").segment(0).parts
    )
    with pytest.raises(UsageError, match="has the fields number, the DataFrame has word, and no"):
        source.streamWriter(WORDS, False)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "name a topology: the option topology"),
        ({"path": "counts"}, "has an absolute path"),
        ({"topology": "absent"}, "topology absent is not running: first submit"),
        ({"path": "/counts"}, "declares no types"),
    ],
)
def test_a_stream_that_cannot_be_read_is_one_line(
    store: Any, options: dict[str, str], text: str
) -> None:
    with pytest.raises(UsageError) as caught:
        HeronpySource(options).schema()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_written_or_shared_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the query's checkpoint is not known here"):
        HeronpySource({"path": str(tmp_path)}).streamWriter(NUMBERS, False)
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "metadata").write_text('{"id": "of-the-query"}')
    options = {"path": str(tmp_path), "checkpointLocation": f"file:{tmp_path}/checkpoint"}
    write_batch(HeronpySource(options).streamWriter(NUMBERS, False), 0, [1])
    assert rows_in(tmp_path) == [1]
    with pytest.raises(ComponentError, match="'here': an absolute path is needed"):
        TopologyTester(feeding(Path("here"), EXACT)).__enter__()
