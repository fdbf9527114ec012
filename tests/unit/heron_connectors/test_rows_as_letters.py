"""A row that a table cannot hold is a dead letter, if letters are kept."""

from pathlib import Path
from typing import Any

import pytest

from heron_connectors.delta import DeltaSink
from heron_connectors.files.parquet import ParquetSink
from heron_connectors.letters.folder import letters
from heron_connectors.letters.records import letter_of, values_of
from heron_core.dead_letters import SINK
from heronpy_compat import Spout, Topology
from heronpy_compat.testing import TopologyTester

MODES = ("EFFECTIVELY_ONCE", "ATLEAST_ONCE", "ATMOST_ONCE")


class Rows(Spout):
    outputs = ["id", "value"]


def topology(kind: Any, mode: str, config: dict[str, Any]) -> type[Topology]:
    settings = {"topology.reliability.mode": mode, "topology.bolt.retries": 0, **config}

    class Keeping(Topology):
        config = settings
        rows = Rows.spec()
        sink = kind.spec(inputs=[rows])

    return Keeping


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [ParquetSink, DeltaSink])
def test_a_row_that_does_not_fit_is_found_with_its_values(
    tmp_path: Path, kind: Any, mode: str
) -> None:
    place = "parquet.folder" if kind is ParquetSink else "delta.table"
    where = tmp_path / "letters"
    config = {place: str(tmp_path / "out"), "topology.dead.letter": f"file:{where}"}
    with TopologyTester(topology(kind, mode, config)) as tester:
        for row in ([0, 1], [1, "x"], [2, 3]):
            tester.feed("rows", row, tup_id=row[0], replays=0)
        tester.run()
        if mode == "EFFECTIVELY_ONCE":
            assert tester.checkpoint()
        tester.advance(10)
        tester.finish()
        assert tester.errors("sink")
        assert len(tester.received(SINK)) == 1
        assert sorted(tester.acked("rows")) == [0, 1, 2]
    (letter,) = letters(str(where))
    assert (letter["component"], letter["source"], letter["fields"]) == (
        "sink",
        "rows",
        ["id", "value"],
    )
    assert values_of(letter) == [1, "x"]
    assert "value" in letter["exception"]


def test_a_topic_has_the_same_record_under_the_component() -> None:
    from heron_connectors.letters.sinks import DeadLetterTopic

    values = ["id", "parse", "parse[0]", 1, 1, "E", "", "lines", "default", 1, ["line"], ["x"]]

    class Tup:
        pass

    tup: Any = Tup()
    tup.values = values
    key, value = DeadLetterTopic.row_of(Tup, tup)  # type: ignore[arg-type]
    assert key == b"parse"
    assert values_of(letter_of(value or b"")) == ["x"]
