"""FrameSpout away from Spark: pyarrow reads what it can, the rest is refused by name."""

from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest
from pyarrow import parquet

from heron_api.topology import TopologyType
from heron_cli.configure import packing_plan
from heron_connectors.spark import frames
from heron_connectors.spark.frames import FrameSpout
from heron_connectors.tables.source import TableSource
from heron_core.errors import ComponentError, TopologyError
from heronpy_compat import Bolt, Topology
from heronpy_compat.testing import ComponentTester


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five numbers."""
    parquet.write_table(arrow.table({"number": range(5)}), tmp_path / "a.parquet")
    return tmp_path


class Sink(Bolt):
    """Reads it."""

    def process(self, tup: Any) -> None:
        """Nothing."""


def alone(source: TableSource, **config: Any) -> ComponentTester:
    return ComponentTester(
        FrameSpout, outputs=source.outputs, config={**source.config, **config}, name="rows"
    )


def topology(source: TableSource) -> Any:
    rows = source.spec(name="rows")
    members = {"rows": rows, "sink": Sink.spec(name="sink", inputs=[rows])}
    made: Any = TopologyType("frames", (Topology,), members)
    return made.to_spec()


def test_files_are_read_by_pyarrow(folder: Path) -> None:
    """Options that say how much Spark takes for a batch mean nothing and do no harm."""
    source = FrameSpout.load(folder, options={"maxFilesPerTrigger": "1"})
    assert source.outputs == ("number",)
    with alone(source) as spout:
        assert [each.values for each in spout.next_tuple(calls=5)] == [[n] for n in range(5)]
        spout.next_tuple()
        assert spout.finished
    assert packing_plan(topology(source)).instances


def test_a_folder_is_followed(folder: Path) -> None:
    with alone(FrameSpout.load(folder, follow=True)) as spout:
        assert len(spout.next_tuple(calls=9)) == 5
        assert not spout.finished


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (FrameSpout.made_by(lambda spark: spark, ["number"]), "a function makes"),
        (FrameSpout.load(format="kafka", columns=["value"]), "reads format 'kafka'"),
        (FrameSpout.load("x", format="orc", columns=["number"]), "reads format 'orc'"),
        (FrameSpout.load("s3a://b/x", columns=["number"]), "reads s3a://b/x"),
        (FrameSpout.load("x", columns=["number"], schema="number int"), "frame.schema"),
        (FrameSpout.load("x.csv", format="csv", columns=["n"], options={"sep": ";"}), ": sep"),
    ],
)
def test_what_only_spark_reads_is_refused_when_the_topology_is_loaded(
    source: TableSource, reason: str
) -> None:
    """And by the spout itself, whatever else starts it."""
    with pytest.raises(TopologyError) as caught:
        packing_plan(topology(source))
    said = str(caught.value)
    assert said.startswith("spout 'rows'")
    assert reason in said
    assert said.endswith("use --engine spark")
    with pytest.raises(ComponentError, match="use --engine spark"), alone(source):
        pass


def test_columns_that_nobody_can_learn_have_to_be_given() -> None:
    with pytest.raises(TopologyError, match=r"name the columns of kafka: columns="):
        FrameSpout.load(format="kafka")


@pytest.mark.parametrize(
    ("rows_per_tuple", "emitted"),
    [(None, [[0], [1], [2]]), (2, [[[[0], [1]]], [[[2]]]])],
)
def test_rows_that_are_handed_over_are_emitted(
    rows_per_tuple: int | None, emitted: list[Any]
) -> None:
    source = FrameSpout.made_by(lambda spark: spark, ["number"], rows_per_tuple=rows_per_tuple)
    with alone(source, **{frames.FED: True}) as spout:
        spout.component.take_rows(arrow.record_batch({"number": range(3)}))
        assert spout.next_tuple() == []
        assert [each.values for each in spout.emitted] == emitted
        assert spout.component.__getstate__() == {}
